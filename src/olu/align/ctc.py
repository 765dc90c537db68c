"""Forced alignment by CTC: the best way to say a text within what a network heard. Exact, in bounded memory.

States are blank, symbol, blank, symbol, ... blank. Going forward, only the scores of every EVERY-th frame are kept.
Coming back, a stretch between two of them is computed again, and only the states that the path can still reach.
Shapes: F frames, V symbols (0 is the blank), N symbols of the text, S = 2N + 1 states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

from olu.core.errors import AlignError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

EVERY = 2048  # frames between kept scores: 8 MB to come back through, and 60 MB for an hour of 90,000 states
LOWEST = -1e30
# What a frame of untranscribed sound costs next to the best symbol there. Leaving out a spoken symbol by calling it
# blank costs about 8, and speech has a symbol every four frames or so; a pause called blank costs nothing.
STAR_COST = 0.3


@dataclass(frozen=True, slots=True)
class Path:
    """Of each symbol the first frame, the one after its last and their mean log probability; the sum of all frames."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    scores: tuple[float, ...]
    total: float
    frames: int


def force(log_probs_FV: Floats, ids: Sequence[int], *, stars: Sequence[int] = ()) -> Path:
    """The best path through `ids`; before each symbol that `stars` names (len(ids): after the last) may be anything."""
    search = CtcSearch(ids, stars=stars)
    search.hear(log_probs_FV)
    return search.finish()


def match_score(log_probs_FV: Floats, ids: Sequence[int]) -> float:
    """How much worse a frame fits the text than what was heard, in log probability: 0 is a perfect match."""
    heard = np.asarray(log_probs_FV, dtype=np.float64)
    return (force(log_probs_FV, ids).total - float(heard.max(axis=1).sum())) / len(heard)


@dataclass
class CtcSearch:
    """A search that is fed frames as they come."""

    ids: Sequence[int]
    stars: Sequence[int] = ()
    every: int = EVERY
    _heard: list[Floats] = field(default_factory=list, repr=False)  # stretches of `every` frames, the last one shorter
    _kept: list[NDArray[np.float64]] = field(default_factory=list, repr=False)  # scores before each stretch
    _pending: list[Floats] = field(default_factory=list, repr=False)
    _waiting: int = 0

    def __post_init__(self) -> None:
        tokens = np.asarray(self.ids, dtype=np.int64)
        self._emits = np.zeros(2 * len(tokens) + 1, dtype=np.int64)
        self._emits[1::2] = tokens
        self._open = np.asarray([2 * place for place in self.stars], dtype=np.int64)
        self._leaps = np.zeros(len(self._emits), dtype=np.bool_)  # states that may follow the one two before
        self._leaps[3::2] = tokens[1:] != tokens[:-1]
        self._now = np.full(len(self._emits), LOWEST)
        self._start = True

    def hear(self, log_probs_FV: Floats) -> None:
        """More frames, as many as there are."""
        if len(log_probs_FV) == 0:
            return
        size = log_probs_FV.shape[1]
        wrong = next((id for id in self.ids if not 0 < id < size), None)
        if wrong is not None:
            raise AlignError(
                f"symbol {wrong} is none of the {size - 1} that this recogniser hears: train it on this text"
            )
        self._emits[self._open] = size  # the column of the star
        self._pending.append(_with_star(log_probs_FV))
        self._waiting += len(log_probs_FV)
        if self._waiting >= self.every:
            self._advance(self.every)

    def _advance(self, size: int) -> None:
        waiting = self._pending[0] if len(self._pending) == 1 else np.concatenate(self._pending)
        done = 0
        while self._waiting >= size > 0:
            part = np.ascontiguousarray(waiting[done : done + size])
            self._kept.append(self._now.copy())
            self._heard.append(part)
            _forward(part, self._emits, self._leaps, self._now, self._start)
            self._start = False
            done += size
            self._waiting -= size
        self._pending = [waiting[done:]] if done < len(waiting) else []

    def finish(self) -> Path:
        """The path, once every frame was heard."""
        if self._pending:
            self._advance(self._waiting)
        frames = sum(len(part) for part in self._heard)
        tokens = self._emits[1::2]
        least = len(tokens) + int((tokens[1:] == tokens[:-1]).sum())
        if frames < max(least, 1):
            raise AlignError(
                f"{len(tokens)} symbols need at least {least} frames and the recording has {frames}: "
                "the text is longer than the recording"
            )
        return self._path(self._back(frames), frames)

    def _back(self, frames: int) -> Ints:
        """[F] the state of every frame, from the last stretch to the first."""
        state = len(self._emits) - 1
        if state and self._now[state - 1] >= self._now[state]:
            state -= 1
        states = np.empty(frames, dtype=np.int64)
        end = frames
        for number in range(len(self._heard) - 1, -1, -1):
            part = self._heard[number]
            low = max(0, state - 2 * len(part))
            reach = slice(low, state + 1)
            before = self._kept[number][reach].copy()
            here, into = _retrace(part, self._emits[reach], self._leaps[reach], before, number == 0, low)
            states[end - len(part) : end] = here + low
            state = int(into) + low
            end -= len(part)
        return states

    def _path(self, states_F: Ints, frames: int) -> Path:
        tokens = len(self._emits) // 2
        spoken = np.flatnonzero(states_F % 2 == 1)
        owner = states_F[spoken] // 2
        chances = self._chances(states_F)
        first = np.full(tokens, frames, dtype=np.int64)
        last = np.zeros(tokens, dtype=np.int64)
        np.minimum.at(first, owner, spoken)
        np.maximum.at(last, owner, spoken + 1)
        sums = np.bincount(owner, weights=chances[spoken], minlength=tokens)
        scores = sums / np.maximum(last - first, 1)
        return Path(tuple(first.tolist()), tuple(last.tolist()), tuple(scores.tolist()), float(chances.sum()), frames)

    def _chances(self, states_F: Ints) -> NDArray[np.float64]:
        parts, start = [], 0
        for part in self._heard:
            columns = self._emits[states_F[start : start + len(part)]]
            parts.append(part[np.arange(len(part)), columns].astype(np.float64))
            start += len(part)
        return np.concatenate(parts)


