"""Mel-cepstra as SPTK's mcep makes them and ESPnet measures with: the envelope that fits the spectrum's peaks.

Written here because pysptk wants a compiler. It is one convex problem per frame, and numpy solves all frames together:
log D(w) = 2 sum_m c_m cos(m v(w)), v the all-pass warped frequency, so that the mean of I/D + log D is smallest
(the unbiased estimator of log spectrum). Shapes: F frames, N bins, M = order + 1.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from olu.core.types import Audio

# order and warping by rate, as ESPnet: values are comparable between equal settings only
SETTINGS = {16000: (23, 0.42), 22050: (34, 0.45), 24000: (34, 0.46), 44100: (39, 0.53), 48000: (39, 0.55)}
FFT_SIZE, HOP = 1024, 256
FLOOR_DB = 80.0  # below the loud frames: digital silence is not endlessly far from a quiet room
ROUNDS, LARGEST, CLOSE = 30, 1.0, 1e-4  # of Newton's method: at most, longest step of a cepstrum, and when to stop
BLOCK = 2000  # frames at once

Floats = NDArray[np.float64]


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
