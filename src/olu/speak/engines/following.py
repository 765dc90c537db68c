"""Where in its text a transformer is while it writes codes, by what some of its heads look at.

Such a head glances at a letter where its first code is written, and elsewhere looks aside: so a place is no look at a
moment but the likeliest way through the text, which never goes back. The heads were found at the export, by how whole
and how sharp their glances are on such a way. Of a head only its query is needed: its keys lie in the cache.

Shapes: H heads, N codes, T tokens of the text, R rows of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.speak.engines import count, number

MOST_HEADS = 8
FLAT = 0.1  # of a glance: what is far less is no glance
FARTHEST = 4  # tokens from a code to the next

Floats = NDArray[np.float64]


def glances(looks: Floats, louds: Floats) -> Floats:
    """Looks at the text [.., T], which are shares of all a head looks at, as glances from 0 to 1: how much of what the
    head gives at its loudest, times how much of its look at the text that is. `louds` [..]"""
    on_text = looks.sum(-1, keepdims=True)
    glanced: Floats = np.minimum(1.0, looks / louds[..., None]) * looks / np.maximum(on_text, 1e-9)
    return glanced


def set_out(heads: int, tokens: int) -> Floats:
    """How good the ways to each token are before the first code [H, T]."""
    best = np.full((heads, tokens), -np.inf)
    best[:, 0] = 0.0
    return best


def stepped(best_HT: Floats, glanced_HT: Floats) -> tuple[Floats, NDArray[np.int8]]:
    """The same a code later, and by how many tokens the best way came to each. Of equal ways the later one is taken."""
    tokens = best_HT.shape[1]
    by = [1, 0, *range(2, FARTHEST + 1)]
    ways = np.full((len(by), *best_HT.shape), -np.inf)
    for row, far in enumerate(by):
        if far < tokens:
            ways[row, :, far:] = best_HT[:, : tokens - far]
    chosen = ways.argmax(0)
    best = np.take_along_axis(ways, chosen[None], 0)[0] + np.log(FLAT + glanced_HT)
    return best, np.array(by, np.int8)[chosen]


def ways_of(glanced_HNT: Floats) -> NDArray[np.int64]:
    """The likeliest way of each head [H, N]: of each code its token."""
    best, came = set_out(len(glanced_HNT), glanced_HNT.shape[2]), []
    for row in glanced_HNT.transpose(1, 0, 2):
        best, by = stepped(best, row)
        came.append(by)
    return walked_back(best, came)


def walked_back(best_HT: Floats, came: Sequence[NDArray[np.int8]]) -> NDArray[np.int64]:
    at, found = best_HT.argmax(1), []
    for by in reversed(came):
        found.append(at)
        at = at - by[np.arange(len(at)), at]
    return np.stack(found[::-1], axis=1) if found else np.zeros((len(best_HT), 0), np.int64)


@dataclass(frozen=True)
class FollowRules:
    """By voice.json. `heads`: (layer, head) each, `louds`: of their glances; `speeds`: how fast their queries turn with
    their place (RoPE)."""

    heads: tuple[tuple[int, int], ...]
    louds: Floats
    speeds: Floats
    tail: int  # of the text's last tokens: a stop is taken once one of them was reached
    linger: int  # codes at the end of the text after which it is over
    patience: float  # of the usual length after which a stop is always taken

    @staticmethod
    def of(row: Mapping[str, Any]) -> FollowRules:
        heads = row["heads"]
        if not isinstance(heads, list) or not 1 <= len(heads) <= MOST_HEADS:
            raise ValueError("heads")
        pairs = tuple((count(layer, 1000, least=0), count(head, 1000, least=0)) for layer, head in heads)
        louds = np.array([number(one, 1e-3, 1.0) for one in row.get("louds", [1.0] * len(pairs))])
        if len(louds) != len(pairs):
            raise ValueError("louds")
        speeds = np.array([number(one, 0.0, 10.0) for one in row.get("speeds", [])])
        tail, linger = count(row["tail"], 100), count(row["linger"], 1000)
        return FollowRules(pairs, louds, speeds, tail, linger, number(row["patience"], 0.0, 100.0))


@dataclass
class TextFollower:
    """Of one try at a sentence. `first`: the place of its first token among all rows."""

    rules: FollowRules
    first: int
    tokens: int
    places: list[int] = field(default_factory=list)  # the token that each code belongs to, as far as was known then
    glanced: list[Floats] = field(default_factory=list)  # at each token, code by code
    at_end: int = 0  # codes in a row that belong to the last tokens
    _best: Floats = field(init=False)
    _came: list[NDArray[np.int8]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._best = set_out(1, self.tokens)

    @property
    def reached(self) -> int:
        return max(self.places, default=0)

    def hear(
        self, queries: NDArray[np.float32], held: Mapping[str, NDArray[np.float32]], *, row: int, place: int
    ) -> None:
        """Queries of the heads in the row that the next code is drawn from, one after the other, as they are before
        they are turned by its `place`."""
        rules = self.rules
        size = len(queries) // len(rules.heads)
        looks = np.zeros((len(rules.heads), self.tokens))
        for at, (layer, head) in enumerate(rules.heads):
            query = _turned(queries[at * size : (at + 1) * size].astype(np.float64), rules.speeds, place)
            scores = held[f"past.{layer}.key"][row, head, : place + 1] @ query / size**0.5
            shares = np.exp(scores - scores.max())
            looks[at] = shares[self.first : self.first + self.tokens] / shares.sum()
        self.glanced.append(glances(looks, rules.louds).mean(0))
        self._best, by = stepped(self._best, self.glanced[-1][None])
        self._came.append(by)
        self.places.append(int(self._best[0].argmax()))
        self.at_end = self.at_end + 1 if self.places[-1] >= self.tokens - rules.tail else 0

    def holds(self, codes: int, *, usual: float) -> bool:
        """Whether a stop would come too early: the end of the text was not reached yet."""
        if codes >= self.rules.patience * usual:
            return False
        return self.reached < self.tokens - self.rules.tail

    def over(self) -> str:
        """Why it is over without a stop; nothing where it goes on."""
        if self.at_end < self.rules.linger:
            return ""
        return f"it stayed at the end of the text for {self.at_end} codes"

    def starts(self, tokens: Sequence[int]) -> list[int]:
        """The code at which each of these tokens begins, in the order of the text, by all that was looked at."""
        way = walked_back(self._best, self._came)[0]
        return [int(np.searchsorted(way, token)) for token in tokens]


def _turned(query: Floats, speeds: Floats, place: int) -> Floats:
    if not len(speeds):
        return query
    left, right = query[: len(speeds)], query[len(speeds) :]
    cos, sin = np.cos(place * speeds), np.sin(place * speeds)
    return np.concatenate([left * cos - right * sin, right * cos + left * sin])
