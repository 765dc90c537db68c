"""A learning-rate range test: rates that rise step by step, and what the losses say of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olu.train.engine import Engine

LOW, HIGH = 1e-7, 1e-1
STEPS = 120
KEEP = 0.9  # of the smoothed loss at each step
FALL = 0.05  # share by which the loss must fall, or nothing can be said
NOISES = 4.0  # and how many times its own noise
DIVERGED = 1.5  # times the lowest loss, in how far it stands above it
STOP = 4.0
SAFETY = 10.0  # a rate that works stays this far below the edge
LEFT = 2.0  # times its noise: so far off, the smoothed curve has left where it began
FIRST = 10  # losses that say where it began


@dataclass(frozen=True)
class RatePoint:
    rate: float
    loss: float
    smooth: float


@dataclass(frozen=True)
class RateSearchResult:
    rate: float | None  # suggested; none where the curve does not tell
    steepest: float | None  # where the loss falls fastest
    edge: float | None  # where it begins to diverge
    why: str


def rate_at(place: int, steps: int, *, low: float = LOW, high: float = HIGH) -> float:
    """The rate at a place of the search, rising geometrically from `low` to `high`."""
    return float(low * (high / low) ** (place / max(1, steps - 1)))


def range_test(
    engine: Engine, *, part: str, loss: str, steps: int = STEPS, low: float = LOW, high: float = HIGH
) -> Iterator[RatePoint]:
    """Drive an engine whose guards are off; stops early when the loss has gone through the roof."""
    own = engine.live[part].part.lr
    total, weight, lowest = 0.0, 0.0, math.inf
    for place in range(steps):
        rate = rate_at(place, steps, low=low, high=high)
        engine.rate = rate / own  # the other parts keep their share of it
        report = engine.advance()
        seen = [one.losses[loss] for one in report.seen if one.part == part and loss in one.losses]
        value = seen[0] if seen else math.nan
        if not math.isfinite(value):
            yield RatePoint(rate, math.nan, math.nan)
            return
        total, weight = KEEP * total + value, KEEP * weight + 1
        smooth = total / weight
        yield RatePoint(rate, value, smooth)
        lowest = min(lowest, smooth)
        if value > STOP * max(lowest, 1e-12) and place > FIRST:
            return


def choose_rate(points: Sequence[RatePoint]) -> RateSearchResult:
    """The rate of the steepest fall, kept well below the edge where the loss turns up again."""
    finite = [point for point in points if math.isfinite(point.smooth)]
    if len(finite) < 2 * FIRST:
        return RateSearchResult(
            None, None, None, "it diverged at once: look at the clips, and at the Finite guard's advice"
        )
    first = finite[: max(FIRST, len(finite) // 4)]  # rates that hardly move a weight
    start = sum(point.loss for point in first) / len(first)
    bottom = min(range(FIRST, len(finite)), key=lambda at: finite[at].smooth)
    low = finite[bottom].smooth
    noise = _noise([point.loss - point.smooth for point in finite[:bottom]]) * math.sqrt(1 - KEEP)
    edge = _edge(points, finite, bottom, start)
    if bottom < len(first) or start - low < max(FALL * abs(start), NOISES * noise):
        said = (
            f"the curve is flat: the loss fell by {(start - low) / max(abs(start), 1e-12):.1%}, no more than its noise"
        )
        return RateSearchResult(None, None, edge, f"{said}; keep the recipe's rate, or test with larger batches")
    steepest = _steepest(finite[: bottom + 1], start=start, band=LEFT * noise, after=len(first) // 2)
    rate = steepest if edge is None else min(steepest, edge / SAFETY)
    why = f"the loss falls fastest at {steepest:.1e}"
    why += f" and turns up at {edge:.1e}" if edge else " and does not diverge up to the end"
    if edge is not None and rate < steepest:
        why += f"; the suggestion keeps a factor of {SAFETY:g} to that"
    return RateSearchResult(float(f"{rate:.1e}"), steepest, edge, why)


def _noise(apart: Sequence[float]) -> float:
    mean = sum(apart) / len(apart)
    return math.sqrt(sum((one - mean) ** 2 for one in apart) / len(apart))


def _edge(points: Sequence[RatePoint], finite: Sequence[RatePoint], bottom: int, start: float) -> float | None:
    """The first rate after the lowest loss from which on it stays well above it."""
    low = finite[bottom].smooth
    limit = low + (DIVERGED - 1) * max(abs(low), 0.1 * abs(start))
    above = next((one.rate for one in finite[bottom:] if one.smooth > limit), None)
    if above is None and len(finite) < len(points):
        return points[len(finite)].rate  # it was not a number there
    return above


def _steepest(points: Sequence[RatePoint], *, start: float, band: float, after: int) -> float:
    """Over a window of a tenth of the curve, on the way from where it began to where it is lowest, `band` off both.

    A rate is a step, so equal steps are equal ratios of rates. The first batches move the mean most and say least.
    """
    wide = max(2, len(points) // 10)
    left = max((at for at, point in enumerate(points) if point.smooth >= start - band), default=0)
    there = next(at for at, point in enumerate(points) if at >= left and point.smooth <= points[-1].smooth + band)
    begin = min(max(left - wide, after), len(points) - 1 - wide)
    end = max(begin, there - wide)
    at = max(range(begin, end + 1), key=lambda at: points[at].smooth - points[at + wide].smooth)
    return points[at + wide // 2].rate
