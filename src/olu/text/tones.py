"""Tone marks to tones: what an unmarked syllable means depends on who wrote the text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from olu.text.language_data import Pack

ACUTE, GRAVE, MACRON, CIRCUMFLEX, CARON = "\u0301", "\u0300", "\u0304", "\u0302", "\u030c"
MARKS = {ACUTE: "H", GRAVE: "L", MACRON: "D", CIRCUMFLEX: "HL", CARON: "LH"}
UNKNOWN = "?"
CONVENTIONS = ("unmarked_high", "full", "welmers", "sparse")

FULL = 0.8  # this share of syllables marked, and the text is marked throughout
SPARSE = 0.05  # below it marks only part homographs
ACUTES = 0.02  # below it high tones are left unmarked
EVIDENCE = 3  # a word or two do not show what their writer leaves unmarked
STARTS = 0.9  # step notation marks the first syllable of a word

RISE, LEVEL = 1.0, 1.5  # semitones
STEP = (0.7, 4.0)  # down, for a high tone after a downstep
HEIGHT = {"L": 0, "M": 1, "H": 2, "D": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a text or a corpus marks its tones, and what was counted."""

    convention: str
    sure: bool  # false: a person should say which convention it is
    units: int
    marked: int
    acutes: int


def detect(words: Iterable[Sequence[str]]) -> Found:
    """The convention from the marks of each word's syllables, an empty string where there is none."""
    units = marked = acutes = started = mixed = graves = 0
    for marks in words:
        here = sum(map(bool, marks))
        units += len(marks)
        marked += here
        acutes += marks.count(ACUTE)
        graves += marks.count(GRAVE)
        if 0 < here < len(marks):
            mixed += 1
            started += bool(marks[0])
    sure, convention = True, "sparse"
    if marked >= FULL * units > 0:
        convention = "full"
    elif marked < SPARSE * units or not units:
        convention = "sparse"
    elif graves >= EVIDENCE and acutes < ACUTES * marked:
        convention = "unmarked_high"
    elif mixed >= EVIDENCE and acutes and started >= STARTS * mixed:
        convention = "welmers"
    else:
        sure = False
    return Found(convention=convention, sure=sure, units=units, marked=marked, acutes=acutes)


def read(marks: Sequence[str], *, convention: str, before: str = "") -> tuple[str, ...]:
    """A tone per syllable; `before` is the last tone of the word before, where step notation needs it."""
    if convention == "welmers":
        return _legal(_steps(marks, before), before)
    blank = "H" if convention == "unmarked_high" else UNKNOWN
    return _legal([MARKS.get(mark, blank) for mark in marks], before)


def _steps(marks: Sequence[str], before: str) -> list[str]:
    """Welmers: an acute is a step down from a high tone, an unmarked syllable stays as high as the last."""
    tones: list[str] = []
    state = before[-1:]
    for mark in marks:
        if mark == ACUTE:
            tone = "D" if state in ("H", "D") else "H"
        elif mark:
            tone = MARKS[mark]
        else:
            tone = {"H": "H", "D": "H", "L": "L"}.get(state, UNKNOWN)
        tones.append(tone)
        state = tone[-1]
    return tones


def _legal(tones: Sequence[str], before: str) -> tuple[str, ...]:
    """A downstep follows a high tone: at the beginning and after a low one it is a high tone."""
    legal: list[str] = []
    state = before[-1:]
    for tone in tones:
        legal.append("H" if tone == "D" and state in ("", "L") else tone)
        state = legal[-1][-1]
    return tuple(legal)


# ---- how large the step of pitch from one tone to the next should be


def step_range(kind: str) -> tuple[float, float]:
    """Least and most semitones of a move such as "HL": a step down from high to low."""
    first, second = kind[0], kind[1]
    if second == "D" and first in "HD":
        return -STEP[1], -STEP[0]
    if HEIGHT[second] == HEIGHT[first]:
        return -LEVEL, LEVEL
    return (RISE, float("inf")) if HEIGHT[second] > HEIGHT[first] else (-float("inf"), -RISE)


def fits(kind: str, semitones: float) -> bool:
    """Whether a move of this kind goes as it should."""
    low, high = step_range(kind)
    return low <= semitones <= high


# ---- which phone of a word carries the main stress


def kinds(pack: Pack, *wanted: str) -> frozenset[str]:
    """The phones of phones.tsv that are of these kinds."""
    listed = (row for row in pack.rows("phones.tsv") if len(row) > 1 and row[1].strip() in wanted)
    return frozenset(unicodedata.normalize("NFC", row[0].strip()) for row in listed)


def from_end(phones: Sequence[str], nuclei: frozenset[str], count: int) -> int | None:
    """The place of the nucleus that is the `count`th from the end, or the first where there are fewer."""
    found = [place for place, phone in enumerate(phones) if phone in nuclei]
    return found[max(len(found) - count, 0)] if found else None
