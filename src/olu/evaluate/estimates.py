"""Figures that say how sure they are: a mean with its interval, how many clips, and how far it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from olu.core.rows import from_row

Trust = Literal["high", "medium", "low"]
Middle = Literal["mean", "median"]
Values = Sequence[float | None]

SEED = 20240607
DRAWS = 2000
PERCENT = 95
NORMAL = 1.959964  # standard deviations to either side that hold 95 % of a normal distribution
FEW, SOME = 10, 30  # fewer clips than these carry a figure badly, or only so far
RANK: tuple[Trust, ...] = ("low", "medium", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One figure of a report: its mean with an interval, what measured it, and how far to trust it."""

    name: str
    n: int  # clips that could be measured
    mean: float | None  # the median where `middle` says so; None where nothing could be measured
    low: float | None  # 95 % interval of the mean, over clips; None for fewer than two
    high: float | None
    natural: float | None  # the same instrument on the natural recordings, where that makes sense
    unit: str
    instrument: str  # what measured it, with its version and settings
    trust: Trust
    reason: str  # why it is trusted so far
    values: tuple[float | None, ...] = ()  # clip by clip, in the order given; None: could not be measured
    quartiles: tuple[float, float] | None = None
    middle: Middle = "mean"

    def row(self) -> dict[str, Any]:
        """What report.json holds of it."""
        return {
            "name": self.name,
            "n": self.n,
            self.middle: _short(self.mean),
            "low": _short(self.low),
            "high": _short(self.high),
            "quartiles": None if self.quartiles is None else [_short(one) for one in self.quartiles],
            "natural": _short(self.natural),
            "unit": self.unit,
            "instrument": self.instrument,
            "trust": self.trust,
            "reason": self.reason,
            "values": [_short(value) for value in self.values],
        }

    @staticmethod
    def from_row(row: dict[str, Any]) -> Estimate:
        middle: Middle = "median" if "median" in row else "mean"
        return from_row({**row, "mean": row[middle], "middle": middle}, Estimate)


@dataclass(frozen=True, slots=True)
class Interval:
    middle: float | None
    low: float | None
    high: float | None
    n: int


def interval(
    values: Values, *, weights: Sequence[float] | None = None, middle: Middle = "mean", counted: bool = False
) -> Interval:
    """The mean and its 95 % interval by drawing clips again; with weights, the mean over what they count.

    `counted`: each value is yes or no. Drawing again from noes alone finds noes alone, so that interval is Wilson's.
    """
    kept = [place for place, value in enumerate(values) if good(value)]
    found = np.array([values[place] for place in kept], dtype=np.float64)
    if len(found) == 0:
        return Interval(None, None, None, 0)
    weight = np.ones(len(found)) if weights is None else np.array([weights[place] for place in kept], dtype=np.float64)
    if weight.sum() <= 0:
        return Interval(None, None, None, 0)
    point = _middle(found[None], weight[None], middle)[0]
    if len(found) < 2:
        return Interval(float(point), None, None, len(found))
    if counted:
        return Interval(float(point), *_wilson(float(point), len(found)), len(found))
    drawn = _drawn(len(found))
    low, high = _within(_middle(found[drawn], weight[drawn], middle))
    return Interval(float(point), low, high, len(found))


def paired(
    first: Values, second: Values, *, weights: Sequence[float] | None = None, middle: Middle = "mean"
) -> Interval:
    """The mean of second - first over the clips that have both, the same clips drawn for both."""
    return interval(differences(first, second), weights=weights, middle=middle)


