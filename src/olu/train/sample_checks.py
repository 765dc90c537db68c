"""A spoken sample as the figures its guard looks at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olu.audio.activity import SILENT_DBFS, threshold
from olu.core.types import Audio
from olu.train.guards import SampleFigures

FRAME_SECONDS, HOP_SECONDS = 0.04, 0.01
STRETCH_FRAMES = 50  # half a second
EVERY = 5  # a stretch begins at every fifth frame, and is compared with those at every frame
BANDS = 32
HEARD = 0.3  # share of a stretch that is no silence, or there is nothing in it that could come again
LONGEST_FRAMES = 3000
CLIPPED = 0.999


def measure(name: str, audio: Audio, *, natural: float | None = None) -> SampleFigures:
    samples = np.nan_to_num(audio.samples.astype(np.float64))
    power = float(np.mean(samples**2)) if len(samples) else 0.0
    return SampleFigures(
        name=name,
        seconds=audio.seconds,
        peak=float(np.max(np.abs(samples), initial=0.0)),
        level=10 * float(np.log10(max(power, 1e-12))),
        clipped=float(np.mean(np.abs(samples) >= CLIPPED)) if len(samples) else 0.0,
        repeats=repeats(samples, audio.rate),
        natural=natural,
    )


def repeats(samples: NDArray[np.float64], rate: int) -> float:
    """How alike the two most alike half seconds are that do not touch: speech stays below 0.98, a loop passes 0.99.

    Every hundredth of a second is tried: with coarser steps a loop is found only where its length happens to fit them.
    Silence is like every other silence and is left out: a pause is no repetition.
    """
    hop, size = round(HOP_SECONDS * rate), round(FRAME_SECONDS * rate)
    if len(samples) < size + 3 * STRETCH_FRAMES * hop:
        return 0.0
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop][:LONGEST_FRAMES]
    heard = _heard(frames)
    if not heard.any():
        return 0.0
    spectra = np.abs(np.fft.rfft(frames * np.hanning(size)))[:, 1:]
    edges = np.unique(np.geomspace(1, spectra.shape[1], BANDS + 1).astype(int) - 1)
    bands = np.log(np.add.reduceat(spectra, edges[:-1], axis=1) + 1e-4)
    moving = (bands - bands[heard].mean(0)).astype(np.float32)  # what never changes, such as hum, is no repetition
    moving[~heard] = 0
    stretches = np.lib.stride_tricks.sliding_window_view(moving, STRETCH_FRAMES, axis=0).reshape(
        len(moving) - STRETCH_FRAMES + 1, -1
    )
    sizes = np.linalg.norm(stretches, axis=1)
    filled = np.convolve(heard, np.ones(STRETCH_FRAMES), mode="valid") >= HEARD * STRETCH_FRAMES
    loud = filled & (sizes > 0.2 * np.median(sizes[filled])) if filled.any() else filled
    unit = stretches / np.maximum(sizes, 1e-9)[:, None]
    place = np.arange(len(unit))
    alike = unit[::EVERY] @ unit.T
    apart = np.abs(place[::EVERY, None] - place) >= STRETCH_FRAMES
    return float(np.max(np.where(apart & loud[::EVERY, None] & loud, alike, 0.0), initial=0.0))


def _heard(frames: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Frames that are no silence: not in itself, and not against the rest of the file."""
    levels = (10 * np.log10(np.maximum(np.var(frames, axis=1), 1e-12))).astype(np.float32)
    above = np.asarray(levels > SILENT_DBFS)  # silence put between sentences is not the file's own floor
    return np.logical_and(above, levels >= threshold(levels[above])) if above.any() else above
