from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.checks.rate import letters_per_second
from olu.audit.coverage import count_letters, has_digits
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "shifted"
FARTHEST = 3.0  # spreads: one clip alone never makes a block
FRINGE = 1.0  # log likelihood that a row at the end of a block must bring to be surely of it
MOST_FRINGE = 4  # rows at either end
LEAST_SPREAD = 0.1  # of the log rate: made speech has almost none

Numbers = NDArray[np.float64]


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Rows of one source in the order of the manifest: where a line was lost, all after it fit their neighbour."""
    for _, group in groupby(heard, key=lambda one: (one.clip.audio.partition("/")[0], one.clip.language)):
        rows = list(group)
        lengths, texts = _logs(rows)
        known = np.isfinite(lengths) & np.isfinite(texts)
        if known.sum() < limits.rate_least_clips:
            continue
        rates = (lengths - texts)[known]
        middle = float(np.median(rates))
        spread = max(float(np.percentile(rates, 75) - np.percentile(rates, 25)) / 1.35, LEAST_SPREAD)
        gains = {step: _gains(lengths, texts, middle, spread, step) for step in (1, -1)}
        blocks = [(gain, first, last, step) for step in gains for gain, first, last in _blocks(gains[step], limits)]
        taken: set[int] = set()
        for _, first, last, step in sorted(blocks, reverse=True):
            if taken.isdisjoint(range(first, last + 1)):
                taken.update(range(first, last + 1))
                yield from _findings(rows[first : last + 1], step, _core(gains[step][first : last + 1]))


def _logs(rows: Sequence[MeasuredClip]) -> tuple[Numbers, Numbers]:
    """Log of the seconds spoken and of the letters; nan where a clip cannot be compared."""
    lengths, texts = np.full(len(rows), math.nan), np.full(len(rows), math.nan)
    for place, one in enumerate(rows):
        if one.facts is not None and letters_per_second(one) is not None and one.facts.spoken > 0.0:
            lengths[place] = math.log(one.facts.spoken)
        letters = count_letters(one.clip.text)
        if letters and not has_digits(one.clip.text):
            texts[place] = math.log(letters)
    return lengths, texts


def _gains(lengths: Numbers, texts: Numbers, middle: float, spread: float, step: int) -> Numbers:
    """How much better each row's sound fits its neighbour's text than its own, as a log likelihood; capped."""
    neighbour = np.full(len(texts), math.nan)
    if step > 0:
        neighbour[:-step] = texts[step:]
    else:
        neighbour[-step:] = texts[:step]
    own = np.minimum(np.abs(lengths - texts - middle) / spread, FARTHEST)
    other = np.minimum(np.abs(lengths - neighbour - middle) / spread, FARTHEST)
    gains: Numbers = np.nan_to_num((own**2 - other**2) / 2, nan=0.0)
    return gains


def _blocks(gains: Numbers, limits: Thresholds) -> Iterator[tuple[float, int, int]]:
    """Stretches whose gains sum up high: gain, first and last row."""
    start, total, best, end = 0, 0.0, 0.0, -1
    for place, gain in enumerate([*gains.tolist(), -math.inf]):
        total += gain
        if total > best:
            best, end = total, place
        if total <= 0.0 or best - total > limits.shifted_gain:  # over: what follows fits its own text again
            if best > limits.shifted_gain and end - start + 1 >= limits.shifted_least:
                yield best, start, end
            start, total, best = place + 1, 0.0, 0.0


def _core(gains: Numbers) -> range:
    """The rows of a block that carry it: at its ends, rows that fit both texts come along by chance."""
    sums = np.concatenate([[0.0], np.cumsum(gains - FRINGE)])
    start = int(np.argmin(sums[: MOST_FRINGE + 1]))
    end = len(gains) - int(np.argmax(sums[::-1][: MOST_FRINGE + 1]))
    return range(start, end)


def _findings(rows: Sequence[MeasuredClip], step: int, core: range) -> Iterator[Finding]:
    where = "next" if step > 0 else "previous"
    first = rows[0].clip.id
    for place, one in enumerate(rows):
        if place == 0:
            message = f"a block of {len(rows)} clips from here on fits the text of the {where} clip, not its own"
        else:
            message = f"in the block of {len(rows)} shifted texts that begins at {first}"
        mark = Mark(check=NAME, severity="error" if place in core else "warn", value=float(len(rows)), message=message)
        yield Finding(id=one.clip.id, mark=mark, badness=float(len(rows)) - place / len(rows) / 2)


CHECK = Check(
    name=NAME,
    title="Shifted texts",
    rule=lambda t: (
        f"Error for every clip of a run of {t.shifted_least} or more whose lengths fit the text of the next or the "
        f"previous clip far better than their own (a gain in log likelihood of {t.shifted_gain:g}); a warning at "
        "its ends, where it is not sure."
    ),
    reason="A line lost or doubled in the list moves every text after it to the wrong recording: the voice babbles.",
    fix="Find the lost or doubled line at the first clip of the block, correct the list and import it again.",
    look=look,
)
