"""The path through a long recording as an alignment: its words and sounds, and what text and sound do not share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from olu.align.flat import LongPath
from olu.align.frames import FRAME_SECONDS
from olu.align.spans import Edges, lay, phone_spans, word_spans
from olu.align.state import Words
from olu.core.types import Alignment

LEAST_UNWRITTEN = 0.4  # seconds of sound between two words: less is a breath, a click, a word's own end
LEAST_QUIET = 0.5  # seconds between two sounds that make them two: a few breaths in a long pause are not speech
LOWEST = -20.0  # the score of what is not said
SHORTEST_SECONDS = 0.001  # what such a sound has of the time
# Words that are not heard, with about as much sound in their place as they would take (a year read in another language,
# a name): they are said otherwise than they are read. As shares of the time that their sounds take in the mean.
OTHERWISE_SHARES = (0.25, 2.5)
OTHERWISE_SECONDS = 1.6  # a letter word that is spelled takes more: up to this the upper share does not count


def long_alignment(id: str, path: LongPath, words: Words, *, seconds: float) -> Alignment:
    """An alignment of all words; those that are not said lie at their place without any length to speak of."""
    phones = [phone for _, own in words for phone in own]
    before = np.concatenate([[0], np.cumsum([len(own) for _, own in words])])
    owner, otherwise = _with_otherwise(path, before)
    first, last = _frames(owner, len(phones))
    said = last > first
    scores = _means(path, first, last)
    for one, end in otherwise:
        scores[before[one] : before[end]] = [LOWEST] * int(before[end] - before[one])
    edges = lay(_edges(first, last, said), seconds)
    heard = word_spans(words, edges, scores)
    written = path.owner_F >= 0
    gap = path.best_F - path.chances_F
    return Alignment(
        id=id,
        seconds=seconds,
        words=heard,
        phones=phone_spans(phones, edges, scores, seconds),
        score=-float(gap[written].mean()) if written.any() else LOWEST,
        method="flat",
        unwritten=tuple(_unwritten(owner, path.sound_F, seconds)),
        unspoken=tuple(_unsaid(said, before)),
        otherwise=tuple(otherwise),
    )


def _unsaid(said: NDArray[np.bool_], before: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Runs of words of which no sound is said."""
    return _runs([not said[at:to].any() for at, to in pairwise(before.tolist())])


def _with_otherwise(path: LongPath, before: NDArray[np.int64]) -> tuple[NDArray[np.int32], list[tuple[int, int]]]:
    """The owner of each frame, with words that are said otherwise laid evenly over the sound in their place."""
    first, last = _frames(path.owner_F, int(before[-1]))
    said = last > first
    owner, found = path.owner_F.copy(), []
    usual = float((last - first)[said].mean()) if said.any() else 0.0
    for one, end in _unsaid(said, before):
        low, high = int(before[one]), int(before[end])
        left = int(last[:low].max(initial=0))
        right = int(first[high]) if high < len(first) else len(owner)
        sound = left + np.flatnonzero(path.sound_F[left:right])
        share = len(sound) / max(1.0, usual * (high - low))
        fits = share <= OTHERWISE_SHARES[1] or len(sound) * FRAME_SECONDS <= OTHERWISE_SECONDS
        if share >= OTHERWISE_SHARES[0] and fits and len(sound) >= high - low:
            owner[sound[0] : sound[-1] + 1] = low + np.arange(sound[-1] + 1 - sound[0]) * (high - low) // (
                sound[-1] + 1 - sound[0]
            )
            found.append((one, end))
    return owner, found


def _frames(owner_F: NDArray[np.int32], phones: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first frame of each phone and the one after its last; the same for one that is not said."""
    first, last = np.full(phones, len(owner_F), dtype=np.int64), np.zeros(phones, dtype=np.int64)
    spoken = np.flatnonzero(owner_F >= 0)
    np.minimum.at(first, owner_F[spoken], spoken)
    np.maximum.at(last, owner_F[spoken], spoken + 1)
    nobody = last == 0
    following = np.minimum.accumulate(np.where(nobody, len(owner_F), first)[::-1])[::-1]
    first[nobody] = last[nobody] = following[nobody]
    return first, last


def _edges(first: NDArray[np.int64], last: NDArray[np.int64], said: NDArray[np.bool_]) -> Edges:
    """In seconds; sounds that are not said share the last moment before the next that is."""
    times = zip(first.tolist(), last.tolist(), strict=True)
    found: Edges = [(at * FRAME_SECONDS, to * FRAME_SECONDS) for at, to in times]
    count = 0
    for place in range(len(found) - 1, -1, -1):
        count = 0 if said[place] else count + 1
        if count:
            at = found[place][0] - count * SHORTEST_SECONDS
            found[place] = (at, at + SHORTEST_SECONDS)
    return found


def _means(path: LongPath, first: NDArray[np.int64], last: NDArray[np.int64]) -> list[float]:
    """Of each phone, how much worse than the best its frames are."""
    sums = np.concatenate([[0.0], np.cumsum(path.chances_F - path.best_F, dtype=np.float64)])
    counts = np.maximum(1, last - first)
    found: list[float] = np.where(last > first, (sums[last] - sums[first]) / counts, LOWEST).tolist()
    return found


def _unwritten(owner_F: NDArray[np.int32], sound_F: NDArray[np.bool_], seconds: float) -> Iterator[tuple[float, float]]:
    nobodys = owner_F < 0
    edges = np.flatnonzero(np.diff(nobodys, prepend=False, append=False))
    for start, end in zip(edges[0::2], edges[1::2], strict=True):
        heard = np.flatnonzero(sound_F[start:end])
        each = np.split(heard, np.flatnonzero(np.diff(heard) * FRAME_SECONDS > LEAST_QUIET) + 1)
        long = [one for one in each if len(one) * FRAME_SECONDS >= LEAST_UNWRITTEN]
        if long:
            low, high = (start + long[0][0]) * FRAME_SECONDS, (start + long[-1][-1] + 1) * FRAME_SECONDS
            yield round(float(low), 3), round(min(float(high), seconds), 3)


def _runs(mask: Sequence[bool]) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.array([False, *mask, False], dtype=np.int8)))
    yield from zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True)
