"""Verbs as forms and as argument lists: options from names and values, and back. No shell ever sees them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError
from olu.core.options import Parameter, Verb, from_json, to_json
from olu.stages.verbs import VERBS

# Left out of the forms, each for a reason; tests/studio/test_parity.py holds everything else to be there.
NO_FORMS = {
    "serve": "a server of its own: it runs until it is ended in the terminal where it was started",
    "studio": "this is it",
}
LONGEST_WORD, LONGEST_COMMAND = 100_000, 1_000_000  # bytes; systems take 128 KiB and more
NO_FIELDS = {"as_json": "the studio always asks for JSON"}


def known_verb(name: str) -> Verb:
    verb = VERBS.get(name)
    if verb is None:
        raise ConfigError(f"there is no verb {name[:60]!r}")
    if name in NO_FORMS:
        raise ConfigError(f"'olu {name}' is not run from here: {NO_FORMS[name]}")
    return verb


def fields(verb: Verb) -> tuple[Parameter, ...]:
    """The options a person may give in a form."""
    return tuple(one for one in verb.parameters if one.name not in NO_FIELDS)


def known_parameters(verb: Verb) -> dict[str, Parameter]:
    return {one.name: one for one in verb.parameters}


def argv(verb: Verb, given: Mapping[str, Any]) -> list[str]:
    """The words behind `olu`: the verb, `--name=value` for what is not as by default, `--`, what is given by place."""
    if forbidden := sorted(set(given) & set(NO_FIELDS)):
        raise ConfigError(f"the option {forbidden[0]!r} is not given here: {NO_FIELDS[forbidden[0]]}")
    options = from_json(verb.options, given)
    named: list[str] = []
    placed: list[str] = []
    skipped = ""
    for one in fields(verb):
        value = getattr(options, one.name)
        if one.said.names:
            named += _named(one, value)
            continue
        values = _texts(value)
        if not values:
            skipped = one.name
        elif skipped:
            raise ConfigError(f"the option {skipped!r} must be given before {one.name!r}")
        placed += values
    _check_words([*named, *placed])
    return [verb.name, *named, *(["--", *placed] if placed else [])]


def _check_words(words: Sequence[str]) -> None:
    """Refuse what no system can hand to a process."""
    if any("\0" in word for word in words):
        raise ConfigError("a value holds a character that no command can be given (NUL): take it out")
    sizes = [len(word.encode("utf-8", "surrogateescape")) for word in words if _is_text(word)]
    if len(sizes) < len(words):
        raise ConfigError("a value holds half a letter: write it again")
    if max(sizes, default=0) > LONGEST_WORD or sum(sizes) > LONGEST_COMMAND:
        raise ConfigError("this is too long for a command: put it into a file, and name the file")


def _is_text(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _named(one: Parameter, value: Any) -> list[str]:
    if value == one.default or value is None:
        return []
    name = next((name for name in one.names if name.startswith("--")), one.names[0])
    if one.kind is bool:
        return [name]
    return [f"{name}={text}" for text in _texts(value)]


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    values = value if isinstance(value, tuple) else (value,)
    return [repr(one) if isinstance(one, float) else str(one) for one in values]


def given(verb: Verb, words: Sequence[str]) -> dict[str, Any]:
    """Names and values from the words of a command, as `argv` writes them or as a person types them."""
    named = {name: one for one in fields(verb) for name in one.names}
    found: dict[str, Any] = {}
    values: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            values += rest
            break
        if not word.startswith("-") or word == "-":
            values.append(word)
            continue
        name, equals, text = word.partition("=")
        one = named.get(name)
        if one is None:
            raise ConfigError(f"unknown option {name[:60]!r} of 'olu {verb.name}'")
        if one.kind is not bool and not equals and not rest:
            raise ConfigError(f"the option {name!r} lacks its value")
        value = True if one.kind is bool else value_of(one, text if equals else rest.pop(0))
        if one.several:
            found.setdefault(one.name, []).append(value)
        else:
            found[one.name] = value
    found |= _placed(verb, values)
    return to_json(from_json(verb.options, found))


def _placed(verb: Verb, values: list[str]) -> dict[str, Any]:
    """Values by their place."""
    found: dict[str, Any] = {}
    for one in fields(verb):
        if one.said.names or not values:
            continue
        found[one.name] = [value_of(one, text) for text in values] if one.several else value_of(one, values.pop(0))
        values = [] if one.several else values
    if values:
        raise ConfigError(f"'olu {verb.name}' takes no {values[0][:60]!r}")
    return found


def value_of(one: Parameter, text: str) -> Any:
    """One value of a form's field, or of a word, of the type that the option has."""
    try:
        if one.kind is bool:
            return text not in ("", "false", "off", "0")
        return str(Path(text)) if one.kind is Path else one.kind(text)
    except ValueError:
        raise ConfigError(f"the option {one.name!r} takes a number (got {text[:60]!r})") from None


def shown_command(words: Sequence[str]) -> str:
    """The command as a person would type it: what is given by place first, where nothing in it looks like an option."""
    named, placed = list(words), list[str]()
    if "--" in words:
        at = list(words).index("--")
        named, placed = list(words[:at]), list(words[at + 1 :])
    if any(word.startswith("-") for word in placed):
        return shlex.join(["olu", *words])
    return shlex.join(["olu", *named[:1], *placed, *named[1:]])
