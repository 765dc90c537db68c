"""A language's folder as data: its files, its dialect and its options. What travels in a voice package."""

from __future__ import annotations

import base64
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from olu.core.config import check, did_you_mean, parse_toml
from olu.core.errors import LanguageError
from olu.text.languages import LanguageFile

RETIRED = ("sample",)  # keys of language.toml that voices made earlier carry, and that mean nothing any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The files by name, and what was chosen among the options that language.toml offers."""

    code: str
    files: Mapping[str, bytes]
    facts: LanguageFile
    dialect: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    lexicon: Mapping[str, str] = field(default_factory=dict)  # a person's own words: spelling -> phones with spaces
    chain: tuple[str, ...] = ()  # readings that are tried word by word; none: the language's own

    @staticmethod
    def of(
        files: Mapping[str, bytes],
        *,
        dialect: str | None = None,
        options: Mapping[str, str] | None = None,
        lexicon: Mapping[str, str] | None = None,
        chain: Sequence[str] = (),
        where: str = "this language",
        retired: Collection[str] = (),
    ) -> Pack:
        written = parse_toml(files["language.toml"].decode("utf-8"))
        facts = check(LanguageFile, _without(written, retired), where=f"{where}/language.toml")
        chosen = {name: offered.default for name, offered in facts.options.items()}
        for name, value in (options or {}).items():
            if name not in facts.options:
                hint = did_you_mean(name, facts.options) or f"; it has {', '.join(facts.options) or 'none'}"
                raise LanguageError(f"{facts.name} has no option {name!r}{hint}")
            if value not in facts.options[name].choices:
                choices = ", ".join(facts.options[name].choices)
                raise LanguageError(f"{name} = {value!r} is not one of {choices}: choose one of these")
            chosen[name] = value
        if dialect is not None and dialect not in facts.dialects:
            known = ", ".join(facts.dialects) or "none"
            raise LanguageError(f"{facts.name} has no dialect {dialect!r}: it has {known}")
        spoken = dialect or (facts.dialects[0] if facts.dialects else None)
        held: dict[str, Any] = {"options": chosen, "lexicon": lexicon or {}, "chain": tuple(chain)}
        return Pack(code=facts.code, files=files, facts=facts, dialect=spoken, **held)

    def text(self, name: str) -> str:
        """A file's text; nothing where the folder has no such file."""
        return self.files.get(name, b"").decode("utf-8").removeprefix("\ufeff")

    def rows(self, name: str, *, cells: int = 1) -> list[list[str]]:
        """The rows of a .tsv, without comments and empty lines; each has `cells` cells or more."""
        found = []
        for number, line in enumerate(self.text(name).split("\n"), 1):
            if line.strip() and not line.startswith("#"):
                found.append(line.rstrip("\r").split("\t"))
                if len(found[-1]) < cells:
                    raise LanguageError(f"{self.code}/{name} line {number}: {cells} cells with tabs between are needed")
        return found

    def toml(self, name: str) -> dict[str, Any]:
        return parse_toml(self.text(name))

    @property
    def force(self) -> frozenset[str]:
        """What `@name` in the rules may say: the dialect, and options as name=value."""
        chosen = {f"{name}={value}" for name, value in self.options.items()}
        return frozenset(chosen | ({self.dialect} if self.dialect else set()))

    def state(self) -> dict[str, Any]:
        files = {}
        for name, data in self.files.items():
            try:
                files[name] = data.decode("utf-8")
            except UnicodeDecodeError:
                files[name] = {"base64": base64.b64encode(data).decode("ascii")}  # type: ignore[assignment]
        state = {
            "files": files,
            "dialect": self.dialect,
            "options": dict(self.options),
            "lexicon": dict(self.lexicon),
        }
        return {**state, "chain": list(self.chain)} if self.chain else state

    @staticmethod
    def from_state(state: dict[str, Any]) -> Pack:
        files = {name: _bytes(data) for name, data in state["files"].items()}
        chosen = {name: state[name] for name in ("dialect", "options", "lexicon")} | {"chain": state.get("chain", ())}
        return Pack.of(files, **chosen, retired=RETIRED)


def _without(written: Mapping[str, Any], retired: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in written.items() if name not in retired}


def _bytes(data: Any) -> bytes:
    if isinstance(data, bytes):
        return data
    return base64.b64decode(data["base64"]) if isinstance(data, dict) else str(data).encode("utf-8")


# ---- A person's own words: a .tsv of spelling and phones, which go before every rule


class Lexicon(dict[str, str]):
    """Spelling -> phones with spaces, and where each word stands."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, str] = {}


def place_of(words: Mapping[str, str], word: str) -> str:
    """File and line of a word, where they are known: a voice carries the words alone."""
    return words.places.get(word, "your lexicon") if isinstance(words, Lexicon) else "your lexicon"


def load_lexicon(path: Path) -> Lexicon:
    """Spelling -> phones with spaces; tones stand behind their vowel (a˥), ˈ before a stressed one."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise LanguageError(f"the lexicon {path} is not there: check the path") from None
    except (OSError, UnicodeDecodeError) as bad:
        raise LanguageError(f"the lexicon {path} cannot be read ({bad}): save it as UTF-8") from None
    found = Lexicon()
    for number, raw in enumerate(text.split("\n"), 1):
        line = unicodedata.normalize("NFC", raw.rstrip("\r"))
        if not line.strip() or line.startswith("#"):
            continue
        word, tab, phones = line.partition("\t")
        where = f"{path} line {number}"
        if not tab or "\t" in phones or not word.strip() or not phones.strip():
            raise LanguageError(f"{where}: write a word, a tab and its phones with spaces between: {line!r}")
        if found.get(word.strip(), phones.strip()) != phones.strip():
            raise LanguageError(f"{where}: {word.strip()!r} has other phones above: remove one of the two")
        found[word.strip()] = phones.strip()
        found.places[word.strip()] = where
    return found


# ---- what one word sounds like, and what was done to a text on the way there


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """One word as phones. `tones` are of the phones that `bearers` points at: H M L D, two letters for a contour."""

    phones: tuple[str, ...]
    tones: tuple[str, ...] = ()
    bearers: tuple[int, ...] = ()
    stress: int | None = None  # which phone carries the main stress
    rules: tuple[str, ...] = ()  # what fired, in order, for people who ask
    dropped: tuple[str, ...] = ()  # characters of the word that were not read
    by: str = ""  # which reading of a chain it is of


class Pronouncer(Protocol):
    """Turns one canonical word into phones. What depends on the whole text is decided once, in `mode`."""

    def mode(self, words: Sequence[str]) -> str: ...

    def say(self, word: str, *, mode: str = "") -> Pronunciation: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One rule that changed a stretch of the text."""

    stage: str  # canonical, restore, normalise, pronounce, phrase
    rule: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RestoredWord:
    """A word that was given its marks, how often such a word is right, and whether that is enough."""

    text: str
    confidence: float
    sure: bool


@dataclass(slots=True)
class ReadingTrace:
    """What happens to one text: every change, every word given its marks, every character left out."""

    steps: list[Step] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    restored: list[RestoredWord] = field(default_factory=list)

    def add(self, stage: str, rule: str, before: str, after: str) -> None:
        if before != after:
            self.steps.append(Step(stage, rule, before, after))
