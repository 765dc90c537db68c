"""The best way through a long recording: all of its text against all of its sound, near where it was last found.

Between words there may be silence, or a filler: sound that is not written. From a filler the way may lead over words
that are not said to the filler behind them. Only states within a band are looked at, and the memory is bounded.
Shapes: F frames, S states, C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from olu.align.chain import LOWEST, SHORTEST_SILENCE, SILENCE, SILENCE_COST, STATES
from olu.core.errors import AlignError

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
BlockScores = Callable[[int, int], Floats]  # frames from, to -> [frames, C] scores

MOST_BACK = 2**28  # bytes to come back through: where more are needed, scores are kept and stretches computed again
BLOCK = 8192  # frames scored at once
FILLER = -2  # the owner of its states; silence has -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCosts:
    """In nats: what must be won by a pause, by leaving the text, by each phone that is passed over."""

    silence: float = SILENCE_COST
    filler: float = 60.0
    sentence: float = 30.0  # a filler between sentences
    skip: float = 8.0
    outside: float = 30.0  # a text that begins before its sound, or ends after it
    outside_skip: float = 0.2  # each of its phones


@dataclass(frozen=True, slots=True)
class LongChain:
    """The states of a recording's whole text."""

    emits: Ints  # class; of a filler the one after the last
    owner: Ints  # place of the phone; -1 silence, FILLER
    word: Ints  # place of the word a state belongs to, or of the one after it
    links: Ints  # [S, 3] states it may be entered from beside itself; -1 none
    costs: Floats  # [S, 3] of these
    leaps: Ints  # of a filler: the filler before it, reached over a word that is not said
    leap_costs: Floats
    first: Floats  # the cost of beginning in a state; LOWEST where no path begins
    last: Floats  # of ending in it

    @property
    def size(self) -> int:
        return len(self.emits)


@dataclass
class _Builder:
    """Rows of a chain as they come."""

    rows: list[tuple[int, int, int]]  # emits, owner, word
    links: list[tuple[int, int, int]]
    costs: list[tuple[float, float, float]]
    leaps: list[tuple[int, float]]

    def add(self, row: tuple[int, int, int], links: Sequence[int], cost: float = 0.0) -> int:
        self.rows.append(row)
        self.links.append((*(one for one in links if one >= 0), -1, -1, -1)[:3])  # type: ignore[arg-type]
        self.costs.append((cost,) * 3)
        self.leaps.append((-1, 0.0))
        return len(self.rows) - 1


def long_chain(
    words: Sequence[Sequence[int]],
    *,
    classes: int,
    sentences: frozenset[int] = frozenset(),
    costs: ChainCosts,
    parts: Sequence[int] = range(STATES),
    quiet_states: int = SHORTEST_SILENCE,
) -> LongChain:
    """States of `words` (phone numbers); `sentences` are the words that one begins with; `parts` of each phone."""
    new = _Builder([], [], [], [])
    place, filler, spoken, fillers = 0, -1, -1, list[tuple[int, int]]()  # a filler, and the phones before it
    for number in range(len(words) + 1):
        outer = number in (0, len(words))
        before, quiet = filler, spoken
        for at in range(quiet_states):
            cost = costs.silence if at == 0 and not outer else 0.0
            quiet = new.add((SILENCE, -1, number), [quiet], cost)
        price = 0.0 if outer else costs.sentence if number in sentences else costs.filler
        filler = new.add((classes, FILLER, number), [quiet, spoken], price)
        fillers.append((filler, place))
        if number:
            new.leaps[filler] = (before, costs.skip * len(words[number - 1]))
        if number == len(words):
            break
        for at, phone in enumerate(words[number]):
            for part in parts:
                links = [quiet, filler, spoken] if at == 0 and part == parts[0] else [spoken]
                spoken = new.add((1 + STATES * phone + part, place, number), links)
            place += 1
    rows = np.array(new.rows, dtype=np.int32)
    first, last = np.full((2, len(rows)), -LOWEST, dtype=np.float32)
    for at, before in fillers:
        first[at] = costs.outside + costs.outside_skip * before
        last[at] = costs.outside + costs.outside_skip * (place - before)
    first[[0, fillers[0][0], fillers[0][0] + 1]] = 0.0
    last[[spoken, quiet, filler]] = 0.0
    return LongChain(
        np.ascontiguousarray(rows[:, 0]),
        np.ascontiguousarray(rows[:, 1]),
        np.ascontiguousarray(rows[:, 2]),
        np.array(new.links, dtype=np.int32),
        np.array(new.costs, dtype=np.float32),
        np.array([leap for leap, _ in new.leaps], dtype=np.int32),
        np.array([cost for _, cost in new.leaps], dtype=np.float32),
        first,
        last,
    )


