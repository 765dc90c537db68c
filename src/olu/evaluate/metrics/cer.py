"""How much of what was said a recogniser understands: errors in letters and words, against natural speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from olu.evaluate.estimates import Estimate, Trust, differences, figure, lowest, mean, paired, pick

HARD = 0.5  # more wrong letters than this: the sentence was not understood
NATURAL_MOST = 0.20  # a recogniser that errs more on natural speech judges nothing
WIDEST = 0.02  # half width of the difference's interval
INFLATED = "the recogniser knows this speaker and room, which makes every figure here look better than it is"


@dataclass(frozen=True, slots=True)
class Edits:
    """What must be changed in `length` symbols to get what was heard."""

    substituted: int
    deleted: int
    inserted: int
    length: int

    @property
    def total(self) -> int:
        return self.substituted + self.deleted + self.inserted

    @property
    def rate(self) -> float:
        """Errors per symbol; can pass 1. Of an empty text, what was heard counts in full."""
        return self.total / max(1, self.length)


@dataclass(frozen=True, slots=True)
class Errors:
    """One clip: letters and words, as heard in the spoken and in the natural recording."""

    letters: Edits
    words: Edits
    natural_letters: Edits | None = None
    natural_words: Edits | None = None


def edits(reference: Sequence[str], heard: Sequence[str]) -> Edits:
    """The fewest edits; among equals, substitutions before a deletion with an insertion."""
    kinds = {symbol: place for place, symbol in enumerate(dict.fromkeys([*reference, *heard]))}
    first = np.array([kinds[symbol] for symbol in reference], dtype=np.int64)
    second = np.array([kinds[symbol] for symbol in heard], dtype=np.int64)
    costs = np.zeros((len(first) + 1, len(second) + 1), dtype=np.int64)
    costs[:, 0] = np.arange(len(first) + 1)
    costs[0] = steps = np.arange(len(second) + 1)
    for row, symbol in enumerate(first, start=1):
        best = np.minimum(costs[row - 1, 1:] + 1, costs[row - 1, :-1] + (second != symbol))
        # an insertion carries the row's own costs on: a running minimum after its slope is taken off
        costs[row] = np.minimum.accumulate(np.append(row, best) - steps) + steps
    return _walk(costs, first.tolist(), second.tolist())


def compare(reference: str, *, spoken: str, natural: str | None = None) -> Errors:
    """Errors of one clip; all three texts in the form the recogniser writes. Spaces count as letters between words."""
    reference, spoken = _spaced(reference), _spaced(spoken)
    heard = None if natural is None else _spaced(natural)
    return Errors(
        letters=edits(reference, spoken),
        words=edits(reference.split(), spoken.split()),
        natural_letters=None if heard is None else edits(reference, heard),
        natural_words=None if heard is None else edits(reference.split(), heard.split()),
    )


def summarise(
    clips: Sequence[Errors | None], *, instrument: str, prefix: str = "", caveat: str = INFLATED
) -> tuple[Estimate, ...]:
    """cer, wer, their differences to natural speech, hard failures, and the kinds of errors.

    `prefix` names a second reckoning of the same clips, such as "toned_" for letters with their tone marks; `caveat`
    is what to remember of the recogniser (Whisper's is whisper.CAVEAT).
    """
    trust, reason = _trust(clips, caveat)
    said: dict[str, Any] = {"unit": "share", "instrument": instrument, "trust": trust, "reason": reason}
    letters, words = _rates(clips, "letters"), _rates(clips, "words")
    natural, natural_words = _rates(clips, "natural_letters"), _rates(clips, "natural_words")
    lengths, counts = _lengths(clips, "letters"), _lengths(clips, "words")
    hard, natural_hard = (
        [None if rate is None else float(rate > HARD) for rate in found] for found in (letters, natural)
    )
    figures = [
        figure("cer", letters, natural=mean(natural, weights=lengths), weights=lengths, **said),
        figure("cer_difference", differences(natural, letters), weights=lengths, **said),
        figure("hard_failures", hard, natural=mean(natural_hard), counted=True, **said),
        figure("wer", words, natural=mean(natural_words, weights=counts), weights=counts, **said),
        figure("wer_difference", differences(natural_words, words), weights=counts, **said),
    ]
    for kind in ("substituted", "deleted", "inserted"):
        held = mean(_rates(clips, "natural_letters", kind), weights=lengths)
        figures.append(figure(f"cer_{kind}", _rates(clips, "letters", kind), natural=held, weights=lengths, **said))
    return tuple(replace(one, name=prefix + one.name) for one in figures)


def _trust(clips: Sequence[Errors | None], caveat: str) -> tuple[Trust, str]:
    lengths, natural = _lengths(clips, "letters"), _rates(clips, "natural_letters")
    floor = mean(natural, weights=lengths)
    if floor is None:
        return "low", "no natural recordings to see how well the recogniser hears at all"
    sane: tuple[Trust, str] = ("high", caveat)
    if floor > NATURAL_MOST:
        sane = ("low", f"the recogniser errs on {floor:.0%} of natural speech, more than {NATURAL_MOST:.0%}")
    # the interval of the difference, not of the rate: clips that are hard in both cancel
    known = paired(natural, _rates(clips, "letters"), weights=lengths)
    if known.low is None or known.high is None:
        return lowest(sane, ("low", "the difference to natural speech has no interval"))
    half = (known.high - known.low) / 2
    wide = f"the difference to natural speech is known to ± {half:.1%} only: judge more sentences"
    return lowest(sane, ("high", "") if half <= WIDEST else ("low", wide))


def _rates(clips: Sequence[Errors | None], part: str, kind: str = "total") -> list[float | None]:
    found: list[Any] = pick(clips, part)
    return [None if one is None else getattr(one, kind) / max(1, one.length) for one in found]


def _lengths(clips: Sequence[Errors | None], part: str) -> list[float]:
    return [0.0 if one is None else float(getattr(one, part).length) for one in clips]


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _walk(costs: np.ndarray[tuple[int, int], np.dtype[np.int64]], first: list[int], second: list[int]) -> Edits:
    row, column = len(first), len(second)
    substituted = deleted = inserted = 0
    while row or column:
        here = costs[row, column]
        if row and column and here == costs[row - 1, column - 1] + (first[row - 1] != second[column - 1]):
            substituted += first[row - 1] != second[column - 1]
            row, column = row - 1, column - 1
        elif row and here == costs[row - 1, column] + 1:
            deleted, row = deleted + 1, row - 1
        else:
            inserted, column = inserted + 1, column - 1
    return Edits(int(substituted), deleted, inserted, len(first))
