"""The algorithms a language.toml can name, each in a file of its own, imported when a language asks for it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import cast

from olu.core.errors import LanguageError
from olu.text.language_data import Pack
from olu.text.pronunciation import Pronouncer, ReadingTrace
from olu.text.rules.pronouncer import RulePronouncer

APOSTROPHE = re.compile(r"(?<=[^\W_])[‘`´′＇](?=[^\W_])")
Change = Callable[[str, ReadingTrace], str]

CANONICAL = {"igbo": "olu.languages.ibo.code", "ethiopic": "olu.languages.amh.code", "yoruba": "olu.languages.yor.code"}
RESTORE = {"dots": "olu.languages.ibo.dots"}
PRONOUNCE = {
    "igbo": "olu.languages.ibo.code",
    "ethiopic": "olu.languages.amh.code",
    "yoruba": "olu.languages.yor.code",
    "spanish": "olu.languages.spa.code",
    "swahili": "olu.languages.swa.code",
}


def canonical(pack: Pack) -> Change:
    name = pack.facts.reading.canonical
    if name == "plain":
        return _lower if pack.facts.lower else _composed
    return cast(Change, _named(CANONICAL, name, pack, "canonical").canonical)  # type: ignore[attr-defined]


def restore(pack: Pack) -> Change | None:
    name = pack.facts.reading.restore
    return None if name is None else cast(Change, _named(RESTORE, name, pack, "restore").make(pack))  # type: ignore[attr-defined]


def pronouncer(pack: Pack) -> Pronouncer:
    name = pack.facts.reading.pronounce
    if name == "rules":
        return RulePronouncer(pack)
    return cast(Pronouncer, _named(PRONOUNCE, name or "", pack, "pronounce").make(pack))  # type: ignore[attr-defined]


def detected(pack: Pack, texts: Iterable[str]) -> dict[str, str]:
    """The options that a whole corpus decides, such as how it writes its tones."""
    name = pack.facts.reading.pronounce or ""
    detect = getattr(import_module(PRONOUNCE[name]), "detect", None) if name in PRONOUNCE else None
    return dict(detect(pack, texts)) if detect else {}


def _named(known: dict[str, str], name: str, pack: Pack, key: str) -> object:
    if name not in known:
        raise LanguageError(f"{pack.code}: reading.{key} = {name!r} is not one of {', '.join(known)}")
    return import_module(known[name])


def _joined(text: str) -> str:
    """Other signs that people type for an apostrophe inside a word: ng‘ombe, ng´ombe."""
    return text if text.isascii() and "`" not in text else APOSTROPHE.sub("'", text)


def _composed(text: str, notes: ReadingTrace) -> str:
    return _joined(unicodedata.normalize("NFC", text))


def _lower(text: str, notes: ReadingTrace) -> str:
    return unicodedata.normalize("NFC", _joined(unicodedata.normalize("NFC", text)).lower())
