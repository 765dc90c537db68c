"""The states a clip passes through, and the best way through them.

A phone is a begin, a middle and an end; between words, before the first and after the last there may be silence. Class
0 is silence; phone p has classes 1 + 3p, 2 + 3p and 3 + 3p. Shapes: F frames, S states of the chain, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from olu.core.errors import AlignError

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

STATES = 3
SILENCE = 0
SHORTEST_SILENCE = 3  # frames
SILENCE_COST = 2.0  # what a pause between words must win, once: without it every stop consonant begins with one
LOWEST = -1e30


@dataclass(frozen=True, slots=True)
class Chain:
    """A clip's states in order: class, place of the phone (-1: silence), which one may leap to it (-1: none)."""

    emits: Ints
    owner: Ints
    skips: Ints
    costs: Floats  # of entering a state from the one before it
    first: tuple[int, ...]  # the states a path may begin and end in
    last: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StatePath:
    """Which state each frame is in, and the summed score."""

    states_F: Ints
    total: float


def classes(phones: int) -> int:
    """How many classes so many phones have, silence included."""
    return 1 + STATES * phones


def chain(words: Sequence[Sequence[int]], *, frames: int) -> Chain:
    """The chain of a clip's phones, word by word; a clip too fast for three states a phone gets two, or one."""
    phones = sum(len(word) for word in words)
    if frames < phones:
        raise AlignError(
            f"{phones} sounds cannot be in {frames / 100:.1f} seconds, a hundredth each: is the text another's?"
        )
    parts = (0, 1, 2) if frames >= 4 * phones else (0, 2) if frames >= 2.5 * phones else (1,)
    emits: list[int] = []
    owner: list[int] = []
    skips: list[int] = []
    costs: list[float] = []

    def add(emit: int, who: int, skip: int = -1, cost: float = 0.0) -> None:
        emits.append(emit)
        owner.append(who)
        skips.append(skip)
        costs.append(cost)

    def silence(cost: float) -> None:
        for place in range(SHORTEST_SILENCE):
            add(SILENCE, -1, cost=cost if place == 0 else 0.0)

    place = 0
    silence(0.0)
    for index, word in enumerate(words):
        if index:
            silence(SILENCE_COST)
        for at, phone in enumerate(word):
            for part in parts:
                leap = at == 0 and part == parts[0] and len(emits) > SHORTEST_SILENCE
                add(1 + STATES * phone + part, place, len(emits) - SHORTEST_SILENCE - 1 if leap else -1)
            place += 1
    spoken = len(emits) - 1
    silence(0.0)
    return Chain(
        np.array(emits, dtype=np.int32),
        np.array(owner, dtype=np.int32),
        np.array(skips, dtype=np.int32),
        np.array(costs, dtype=np.float32),
        (0, SHORTEST_SILENCE),
        (spoken, len(emits) - 1),
    )


def best_way(chain: Chain, scores_FC: Floats, stay_C: Floats, leave_C: Floats) -> StatePath:
    """The best path by class scores and the log chances of staying in a class or leaving it."""
    first = np.zeros(len(chain.emits), dtype=np.bool_)
    first[list(chain.first)] = True
    states, total = _search(
        np.ascontiguousarray(scores_FC, dtype=np.float32),
        chain.emits,
        chain.skips,
        chain.costs,
        first,
        np.array(chain.last, dtype=np.int32),
        np.asarray(stay_C, dtype=np.float32),
        np.asarray(leave_C, dtype=np.float32),
    )
    return StatePath(states, float(total))


@njit(cache=True, nogil=True)
def _search(scores, emits, skips, costs, first, last, stay, leave):  # type: ignore[no-untyped-def]
    frames, states = scores.shape[0], len(emits)
    back = np.zeros((frames, states), dtype=np.uint8)  # 0 stay, 1 from the state before, 2 from the skipped one
    now = np.full(states, LOWEST)
    for s in range(states):
        if first[s]:
            now[s] = scores[0, emits[s]]
    new = np.empty(states)
    for f in range(1, frames):
        for s in range(states):
            best = now[s] + stay[emits[s]]
            how = 0
            if s > 0:
                step = now[s - 1] + leave[emits[s - 1]] - costs[s]
                if step > best:
                    best, how = step, 1
            if skips[s] >= 0:
                step = now[skips[s]] + leave[emits[skips[s]]]
                if step > best:
                    best, how = step, 2
            new[s] = best + scores[f, emits[s]]
            back[f, s] = how
        now, new = new, now
    s = last[0]
    for other in last:
        if now[other] > now[s]:
            s = other
    total = now[s]
    path = np.empty(frames, dtype=np.int32)
    for f in range(frames - 1, -1, -1):
        path[f] = s
        if back[f, s] == 1:
            s -= 1
        elif back[f, s] == 2:
            s = skips[s]
    return path, total
