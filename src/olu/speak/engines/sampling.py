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

    @staticmethod
    def of(knobs: Mapping[str, float], random: np.random.Generator) -> Sampler:
        top_k = round(knobs.get("top_k", 0))
        return Sampler(
            random, knobs.get("temperature", 1.0), knobs.get("top_p", 1.0), top_k, knobs.get("repetition_penalty", 1.0)
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

        First the penalty, then the temperature, then the `top_k` likeliest, then as many as reach `top_p` together.
        """
        scores = self._punished(logits, before, never) / self.temperature
        order = np.argsort(-scores, kind="stable")
        if self.top_k:
            least = scores[order[min(self.top_k, len(order)) - 1]]
            order = order[: int((scores >= least).sum())]  # all that are as likely as the last of them
        chances = np.exp(scores[order] - scores[order[0]])
        chances /= chances.sum()
        if self.top_p < 1:
            kept = int(np.searchsorted(np.cumsum(chances), self.top_p)) + 1
            order, chances = order[:kept], chances[:kept] / chances[:kept].sum()
        return order, chances

    def _punished(
        self, logits: NDArray[np.float32], before: Sequence[int], never: Sequence[int]
    ) -> NDArray[np.float64]:
        """A code that was seen is punished once, however often it was."""
        scores = logits.astype(np.float64)
        if self.repetition_penalty != 1.0 and before:
            seen = np.unique(before)
            scores[seen] = np.where(
                scores[seen] > 0, scores[seen] / self.repetition_penalty, scores[seen] * self.repetition_penalty
            )
        scores[list(never)] = -np.inf
        return scores


@dataclass(frozen=True)
class StopRules:
    """When a sentence of codes is over, by voice.json."""

    least: float  # codes a token before which no stop is taken
    most: float  # codes a token after which it is over
    extra: int = 0  # beside the most
    repeat: int = 0  # so many times the same few codes are a loop; 0: not looked for
    shortest_loop: int = 1  # codes of what repeats
    longest_loop: int = SHORT_LOOP
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
        return loop_of(codes, self.repeat, shortest=self.shortest_loop, longest=self.longest_loop)

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
