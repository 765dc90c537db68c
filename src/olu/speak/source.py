"""The source of a vocoder: pulses that follow a pitch, in numpy. `nn/source.py` is its twin in torch, for training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pulses(
    contour: NDArray[np.floating], voicing: NDArray[np.floating], *, hop: int, rate: int, turns: float = 0.0
) -> NDArray[np.float32]:
    """Log2 of hertz and voicing (0 to 1) at the centres of frames [F] -> [F * hop] samples of power 1 where voiced.

    Each is sqrt(2 / m) times the sum of the cosines of all m harmonics below half the rate, by the closed form of that
    sum. `turns` is the phase before the first sample; between centres pitch and voicing go in straight lines.
    """
    frames = len(contour)
    samples = np.arange(frames * hop, dtype=np.float64)
    centres = np.arange(frames, dtype=np.float64) * hop + hop / 2
    hertz = np.exp2(np.interp(samples, centres, contour))
    gate = np.interp(samples, centres, voicing)
    phase = turns + np.cumsum(hertz / rate)
    phase -= np.rint(phase)  # the sines below are exact near the pulses
    wave = np.zeros(frames * hop, np.float32)
    heard = np.flatnonzero(gate)
    half, count = np.pi * phase[heard], np.floor(rate / 2 / hertz[heard])
    under = np.sin(half)
    tip = np.abs(under) < 1e-5
    inside = np.sin((2 * count + 1) * half) / np.where(tip, 1.0, under) - 1
    wave[heard] = gate[heard] * np.where(tip, count, inside / 2) * np.sqrt(2 / count)
    return wave


def framed(wave: NDArray[np.float32], hop: int) -> NDArray[np.float32]:
    """Samples [F * hop] as a decoder takes them: [1, hop, F]."""
    return np.ascontiguousarray(wave.reshape(-1, hop).T[None])
