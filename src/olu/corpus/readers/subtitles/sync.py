"""Whether subtitles as a whole come early or late, or run away from the sound: measured and said, never applied.

The cues are held against the sound at every place within a minute. Two things count there: speech inside the cues and
quiet between them, and speech that begins where a cue begins. What overlaps is one stretch, so a few faulty cues, or
edges that are off by chance, lower the peak and do not move it. A peak is believed by how far it stands out of all
other places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from olu.audio.activity import SILENT_DBFS, Levels, threshold

Span = tuple[float, float]
Signal = NDArray[np.float64]

STEPS_PER_SECOND = 20
FURTHEST_SECONDS = 60.0
LEAST_CUES = 8
LEAST_DEVIATIONS = 4.5  # of the peak over all other places
LEAST_RATIO = 1.9  # of its height to that of the next peak
LEAST_PEAK = 0.75  # of the height: what counts as the peak, whose middle is the shift
STARTS_WEIGHT = 0.5  # of beginnings, beside what lies inside
LEAST_GAPS = 0.2  # deviation of the cues: where they touch, what few gaps there are say little
NEAR_SECONDS = 5.0  # levels and cues are compared with what is as near as this: programmes have louder and softer parts
ONSET_SECONDS = 0.4
PEAK_SECONDS = 2.0  # the best place is as wide as this; what lies further off is another one
LEAST_SHIFT_SECONDS = 0.5  # less is how people set cues
FITS_SHARE = 0.75  # of the peak: where the cues have so much already, they stay on the screen for longer than is spoken
WINDOWS = 8
LEAST_WINDOW_SECONDS = 75.0
LEAST_WINDOW_RATIO = 1.4
LEAST_DRIFT_SECONDS = 1.0  # from the beginning to the end
LEAST_SHARPER = 1.1  # a stretch must make the peak stand out by so much more
MOST_SLOW = 0.012  # clocks that run at another speed: looked for in steps
LEAST_SLOW_RATIO = 2.2  # so many are tried that one is sharp by chance
SLIP_SECONDS = 1.0  # by which neighbouring steps differ at the end
FINEST = 0.0004
LEAST_JUMP_SECONDS = 1.0
SWING_SECONDS = 0.5
# Films are played at 23.976, 24 or 25 pictures a second; subtitles made for another speed run away by these factors.
SPEEDS = (1.0, *(a / b for a in (23.976, 24.0, 25.0) for b in (23.976, 24.0, 25.0) if a != b))


class Jump(NamedTuple):
    """Seconds from which on another shift fits, the one before and the one after."""

    at: float
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """What would bring subtitles onto the speech: times * speed + shift."""

    shift: float = 0.0  # seconds to add
    speed: float = 1.0
    drift: float = 0.0  # seconds they run away from the beginning to the end
    jump: Jump | None = None
    confidence: float  # 0 to 1

    @property
    def fits(self) -> bool:
        return not (self.shift or self.drift or self.jump)


def measure(cues: Sequence[Span], *, levels: Levels, frames_per_second: float) -> Sync | None:
    """None where it cannot be told. `cues` may overlap and need not be in order."""
    cues = sorted(cues)
    if len(cues) < LEAST_CUES or len(levels) < frames_per_second:
        return None
    heard = [voicing(levels, frames_per_second), liveliness(levels, frames_per_second)]
    best, sound = max(((_best(cues, sound), sound) for sound in heard), key=lambda one: one[0].ratio)
    if best.is_sure:
        return _told(cues, sound, best)
    for sound in heard:
        if found := _two(cues, sound) or _slow(cues, sound):
            return found
    return None


def voicing(levels: Levels, frames_per_second: float) -> Signal:
    """How much of each step is sound: right where pauses are quiet."""
    step = frames_per_second / STEPS_PER_SECOND
    total = np.concatenate([[0.0], np.cumsum(levels >= threshold(levels))])
    edges = np.minimum((np.arange(int(len(levels) / step) + 1) * step).astype(np.intp), len(levels))
    return np.asarray(np.diff(total[edges]) / step)


def liveliness(levels: Levels, frames_per_second: float) -> Signal:
    """How much the level swings, step by step: syllables swing by tens of decibels, music and noise by few."""
    step = frames_per_second / STEPS_PER_SECOND
    floor = max(float(np.percentile(levels, 5)), SILENT_DBFS)
    heard = np.maximum(levels.astype(np.float64), floor)
    width = max(2, round(SWING_SECONDS * frames_per_second))
    mean = _smooth(heard, width)
    swing = np.sqrt(np.maximum(_smooth(heard**2, width) - mean**2, 0.0))
    at = np.minimum((np.arange(int(len(levels) / step)) * step).astype(np.intp), len(levels) - 1)
    return np.minimum(_smooth(swing, width)[at], 12.0) * (mean[at] > floor + 3.0)


def _smooth(values: Signal, width: int) -> Signal:
    total = np.concatenate([[0.0], np.cumsum(values)])
    low = np.maximum(np.arange(len(values)) - width // 2, 0)
    high = np.minimum(np.arange(len(values)) + (width + 1) // 2, len(values))
    return np.asarray((total[high] - total[low]) / (high - low))


@dataclass(frozen=True, slots=True)
class _Place:
    speed: float = 1.0
    shift: float = 0.0
    height: float = 0.0
    other: float = 0.0  # the best far from there
    now: float = 0.0  # where the subtitles are
    deviations: float = 0.0  # of the height over all that is far

    @property
    def ratio(self) -> float:
        return self.height / max(self.other, 1e-9)

    @property
    def is_sure(self) -> bool:
        return self.deviations >= LEAST_DEVIATIONS and self.ratio >= LEAST_RATIO


def _best(cues: Sequence[Span], sound: Signal) -> _Place:
    plain, *stretched = (_place(cues, sound, speed) for speed in SPEEDS)
    other = max(stretched, key=lambda one: one.deviations)
    best = other if other.is_sure and other.deviations >= LEAST_SHARPER * plain.deviations else plain
    return _finer(cues, sound, best) if best.is_sure else best


def _finer(cues: Sequence[Span], sound: Signal, best: _Place) -> _Place:
    finer = _place(cues, sound, best.speed * (1 + _slope(_points(cues, sound, best))))
    sharper = finer.is_sure and finer.deviations >= LEAST_SHARPER * best.deviations
    return finer if sharper and finer.ratio >= best.ratio else best  # else the windows only differ by chance


def _two(cues: Sequence[Span], sound: Signal) -> Sync | None:
    """A jump between two shifts, each fitting a part of the cues; None where there is none."""
    best = _place(cues, sound, 1.0)
    jump = _jump(_points(cues, sound, best), best.shift) if best.deviations >= LEAST_DEVIATIONS else None
    return Sync(jump=jump, confidence=0.5) if jump else None


def _slow(cues: Sequence[Span], sound: Signal) -> Sync | None:
    """A speed near 1 that fits well, as of a clock that goes wrong; None where none does."""
    step = SLIP_SECONDS / max(cues[-1][1] - cues[0][0], SLIP_SECONDS / FINEST)
    steps = range(-int(MOST_SLOW / step), int(MOST_SLOW / step) + 1)
    best = max((_place(cues, sound, 1 + n * step) for n in steps), key=lambda one: one.ratio)
    sure = best.is_sure and best.ratio >= LEAST_SLOW_RATIO
    return _told(cues, sound, _finer(cues, sound, best)) if sure else None


def _told(cues: Sequence[Span], sound: Signal, best: _Place) -> Sync:
    sure = round(min(1.0, (best.height - max(best.other, 0.0)) / max(best.height, 1e-9)), 2)
    drift = (best.speed - 1.0) * (cues[-1][1] - cues[0][0])
    if abs(drift) >= LEAST_DRIFT_SECONDS:
        return Sync(shift=round(best.shift, 2), speed=best.speed, drift=round(float(drift), 2), confidence=sure)
    shift = 0.0 if abs(best.shift) < LEAST_SHIFT_SECONDS or best.now >= FITS_SHARE * best.height else best.shift
    found = Sync(shift=round(shift, 2), confidence=sure)
    return replace(found, jump=_jump(_points(cues, sound, best), best.shift))


def _jump(points: list[tuple[float, float]], shift: float) -> Jump | None:
    """Where cues need one shift and then another: two windows at least on either side, which agree with each other."""
    found: Jump | None = None
    widest = LEAST_JUMP_SECONDS
    for number in range(2, len(points) - 1):
        early, late = (np.asarray([move for _, move in part]) for part in (points[:number], points[number:]))
        apart = float(abs(np.median(late) - np.median(early)))
        spread = max(float(np.abs(part - np.median(part)).max()) for part in (early, late))
        if apart >= widest and spread < LEAST_JUMP_SECONDS / 2:
            widest = apart
            found = Jump(points[number][0], *(round(shift + float(np.median(part)), 2) for part in (early, late)))
    return found


def _mask(cues: Sequence[Span], size: int, speed: float) -> tuple[Signal, Signal]:
    """Two signals: 1 where any cue is, and 1 where cues begin."""
    edges = np.zeros(size + 1)
    times = np.clip(np.rint(np.asarray(cues) * (speed * STEPS_PER_SECOND)).astype(np.int64), 0, size)
    np.add.at(edges, times[:, 0], 1.0)
    begins = edges[:size].copy()
    np.add.at(edges, times[:, 1], -1.0)
    return np.minimum(np.cumsum(edges)[:size], 1.0), begins


def _place(cues: Sequence[Span], sound: Signal, speed: float, furthest: float = FURTHEST_SECONDS) -> _Place:
    last = int(max(end for _, end in cues) * speed * STEPS_PER_SECOND) + 1
    size = max(len(sound), min(last, 2 * len(sound)))
    mask, begins = _mask(cues, size, speed)
    sound = np.pad(sound, (0, size - len(sound)))
    near, onset = (round(seconds * STEPS_PER_SECOND) for seconds in (2 * NEAR_SECONDS, ONSET_SECONDS))
    rises = np.gradient(_smooth(_smooth(sound, onset), onset))
    gaps = mask - _smooth(mask, near)
    heights = min(1.0, float(gaps.std()) / LEAST_GAPS) * _correlation(gaps, sound - _smooth(sound, near))
    heights = heights + STARTS_WEIGHT * _correlation(_smooth(begins, onset // 2), rises)
    reach = min(round(furthest * STEPS_PER_SECOND), size - 1)
    lags = np.arange(-reach, reach + 1)
    heights = heights[lags]
    top = int(np.argmax(heights))
    far = heights[np.abs(lags - lags[top]) > PEAK_SECONDS * STEPS_PER_SECOND]
    if len(far) == 0:
        return _Place(speed=speed)
    middle = float(np.median(far))
    spread = 1.4826 * float(np.median(np.abs(far - middle)))
    return _Place(
        speed=speed,
        shift=_middle(heights, top) / STEPS_PER_SECOND + float(lags[0]) / STEPS_PER_SECOND,
        height=float(heights[top]),
        other=float(far.max()),
        now=float(heights[reach]),
        deviations=(float(heights[top]) - middle) / max(spread, 0.01),
    )


def _middle(heights: Signal, top: int) -> float:
    """The place of a peak by the middle of it: its very top moves by chance."""
    over = heights - LEAST_PEAK * heights[top]
    low, high = top, top + 1
    while low > 0 and over[low - 1] > 0:
        low -= 1
    while high < len(over) and over[high] > 0:
        high += 1
    return float(np.average(np.arange(low, high), weights=over[low:high])) if over[top] > 0 else float(top)


def _correlation(cues: Signal, sound: Signal) -> Signal:
    """How well the cues fit the sound at every lag; lags below 0 stand at the end."""
    around = 1 << (2 * len(sound) - 1).bit_length()
    norm = float(np.linalg.norm(cues) * np.linalg.norm(sound))
    if norm == 0.0:
        return np.zeros(around)
    return np.asarray(np.fft.irfft(np.fft.rfft(sound, around) * np.conj(np.fft.rfft(cues, around)), around) / norm)


def _points(cues: Sequence[Span], sound: Signal, best: _Place) -> list[tuple[float, float]]:
    """When each window begins, and the shift that remains there, measured in it alone."""
    length = cues[-1][1] - cues[0][0]
    count = min(WINDOWS, int(length / LEAST_WINDOW_SECONDS))
    points: list[tuple[float, float]] = []
    for number in range(count):
        start = cues[0][0] + number * length / count
        inside = [cue for cue in cues if start <= cue[0] < start + length / count]
        if len(inside) < LEAST_CUES:
            continue
        low = max(0.0, inside[0][0] * best.speed + best.shift - 10.0)
        first, end = (round(time * STEPS_PER_SECOND) for time in (low, inside[-1][1] * best.speed + best.shift + 10.0))
        moved = [(a * best.speed + best.shift - low, b * best.speed + best.shift - low) for a, b in inside]
        part = sound[first:end]
        if len(part) < STEPS_PER_SECOND:
            continue
        found = _place(moved, part, 1.0, furthest=8.0)
        if found.ratio >= LEAST_WINDOW_RATIO:
            points.append((start, found.shift))
    return points


def _slope(points: list[tuple[float, float]]) -> float:
    """Seconds a second that remain: the middle slope between windows."""
    if len(points) < 3:
        return 0.0
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for n, a in enumerate(points) for b in points[n + 1 :]]
    return float(np.median(slopes))
