"""Where to cut a long clip: at pauses between words, so that every word of its text is in one piece and whole."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from olu.core.types import Span

TOKEN = re.compile(r"\S+")
SENTENCE = re.compile(r"""[.!?…။።፧፨۔؟।॥。！？]+["'”’»)\]]*\s*$|\n\s*\n\s*$""")


@dataclass(frozen=True, slots=True, kw_only=True)
class CutLengths:
    """How long the pieces are and what is left around them, in seconds."""

    longest: float = 20.0
    shortest: float = 2.0
    margin: float = 0.1  # of a pause that a piece keeps, at most
    least_margin: float = 0.05  # less of a pause is no place to cut
    outside: float = 0.25  # kept before the first word and after the last


@dataclass(frozen=True, slots=True)
class CutPoint:
    """A place between two words: how far into the text it is, and whether a sentence ends there."""

    offset: int
    sentence: bool


@dataclass(frozen=True, slots=True)
class CutPiece:
    """A stretch of a clip: its times, its words from `first` up to `last`, and its text."""

    start: float
    end: float
    first: int
    last: int
    text: str

    @property
    def seconds(self) -> float:
        return self.end - self.start


def places(text: str, words: Sequence[str]) -> dict[int, CutPoint]:
    """How many of `words` come before each place where the text may be cut: where both surely are at the same word.

    A reading has other words than its text: numbers are written out, signs are left out. Words that are alike on both
    sides are anchors, and beside an anchor the count is known.
    """
    tokens = [match for match in TOKEN.finditer(text) if _fold(match[0])]
    alike = SequenceMatcher(None, [_fold(one[0]) for one in tokens], [_fold(word) for word in words], autojunk=False)
    anchors = {a + n: b + n for a, b, size in alike.get_matching_blocks() for n in range(size)}
    found = {}
    for at in range(1, len(tokens)):
        left, right = anchors.get(at - 1), anchors.get(at)
        before = right if left is None else left + 1
        if before is None or (right is not None and right != before):
            continue
        offset = tokens[at].start()
        found[before] = CutPoint(offset, bool(SENTENCE.search(text[tokens[at - 1].start() : offset])))
    return found


def _fold(token: str) -> str:
    """A token's letters and digits alone, to compare by: a reading may put dots and case right."""
    plain = unicodedata.normalize("NFD", token.casefold())
    return "".join(sign for sign in plain if sign.isalnum())


def choose(
    spans: Sequence[Span],
    found: Mapping[int, CutPoint],
    *,
    text: str,
    seconds: float,
    cutting: CutLengths,
    bad: frozenset[int] = frozenset(),
) -> list[CutPiece]:
    """Pieces no longer than asked for where the pauses allow it: at ends of sentences first, then at long pauses.

    `bad` are the words that the aligner is not sure of: no cut touches one.
    """
    cuts = [
        at
        for at in sorted(found)
        if 0 < at < len(spans)
        and at not in bad
        and at - 1 not in bad
        and spans[at].start - spans[at - 1].end >= 2 * cutting.least_margin
    ]
    chosen = _cheapest(spans, [0, *cuts, len(spans)], found, seconds, cutting)
    pieces = []
    for first, last in pairwise(chosen):
        begin = found[first].offset if first else 0
        end = found[last].offset if last < len(spans) else len(text)
        start, stop = _edges(spans, first, last, seconds, cutting)
        pieces.append(CutPiece(start, stop, first, last, text[begin:end].strip()))
    return pieces


def _cheapest(
    spans: Sequence[Span], at: Sequence[int], found: Mapping[int, CutPoint], seconds: float, cutting: CutLengths
) -> list[int]:
    best, back = [0.0], [0]
    for number in range(1, len(at)):
        low, where = math.inf, number - 1
        for before in range(number - 1, -1, -1):
            start, end = _edges(spans, at[before], at[number], seconds, cutting)
            total = best[before] + _length_cost(end - start, cutting)
            if total < low:
                low, where = total, before
            if end - start > cutting.longest:
                break
        best.append(low + (_cut_cost(spans, at[number], found) if number + 1 < len(at) else 0.0))
        back.append(where)
    chosen, number = [at[-1]], len(at) - 1
    while number:
        number = back[number]
        chosen.append(at[number])
    return chosen[::-1]


def _edges(spans: Sequence[Span], first: int, last: int, seconds: float, cutting: CutLengths) -> tuple[float, float]:
    """Start and end of a piece in seconds: either side of a cut gets half the pause, at most the margin."""

    def half(at: int) -> float:
        return min(cutting.margin, (spans[at].start - spans[at - 1].end) / 2)

    start = max(0.0, spans[0].start - cutting.outside) if first == 0 else spans[first].start - half(first)
    last_end = spans[last - 1].end
    end = min(seconds, last_end + cutting.outside) if last == len(spans) else last_end + half(last)
    return start, end


def _length_cost(seconds: float, cutting: CutLengths) -> float:
    if seconds > cutting.longest:
        return 1000.0 * seconds / cutting.longest
    middle = cutting.longest / 2
    short = 8.0 * max(0.0, 1.0 - seconds / cutting.shortest)
    return 0.5 * ((seconds - middle) / middle) ** 2 + short


def _cut_cost(spans: Sequence[Span], at: int, found: Mapping[int, CutPoint]) -> float:
    pause = spans[at].start - spans[at - 1].end
    return (0.0 if found[at].sentence else 2.0) + 1.0 * max(0.0, 1.0 - pause / 0.5)
