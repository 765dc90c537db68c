"""What the frame models hear: log mels every 10 ms, and cepstra with their slopes.

Frame i is centred on its own 10 ms, so the boundary between frames i - 1 and i lies at i * 10 ms. Numpy only, and one
fixed rate: a model trained on one corpus hears any other the same way.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from olu.audio.io import resample
from olu.core.types import Audio

Floats = NDArray[np.float32]

RATE = 16000
HOP = 160
FRAME_SECONDS = HOP / RATE
WINDOW = 400
FFT_SIZE = 512
BEYOND_SECONDS = (WINDOW - HOP) / 2 / RATE  # what a frame hears on either side of its own; loud drowns quiet
BINS = 40
LOW_HZ, HIGH_HZ = 60.0, 7600.0
CEPSTRA = 13
EMPHASIS = 0.97
QUIETEST = 1e-8  # mel power that counts as nothing: a little below the steps of 16-bit samples
BLOCK = 4096  # frames transformed at once


def log_mels(audio: Audio) -> Floats:
    """[frames, BINS] with the clip's own mean taken off; one frame for each whole or begun 10 ms."""
    samples = resample(audio, RATE).samples
    count = max(1, -(-len(samples) // HOP))
    edge = (WINDOW - HOP) // 2
    padded = np.zeros(count * HOP + 2 * edge, dtype=np.float32)
    padded[edge : edge + len(samples)] = samples
    padded[1:] -= EMPHASIS * padded[:-1]
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    window = np.hamming(WINDOW).astype(np.float32)
    mels = np.empty((count, BINS), dtype=np.float32)
    for start in range(0, count, BLOCK):
        spectrum = np.fft.rfft(frames[start : start + BLOCK] * window, FFT_SIZE, axis=1)
        power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
        mels[start : start + BLOCK] = np.log(power @ _bank().T + QUIETEST)
    return np.asarray(mels - mels.mean(axis=0), dtype=np.float32)


def cepstra(mels_FM: Floats) -> Floats:
    """[frames, 3 * CEPSTRA]: the cosine transform of the mels, its slope and the slope of that."""
    still = mels_FM @ _cosines().T
    moving = _slope(still)
    return np.concatenate([still, moving, _slope(moving)], axis=1)


def _slope(values_FD: Floats, reach: int = 2) -> Floats:
    padded = np.pad(values_FD, ((reach, reach), (0, 0)), mode="edge")
    count = len(values_FD)
    total = np.zeros_like(values_FD)
    for step in range(1, reach + 1):
        total += step * (padded[reach + step : reach + step + count] - padded[reach - step : reach - step + count])
    return np.asarray(total / (2 * sum(step * step for step in range(1, reach + 1))), dtype=np.float32)


@lru_cache(maxsize=1)
def _cosines() -> Floats:
    order = np.arange(CEPSTRA)[:, None]
    place = (np.arange(BINS)[None, :] + 0.5) / BINS
    return np.asarray(np.cos(np.pi * order * place) * np.sqrt(2.0 / BINS), dtype=np.float32)


@lru_cache(maxsize=1)
def _bank() -> Floats:
    """Triangles [BINS, FFT_SIZE / 2 + 1] that are as wide as hearing is."""
    low, high = (2595.0 * np.log10(1.0 + hertz / 700.0) for hertz in (LOW_HZ, HIGH_HZ))
    edges = 700.0 * (10.0 ** (np.linspace(low, high, BINS + 2) / 2595.0) - 1.0)
    hertz = np.arange(FFT_SIZE // 2 + 1) * RATE / FFT_SIZE
    rising = (hertz[None, :] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hertz[None, :]) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0.0, np.minimum(rising, falling)).astype(np.float32)