def nearer(
    first: Values, second: Values, *, target: float, weights: Sequence[float] | None = None, middle: Middle = "mean"
) -> Interval:
    """How much farther from `target` the middle of second lies than that of first, over the clips that have both.

    Below 0 second is nearer. That both differ is not enough to say so: they may lie on either side of it.
    """
    kept = [place for place, off in enumerate(differences(first, second)) if off is not None]
    if len(kept) < 2:
        return Interval(None, None, None, len(kept))
    one, two = (np.array([held[place] for place in kept], dtype=np.float64) for held in (first, second))
    weight = np.ones(len(kept)) if weights is None else np.array([weights[place] for place in kept], dtype=np.float64)

    def off(drawn: NDArray[Any]) -> NDArray[np.float64]:
        far, farther = (np.abs(_middle(held[drawn], weight[drawn], middle) - target) for held in (one, two))
        return np.asarray(farther - far)

    low, high = _within(off(_drawn(len(kept))))
    return Interval(float(off(np.arange(len(kept))[None])[0]), low, high, len(kept))


def pick(clips: Sequence[Any], part: str) -> list[float | None]:
    """One attribute of each clip's result, None where there is no result."""
    return [None if one is None else getattr(one, part) for one in clips]


def differences(first: Values, second: Values) -> tuple[float | None, ...]:
    """second - first, clip by clip."""
    pairs = zip(first, second, strict=True)
    return tuple(b - a if a is not None and b is not None and good(a) and good(b) else None for a, b in pairs)


def mean(values: Values, *, weights: Sequence[float] | None = None) -> float | None:
    """The plain mean of what could be measured."""
    kept = [place for place, value in enumerate(values) if good(value)]
    weight = [1.0 if weights is None else weights[place] for place in kept]
    total = sum(weight)
    if not kept or total <= 0:
        return None
    return sum(float(values[place] or 0.0) * w for place, w in zip(kept, weight, strict=True)) / total


def figure(
    name: str,
    values: Values,
    *,
    unit: str,
    instrument: str,
    trust: Trust,
    reason: str,
    natural: float | None = None,
    weights: Sequence[float] | None = None,
    middle: Middle = "mean",
    counted: bool = False,
) -> Estimate:
    """A figure from one value per clip; too few clips lower its trust."""
    found = interval(values, weights=weights, middle=middle, counted=counted)
    kept = [value for value in values if value is not None and good(value)]
    trust, reason = lowest((trust, reason), of_count(found.n))
    return Estimate(
        name=name,
        n=found.n,
        mean=found.middle,
        low=found.low,
        high=found.high,
        natural=natural,
        unit=unit,
        instrument=instrument,
        trust=trust,
        reason=reason,
        values=tuple(value if good(value) else None for value in values),
        quartiles=_quartiles(kept),
        middle=middle,
    )


def of_count(n: int) -> tuple[Trust, str]:
    if n < FEW:
        return "low", f"only {n} clips" if n != 1 else "only one clip"
    if n < SOME:
        return "medium", f"{n} clips"
    return "high", ""


def lowest(*judgements: tuple[Trust, str]) -> tuple[Trust, str]:
    """The least trust of several, with the reasons that hold it down; where all are high, every reason given."""
    least = min((trust for trust, _ in judgements), key=RANK.index)
    said = [reason for trust, reason in judgements if reason and trust == least]
    return least, "; ".join(dict.fromkeys(said))


def good(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _drawn(count: int) -> NDArray[np.int64]:
    return np.random.default_rng(SEED).integers(0, count, (DRAWS, count))


def _within(again: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.nanpercentile(again, ((100 - PERCENT) / 2, (100 + PERCENT) / 2))
    return float(low), float(high)


def _wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's interval of a share of n."""
    much = NORMAL**2 / n
    middle = (share + much / 2) / (1 + much)
    half = NORMAL * math.sqrt(share * (1 - share) / n + much / (4 * n)) / (1 + much)
    return max(0.0, middle - half), min(1.0, middle + half)


def _middle(found: NDArray[Any], weight: NDArray[Any], middle: Middle) -> NDArray[np.float64]:
    if middle == "median":
        return np.asarray(np.median(found, axis=1))
    total = weight.sum(axis=1)
    return np.asarray((found * weight).sum(axis=1) / np.where(total > 0, total, np.nan))


def _quartiles(kept: Sequence[float]) -> tuple[float, float] | None:
    if len(kept) < 2:
        return None
    low, high = np.percentile(kept, (25, 75))
    return float(low), float(high)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
