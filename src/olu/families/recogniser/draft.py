"""What a recogniser would write for a recording, and how sure it is of each word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from olu.core.types import Audio
    from olu.families.recogniser.recognise import Trained

LOWEST = -1e30
SPACE = " "


@dataclass(frozen=True, slots=True)
class HeardText:
    """Words, the chance that each is right to the letter, and that of the whole as log probability."""

    words: tuple[str, ...]
    sure: tuple[float, ...]
    total: float

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def confidence(self) -> float:
        """The chance that a word of it is right, in the geometric mean: gaps between words count too."""
        return math.exp(min(0.0, self.total) / len(self.words)) if self.words else 0.0


def draft(trained: Trained, audio: Audio) -> HeardText:
    """The best symbol of each frame, as words."""
    return words_heard(trained, trained.log_probs(audio))


def words_heard(trained: Trained, log_probs_FV: NDArray[np.float32]) -> HeardText:
    """Every word with the chance that the network gives to its letters in the frames between the gaps beside it."""
    best = log_probs_FV.argmax(axis=1) if len(log_probs_FV) else np.zeros(0, dtype=np.int64)
    gap = trained.symbols.index(SPACE) if SPACE in trained.symbols else -1
    words, sure, every = list[str](), list[float](), list[int]()
    for first, last in _between(best, gap):
        ids = _collapsed(best[first:last])
        if not ids:
            continue
        word = "".join(trained.writing.spell([trained.symbols[id] for id in ids]))
        if not word:
            continue
        words.append(word)
        sure.append(math.exp(min(0.0, ctc_log_prob(log_probs_FV[first:last], ids))))
        every += [gap, *ids] if every and gap >= 0 else ids
    total = ctc_log_prob(log_probs_FV, every) if every else LOWEST
    return HeardText(tuple(words), tuple(round(one, 4) for one in sure), total)


def _between(best: NDArray[np.int64], gap: int) -> list[tuple[int, int]]:
    """The stretches of frames between gaps."""
    gaps = np.flatnonzero(best == gap)
    edges = [-1, *gaps.tolist(), len(best)]
    return [(one + 1, other) for one, other in pairwise(edges) if other > one + 1]


def _collapsed(best: NDArray[np.int64]) -> list[int]:
    kept = np.ones(len(best), dtype=np.bool_)
    kept[1:] = best[1:] != best[:-1]
    return [int(one) for one in best[kept] if one]


def ctc_log_prob(log_probs_FV: NDArray[np.float32], ids: Sequence[int]) -> float:
    """The log probability that CTC gives to these symbols, over every way to lay them out in the frames."""
    states = np.zeros(2 * len(ids) + 1, dtype=np.int64)
    states[1::2] = ids
    leaps = np.zeros(len(states), dtype=np.bool_)
    leaps[3::2] = states[3::2] != states[1:-2:2]
    now = np.full(len(states), LOWEST)
    heard = log_probs_FV[:, states].astype(np.float64)
    now[:2] = heard[0, :2]
    for row in heard[1:]:
        one = np.concatenate([[LOWEST], now[:-1]])
        two = np.where(leaps, np.concatenate([[LOWEST, LOWEST], now[:-2]]), LOWEST)
        now = np.logaddexp(np.logaddexp(now, one), two) + row
    return float(np.logaddexp(now[-1], now[-2])) if len(ids) else float(now[-1])
