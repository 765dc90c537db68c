"""Where a sentence begins and ends in the sound: near its cue, never past the middle of the gap to a neighbour."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from olu.audio.activity import SILENT_DBFS, Levels, runs
from olu.corpus.subtitles.cues import TOUCH_SECONDS

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class EdgeSearch:
    """How far an edge may move, and when quiet is quiet enough to move it inwards."""

    reach_seconds: float = 1.0  # outwards from a cue: people set cues by hand, up to most of a second off
    pad_seconds: float = 0.25  # kept around what is heard: soft beginnings and ends lie below any threshold
    around_seconds: float = 10.0  # what a floor is measured over, on either side
    stands_out_db: float = 30.0  # speech over floor: with less there is music or noise, and nothing is cut off
    above_floor_db: float = 4.0
    below_loud_db: float = 50.0  # softer than this next to the speech is no part of it


def limits(spans: Sequence[Span], *, busy: Sequence[Span], seconds: float, reach: float) -> list[Span]:
    """The furthest edges: `reach` beyond a span, the middle of the gap, the ends of the sound, whatever comes first.

    `busy` has everything that may hold somebody's words, the spans too. Neighbours
    that touch, or overlap by a rounding, share the middle as one boundary.
    """
    starts = sorted(start for start, _ in busy)
    ends = sorted(end for _, end in busy)
    found = []
    for start, end in spans:
        before = bisect_right(ends, start + TOUCH_SECONDS) - 1
        after = bisect_left(starts, end - TOUCH_SECONDS)
        low, high = start - reach, end + reach
        if before >= 0:
            low = max(low, (ends[before] + start) / 2)
        if after < len(starts):
            high = min(high, (end + starts[after]) / 2)
        found.append((max(0.0, low), min(seconds, high)))
    return found


def find(
    spans: Sequence[Span],
    *,
    busy: Sequence[Span],
    levels: Levels,
    frames_per_second: float,
    seconds: float,
    seams: Sequence[tuple[float | None, float | None]] = (),
    search: EdgeSearch = EdgeSearch(),  # noqa: B008
) -> list[Span]:
    """The span of sound of each cue; where quiet and speech cannot be told apart it stays at its furthest edges.

    `seams`: where the neighbours on either side end and begin, as far as the sound tells.
    """
    far = limits(spans, busy=busy, seconds=seconds, reach=search.reach_seconds)
    if seams:
        far = [_between(one, sides, seconds=seconds) for one, sides in zip(far, seams, strict=True)]
    return [_tighten(one, levels, frames_per_second, search) for one in far]


def _between(span: Span, sides: tuple[float | None, float | None], *, seconds: float) -> Span:
    low, high = (edge if side is None else side for edge, side in zip(span, sides, strict=True))
    return (max(0.0, low), min(seconds, high)) if high > low else span


def _tighten(span: Span, levels: Levels, fps: float, search: EdgeSearch) -> Span:
    start, end = span
    first, last = round(start * fps), min(len(levels), round(end * fps))
    inside = levels[first:last]
    if len(inside) == 0:
        return span
    wide = round(search.around_seconds * fps)
    around = levels[max(0, first - wide) : last + wide]
    loud, floor = float(np.percentile(inside, 95)), float(np.percentile(around, 2))
    if loud - max(floor, SILENT_DBFS) < search.stands_out_db:
        return span
    least = max(floor + search.above_floor_db, loud - search.below_loud_db)
    starts, ends = runs(inside >= least)
    heard = ends - starts > 1  # a lone frame is a click
    if not heard.any():
        return span
    begins, stops = float(starts[heard][0]), float(ends[heard][-1])
    pad = search.pad_seconds
    return max(start, (first + begins) / fps - pad), min(end, (first + stops) / fps + pad)