def _with_star(log_probs_FV: Floats) -> Floats:
    """[F, V + 1]: beside the symbols, a blank that may also be any sound."""
    heard = np.asarray(log_probs_FV, dtype=np.float32)
    star = np.maximum(heard[:, 0], heard.max(axis=1) - np.float32(STAR_COST))
    return np.concatenate([heard, star[:, None]], axis=1)


@njit(cache=True, nogil=True)
def _forward(heard, emits, leaps, now, start):  # type: ignore[no-untyped-def]
    """Scores after these frames, in `now`. From the highest state down: those below are still of the frame before."""
    states = len(emits)
    for f in range(heard.shape[0]):
        row = heard[f]
        if start and f == 0:
            for s in range(min(2, states)):
                now[s] = row[emits[s]]
            continue
        for s in range(states - 1, 1, -1):
            best = max(now[s], now[s - 1])
            if leaps[s]:
                best = max(best, now[s - 2])
            now[s] = best + row[emits[s]]
        if states > 1:
            now[1] = max(now[1], now[0]) + row[emits[1]]
        now[0] += row[emits[0]]


@njit(cache=True, nogil=True)
def _retrace(heard, emits, leaps, now, start, low):  # type: ignore[no-untyped-def]
    """Over these frames again and back from the highest state: the state of each, and the one before them all."""
    frames, states = heard.shape[0], len(emits)
    how = np.zeros((frames, states), dtype=np.uint8)
    for f in range(frames):
        row = heard[f]
        if start and f == 0:
            for s in range(states):
                now[s] = row[emits[s]] if s + low < 2 else LOWEST
            continue
        for s in range(states - 1, -1, -1):
            best = now[s]
            step = 0
            if s > 0 and now[s - 1] > best:
                best = now[s - 1]
                step = 1
            if s > 1 and leaps[s] and now[s - 2] > best:
                best = now[s - 2]
                step = 2
            now[s] = best + row[emits[s]]
            how[f, s] = step
    path = np.empty(frames, dtype=np.int64)
    s = states - 1
    for f in range(frames - 1, -1, -1):
        path[f] = s
        s -= how[f, s]
    return path, s
