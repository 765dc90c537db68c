"""Two recordings of one text, frame by frame: mel-cepstra and pitch of both, and which frame belongs to which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from olu.audio import io
from olu.core.types import Audio
from olu.evaluate.metrics import f0, speech
from olu.evaluate.metrics.cepstra import FFT_SIZE, HOP, SETTINGS, cepstra

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


def pair(natural: Audio, spoken: Audio, *, low: float = f0.LOWEST, high: float = f0.HIGHEST) -> Paired | None:
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
    """Without the silence at both ends and at a common loudness of what is heard; None where nothing is."""
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
