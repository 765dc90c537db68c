"""Where in its text a transformer is while it writes codes, by what some of its heads look at.

The heads were found at the export, by how steadily they walk through the text. Of a head only its query is needed: its
keys lie in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.speak.engines import count, number

MOST_HEADS = 8


@dataclass(frozen=True)
class FollowRules:
    """By voice.json. `heads`: (layer, head) each; `speeds`: how fast their queries turn with their place (RoPE)."""

    heads: tuple[tuple[int, int], ...]
    speeds: NDArray[np.float64]
    tail: int  # of the text's last tokens: a stop is taken once one of them was looked at
    linger: int  # codes at the end of the text after which it is over
    patience: float  # of the usual length after which a stop is always taken

    @staticmethod
    def of(row: Mapping[str, Any]) -> FollowRules:
        heads = row["heads"]
        if not isinstance(heads, list) or not 1 <= len(heads) <= MOST_HEADS:
            raise ValueError("heads")
        pairs = tuple((count(layer, 1000, least=0), count(head, 1000, least=0)) for layer, head in heads)
        speeds = np.array([number(one, 0.0, 10.0) for one in row.get("speeds", [])])
        tail, linger = count(row["tail"], 100), count(row["linger"], 1000)
        return FollowRules(pairs, speeds, tail, linger, number(row["patience"], 0.0, 100.0))


@dataclass
class TextFollower:
    """Of one try at a sentence. `first`: the place of its first token among all rows."""

    rules: FollowRules
    first: int
    tokens: int
    places: list[int] = field(default_factory=list)  # the token that each code belongs to
    looked: list[int] = field(default_factory=list)  # the token that was looked at most, code by code
    at_end: int = 0  # codes in a row that belong to the last tokens

    @property
    def reached(self) -> int:
        return max(self.places, default=0)

    def hear(
        self, queries: NDArray[np.float32], held: Mapping[str, NDArray[np.float32]], *, row: int, place: int
    ) -> None:
        """Queries of the heads, one after the other, as they are before they are turned by their `place`."""
        rules = self.rules
        size = len(queries) // len(rules.heads)
        seen = np.zeros(self.tokens)
        for at, (layer, head) in enumerate(rules.heads):
            query = _turned(queries[at * size : (at + 1) * size].astype(np.float64), rules.speeds, place)
            keys = held[f"past.{layer}.key"][row, head, self.first : self.first + self.tokens]
            scores = keys @ query / size**0.5
            looks = np.exp(scores - scores.max())
            seen += looks / looks.sum()
        self.looked.append(int(seen.argmax()))
        settled = int(np.median(self.looked[-3:]))  # one glance aside is none
        self.places.append(settled)
        self.at_end = self.at_end + 1 if settled >= self.tokens - rules.tail else 0

    def holds(self, codes: int, *, usual: float) -> bool:
        """Whether a stop would come too early: the end of the text was not looked at yet."""
        if codes >= self.rules.patience * usual:
            return False
        return self.reached < self.tokens - self.rules.tail

    def over(self) -> str:
        """Why it is over without a stop; nothing where it goes on."""
        if self.at_end < self.rules.linger:
            return ""
        return f"it stayed at the end of the text for {self.at_end} codes"

    def starts(self, tokens: Sequence[int]) -> list[int]:
        """The code at which each of these tokens begins, in the order of the text."""
        walked = np.maximum.accumulate(self.places) if self.places else np.zeros(0, int)
        return [int(np.searchsorted(walked, token)) for token in tokens]


def _turned(query: NDArray[np.float64], speeds: NDArray[np.float64], place: int) -> NDArray[np.float64]:
    if not len(speeds):
        return query
    left, right = query[: len(speeds)], query[len(speeds) :]
    cos, sin = np.cos(place * speeds), np.sin(place * speeds)
    return np.concatenate([left * cos - right * sin, right * cos + left * sin])
