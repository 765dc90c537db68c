"""What happens to the sound between the network and the listener: soft edges, level, another rate."""

from __future__ import annotations

import numpy as np
import soxr
from numpy.typing import NDArray

from olu.audio.loudness import Limiter

FADE_SECONDS = 0.01


def fade(samples: NDArray[np.float32], rate: int, *, begins: bool, ends: bool) -> NDArray[np.float32]:
    """A copy that rises from and falls to silence where a sentence begins and ends."""
    size = min(round(FADE_SECONDS * rate), len(samples))
    if not size or not (begins or ends):
        return samples
    out = samples.copy()
    ramp = ((np.arange(size) + 0.5) / size).astype(np.float32)
    if begins:
        out[:size] *= ramp
    if ends:
        out[-size:] *= ramp[::-1]
    return out


def silence(seconds: float, rate: int) -> NDArray[np.float32]:
    return np.zeros(round(seconds * rate), np.float32)


class Finish:
    """Takes the sound in pieces at the network's rate and gives it at the listener's, so that the pieces still join."""

    def __init__(self, rate: int, out: int, *, limited: bool) -> None:
        self._resample = soxr.ResampleStream(rate, out, 1, dtype="float32", quality="HQ") if out != rate else None
        self._limiter = Limiter(out) if limited else None

    def push(self, samples: NDArray[np.float32], *, last: bool) -> NDArray[np.float32]:
        if self._resample is not None:
            samples = np.asarray(self._resample.resample_chunk(samples, last=last), np.float32)
        if self._limiter is not None:
            samples = self._limiter.push(samples, last=last)
        return np.clip(samples, -1.0, 1.0)