def band(centre_F: NDArray[np.floating], half: float, states: int, *, reach: int = 0) -> tuple[Ints, Ints]:
    """First state and the one after the last that are looked at in each frame; neither ever goes back.

    `reach`: frames to both sides whose places are looked at too, so that a leap over many words lies within the band.
    """
    ends = min(4 * SHORTEST_SILENCE, states)  # of a text of one word there may be no more
    before = np.concatenate([np.full(reach, centre_F[0]), centre_F])[: len(centre_F)]
    after = np.concatenate([centre_F, np.full(reach, centre_F[-1])])[reach:]
    low = np.clip(np.floor(before - half), 0, states - 1).astype(np.int32)
    high = np.clip(np.ceil(after + half) + 1, 1, states).astype(np.int32)
    low[0], high[0] = 0, max(high[0], ends)
    low[-1], high[-1] = min(low[-1], states - ends), states
    return np.ascontiguousarray(np.minimum.accumulate(low[::-1])[::-1]), np.maximum.accumulate(high)


def near(states_F: Ints, where_F: NDArray[np.bool_], limits: tuple[Ints, Ints], *, reach: int) -> tuple[Ints, Ints]:
    """Limits to search again: as they were within `reach` frames of `where`, elsewhere only the way that was found."""
    changes = np.diff(where_F.astype(np.int8), prepend=0, append=0)
    wide = np.zeros(len(where_F), dtype=np.bool_)
    for start, end in zip(np.flatnonzero(changes > 0), np.flatnonzero(changes < 0), strict=True):
        wide[max(0, start - reach) : end + reach] = True
    before = np.concatenate([states_F[:1], states_F[:-1]])  # a leap goes over all between two frames
    low = np.where(wide, limits[0], before).astype(np.int32)
    high = np.where(wide, limits[1], states_F + 1).astype(np.int32)
    return np.maximum.accumulate(low), np.ascontiguousarray(np.minimum.accumulate(high[::-1])[::-1])


def best_band(
    chain: LongChain, scores: BlockScores, stay_C: Floats, leave_C: Floats, limits: tuple[Ints, Ints]
) -> tuple[Ints, float]:
    """[F] the state of each frame, and the sum; the filler is the last class of scores and chances."""
    low, high = limits
    frames = len(low)
    now = np.full(chain.size, LOWEST)
    fixed = (chain.emits, chain.links, chain.costs, chain.leaps, chain.leap_costs, chain.first)
    fixed += (stay_C, leave_C, low, high)  # type: ignore[assignment]
    width = int((high - low).max())
    every = min(frames, max(64, MOST_BACK // width))
    back = np.zeros((every, width), dtype=np.uint8)
    starts = list(range(0, frames, every))
    kept = []
    for start in starts:
        before = max(0, start - 1)
        kept.append(now[low[before] : high[before]].copy())
        for at in range(start, min(frames, start + every), BLOCK):
            end = min(frames, start + every, at + BLOCK)
            _sweep(scores(at, end), at, start, now, back, *fixed)
    ends = now[low[-1] :] - chain.last[low[-1] :]
    state = int(low[-1]) + int(ends.argmax())
    total = float(ends.max())
    if total <= LOWEST / 2:
        raise AlignError("its text cannot be laid over its sound: one of them is much longer than the other")
    states_F = np.empty(frames, dtype=np.int32)
    for start, before_F in zip(reversed(starts), reversed(kept), strict=True):
        end = min(frames, start + every)
        if start != starts[-1]:  # of the last stretch the way back is at hand
            now[:] = LOWEST
            first = low[max(0, start - 1)]
            now[first : first + len(before_F)] = before_F
            for at in range(start, end, BLOCK):
                _sweep(scores(at, min(end, at + BLOCK)), at, start, now, back, *fixed)
        state = _trace(states_F, start, end, back, low, chain.links, chain.leaps, state)
    return states_F, total


@njit(cache=True, nogil=True)
def _sweep(scores, begin, origin, now, back, emits, links, costs, leaps, leap_costs, first, stay, leave, low, high):  # type: ignore[no-untyped-def]
    """Scores after these frames, in `now`; `back`, which begins at frame `origin`, gets how each was reached:

    0 stay, 1 to 3 by a link, 4 over a word in the same frame.
    """
    new = np.full(len(now), LOWEST)
    for f in range(begin, begin + scores.shape[0]):
        a, b = low[f], high[f]
        row = scores[f - begin]
        pa, pb = (low[f - 1], high[f - 1]) if f > 0 else (0, 0)
        for s in range(a, b):
            emit = emits[s]
            best = LOWEST
            how = 0
            if f == 0:
                best = row[emit] - first[s]
            else:
                if pa <= s < pb:
                    best = now[s] + stay[emit]
                for k in range(3):
                    other = links[s, k]
                    if other < 0:
                        break
                    if pa <= other < pb:
                        step = now[other] + leave[emits[other]] - costs[s, k]
                        if step > best:
                            best, how = step, k + 1
                best += row[emit]
            over = leaps[s]
            if over >= a:
                step = new[over] - leap_costs[s]
                if step > best:
                    best, how = step, 4
            new[s] = best
            back[f - origin, s - a] = how
        now[a:b] = new[a:b]


@njit(cache=True, nogil=True)
def _trace(states, begin, end, back, low, links, leaps, s):  # type: ignore[no-untyped-def]
    """Writes the state of each frame from `end` back to `begin`; returns the state in the frame before."""
    for f in range(end - 1, begin - 1, -1):
        states[f] = s
        how = back[f - begin, s - low[f]]
        while how == 4:
            s = leaps[s]
            how = back[f - begin, s - low[f]]
        if how > 0:
            s = links[s, how - 1]
    return s
