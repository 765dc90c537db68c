"""Ethiopic syllables as a consonant and a vowel, and back: some 300 letters are too many for little speech.

A consonant is written as the letter of the sixth order, which has no vowel of its own; a vowel as the letter that the
series of አ has for it. So ቡ is ብ ኡ, ብ is ብ, and ኡ itself is እ ኡ: what is written can always be put together again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

FIRST, LAST = 0x1200, 0x1357  # the series; what follows are letters that belong to none
ORDERS = 8
BARE = 5  # the sixth order
CARRIER = 0x12A0  # አ
VOWELS = tuple(chr(CARRIER + order) for order in range(ORDERS))
# The first letter of these two series sounds as the fourth; written like it, one vowel symbol has one sound.
SOUNDED = str.maketrans("ሀአ", "ሃኣ")

FOLDED = str.maketrans(
    {ord(row) + order: ord(to) + order for row, to in zip("ሐኀኸሠዐፀ", "ሀሀሀሰአጸ", strict=True) for order in range(7)}
    | {ord(a): "ሀ" for a in "ሃሓኃኻ"}
    | {ord(a): "አ" for a in "ኣዓ"}
    | {ord("ሧ"): "ሷ", ord("ፇ"): "ጾ"}
    | {0x12C0 + order: 0x1288 + order for order in (0, 2, 3, 4, 5)}
)


def fold(text: str) -> str:
    """The text with letters of one sound written alike, for looking words up and for comparing texts."""
    return text.translate(FOLDED)


@cache
def _parts(letter: str) -> tuple[str, ...]:
    point = ord(letter)
    if not FIRST <= point <= LAST:
        return (letter,)
    row, order = point - point % ORDERS, point % ORDERS
    bare = chr(row + BARE)
    if order == BARE or not unicodedata.name(bare, ""):
        return (letter,)
    return bare, VOWELS[order]


def decompose(text: str) -> list[str]:
    """Every letter as one or two symbols; what is no Ethiopic syllable stays as it is."""
    return [part for letter in text for part in _parts(letter)]


def compose(symbols: Iterable[str]) -> str:
    """The letters of these symbols. A vowel that follows no bare consonant is a letter of its own."""
    letters: list[str] = []
    open_ = False  # whether the last letter waits for a vowel
    for symbol in symbols:
        if open_ and symbol in VOWELS and symbol != VOWELS[BARE] and (made := _joined(letters[-1], symbol)):
            letters[-1], open_ = made, False
            continue
        letters.append(symbol)
        open_ = len(symbol) == 1 and FIRST <= ord(symbol) <= LAST and ord(symbol) % ORDERS == BARE
    return "".join(letters)


def _joined(bare: str, vowel: str) -> str:
    letter = chr(ord(bare) - BARE + VOWELS.index(vowel))
    return letter if unicodedata.name(letter, "") else ""


def sounds(text: str) -> list[str]:
    """Amharic as consonants and vowels, letters of one sound alike."""
    return decompose(fold(text).translate(SOUNDED))


def spelled(symbols: Sequence[str]) -> str:
    """Amharic letters of these consonants and vowels, letters of one sound alike."""
    return fold(compose(symbols))
