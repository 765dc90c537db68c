"""What the recogniser writes for a reading, how that is spelled, and how far two spellings are apart."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from olu.text import fidel, words
from olu.text.languages import traits
from olu.text.vocabulary import BLANK

if TYPE_CHECKING:
    from olu.core.types import Reading
    from olu.families.recogniser.config import RecogniserConfig

TONES = frozenset("\u0300\u0301\u0302\u0304\u030c\u030d\u0340\u0341")  # grave acute circumflex macron caron line
APOSTROPHES = "’ʼ"


@dataclass(frozen=True)
class Writing:
    """Letters or symbols of one language. Symbols are what the network tells apart; spelling makes letters of them."""

    units: str
    language: str
    tone_marks: str = "remove"

    def symbols(self, reading: Reading) -> list[str]:
        """What is to be written for a reading."""
        if self.units == "symbols":
            return [phone for word in reading.words for phone in word.phones if phone != BLANK]
        return self.parts(self._letters(reading))

    def _letters(self, reading: Reading) -> str:
        text = letters(reading.normal)
        if self.tone_marks == "remove" and (traits(self.language).tonal or any(word.tones for word in reading.words)):
            text = without_tones(text)
        return text

    def parts(self, letters: Sequence[str]) -> list[str]:
        """What is written for these letters; phones stay as they are."""
        if self.units == "symbols":
            return list(letters)
        text = "".join(letters)
        return fidel.sounds(text) if traits(self.language).letters_by_sound else fidel.decompose(text)

    def spell(self, symbols: Sequence[str]) -> list[str]:
        """The letters of what was written, a space between words; phones stay as they are."""
        if self.units == "symbols":
            return list(symbols)
        put = fidel.spelled if traits(self.language).letters_by_sound else fidel.compose
        return list(" ".join(put(symbols).split()))


def writing(config: RecogniserConfig, *, language: str) -> Writing:
    return Writing(config.units, language, config.tone_marks)


def letters(normal: str) -> str:
    """Lower case, NFC, the words alone with a space between them."""
    plain = unicodedata.normalize("NFC", normal).lower()
    for mark in APOSTROPHES:
        plain = plain.replace(mark, "'")
    found, _ = words.split(unicodedata.normalize("NFC", plain))
    return " ".join(" ".join(found).replace("-", " ").replace(BLANK, " ").split())


def without_tones(text: str) -> str:
    """Dots below stay: they are other letters."""
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if c not in TONES)
    return unicodedata.normalize("NFC", bare)


def collapsed(best: Sequence[int]) -> list[int]:
    """CTC's reading of the best symbol of each frame: repeats are one, and blanks nothing."""
    return [one for one, before in zip(best, [0, *best][: len(best)], strict=True) if one and one != before]


Spell = Callable[[Sequence[str]], list[str]]
