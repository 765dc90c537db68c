"""What one pass over a clip's samples tells: level, clipping, silence, noise, spectrum, and prints of the sound."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from olu.audio.activity import FRAME_SECONDS, frame_dbfs, runs, sounds
from olu.audio.io import to_int16
from olu.audit import spectrum
from olu.types import Audio

CLIPPED_LEVEL = 0.999
CLIPPED_RUN = 3  # one or two samples at full scale are a peak, a run of them is a flat top

GUARD_FRAMES = 5  # next to speech: its own rise and fall, no noise
GATED_DBFS = -90.0  # quieter is cut to digital silence or next to it: the noise of the room is not in it
LEAST_NOISE_FRAMES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    seconds: float
    peak: float
    rms_dbfs: float
    clipped: float  # share of the samples that lie in flat tops
    leading: float  # seconds of silence before the first sound; the whole clip when there is none
    trailing: float
    pause: float  # the longest silence between two sounds, seconds
    speech: float  # share of the clip that is speech
    pcm: str  # sha256 of the 16-bit samples
    rate: int
    speech_dbfs: float  # level of the speech alone
    noise_dbfs: float | None  # level between the words; None where there is no room to hear it
    offset: float  # mean of the samples
    hum_dbfs: float | None  # a steady line at 50 or 60 Hz
    bandwidth: float  # Hz up to which there is sound
    prints: tuple[bytes, ...]  # the shape of the whole sound and of its speech, to find copies by

    @property
    def spoken(self) -> float:
        """Seconds from the first sound to the last."""
        return max(0.0, self.seconds - self.leading - self.trailing)

    @property
    def snr(self) -> float | None:
        """Decibels between speech and noise."""
        return None if self.noise_dbfs is None else self.speech_dbfs - self.noise_dbfs


def measure(audio: Audio) -> Facts:
    samples = audio.samples
    peak = max(float(samples.max()), -float(samples.min()))
    power = float(np.dot(samples, samples)) / len(samples)
    levels = frame_dbfs(audio)
    starts, ends = sounds(levels)
    total = audio.seconds
    silent = len(starts) == 0
    leading = total if silent else float(starts[0]) * FRAME_SECONDS
    trailing = 0.0 if silent else max(0.0, total - float(ends[-1]) * FRAME_SECONDS)
    spoken, noise = _speech_and_noise(levels, starts, ends)
    bands = spectrum.bands(audio)
    first, last = (round(time / spectrum.FRAME_SECONDS) for time in (leading, total - trailing))
    return Facts(
        seconds=total,
        peak=peak,
        rms_dbfs=_dbfs(power),
        clipped=_clipped(samples) if peak >= CLIPPED_LEVEL else 0.0,
        leading=leading,
        trailing=trailing,
        pause=float((starts[1:] - ends[:-1]).max()) * FRAME_SECONDS if len(starts) > 1 else 0.0,
        speech=min(1.0, float((ends - starts).sum()) * FRAME_SECONDS / total),
        pcm=hashlib.sha256(to_int16(audio).tobytes()).hexdigest(),
        rate=audio.rate,
        speech_dbfs=spoken,
        noise_dbfs=noise,
        offset=float(samples.mean()),
        hum_dbfs=spectrum.hum_dbfs(audio),
        bandwidth=spectrum.bandwidth(bands),
        prints=() if silent else (spectrum.sound_print(bands), spectrum.sound_print(bands[first:last])),
    )


def _speech_and_noise(
    levels: NDArray[np.float32], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> tuple[float, float | None]:
    """Mean level of the frames in stretches of sound, and the middle level of those well outside."""
    inside, near = np.zeros(len(levels), dtype=bool), np.zeros(len(levels), dtype=bool)
    for start, end in zip(starts, ends, strict=True):
        inside[start:end] = True
        near[max(0, start - GUARD_FRAMES) : end + GUARD_FRAMES] = True
    spoken = _dbfs(float(np.mean(10.0 ** (levels[inside] / 10.0)))) if inside.any() else _dbfs(0.0)
    quiet = levels[~near]
    quiet = quiet[quiet > GATED_DBFS]
    enough = inside.any() and len(quiet) >= LEAST_NOISE_FRAMES
    return spoken, float(np.median(quiet)) if enough else None


def _dbfs(power: float) -> float:
    return 10.0 * math.log10(max(power, 1e-12))


def _clipped(samples: NDArray[np.float32]) -> float:
    starts, ends = runs((samples >= CLIPPED_LEVEL) | (samples <= -CLIPPED_LEVEL))
    lengths = ends - starts
    return float(lengths[lengths >= CLIPPED_RUN].sum()) / len(samples)
