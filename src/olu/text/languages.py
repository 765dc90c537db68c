"""Which language is meant, and what its folder under languages/ says of it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import Field

from olu.config import Strict, check, did_you_mean, read_toml
from olu.errors import LanguageError

FOLDERS = Path(__file__).parents[1] / "languages"
SENTENCE_ENDS = (".", "?", "!", "…", "؟", "۔", "।", "॥", "။", "។", "።", "፧", "。", "？", "！", "։")
TAG = re.compile(r"([a-z]{2,3})([-_][a-z0-9]{1,8})*", re.ASCII)


class Facts(Strict):
    """A language.toml, as people write it."""

    code: str = Field(pattern="^[a-z]{3}$")
    name: str = Field(min_length=1)
    native: str = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    script: str = Field(pattern="^[A-Z][a-z]{3}$")  # ISO 15924
    lower: bool
    sentence_ends: tuple[str, ...] = Field(min_length=1)
    sample: str | None = None
    licence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    code: str  # ISO 639-3
    name: str
    native: str
    script: str = "Zyyy"
    lower: bool = True  # capitals are read as small letters
    sentence_ends: tuple[str, ...] = SENTENCE_ENDS
    aliases: tuple[str, ...] = ()
    sample: str | None = None  # the espeak-ng voice that `olu sample` records
    licence: str | None = None  # of the sentences
    folder: Path | None = None  # none: nothing is shipped, letters are read as they stand

    def sentences(self) -> list[str]:
        path = self.folder / "sentences.txt" if self.folder else None
        if path is None or not path.is_file():
            return []
        return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]

    @property
    def has_sample(self) -> bool:
        return self.sample is not None and bool(self.sentences())


def resolve(code: str) -> str:
    """The ISO 639-3 code for a two- or three-letter code, a tag such as am-ET, or a name."""
    word = _fold(code)
    if found := _names().get(word):
        return found
    tag = TAG.fullmatch(word)
    base = tag[1] if tag else ""
    if found := _names().get(base) or _codes().get(base):
        return found
    if base in _iso639_3():
        return base
    hint = did_you_mean(word, [*_names(), *_codes()])
    raise LanguageError(
        f"no language {code!r}{hint or ';'} give an ISO 639 code such as 'amh' or 'am'"
        " ('olu languages' lists those with a folder of their own)"
    )


def load(code_or_path: str | Path) -> Language:
    """A language by code, or by the path of a folder with a language.toml; a string with a slash is a path."""
    if isinstance(code_or_path, Path) or "/" in code_or_path or "\\" in code_or_path:
        folder = Path(code_or_path)
        if not (folder / "language.toml").is_file():
            raise LanguageError(f"{folder} has no language.toml: name a language's folder, or give its code")
        return _open(folder)
    code = resolve(code_or_path)
    if (FOLDERS / code / "language.toml").is_file():
        return _open(FOLDERS / code)
    name = next((row[2] for row in _iso639_1() if row[1] == code), code)
    return Language(code=code, name=name, native=name)


def available() -> list[Language]:
    """The languages that have a folder in the package, by code."""
    return [_open(path.parent) for path in sorted(FOLDERS.glob("*/language.toml"))]


def _open(folder: Path) -> Language:
    path = folder / "language.toml"
    facts = check(Facts, read_toml(path), where=str(path))
    return Language(folder=folder, **facts.model_dump())


@cache
def _names() -> dict[str, str]:
    """Folded names and aliases; a shipped folder's own words go before the table's."""
    table = {_fold(row[2]): row[1] for row in _iso639_1()}
    shipped = {_fold(word): one.code for one in available() for word in (one.name, one.native, *one.aliases)}
    return table | shipped


@cache
def _codes() -> dict[str, str]:
    """Two-letter codes and the bibliographic three-letter ones."""
    return {code: row[1] for row in _iso639_1() for code in (row[0], row[3]) if code}


@cache
def _iso639_1() -> list[list[str]]:
    lines = (FOLDERS / "iso639-1.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[1:]]


@cache
def _iso639_3() -> frozenset[str]:
    return frozenset((FOLDERS / "iso639-3.txt").read_text(encoding="ascii").split())


def _fold(word: str) -> str:
    """Names are found whatever their case and accents."""
    plain = unicodedata.normalize("NFKD", word.strip().casefold())
    return "".join(char for char in plain if not unicodedata.combining(char))
