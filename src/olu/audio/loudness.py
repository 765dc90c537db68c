"""How loud speech is (ITU-R BS.1770, gated), and bringing it to a target as it is made, without clipping."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

BLOCK_SECONDS, STEP_SECONDS = 0.4, 0.1
SILENT_LUFS = -70.0
GATE_LU = 10.0
OFFSET_DB = -0.691
# The two filters of the recommendation at 48 kHz: the head's shelf and the high pass.
SHELF = ((1.53512485958697, -2.69169618940638, 1.19839281085285), (1.0, -1.69065929318241, 0.73248077421585))
HIGH_PASS = ((1.0, -2.0, 1.0), (1.0, -1.99004745483398, 0.99007225036621))
FILTER_RATE = 48000
CEILING = 0.97  # of full scale
LOOK_SECONDS = 0.0025  # on either side of a peak
PRIOR_SECONDS = 10.0  # how much the level measured at export counts
STRONGEST_DB = 40.0


def loudness(samples: NDArray[np.float32], rate: int) -> float | None:
    """LUFS, or none for silence."""
    power = _gated(samples, rate)
    return None if power is None else OFFSET_DB + 10 * float(np.log10(power))


def _gated(samples: NDArray[np.float32], rate: int) -> float | None:
    powers = _block_powers(samples, rate)
    loud = powers[powers > _power(SILENT_LUFS)]
    if not loud.size:
        return None
    return float(loud[loud >= loud.mean() * 10 ** (-GATE_LU / 10)].mean())


def _power(lufs: float) -> float:
    return float(10 ** ((lufs - OFFSET_DB) / 10))


def _block_powers(samples: NDArray[np.float32], rate: int) -> NDArray[np.float64]:
    size, step = round(BLOCK_SECONDS * rate), round(STEP_SECONDS * rate)
    weights = _weights(size, rate)
    if len(samples) < size:
        return np.atleast_1d(
            _weighted(np.pad(samples, (0, size - len(samples))), weights) * size / max(1, len(samples))
        )
    blocks = sliding_window_view(samples, size)[::step]
    return np.concatenate([_weighted(part, weights) for part in np.array_split(blocks, len(blocks) // 100 + 1)])


def _weighted(blocks: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean square of each block after the filters, by Parseval."""
    spectrum = np.square(np.abs(np.fft.rfft(blocks, axis=-1)))
    powers: NDArray[np.float64] = spectrum @ weights
    return powers


def _weights(size: int, rate: int) -> NDArray[np.float64]:
    unit = np.exp(-2j * np.pi * np.fft.rfftfreq(size, 1 / rate) / FILTER_RATE)
    response = np.ones(len(unit))
    for above, below in (SHELF, HIGH_PASS):
        response *= np.square(np.abs(np.polyval(above[::-1], unit) / np.polyval(below[::-1], unit)))
    response[1 : (size + 1) // 2] *= 2  # the half of the spectrum that is not kept
    weights: NDArray[np.float64] = response / size**2
    return weights


class Leveller:
    """The gain for each sentence: from the voice's level at its export, and more and more from what was heard."""

    def __init__(self, target: float, *, usual: float | None) -> None:
        self.target = target
        self._seconds = 0.0 if usual is None else PRIOR_SECONDS
        self._energy = 0.0 if usual is None else PRIOR_SECONDS * _power(usual)

    @property
    def knows(self) -> bool:
        return self._seconds > 0

    def gain(self) -> float:
        if not self.knows:
            return 1.0
        level = OFFSET_DB + 10 * np.log10(self._energy / self._seconds)
        return float(10 ** (np.clip(self.target - level, -STRONGEST_DB, STRONGEST_DB) / 20))

    def hear(self, samples: NDArray[np.float32], rate: int) -> None:
        """Take in a sentence as it was before its gain, to choose the next gains by."""
        power = _gated(samples, rate)
        if power is not None:
            self._seconds += len(samples) / rate
            self._energy += power * len(samples) / rate


class Limiter:
    """Turns peaks down smoothly, a few milliseconds around each; quieter sound passes unchanged."""

    def __init__(self, rate: int) -> None:
        self._look = max(1, round(LOOK_SECONDS * rate))
        self._past = np.zeros(2 * self._look, np.float32)
        self._held = np.zeros(0, np.float32)

    def push(self, samples: NDArray[np.float32], *, last: bool) -> NDArray[np.float32]:
        """What can be let go; the last few milliseconds wait for what comes after them."""
        reach = 2 * self._look
        ready = np.concatenate([self._held, samples])
        count = len(ready) if last else max(0, len(ready) - reach)
        ahead = ready[count : count + reach]
        around = np.concatenate([self._past, ready[:count], np.pad(ahead, (0, reach - len(ahead)))])
        out = ready[:count]
        if count and np.abs(around).max() > CEILING:
            out = out * self._gains(around)
        self._held = ready[count:]
        self._past = np.concatenate([self._past, ready[:count]])[-reach:]
        return out

    def _gains(self, around: NDArray[np.float32]) -> NDArray[np.float32]:
        needed = np.minimum(1.0, CEILING / np.maximum(np.abs(around), 1e-9))
        width = 2 * self._look + 1
        lowest = sliding_window_view(needed, width).min(axis=1)
        sums = np.cumsum(np.concatenate([[0.0], lowest.astype(np.float64)]))
        gains: NDArray[np.float32] = ((sums[width:] - sums[:-width]) / width).astype(np.float32)
        return gains
