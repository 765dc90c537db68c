"""The words of the interface in the language of a request: one file a language in words/, keyed by the English words.

`t` looks a sentence up for the request that is being answered. What a file lacks stays English. The language is the one
chosen on the page (a cookie), else the browser's first that is here, else English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from olu.core.errors import ConfigError
from olu.core.parse import from_toml

COOKIE = "olu-words"  # parts/words.js writes it
SENTENCE = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
LITERAL = re.compile(rf"(?<![\w.$])t\(\s*{SENTENCE}(?:,\s*{SENTENCE})?")
VALUE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class InterfaceLanguage:
    code: str
    name: str  # as its speakers write it
    direction: str = "ltr"
    checked: bool = False  # whether a speaker has read the words
    one: Sequence[int] = (1,)  # numbers that take the first of two sentences, "1 clip" beside "2 clips"
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def script(self) -> str:
        """What parts/t.js reads. A plain script, so that the words are there before any module asks for them."""
        words = f"globalThis.oluWords = {json.dumps(self.words, ensure_ascii=False)};\n"
        return f"{words}globalThis.oluOne = {json.dumps(list(self.one))};\n"


ENGLISH = InterfaceLanguage("en", "English", checked=True)
_now: ContextVar[InterfaceLanguage] = ContextVar("interface_language", default=ENGLISH)


def read_language(code: str, text: str) -> InterfaceLanguage:
    """One file: `name`, `direction`, `checked`, `one`, and the table `words`."""
    held = from_toml(text)
    words = held.pop("words")
    for english, said in words.items():
        if set(VALUE.findall(english)) != set(VALUE.findall(said)):
            raise ConfigError(f"words/{code}.toml: {said!r} does not hold the values of {english!r}")
    return InterfaceLanguage(code, words=words, **held)


@cache
def languages() -> dict[str, InterfaceLanguage]:
    """Every language of the interface by its code, English first."""
    found = sorted(files("olu.studio").joinpath("words").iterdir(), key=lambda one: one.name)
    read = [read_language(one.name.removesuffix(".toml"), one.read_text("utf-8")) for one in found]
    return {one.code: one for one in [ENGLISH, *read]}


def interface() -> InterfaceLanguage:
    """The language of the request that is being answered."""
    return _now.get()


def t(text: str, several: str = "", /, **values: Any) -> str:
    """A sentence of the interface, by its English words; `{name}` in it takes a value.

    With `several`, the number `n` says which of the two it is, and is shown with its thousands. Where a value is
    Markup, so is what is given back: a sentence may hold a link, and each language puts it where it likes.
    """
    now = interface()
    if several:
        text = text if values["n"] in _one(now, several) else several
        values["n"] = f"{values['n']:,}"
    said = now.words.get(text, text)
    if any(isinstance(value, Markup) for value in values.values()):
        said = escape(said)
    return said.format(**values) if values else said


def _one(now: InterfaceLanguage, several: str) -> Sequence[int]:
    """Which numbers take the first sentence: by the rule of the language in which it will be said."""
    return now.one if several in now.words else ENGLISH.one


def chosen(cookie: str, accepted: str) -> InterfaceLanguage:
    """By the cookie, else by what the browser would like best of what there is, else English."""
    held = languages()
    if cookie in held:
        return held[cookie]
    return next((held[code] for code in _wanted(accepted) if code in held), ENGLISH)


def _wanted(accepted: str) -> Iterator[str]:
    """Codes of an Accept-Language header without their country, the best first."""
    asked = []
    for part in accepted.split(",")[:40]:
        name, _, quality = part.partition(";q=")
        try:
            weight = float(quality or 1)
        except ValueError:
            continue
        if 0 < weight <= 1:
            asked.append((-weight, name.strip().partition("-")[0].lower()))
    yield from (code for _, code in sorted(asked, key=lambda one: one[0]))


class LanguageOfRequest:
    """Sets the language before anything answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            held = dict(part.strip().partition("=")[::2] for part in headers.get("cookie", "").split(";"))
            _now.set(chosen(held.get(COOKIE, ""), headers.get("accept-language", "")))
        await self._app(scope, receive, send)


def literals(source: str) -> list[str]:
    """The sentences that a template or a script asks `t` for."""
    found = (said for one in LITERAL.finditer(source) for said in (one[1] or one[2] or "", one[3] or one[4]))
    return [re.sub(r"\\(.)", r"\1", said) for said in found if said is not None]
