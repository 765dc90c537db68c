"""How codes are drawn, and when a sentence of them is over."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.speak.engines import count, number

MOST_CODES = 100_000  # of one sentence
SHORT_LOOP = 8  # codes: a loop is looked for among patterns up to this, where nothing else is said


@dataclass(frozen=True)
class Sampler:
    """Draws a code as the knobs say; at temperature 0 the likeliest."""

    random: np.random.Generator
    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    min_p: float = 0.0
    penalty_last: bool = False  # after what is unlikely was taken out, not before
    penalty_window: int = 0  # codes back that the penalty looks; 0: all

    @staticmethod
    def of(knobs: Mapping[str, float], random: np.random.Generator, *, penalty_last: bool = False) -> Sampler:
        return Sampler(
            random,
            knobs.get("temperature", 1.0),
            knobs.get("top_p", 1.0),
            round(knobs.get("top_k", 0)),
            knobs.get("repetition_penalty", 1.0),
            knobs.get("min_p", 0.0),
            penalty_last,
            round(knobs.get("penalty_window", 0)),
        )

    def draw(self, logits: NDArray[np.float32], before: Sequence[int], *, never: Sequence[int]) -> int:
        """`before`: codes that were drawn, which the penalty makes less likely; `never`: those that may not come."""
        if self.temperature <= 0:
            return int(self._punished(logits, before, never).argmax())
        codes, chances = self.chances(logits, before, never=never)
        at = int(np.searchsorted(np.cumsum(chances), self.random.random(), side="right"))
        return int(codes[min(at, len(codes) - 1)])

    def chances(
        self, logits: NDArray[np.float32], before: Sequence[int], *, never: Sequence[int] = ()
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The codes that may come, the likeliest first, and how likely each is.

        First the penalty, then the temperature, then the `top_k` likeliest, then those at least `min_p` as likely as
        the first, then as many as reach `top_p` together. With `penalty_last` it comes after all of them.
        """
        barred = self._punished(logits, () if self.penalty_last else before, never)
        scores = barred / self.temperature
        order = np.argsort(-scores, kind="stable")
        if self.top_k:
            least = scores[order[min(self.top_k, len(order)) - 1]]
            order = order[: int((scores >= least).sum())]  # all that are as likely as the last of them
        chances = _likely(scores[order])
        if self.min_p > 0:
            kept = max(1, int((chances >= self.min_p * chances[0]).sum()))
            order, chances = order[:kept], chances[:kept] / chances[:kept].sum()
        if self.top_p < 1:
            kept = int(np.searchsorted(np.cumsum(chances), self.top_p)) + 1
            order, chances = order[:kept], chances[:kept] / chances[:kept].sum()
        if self.penalty_last:
            scores = self._punished(scores, before, ())
            order = order[np.argsort(-scores[order], kind="stable")]
            chances = _likely(scores[order])
        return order, chances

    def _punished(self, logits: NDArray[Any], before: Sequence[int], never: Sequence[int]) -> NDArray[np.float64]:
        """A code that was seen is punished once, however often it was."""
        scores = logits.astype(np.float64)
        if self.repetition_penalty != 1.0 and before:
            seen = np.unique(before[-self.penalty_window :])
            scores[seen] = np.where(
                scores[seen] > 0, scores[seen] / self.repetition_penalty, scores[seen] * self.repetition_penalty
            )
        scores[list(never)] = -np.inf
        return scores


def _likely(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    chances = np.exp(scores - scores[0])
    made: NDArray[np.float64] = chances / chances.sum()
    return made


@dataclass(frozen=True)
class StopRules:
    """When a sentence of codes is over, by voice.json."""

    least: float  # codes a token before which no stop is taken
    most: float  # codes a token after which it is over
    extra: int = 0  # beside the most
    repeat: int = 0  # so many times the same few codes are a loop; 0: not looked for
    shortest_loop: int = 1  # codes of what repeats
    longest_loop: int = SHORT_LOOP
    loop_codes: int = 0  # what repeats has to fill so many codes
    tries: int = 1  # where one ends by a loop or by the most
    hold: int = MOST_CODES  # codes before the first sound; a try that fails later is not made again
    patient: int = 0  # 1: where nobody waits for the first sound, all codes come before it
    usual: float = 0.0  # codes a token in the middle: what a sentence is expected to take
    silent: int = 0  # codes of silence in a row that end it, once `silent_from` of the usual length is reached
    silent_from: float = 0.6

    @staticmethod
    def of(row: Mapping[str, Any]) -> StopRules:
        given: dict[str, Any] = {
            "least": number(row["least"], 0.0, 1000.0),
            "most": number(row["most"], 0.01, 1000.0),
        }
        tops = {"extra": MOST_CODES, "repeat": 1000, "shortest_loop": 1000, "longest_loop": 1000, "tries": 10}
        tops |= {"loop_codes": MOST_CODES}
        tops |= {"hold": MOST_CODES, "patient": 1, "silent": MOST_CODES}
        given |= {name: count(row[name], top, least=0) for name, top in tops.items() if name in row}
        given |= {name: number(row[name], 0.0, 1000.0) for name in ("usual", "silent_from") if name in row}
        return StopRules(**given)

    def without_guards(self) -> StopRules:
        """Only its own stop ends a sentence, and the most that it may take."""
        plain = {one.name: one.default for one in fields(self) if one.name in ("repeat", "tries", "silent")}
        return StopRules(**{**vars(self), **plain})

    def most_codes(self, tokens: int) -> int:
        return min(math.ceil(self.most * tokens) + self.extra, MOST_CODES)

    def looped(self, codes: Sequence[int]) -> int:
        sizes = range(max(1, self.shortest_loop), self.longest_loop + 1) if self.repeat > 1 else ()
        return next((size for size in sizes if loop_of(codes, self.times(size), shortest=size, longest=size)), 0)

    def times(self, size: int) -> int:
        """How often so many codes have to come to be a loop."""
        return max(self.repeat, -(-self.loop_codes // size))

    def silence(self, codes: Sequence[int], silence: Collection[int], *, tokens: int) -> int:
        """How many codes of silence at the end are the end of the sentence; 0 where it goes on."""
        if not self.silent or len(codes) < max(self.silent, self.silent_from * self.usual * tokens):
            return 0
        tail = 0
        while tail < len(codes) and codes[-1 - tail] in silence:
            tail += 1
        return tail if tail >= self.silent and tail < len(codes) else 0


def loop_of(codes: Sequence[int], repeat: int, *, shortest: int = 1, longest: int = SHORT_LOOP) -> int:
    """How many codes at the end repeat so many times; 0 where none do."""
    if repeat < 2:
        return 0
    for size in range(max(1, shortest), min(longest, len(codes) // repeat) + 1):
        tail = codes[-size * repeat :]
        if codes[-1] == codes[-1 - size] and list(tail[size:]) == list(tail[:-size]):
            return size
    return 0
