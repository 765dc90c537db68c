"""A normal text as words and what stands between them."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from functools import cache

JOINERS = "'’ʼ-‐‑"  # inside a word these belong to it
PAUSES = " ,.?!;:"  # all a break can hold, from the weakest to the strongest kinds of pause
FOLDS = {
    "…": ".",
    "–": ",",
    "—": ",",
    "―": ",",
    "(": ",",
    ")": ",",
    "[": ",",
    "]": ",",
    "{": ",",
    "}": ",",
    "/": " ",
    "\\": " ",
    "-": " ",
    "‐": " ",
    "‑": " ",
    "·": " ",
    "•": ",",
    "。": ".",
    "、": ",",
    "，": ",",
    "？": "?",
    "！": "!",
    "؟": "?",
    "،": ",",
    "؛": ";",
    "।": ".",
    "፡": " ",
    "።": ".",
    "፣": ",",
    "፥": ",",
    "፤": ";",
    "፦": ":",
    "፧": "?",
    "፨": ".",
}
SILENT = "\"'`´‘’‚‛“”„‟«»‹›¿¡ʼʹ*_|~^"  # seen, not said


@cache
def _marks() -> str:
    """Every combining mark, as ranges for a regular expression, which has no class for them."""
    points = [p for p in range(sys.maxunicode + 1) if p < 0x20000 and unicodedata.category(chr(p))[0] == "M"]
    ranges: list[list[int]] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


@cache
def _word() -> re.Pattern[str]:
    letter = rf"(?:[^\W_]|[{_marks()}])"
    return re.compile(rf"{letter}+(?:[{re.escape(JOINERS)}]{letter}+)*")


def split(normal: str) -> tuple[list[str], list[str]]:
    """Words, and one more break than words, as they stand."""
    words: list[str] = []
    breaks: list[str] = []
    at = 0
    for match in _word().finditer(normal):
        breaks.append(normal[at : match.start()])
        words.append(match[0])
        at = match.end()
    breaks.append(normal[at:])
    return words, breaks


@cache
def _folded(raw: str) -> tuple[str, tuple[str, ...]]:
    """What of a break is heard, and what of it was not read."""
    kept: list[str] = []
    lost: list[str] = []
    for character in raw:
        if character in PAUSES or character.isspace():
            kept.append(" " if character.isspace() else character)
        elif character in FOLDS:
            kept.append(FOLDS[character])
        elif character not in SILENT:
            lost.append(character)
    marks = "".join(mark for mark in kept if mark != " ")
    spaced = " " if " " in kept else ""
    # a row of marks is one pause: the strongest, and a question before a full stop
    strongest = next((mark for mark in "?!.;:," if mark in marks), "")
    return strongest + spaced, tuple(lost)


def fold(raw: str, dropped: Counter[str]) -> str:
    heard, lost = _folded(raw)
    dropped.update(lost)
    return heard
