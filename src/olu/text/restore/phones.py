"""Grapheme to phone, learnt from a list of words and their phones: each letter carries the phones it is read as."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from olu.core.errors import LanguageError
from olu.text.language_data import Pack, Pronunciation
from olu.text.letters import Symbols, align_letters, error_rate
from olu.text.restore.engine import LetterModel, TaughtWord, eight_bits, fit_choices, letter_cases
from olu.text.restore.marks import archive, opened

FILE = "g2p.npz"
KIND = "g2p"
SLOTS = 1 << 18
LEAST_WORDS = 50
TONES = {"\u0301": "H", "\u0300": "L", "\u0304": "M", "\u0302": "HL", "\u030c": "LH"}
CACHED = 50_000


@dataclass(frozen=True, slots=True)
class PhoneModel:
    """What a file holds: of each letter, what it may be read as, and the weights."""

    language: str
    letters: LetterModel

    def to_bytes(self) -> bytes:
        table, scale = eight_bits(self.letters.table)
        allowed = {char: list(some) for char, some in self.letters.allowed.items()}
        about = {"kind": KIND, "language": self.language, "allowed": allowed, "scale": scale}
        return archive(about, self.letters.labels, letters=table)

    @staticmethod
    def from_bytes(data: bytes, *, where: str = FILE, language: str = "") -> PhoneModel:
        about, labels, tables = opened(data, kind=KIND, where=where, language=language)
        allowed = {char: tuple(some) for char, some in about["allowed"].items()}
        table = tables["letters"].astype(np.float32) * about["scale"]
        return PhoneModel(about["language"], LetterModel(labels, allowed, "".join(allowed), table))

    @property
    def phones(self) -> list[str]:
        """Every phone it can say, without tones."""
        return sorted({_toneless(phone)[0] for label in self.letters.labels for phone in label.split()})


@dataclass(frozen=True, slots=True)
class PhoneReport:
    """How words that were held back were read, in shares; `letters` is reading by letters as they stand."""

    words: int
    held: int
    word_errors: float
    phone_errors: float
    letter_word_errors: float
    letter_phone_errors: float


class LearntPronouncer:
    """A word by what its letters are read as; a letter that the list did not have is left out and told."""

    def __init__(self, model: PhoneModel) -> None:
        self.model = model
        self._known: dict[str, Pronunciation] = {}

    @staticmethod
    def of(pack: Pack) -> LearntPronouncer | None:
        data = pack.files.get(FILE)
        return None if data is None else LearntPronouncer(PhoneModel.from_bytes(data, language=pack.code))

    def mode(self, words: Sequence[str]) -> str:
        return ""

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        known = self._known.get(word)
        if known is None:
            known = self._say(unicodedata.normalize("NFC", word.lower()))
            if len(self._known) < CACHED:
                self._known[word] = known
        return known

    def _say(self, word: str) -> Pronunciation:
        letters = self.model.letters
        plain = "".join(char for char in word if char in letters.allowed)
        labels, _ = letters.guess(plain)
        phones: list[str] = []
        tones: list[str] = []
        bearers: list[int] = []
        for symbol in (one for label in labels for one in letters.labels[label].split()):
            phone, tone = _toneless(symbol)
            if tone:
                tones.append(tone)
                bearers.append(len(phones))
            phones.append(phone)
        dropped = tuple(char for char in word if char not in letters.allowed)
        return Pronunciation(
            tuple(phones), tuple(tones), tuple(bearers), rules=("learnt from a list",), dropped=dropped
        )


def _toneless(symbol: str) -> tuple[str, str]:
    """A phone without the tone that is written over it, and that tone."""
    flat = unicodedata.normalize("NFD", symbol)
    tone = "".join(TONES.get(char, "") for char in flat)
    kept = "".join(char for char in flat if char not in TONES)
    return unicodedata.normalize("NFC", kept), tone[:2]


def learn_phones(words: Mapping[str, Symbols], *, language: str) -> tuple[PhoneModel, PhoneReport]:
    """From all words; what half of them teach is judged by the other half."""
    if len(words) < LEAST_WORDS:
        raise LanguageError(f"{len(words)} words are too few to learn how letters are read: give {LEAST_WORDS} or more")
    half = {word for word in words if hashlib.sha256(word.encode("utf-8")).digest()[0] % 2}
    first = {word: phones for word, phones in words.items() if word in half}
    rest = {word: phones for word, phones in words.items() if word not in half}
    return _fitted(words, language), judge_phones(_fitted(first, language), rest, learnt=len(words))


def judge_phones(model: PhoneModel, words: Mapping[str, Symbols], *, learnt: int = 0) -> PhoneReport:
    """Words against their phones, tones and all."""
    said, plain = [], []
    for word, phones in words.items():
        labels, _ = model.letters.guess("".join(char for char in word if char in model.letters.allowed))
        said.append((list(phones), [one for label in labels for one in model.letters.labels[label].split()]))
        plain.append((list(phones), [char for char in word if char.isalpha()]))
    rate, same = error_rate(said)
    letter_rate, letter_same = error_rate(plain)
    return PhoneReport(learnt, len(words), 1 - same, rate, 1 - letter_same, letter_rate)


def _fitted(words: Mapping[str, Symbols], language: str) -> PhoneModel:
    aligned = align_letters(words)
    if not aligned:
        raise LanguageError("no word of the list has phones that its letters can be read as: check its columns")
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for word, shares in aligned:
        for letter, share in zip(word, shares, strict=True):
            seen[letter][" ".join(share)] += 1
    labels = ("", *sorted({label for counts in seen.values() for label in counts} - {""}))
    number = {label: place for place, label in enumerate(labels)}
    allowed = {letter: tuple(sorted(number[label] for label in counts)) for letter, counts in sorted(seen.items())}
    empty = LetterModel(labels, allowed, "".join(allowed), np.zeros(SLOTS))
    told = [TaughtWord(word, tuple(number[" ".join(share)] for share in shares)) for word, shares in aligned]
    table = fit_choices(letter_cases(told, empty), SLOTS, epochs=10, rate=0.1, batch=32, start=0.1)
    return PhoneModel.from_bytes(PhoneModel(language, replace(empty, table=table)).to_bytes())
