"""Two recordings of one text, frame by frame: mel-cepstra and pitch of both, and which frame belongs to which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from olu.audio import io
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate, figure, lowest
from olu.evaluate.metrics import duration as speech
from olu.evaluate.metrics import f0
from olu.features.pitch import HIGHEST, LOWEST

# ---- mel-cepstra as SPTK's mcep makes them and ESPnet measures with: the envelope that fits the spectrum's peaks
# Written here because pysptk wants a compiler. It is one convex problem per frame, and numpy solves all frames
# together: log D(w) = 2 sum_m c_m cos(m v(w)), v the all-pass warped frequency, so that the mean of I/D + log D is
# smallest (the unbiased estimator of log spectrum). Shapes: F frames, N bins, M = order + 1.


# order and warping by rate, as ESPnet: values are comparable between equal settings only
SETTINGS = {16000: (23, 0.42), 22050: (34, 0.45), 24000: (34, 0.46), 44100: (39, 0.53), 48000: (39, 0.55)}
FFT_SIZE, HOP = 1024, 256
FLOOR_DB = 80.0  # below the loud frames: digital silence is not endlessly far from a quiet room
ROUNDS, LARGEST, CLOSE = 30, 1.0, 1e-4  # of Newton's method: at most, longest step of a cepstrum, and when to stop
BLOCK = 2000  # frames at once


def cepstra(sound: Audio) -> Floats:
    """[F, order + 1] of every frame that lies whole inside the sound; the first is the level."""
    frames = np.lib.stride_tricks.sliding_window_view(sound.samples, FFT_SIZE)[::HOP]
    parts = [
        np.abs(np.fft.rfft(frames[at : at + BLOCK] * np.hamming(FFT_SIZE))) ** 2 for at in range(0, len(frames), BLOCK)
    ]
    power = np.concatenate(parts).astype(np.float64)
    loud = float(np.percentile(power.mean(axis=1), 95))
    power = np.maximum(power, max(loud * 10 ** (-FLOOR_DB / 10), 1e-20))
    order, alpha = SETTINGS[sound.rate]
    return np.concatenate(
        [fitted(power[at : at + BLOCK], order=order, alpha=alpha) for at in range(0, len(power), BLOCK)]
    )


def fitted(power_FN: Floats, *, order: int, alpha: float) -> Floats:
    """[F, M] the mel-cepstra of power spectra over 0 to half the rate."""
    waves, weights = _waves(power_FN.shape[1], order=2 * order, alpha=alpha)
    first = waves[:, : order + 1]
    # begun at the least squares fit of the logarithm, which lies below the peaks: from there the steps do not overshoot
    found = np.log(power_FN) @ (np.linalg.pinv(first).T / 2)
    todo = np.arange(len(found))
    places = np.arange(order + 1)
    plus, minus = places[:, None] + places, np.abs(places[:, None] - places)
    for _ in range(ROUNDS):
        over = power_FN[todo] * np.exp(-2 * found[todo] @ first.T)  # I / D
        sums = (over * weights) @ waves  # [F, 2 order + 1]
        slope = 2 * (weights @ first - sums[:, : order + 1])
        bend = 2 * (sums[:, plus] + sums[:, minus])  # cos a cos b = (cos(a + b) + cos(a - b)) / 2
        step = np.linalg.solve(bend + 1e-9 * np.eye(order + 1), -slope[:, :, None])[:, :, 0]
        step *= np.minimum(1.0, LARGEST / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
        found[todo] += step
        todo = todo[np.abs(step).max(axis=1) > CLOSE]
        if len(todo) == 0:
            break
    return found


@cache
def _waves(bins: int, *, order: int, alpha: float) -> tuple[Floats, Floats]:
    """[N, order + 1] cosines on the warped scale, and the weight of each bin in the mean over frequency."""
    omega = np.linspace(0, np.pi, bins)
    warped = omega + 2 * np.arctan2(alpha * np.sin(omega), 1 - alpha * np.cos(omega))
    weights = np.full(bins, 1.0 / (bins - 1))
    weights[0] /= 2
    weights[-1] /= 2
    return np.cos(warped[:, None] * np.arange(order + 1)), weights


LOUDNESS_DBFS = -26.0
ROOM_SECONDS = 0.05  # kept around the speech: a soft beginning or end is part of it

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrimmedFrames:
    """One recording without the silence at its ends, at equal loudness; frames every HOP / rate seconds."""

    cepstra: Floats  # [F, order + 1], the first is the level
    hertz: Floats  # [F], 0 where unvoiced


@dataclass(frozen=True, slots=True)
class Paired:
    natural: TrimmedFrames
    spoken: TrimmedFrames
    path: NDArray[np.int64]  # [P, 2]: frames of the natural and of the spoken one that belong together
    rate: int

    @property
    def settings(self) -> str:
        """What the values depend on."""
        order, alpha = SETTINGS[self.rate]
        return f"order {order}, alpha {alpha}, {self.rate} Hz, FFT {FFT_SIZE}, hop {HOP}"


def pair(natural: Audio, spoken: Audio, *, low: float = LOWEST, high: float = HIGHEST) -> Paired | None:
    """The two paired by exact dynamic time warping over c1 and up; None where one of them holds no sound.

    `low` and `high` bound the pitch; `f0.bounds` finds them for a speaker.
    """
    rate = rate_for(natural.rate, spoken.rate)
    one, two = (_frames(audio, rate=rate, low=low, high=high) for audio in (natural, spoken))
    if one is None or two is None:
        return None
    path = warp(np.ascontiguousarray(one.cepstra[:, 1:]), np.ascontiguousarray(two.cepstra[:, 1:]))
    return Paired(one, two, path, rate)


def rate_for(first: int, second: int) -> int:
    """The highest rate of the table that neither recording has to be blown up to."""
    least = min(first, second)
    return max((rate for rate in SETTINGS if rate <= least), default=min(SETTINGS))


def warp(first: Floats, second: Floats) -> NDArray[np.int64]:
    """[P, 2] the cheapest path of steps (1, 1), (1, 0), (0, 1) by the sum of Euclidean distances."""
    path: NDArray[np.int64] = _warp(first, second)
    return path


def trimmed(audio: Audio) -> Audio | None:
    """The recording without silence at its ends, at a common loudness; None where nothing is heard."""
    found = speech.stretches(audio)
    if not found:
        return None
    samples = speech.numbers_only(audio).samples
    said = np.concatenate([samples[round(one * audio.rate) : round(two * audio.rate)] for one, two in found])
    loudness = 10 * np.log10(max(float(np.mean(said.astype(np.float64) ** 2)), 1e-12))
    first, last = max(0.0, found[0][0] - ROOM_SECONDS), found[-1][1] + ROOM_SECONDS
    inside = samples[round(first * audio.rate) : round(last * audio.rate)]
    return Audio((inside * 10 ** ((LOUDNESS_DBFS - loudness) / 20)).astype(np.float32), audio.rate)


def _frames(audio: Audio, *, rate: int, low: float, high: float) -> TrimmedFrames | None:
    sound = trimmed(io.resample(speech.numbers_only(audio), rate))
    if sound is None or len(sound.samples) < FFT_SIZE:
        return None
    found = cepstra(sound)
    middles = (np.arange(len(found)) * HOP + FFT_SIZE / 2) / rate
    return TrimmedFrames(found, f0.track(sound, low=low, high=high).at(middles))


@njit(cache=True, nogil=True)
def _warp(first, second):  # type: ignore[no-untyped-def]
    rows, columns, width = first.shape[0], second.shape[0], first.shape[1]
    came = np.zeros((rows, columns), dtype=np.int8)  # 0 both, 1 from above, 2 from the left
    before = np.full(columns, np.inf)
    now = np.full(columns, np.inf)
    for row in range(rows):
        for column in range(columns):
            total = 0.0
            for place in range(width):
                off = first[row, place] - second[column, place]
                total += off * off
            best, way = (0.0 if row == 0 and column == 0 else np.inf), 0
            if row > 0 and column > 0:
                best = before[column - 1]
            if row > 0 and before[column] < best:
                best, way = before[column], 1
            if column > 0 and now[column - 1] < best:
                best, way = now[column - 1], 2
            now[column] = best + np.sqrt(total)
            came[row, column] = way
        before, now = now, before
    path = np.empty((rows + columns, 2), dtype=np.int64)
    row, column, count = rows - 1, columns - 1, 0
    while True:
        path[count, 0], path[count, 1] = row, column
        count += 1
        if row == 0 and column == 0:
            break
        way = came[row, column]
        if way != 2:
            row -= 1
        if way != 1:
            column -= 1
    return path[:count][::-1].copy()


# ---- mel-cepstral distortion: how far the colour of the sound is from the natural recording's, in decibels


SCALE = 10 * np.sqrt(2) / np.log(10)  # 6.1419: from cepstra to decibels
REASON = "it follows what is heard only roughly; compare it with equal settings alone"


def distortion(pair: Paired | None) -> float | None:
    """Decibels, the mean over the paired frames; the level (c0) does not count."""
    if pair is None:
        return None
    natural = pair.natural.cepstra[pair.path[:, 0], 1:]
    spoken = pair.spoken.cepstra[pair.path[:, 1], 1:]
    return float(SCALE * np.mean(np.linalg.norm(natural - spoken, axis=1)))


def summarise(values: Sequence[float | None], *, settings: str) -> tuple[Estimate, ...]:
    """mcd. `settings` is `Paired.settings` of the clips (one voice has one rate)."""
    trust, reason = lowest(("medium", REASON))
    return (figure("mcd", values, unit="dB", instrument=instrument(settings), trust=trust, reason=reason),)


def instrument(settings: str) -> str:
    return f"mel-cepstra as SPTK's mcep, exact DTW, {settings}"
