"""A reading said with the symbols a voice has: a tone or length it never learnt is left off before a phone is lost."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from olu.core.types import STRESS, TONE_LETTERS, UNKNOWN_TONE, Marks, Word

TONES = "".join(TONE_LETTERS.values())
SECONDARY = "ːʷʼʲʰ̩̍̃̊̚"  # length, labial, ejective, palatal, aspirated, syllabic, nasal, unreleased, voiceless


WEAKER = {"?": ".!", "!": ".?", ".": ";,", ";": ",.", ":": ",;", ",": ";."}  # pauses to take instead, nearest first


class Fit:
    def __init__(self, inventory: Iterable[str], *, marks: Marks) -> None:
        self.known, self.marks = set(inventory), marks
        self._bare = {bare(symbol) for symbol in self.known}

    def word(self, word: Word, dropped: Counter[str]) -> Word:
        """`word` with phones this voice has; those without a relative are counted in `dropped`."""
        if all(symbol in self.known for symbol in word.symbols(self.marks)):
            return word
        tones = dict(zip(word.bearers, word.tones, strict=True))
        phones: list[str] = []
        kept: list[tuple[int, str]] = []
        stress = None
        for place, phone in enumerate(word.phones):
            near = next((some for some in _relatives(phone) if all(one in self._bare for one in some)), None)
            if near is None:
                dropped[phone] += 1
                continue
            if place == word.stress:
                stress = len(phones)
            if place in tones and len(near) == 1:
                kept.append((len(phones), tones[place]))
            phones += near
        return self._marked(Word(word.text, tuple(phones), _second(kept), _first(kept), stress))

    def _has(self, tone: str) -> bool:
        """Whether a tone's own symbols are known."""
        return all(letter in self.known for letter in _letters(tone) or [UNKNOWN_TONE])

    def pause(self, between: str) -> str:
        """A break with the pauses this voice knows; one it has nothing like is left off."""
        kept = ""
        for mark in between:
            near = next((one for one in mark + WEAKER.get(mark, "") if one in self.known), "")
            kept += near
        return kept

    def _marked(self, word: Word) -> Word:
        """Without the marks that these phones were never learnt with; every phone is known bare."""
        if self.marks != "vowel":
            stress = word.stress if STRESS in self.known else None
            pairs = [(at, tone) for at, tone in zip(word.bearers, word.tones, strict=True) if self._has(tone)]
            return Word(word.text, word.phones, _second(pairs), _first(pairs), stress)
        tones = dict(zip(word.bearers, word.tones, strict=True))
        stress = word.stress
        for place, phone in enumerate(word.phones):
            tone = tones.get(place, "?")
            before, after = STRESS if place == stress else "", _letters(tone)
            if f"{before}{phone}{after}" in self.known:
                continue
            if f"{phone}{after}" not in self.known:
                tones.pop(place, None)
            if place == stress and f"{before}{phone}{_letters(tones.get(place, '?'))}" not in self.known:
                stress = None
        kept = sorted(tones.items())
        return Word(word.text, word.phones, _second(kept), _first(kept), stress)


def _letters(tone: str) -> str:
    return "".join(TONE_LETTERS.get(one, "") for one in tone)


def bare(symbol: str) -> str:
    """A symbol without tone and stress."""
    return symbol.removeprefix(STRESS).rstrip(TONES)


def _relatives(phone: str) -> Iterator[list[str]]:
    """The phone itself, then without its secondary marks one after the other, then its parts."""
    yield [phone]
    plain = unicodedata.normalize("NFD", phone)
    for mark in SECONDARY:
        if mark in plain:
            plain = plain.replace(mark, "")
            yield [unicodedata.normalize("NFC", plain)]
    if "͡" in plain:
        yield plain.split("͡")


def _first(pairs: list[tuple[int, str]]) -> tuple[int, ...]:
    return tuple(place for place, _ in pairs)


def _second(pairs: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(tone for _, tone in pairs)
