"""Which language is meant, and what its folder under languages/ says of it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from olu.core.config import Strict, check, did_you_mean, read_toml
from olu.core.errors import LanguageError

FOLDERS = Path(__file__).parents[1] / "languages"
ALIEN = (".py", ".pyc")
MARKS = "marks.npz"  # a restorer of marks, which a reading takes along only where it is asked for
TRAITS = "traits.toml"
SENTENCE_ENDS = (".", "?", "!", "…", "؟", "۔", "।", "॥", "။", "។", "።", "፧", "。", "？", "！", "։")
TAG = re.compile(r"([a-z]{2,3})([-_][a-z0-9]{1,8})*", re.ASCII)


class Option(Strict):
    """A choice a language offers: its values, and the one taken when nobody chooses."""

    choices: tuple[str, ...] = Field(min_length=2)
    default: str
    help: str = Field(min_length=1)

    @model_validator(mode="after")
    def _default_is_a_choice(self) -> Self:
        if self.default not in self.choices:
            raise ValueError(f"the default {self.default!r} is not one of the choices")
        return self


class Reads(Strict):
    """Which algorithms of text/ read the language."""

    canonical: str = "plain"
    restore: str | None = None
    pronounce: str | None = None  # none: letters are read as they stand


class Accuracy(Strict):
    """A measurement, as `olu languages` shows it."""

    set: str = Field(min_length=1)
    rows: int = Field(gt=0)
    measure: str = Field(min_length=1)
    value: float
    seen: bool  # whether the rules were written with this set in view


class LanguageFile(Strict):
    """A language.toml, as people write it."""

    code: str = Field(pattern="^[a-z]{3}$")
    name: str = Field(min_length=1)
    native: str = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    script: str = Field(pattern="^[A-Z][a-z]{3}$")  # ISO 15924
    lower: bool
    sentence_ends: tuple[str, ...] = Field(min_length=1)
    licence: str | None = None
    dialects: tuple[str, ...] = ()  # the first is the default
    options: dict[str, Option] = Field(default_factory=dict)
    reading: Reads = Field(default_factory=Reads)
    accuracy: tuple[Accuracy, ...] = ()


class Traits(Strict):
    """A traits.toml: what audit, training and evaluation ask of a language. A reading does not hang on it."""

    tonal: bool = False  # tones are heard, even where the reading is by letters and knows of none
    letters_by_sound: bool = False  # letters of one sound are written alike
    symbols_per_letter: float = Field(1.0, gt=0)  # that a recogniser tells apart
    dotted_vowels: str = ""  # vowels that are other sounds with a dot below
    loan_letters: tuple[str, ...] = ()  # which only names and loans have: prompts to record leave them out
    near: tuple[str, ...] = ()  # codes: whose published checkpoints come next
    tone_carrier: str = ""  # a sentence with {} in the place of a word
    tone_sets: tuple[tuple[str, ...], ...] = ()  # words that differ in tone alone, every syllable marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    code: str  # ISO 639-3
    name: str
    native: str
    script: str = "Zyyy"
    lower: bool = True  # capitals are read as small letters
    sentence_ends: tuple[str, ...] = SENTENCE_ENDS
    aliases: tuple[str, ...] = ()
    licence: str | None = None  # of the sentences
    dialects: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    reading: Reads = field(default_factory=Reads)
    accuracy: tuple[Accuracy, ...] = ()
    folder: Path | None = None  # none: nothing is shipped, letters are read as they stand

    def sentences(self) -> list[str]:
        path = self.folder / "sentences.txt" if self.folder else None
        if path is None or not path.is_file():
            return []
        return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]

    def files(self) -> dict[str, bytes]:
        """The data of the folder, by name."""
        if self.folder is None:
            return {}
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir()) if _is_data(path)}


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


@cache
def two_letters(code: str) -> str | None:
    """The ISO 639-1 code of a language, where it has one."""
    return next((row[0] for row in _iso639_1() if row[1] == code), None)


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


@cache
def traits(code: str) -> Traits:
    path = FOLDERS / code / TRAITS
    known = code.isalpha() and path.is_file()
    return check(Traits, read_toml(path), where=str(path)) if known else Traits()


def folder_hash(language: Language) -> str:
    """What a reading hangs on: the files of the language's folder."""
    digest = hashlib.sha256(language.code.encode())
    for name, data in language.files().items():
        digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest()


def available() -> list[Language]:
    """The languages that have a folder in the package, by code."""
    return [_open(path.parent) for path in sorted(FOLDERS.glob("[a-z]*/language.toml"))]


def _open(folder: Path) -> Language:
    path = folder / "language.toml"
    facts = check(LanguageFile, read_toml(path), where=str(path))
    return Language(folder=folder, **{name: getattr(facts, name) for name in LanguageFile.model_fields})


def _is_data(path: Path) -> bool:
    hidden = path.name.startswith((".", "__")) or path.name in (TRAITS, MARKS)
    return path.is_file() and not hidden and path.suffix not in ALIEN


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
    """A name in lower case without accents, to find it by."""
    plain = unicodedata.normalize("NFKD", word.strip().casefold())
    return "".join(char for char in plain if not unicodedata.combining(char))
