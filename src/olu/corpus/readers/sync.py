"""Whether subtitles as a whole come early or late, or run away from the sound: measured and said, never applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from olu.audio.activity import SILENT_DBFS, Levels

Span = tuple[float, float]
Signal = NDArray[np.float64]

STEPS_PER_SECOND = 20
FURTHEST_SECONDS = 60.0
LEAST_CUES = 8
LEAST_CORRELATION = 0.25  # of cues and speech at the best place
LEAST_GAIN = 0.08  # in correlation over any other place
LEAST_BETTER = 0.04  # and over where the subtitles are now
PEAK_SECONDS = 2.0  # the best place is as wide as this; what lies further off is another one
LEAST_SHIFT_SECONDS = 0.5  # less is how people set cues
WINDOWS = 8
LEAST_WINDOW_SECONDS = 90.0
LEAST_DRIFT_SECONDS = 1.0  # from the beginning to the end
SWING_SECONDS = 0.5
# Films are played at 23.976, 24 or 25 pictures a second; subtitles made for another speed run away by these factors.
SPEEDS = (1.0, *(a / b for a in (23.976, 24.0, 25.0) for b in (23.976, 24.0, 25.0) if a != b))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """What would bring subtitles onto the speech: times * speed + shift."""

    shift: float  # seconds to add
    speed: float
    drift: float  # seconds they run away from the beginning to the end
    confidence: float  # 0 to 1


def measure(cues: Sequence[Span], *, levels: Levels, frames_per_second: float) -> Sync | None:
    """Nothing where the cues fit, or where it cannot be told."""
    if len(cues) < LEAST_CUES or len(levels) < frames_per_second:
        return None
    speech = liveliness(levels, frames_per_second)
    best = max((_place(cues, speech, speed) for speed in SPEEDS), key=lambda found: found.height)
    here = _place(cues, speech, 1.0)
    if best.speed != 1.0 and best.height < here.height + LEAST_GAIN:
        best = here
    if best.height < LEAST_CORRELATION or best.height - best.other < LEAST_GAIN:
        return None
    stretched = _place(cues, speech, best.speed * (1 + _slope(cues, speech, best)))
    if stretched.height >= best.height + LEAST_BETTER:  # else the windows only differ by chance
        best = stretched
    drift = (best.speed - 1.0) * (cues[-1][1] - cues[0][0])
    if abs(drift) < LEAST_DRIFT_SECONDS:
        drift = 0.0
        if abs(best.shift) < LEAST_SHIFT_SECONDS or best.height - here.now < LEAST_BETTER:
            return None
    sure = min(1.0, (best.height - max(best.other, 0.0)) / max(best.height, 1e-9))
    speed = best.speed if drift else 1.0
    return Sync(shift=round(best.shift, 2), speed=speed, drift=round(float(drift), 2), confidence=round(sure, 2))


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
    speed: float
    shift: float
    height: float  # correlation there
    other: float  # the best far from there
    now: float  # where the subtitles are


def _mask(cues: Sequence[Span], size: int, speed: float) -> Signal:
    edges = np.zeros(size + 1)
    times = np.clip(np.rint(np.asarray(cues) * (speed * STEPS_PER_SECOND)).astype(np.int64), 0, size)
    np.add.at(edges, times[:, 0], 1.0)
    np.add.at(edges, times[:, 1], -1.0)
    return np.minimum(np.cumsum(edges)[:size], 1.0)


def _place(cues: Sequence[Span], speech: Signal, speed: float, furthest: float = FURTHEST_SECONDS) -> _Place:
    last = int(cues[-1][1] * speed * STEPS_PER_SECOND) + 1
    size = max(len(speech), min(last, 2 * len(speech)))
    mask = _mask(cues, size, speed)
    sound = np.pad(speech, (0, size - len(speech)))
    mask, sound = mask - mask.mean(), sound - sound.mean()
    norm = float(np.linalg.norm(mask) * np.linalg.norm(sound))
    if norm == 0.0:
        return _Place(speed, 0.0, 0.0, 0.0, 0.0)
    around = 2 * size
    product = np.fft.rfft(sound, around) * np.conj(np.fft.rfft(mask, around))
    found = np.fft.irfft(product, around) / norm
    reach = min(round(furthest * STEPS_PER_SECOND), size - 1)
    lags = np.arange(-reach, reach + 1)
    heights = found[lags]
    top = int(np.argmax(heights))
    far = np.abs(lags - lags[top]) > PEAK_SECONDS * STEPS_PER_SECOND
    other = float(heights[far].max()) if far.any() else 0.0
    return _Place(speed, float(lags[top]) / STEPS_PER_SECOND, float(heights[top]), other, float(heights[reach]))


def _slope(cues: Sequence[Span], speech: Signal, best: _Place) -> float:
    """Seconds a second that remain: the middle slope between shifts measured in windows of their own."""
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
        part = speech[first:end]
        if len(part) < STEPS_PER_SECOND:
            continue
        found = _place(moved, part, 1.0, furthest=8.0)
        if found.height >= LEAST_CORRELATION and found.height - found.other >= LEAST_GAIN / 2:
            points.append((start + length / count / 2, found.shift))
    if len(points) < 3:
        return 0.0
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for n, a in enumerate(points) for b in points[n + 1 :]]
    return float(np.median(slopes))
