"""The best way through a long recording: all of its text against all of its sound, near where pace says it should be.

Between words there may be silence, or a filler: sound that is not written. From a filler the way may lead over words
that are not said to the filler behind them. Only states within a band of the expected place are looked at, and only
the scores of every EVERY-th frame are kept; the way back computes a stretch again. Shapes: F frames, S states, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from olu.align.chain import LOWEST, SHORTEST_SILENCE, SILENCE, SILENCE_COST, STATES
from olu.core.errors import AlignError

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

EVERY = 4096
FILLER = -2  # the owner of its states; silence has -1


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

    @property
    def size(self) -> int:
        return len(self.emits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCosts:
    """In nats: what must be won by a pause, by leaving the text, by each phone that is passed over."""

    silence: float = SILENCE_COST
    filler: float = 25.0
    at_sentence: float = 12.0  # a filler between sentences
    skip: float = 6.0


def long_chain(
    words: Sequence[Sequence[int]], *, classes: int, sentences: frozenset[int] = frozenset(), costs: ChainCosts
) -> LongChain:
    """States of `words` (phone numbers); `sentences` are the words that one begins with."""
    emits: list[int] = []
    owner: list[int] = []
    word_of: list[int] = []
    links: list[tuple[int, int, int]] = []
    prices: list[tuple[float, float, float]] = []
    leaps: list[int] = []
    leap_costs: list[float] = []

    def add(emit: int, who: int, word: int, link: tuple[int, int, int], price: tuple[float, float, float]) -> int:
        emits.append(emit)
        owner.append(who)
        word_of.append(word)
        links.append(link)
        prices.append(price)
        leaps.append(-1)
        leap_costs.append(0.0)
        return len(emits) - 1

    place, filler, spoken = 0, -1, -1
    for number in range(len(words) + 1):
        outer = number in (0, len(words))
        quiet = spoken
        for at in range(SHORTEST_SILENCE):
            cost = costs.silence if at == 0 and not outer else 0.0
            quiet = add(SILENCE, -1, number, (quiet, -1, -1), (cost, 0.0, 0.0))
        price = 0.0 if outer else costs.at_sentence if number in sentences else costs.filler
        before = filler
        filler = add(classes, FILLER, number, (quiet, spoken, -1), (price, price, 0.0))
        if before >= 0:
            leaps[filler] = before
            leap_costs[filler] = costs.skip * len(words[number - 1])
        if number == len(words):
            break
        for at, phone in enumerate(words[number]):
            for part in range(STATES):
                first = at == 0 and part == 0
                link = (quiet, filler, spoken) if first else (spoken, -1, -1)
                spoken = add(1 + STATES * phone + part, place, number, link, (0.0, 0.0, 0.0))
            place += 1
    return LongChain(
        np.array(emits, dtype=np.int32),
        np.array(owner, dtype=np.int32),
        np.array(word_of, dtype=np.int32),
        np.array(links, dtype=np.int32),
        np.array(prices, dtype=np.float32),
        np.array(leaps, dtype=np.int32),
        np.array(leap_costs, dtype=np.float32),
    )


def band(centre_F: NDArray[np.floating], half: float | NDArray[np.floating], states: int) -> tuple[Ints, Ints]:
    """First state and the one after the last that are looked at in each frame; neither ever goes back."""
    low = np.clip(np.floor(centre_F - half), 0, states - 1).astype(np.int32)
    high = np.clip(np.ceil(centre_F + half) + 1, 1, states).astype(np.int32)
    low = np.minimum.accumulate(low[::-1])[::-1]
    high = np.maximum.accumulate(high)
    low[0], high[-1] = 0, states
    high[0] = max(high[0], 2 * SHORTEST_SILENCE)
    low[-1] = min(low[-1], states - 1 - 2 * SHORTEST_SILENCE)
    return np.ascontiguousarray(np.minimum.accumulate(low[::-1])[::-1]), np.maximum.accumulate(high)


def best_band(
    chain: LongChain, scores_FC: Floats, stay_C: Floats, leave_C: Floats, limits: tuple[Ints, Ints]
) -> tuple[Ints, float]:
    """[F] the state of each frame, and the sum; `scores_FC` has the filler's column last, as do stay and leave."""
    low, high = limits
    frames = len(scores_FC)
    width = int((high - low).max()) + 1
    now = np.full(chain.size, LOWEST)
    kept = []
    arrays = (chain.emits, chain.links, chain.costs, chain.leaps, chain.leap_costs, stay_C, leave_C, low, high)
    starts = list(range(0, frames, EVERY))
    none = np.zeros((0, 1), dtype=np.uint8)
    for start in starts:
        kept.append(now[low[max(0, start - 1)] : high[max(0, start - 1)]].copy())
        _sweep(scores_FC, start, min(frames, start + EVERY), now, none, *arrays)
    ends = [chain.size - 1, chain.size - 2, int(chain.links[chain.size - 1, 1])]
    state = max((end for end in ends if end >= low[-1]), key=lambda end: now[end])
    total = float(now[state])
    if total <= LOWEST / 2:
        raise AlignError("the text does not fit into the recording: one of them is much longer than the other")
    states_F = np.empty(frames, dtype=np.int32)
    back = np.zeros((EVERY, width), dtype=np.uint8)
    for start, before in zip(reversed(starts), reversed(kept), strict=True):
        end = min(frames, start + EVERY)
        now[:] = LOWEST
        first = low[max(0, start - 1)]
        now[first : first + len(before)] = before
        _sweep(scores_FC, start, end, now, back, *arrays)
        state = _trace(states_F, start, end, back, low, chain.links, chain.leaps, state)
    return states_F, total


@njit(cache=True, nogil=True)
def _sweep(scores, begin, end, now, back, emits, links, costs, leaps, leap_costs, stay, leave, low, high):  # type: ignore[no-untyped-def]
    """Scores after frames `begin` to `end`, in `now`; `back` gets how each was reached, if it has room.

    0 stay, 1 to 3 by a link, 4 over a word in the same frame; 8 is added where the filler before a leap stayed.
    """
    keeps = back.shape[0] > 0
    new = np.full(len(now), LOWEST)
    for f in range(begin, end):
        a, b = low[f], high[f]
        row = scores[f]
        pa, pb = (low[f - 1], high[f - 1]) if f > 0 else (0, 0)
        for s in range(a, b):
            emit = emits[s]
            best = LOWEST
            how = 0
            if f == 0:
                if links[s, 0] < 0 and leaps[s] < 0 or s == 3 or s == 4:
                    best = 0.0
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
            if best > LOWEST / 2:
                best += row[emit]
            over = leaps[s]
            if over >= a:
                step = new[over] - leap_costs[s]
                if step > best:
                    best, how = step, 4
            new[s] = best
            if keeps:
                back[f - begin, s - a] = how
        now[a:b] = new[a:b]
        if f > 0 and a > pa:
            now[pa:a] = LOWEST


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
