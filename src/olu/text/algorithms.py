"""The algorithms a language.toml can name: modules in the folders of languages, imported when one is asked for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, cast

from olu.core.errors import LanguageError
from olu.core.types import Word
from olu.text.language_data import Pack, Pronouncer, ReadingTrace
from olu.text.languages import FOLDERS
from olu.text.rules.engine import RulePronouncer

APOSTROPHE = re.compile(r"(?<=[^\W_])[‘`´′＇](?=[^\W_])")
Change = Callable[[str, ReadingTrace], str]
PhraseChange = Callable[[Sequence[Word], Sequence[str], ReadingTrace], list[Word]]  # words, what stands before each

NAMED = re.compile(r'^ALGORITHM = "(\w+)"$', re.MULTILINE)


@cache
def _modules() -> dict[str, str]:
    """The algorithms in the folders of languages, by name."""
    found = {}
    for path in sorted(FOLDERS.glob("[a-z]*/*.py")):
        if name := NAMED.search(path.read_text(encoding="utf-8")):
            found[name[1]] = f"olu.languages.{path.parent.name}.{path.stem}"
    return found


def canonical(pack: Pack) -> Change:
    name = pack.facts.reading.canonical
    if name == "plain":
        return _lower if pack.facts.lower else _composed
    return cast(Change, _find("canonical", name, pack, key="canonical"))


def restore(pack: Pack) -> Change | None:
    name = pack.facts.reading.restore
    return None if name is None else cast(Change, _find("make_restorer", name, pack, key="restore")(pack))


def pronouncer(pack: Pack) -> Pronouncer:
    """The language's own rules."""
    name = pack.facts.reading.pronounce
    if name == "rules":
        return RulePronouncer(pack)
    return cast(Pronouncer, _find("make", name or "", pack, key="pronounce")(pack))


def phrase(pack: Pack) -> PhraseChange | None:
    """What changes the tones of words beside one another, where the language has that and it is asked for."""
    name = pack.facts.reading.pronounce or ""
    made = getattr(import_module(_modules()[name]), "phrase", None) if name in _modules() else None
    return cast(PhraseChange | None, made(pack)) if made else None


def detected(pack: Pack, texts: Iterable[str]) -> dict[str, str]:
    """The options that a whole corpus decides, such as how it writes its tones."""
    name = pack.facts.reading.pronounce or ""
    detect = getattr(import_module(_modules()[name]), "detect", None) if name in _modules() else None
    return dict(detect(pack, texts)) if detect else {}


def clear_conventions(pack: Pack) -> tuple[str, ...]:
    """What the lines of a file show beyond doubt when they are taken together."""
    name = pack.facts.reading.pronounce or ""
    return tuple(getattr(import_module(_modules()[name]), "CLEAR", ())) if name in _modules() else ()


def marked_speller(pack: Pack) -> Callable[[str, str], str | None] | None:
    """What writes a word with the marks that its phones have, where the language knows how."""
    name = pack.facts.reading.pronounce or ""
    made = getattr(import_module(_modules()[name]), "marked_speller", None) if name in _modules() else None
    return cast(Callable[[str, str], str | None], made(pack)) if made else None


def _find(function: str, name: str, pack: Pack, *, key: str) -> Callable[..., Any]:
    module = import_module(_modules()[name]) if name in _modules() else None
    if hasattr(module, function):
        return cast(Callable[..., Any], getattr(module, function))
    known = [other for other, home in _modules().items() if hasattr(import_module(home), function)]
    raise LanguageError(f"{pack.code}: reading.{key} = {name!r} is not one of {', '.join(known)}")


def _joined(text: str) -> str:
    """The text with a plain apostrophe for other signs that people type inside a word: ng‘ombe, ng´ombe."""
    return text if text.isascii() and "`" not in text else APOSTROPHE.sub("'", text)


def _composed(text: str, notes: ReadingTrace) -> str:
    return _joined(unicodedata.normalize("NFC", text))


def _lower(text: str, notes: ReadingTrace) -> str:
    return unicodedata.normalize("NFC", _joined(unicodedata.normalize("NFC", text)).lower())
