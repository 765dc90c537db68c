"""What one pass over a clip's samples tells: level, clipping, silence, noise, spectrum, and prints of the sound."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.io import to_int16
from olu.audit import spectrum
from olu.types import Audio

FRAME_SECONDS = 0.01
SILENT_DBFS = -60.0  # below this nothing is heard next to any speech, whatever the clip's own floor is
CLIPPED_LEVEL = 0.999
CLIPPED_RUN = 3  # one or two samples at full scale are a peak, a run of them is a flat top

# A frame is speech when it stands out of the clip's own floor, measured against its own loud parts. The bounds keep
# a studio clip (floor near nothing) from counting breath, and a clip without pauses from losing its quiet vowels.
ABOVE_FLOOR_DB = 8.0
BELOW_LOUD_DB = (35.0, 15.0)
SHORTEST_SOUND_FRAMES = 4  # less is a click
SHORTEST_PAUSE_FRAMES = 20  # less is a stop consonant or a breath between words

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
    levels = _frame_dbfs(audio)
    starts, ends = _sounds(levels)
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
        offset=float(samples.mean(dtype=np.float64)),
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


def _frame_dbfs(audio: Audio) -> NDArray[np.float32]:
    """(frames,) level of each frame around its own mean: an offset or a slow rumble is no sound."""
    width = max(1, round(audio.rate * FRAME_SECONDS))
    count = max(1, len(audio.samples) // width)
    frames = audio.samples[: count * width].reshape(count, -1)
    power = np.einsum("ij,ij->i", frames, frames) / frames.shape[1] - frames.mean(axis=1) ** 2
    return np.asarray(10.0 * np.log10(np.maximum(power, 1e-12)), dtype=np.float32)


def _sounds(levels: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First frames and ends of the stretches of sound."""
    floor, loud = (float(level) for level in np.percentile(levels, (5, 99)))
    far, near = BELOW_LOUD_DB
    threshold = max(min(max(floor + ABOVE_FLOOR_DB, loud - far), loud - near), SILENT_DBFS)
    starts, ends = _runs(levels >= threshold)
    heard = ends - starts >= min(SHORTEST_SOUND_FRAMES, len(levels))
    starts, ends = starts[heard], ends[heard]
    parted = starts[1:] - ends[:-1] >= SHORTEST_PAUSE_FRAMES
    if len(starts) == 0:
        return starts, ends
    return starts[np.append(True, parted)], ends[np.append(parted, True)]


def _clipped(samples: NDArray[np.float32]) -> float:
    starts, ends = _runs((samples >= CLIPPED_LEVEL) | (samples <= -CLIPPED_LEVEL))
    lengths = ends - starts
    return float(lengths[lengths >= CLIPPED_RUN].sum()) / len(samples)


def _runs(mask: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the stretches of True start, and where they end."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    return edges[0::2], edges[1::2]
