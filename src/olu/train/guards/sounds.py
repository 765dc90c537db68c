"""Spoken samples as figures, and a guard that asks them: silence, clipping, no end, or the same again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.activity import SILENT_DBFS, threshold
from olu.core.types import Audio
from olu.train.guards.seen import GuardEvent, SampleFigures, Seen, ValidationView, Verdict

SILENT_PEAK, SILENT_LEVEL = 0.02, -45.0  # of full scale, dB
CLIPPED = 1e-3  # share of the samples
ENDLESS = 3.0  # times the recording of the same text
REPEATS = 0.98


class Samples:
    """After `warmup` of the steps: before, every sample is noise."""

    def __init__(self, *, warmup: float = 0.25) -> None:
        self.warmup = warmup
        self.well: list[str] = []  # faults that some earlier sample did not have
        self.told: list[str] = []

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, ValidationView) or not seen.sounds:
            return None
        found = {fault: [one.name for one in seen.sounds if fault in faults(one)] for fault in FAULTS}
        late = seen.step >= self.warmup * seen.steps
        new = [fault for fault, names in found.items() if late and len(names) == len(seen.sounds)]
        said = [fault for fault in new if fault not in self.told and (fault == "silent" or fault in self.well)]
        self.well = sorted({*self.well, *(fault for fault, names in found.items() if not names)})
        self.told = [fault for fault in new if fault in self.told or fault in said]
        if not said:
            return None
        names = ", ".join(found[said[0]][:2])
        message = f"the samples are {' and '.join(said)} ({names}): listen to them; {ADVICE[said[0]]}"
        return GuardEvent(seen.step, "samples", Verdict.NOTE, message)

    def state(self) -> dict[str, Any]:
        return {"well": self.well, "told": self.told}

    def load(self, state: dict[str, Any]) -> None:
        self.well, self.told = list(state["well"]), list(state["told"])


ADVICE = {
    "silent": "a voice that is well with teacher forcing and silent on its own has learnt no durations or no text",
    "clipped": "lower the rate, and look whether the recordings are clipped",
    "endless": "the durations went wrong: look at the audit's rate outliers, or export an earlier step",
    "repetitive": "the text no longer steers the voice: export an earlier step",
}
FAULTS = tuple(ADVICE)


def faults(sound: SampleFigures) -> tuple[str, ...]:
    endless = sound.natural is not None and sound.seconds > ENDLESS * sound.natural
    is_so = {
        "silent": sound.peak < SILENT_PEAK or sound.level < SILENT_LEVEL,
        "clipped": sound.clipped > CLIPPED,
        "endless": endless,
        "repetitive": sound.repeats > REPEATS,
    }
    return tuple(fault for fault, found in is_so.items() if found)


FRAME_SECONDS, HOP_SECONDS = 0.04, 0.01
STRETCH_FRAMES = 50  # half a second
EVERY = 5  # a stretch begins at every fifth frame, and is compared with those at every frame
BANDS = 32
HEARD = 0.3  # share of a stretch that is no silence, or there is nothing in it that could come again
LONGEST_FRAMES = 3000
FULL_SCALE = 0.999


def measure(name: str, audio: Audio, *, natural: float | None = None) -> SampleFigures:
    samples = np.nan_to_num(audio.samples.astype(np.float64))
    power = float(np.mean(samples**2)) if len(samples) else 0.0
    return SampleFigures(
        name=name,
        seconds=audio.seconds,
        peak=float(np.max(np.abs(samples), initial=0.0)),
        level=10 * float(np.log10(max(power, 1e-12))),
        clipped=float(np.mean(np.abs(samples) >= FULL_SCALE)) if len(samples) else 0.0,
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
