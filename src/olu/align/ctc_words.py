"""Words from what a network heard, each with the chance that it is right to the letter.

Shapes: F frames, V symbols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LOWEST = -1e30
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HeardText:
    """Words, the chance of each to be right to the letter, and the log probability of the whole."""

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


def words_heard(
    log_probs_FV: Floats, symbols: Sequence[str], *, gap: str, spell: Callable[[Sequence[str]], Sequence[str]] = list
) -> HeardText:
    """The best symbol of each frame, as words. Symbol 0 is the blank; `gap` stands between words.

    A word's chance is what CTC gives to its letters in the frames between the gaps beside it.
    """
    best = log_probs_FV.argmax(axis=1) if len(log_probs_FV) else np.zeros(0, dtype=np.int64)
    between = symbols.index(gap) if gap in symbols else -1
    words, sure, every = list[str](), list[float](), list[int]()
    for first, last in _stretches(best, between):
        ids = _collapsed(best[first:last])
        word = "".join(spell([symbols[id] for id in ids])).replace(" ", "")
        if not word:
            continue
        words.append(word)
        sure.append(round(math.exp(min(0.0, ctc_log_prob(log_probs_FV[first:last], ids))), 4))
        every += [between, *ids] if every and between >= 0 else ids
    return HeardText(tuple(words), tuple(sure), ctc_log_prob(log_probs_FV, every) if every else LOWEST)


def _stretches(best: NDArray[np.int64], gap: int) -> list[tuple[int, int]]:
    """First and last of the frames between gaps."""
    edges = [-1, *np.flatnonzero(best == gap).tolist(), len(best)]
    return [(one + 1, other) for one, other in pairwise(edges) if other > one + 1]


def _collapsed(best: NDArray[np.int64]) -> list[int]:
    """Repeats are one, and blanks nothing."""
    kept = np.ones(len(best), dtype=np.bool_)
    kept[1:] = best[1:] != best[:-1]
    return [int(one) for one in best[kept] if one]


def ctc_log_prob(log_probs_FV: Floats, ids: Sequence[int]) -> float:
    """The log probability that CTC gives to these symbols, over every way to lay them out in the frames."""
    states = np.zeros(2 * len(ids) + 1, dtype=np.int64)
    states[1::2] = ids
    leaps = np.zeros(len(states), dtype=np.bool_)
    leaps[3::2] = states[3::2] != states[1:-2:2]
    scores = np.full(len(states), LOWEST)
    heard = log_probs_FV[:, states].astype(np.float64)
    scores[:2] = heard[0, :2]
    for row in heard[1:]:
        one = np.concatenate([[LOWEST], scores[:-1]])
        two = np.where(leaps, np.concatenate([[LOWEST, LOWEST], scores[:-2]]), LOWEST)[: len(states)]
        scores = np.logaddexp(np.logaddexp(scores, one), two) + row
    return float(np.logaddexp(scores[-1], scores[-2])) if ids else float(scores[-1])


def words_of_tokens(
    tokens: Sequence[str], log_probs: Sequence[float], decode: Callable[[list[str]], str], *, space: str = "Ġ"
) -> HeardText:
    """Tokens of a decoder as words: one that begins with `space` begins a word; its chance is the product of theirs."""
    groups: list[tuple[list[str], float]] = []
    for token, chance in zip(tokens, log_probs, strict=True):
        if token.startswith(space) or not groups:
            groups.append(([], 0.0))
        before, total = groups[-1]
        groups[-1] = ([*before, token], total + chance)
    found = [("".join(decode(group).split()), total) for group, total in groups]
    words = tuple(word for word, _ in found if word)
    sure = tuple(round(math.exp(min(0.0, total)), 4) for word, total in found if word)
    return HeardText(words, sure, sum(total for _, total in found) if words else LOWEST)


def joined(found: list[HeardText]) -> HeardText:
    """What was heard in stretches that follow each other."""
    words, sure = (tuple(one for part in found for one in getattr(part, name)) for name in ("words", "sure"))
    return HeardText(words, sure, sum(one.total for one in found if one.words))
