"""Which words of an alignment are hardly heard: what the audit and the cut both go by."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from olu.core.types import Span

LEAST_IQR = 0.2  # made speech has almost none
MOST_IQR = 1.0  # of words that are said: a wider half holds words that are not, and is no measure
MOST_RUNS = 5  # named
MOST_WORDS = 8  # of one run


def low_score(scores: Sequence[float], *, far: float) -> float | None:
    """The score under which a word is unlike the others: `far` widths of their middle half below it."""
    if not scores:
        return None
    quarter, three = (float(value) for value in np.percentile(scores, (25, 75)))
    width = min(max(three - quarter, LEAST_IQR), MOST_IQR)
    return max(quarter, three - MOST_IQR) - far * width


def unheard(words: Sequence[Span], *, low: float | None) -> frozenset[int]:
    """Places of the words that score under `low`; none where there are no scores."""
    return frozenset(
        at for at, word in enumerate(words) if low is not None and word.score is not None and word.score < low
    )


def named(words: Sequence[Span], places: Collection[int]) -> str:
    """Words with the time at which they should be heard; those that follow each other together."""
    runs: list[list[int]] = []
    for at in sorted(places):
        if runs and at == runs[-1][-1] + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    longest = sorted(runs, key=len, reverse=True)[:MOST_RUNS]
    more = ", ..." if len(runs) > len(longest) else ""
    return ", ".join(_run(words, run) for run in sorted(longest)) + more


def _run(words: Sequence[Span], run: Sequence[int]) -> str:
    said = " ".join(words[at].label for at in run[:MOST_WORDS])
    return f"{said}{' ...' * (len(run) > MOST_WORDS)} at {words[run[0]].start:.1f} s"
