"""A spoken sample as the figures its guard looks at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olu.train.guards import Sound
from olu.types import Audio

FRAME_SECONDS = 0.02
STRETCH_FRAMES = 25  # half a second
BANDS = 32
LONGEST_FRAMES = 1500
CLIPPED = 0.999


def measure(name: str, audio: Audio, *, natural: float | None = None) -> Sound:
    samples = np.nan_to_num(audio.samples.astype(np.float64))
    power = float(np.mean(samples**2)) if len(samples) else 0.0
    return Sound(
        name=name,
        seconds=audio.seconds,
        peak=float(np.max(np.abs(samples), initial=0.0)),
        level=10 * float(np.log10(max(power, 1e-12))),
        clipped=float(np.mean(np.abs(samples) >= CLIPPED)) if len(samples) else 0.0,
        repeats=repeats(samples, audio.rate),
        natural=natural,
    )


def repeats(samples: NDArray[np.float64], rate: int) -> float:
    """How alike the two most alike half seconds are that do not touch: speech stays below 0.9, a loop reaches 1."""
    size = round(FRAME_SECONDS * rate)
    frames = min(len(samples) // size, LONGEST_FRAMES)
    if frames < 3 * STRETCH_FRAMES:
        return 0.0
    spectra = np.abs(np.fft.rfft(samples[: frames * size].reshape(frames, size) * np.hanning(size)))[:, 1:]
    edges = np.unique(np.geomspace(1, spectra.shape[1], BANDS + 1).astype(int) - 1)
    bands = np.log(np.add.reduceat(spectra, edges[:-1], axis=1) + 1e-4)
    moving = bands - bands.mean(0)  # what never changes, such as hum or noise, is no repetition
    starts = range(0, frames - STRETCH_FRAMES + 1, 5)
    stretches = np.stack([moving[at : at + STRETCH_FRAMES].ravel() for at in starts])
    sizes = np.linalg.norm(stretches, axis=1)
    loud = sizes > 0.2 * np.median(sizes)
    unit = stretches / np.maximum(sizes, 1e-9)[:, None]
    alike = unit @ unit.T
    place = np.arange(len(unit))
    apart = np.abs(place[:, None] - place[None, :]) * 5 >= STRETCH_FRAMES
    return float(np.max(np.where(apart & loud[:, None] & loud[None, :], alike, 0.0), initial=0.0))
