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
from olu.core.types import Audio

CLIPPED_LEVEL = 0.999
CLIPPED_RUN = 3  # one or two samples at full scale are a peak, a run of them is a flat top
# Clipped and then turned down: flat tops below full scale. A voice meets its own highest level once, in one sample.
FLAT_TOPS = 5
FLAT_STEP = 1 / 32768
FLAT_LEAST = 0.05  # of full scale: below it the steps of the samples are coarse, and peaks flat by chance

GUARD_FRAMES = 5  # next to speech: its own rise and fall, no noise
GATED_DBFS = -90.0  # quieter is cut to digital silence or next to it: the noise of the room is not in it
LEAST_NOISE_FRAMES = 20
LEAST_FLOOR_FRAMES = 100  # without a pause in it, so long a clip must still have moments next to its floor
FLOOR_PERCENTILE = 5
CORE_BELOW_LOUD_DB = 20.0  # louder is speech whatever the floor is: the same frames of a trimmed or turned-down copy


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundFacts:
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
    pauseless: bool  # no pause to hear the noise in: it is the level of the quietest moments
    offset: float  # mean of the samples
    hum_dbfs: float | None  # a steady line at 50 or 60 Hz
    bandwidth: float  # Hz up to which there is sound
    prints: tuple[bytes, ...]  # the shape of the whole sound, of its core and of its speech, to find copies by
    core: float  # seconds from the first loud frame to the last

    @property
    def spoken(self) -> float:
        """Seconds from the first sound to the last."""
        return max(0.0, self.seconds - self.leading - self.trailing)

    @property
    def snr(self) -> float | None:
        """Decibels between speech and noise."""
        return None if self.noise_dbfs is None else self.speech_dbfs - self.noise_dbfs


def measure(audio: Audio) -> SoundFacts:
    samples = audio.samples
    peak = max(float(samples.max()), -float(samples.min()))
    power = float(np.dot(samples, samples)) / len(samples)
    levels = frame_dbfs(audio)
    starts, ends = sounds(levels)
    total = audio.seconds
    silent = len(starts) == 0
    leading = total if silent else float(starts[0]) * FRAME_SECONDS
    trailing = 0.0 if silent else max(0.0, total - float(ends[-1]) * FRAME_SECONDS)
    spoken, noise, pauseless = _speech_and_noise(levels, starts, ends)
    bands = spectrum.bands(audio)
    start, end = _core(levels)
    spans = ((0.0, total), (start, end), (leading, total - trailing))
    return SoundFacts(
        seconds=total,
        peak=peak,
        rms_dbfs=_dbfs(power),
        clipped=_clipped(samples) if peak >= CLIPPED_LEVEL else _flat(samples),
        leading=leading,
        trailing=trailing,
        pause=float((starts[1:] - ends[:-1]).max()) * FRAME_SECONDS if len(starts) > 1 else 0.0,
        speech=min(1.0, float((ends - starts).sum()) * FRAME_SECONDS / total),
        pcm=hashlib.sha256(to_int16(audio).tobytes()).hexdigest(),
        rate=audio.rate,
        speech_dbfs=spoken,
        noise_dbfs=noise,
        pauseless=pauseless,
        offset=float(samples.mean()),
        hum_dbfs=spectrum.hum_dbfs(audio),
        bandwidth=spectrum.bandwidth(bands),
        prints=() if silent else tuple(spectrum.sound_print(_between(bands, *span)) for span in spans),
        core=end - start,
    )


def _between(bands: NDArray[np.float32], start: float, end: float) -> NDArray[np.float32]:
    return bands[round(start / spectrum.FRAME_SECONDS) : round(end / spectrum.FRAME_SECONDS)]


def _core(levels: NDArray[np.float32]) -> tuple[float, float]:
    """Seconds at which the first loud frame begins and the last one ends."""
    loud = np.flatnonzero(levels >= np.percentile(levels, 99) - CORE_BELOW_LOUD_DB)
    return float(loud[0]) * FRAME_SECONDS, float(loud[-1] + 1) * FRAME_SECONDS


def _speech_and_noise(
    levels: NDArray[np.float32], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> tuple[float, float | None, bool]:
    """Mean level of the frames in stretches of sound, and the middle level of those well outside.

    Steady noise and music leave nothing outside: there the quietest moments are the noise.
    """
    inside, near = np.zeros(len(levels), dtype=bool), np.zeros(len(levels), dtype=bool)
    for start, end in zip(starts, ends, strict=True):
        inside[start:end] = True
        near[max(0, start - GUARD_FRAMES) : end + GUARD_FRAMES] = True
    spoken = _dbfs(float(np.mean(10.0 ** (levels[inside] / 10.0)))) if inside.any() else _dbfs(0.0)
    quiet = levels[~near]
    quiet = quiet[quiet > GATED_DBFS]
    if inside.any() and len(quiet) >= LEAST_NOISE_FRAMES:
        return spoken, float(np.median(quiet)), False
    heard = levels[inside]
    if len(heard) >= LEAST_FLOOR_FRAMES and float(heard.min()) > GATED_DBFS:
        return spoken, float(np.percentile(heard, FLOOR_PERCENTILE)), True
    return spoken, None, True


def _dbfs(power: float) -> float:
    return 10.0 * math.log10(max(power, 1e-12))


def _clipped(samples: NDArray[np.float32]) -> float:
    tops = _tops((samples >= CLIPPED_LEVEL) | (samples <= -CLIPPED_LEVEL))
    return float(tops.sum()) / len(samples)


def _flat(samples: NDArray[np.float32]) -> float:
    """Share of the samples in flat tops at the sound's own highest or lowest level, where there are several."""
    share = 0.0
    for side in (samples, -samples):
        highest = float(side.max())
        tops = _tops(side >= highest - FLAT_STEP) if highest >= FLAT_LEAST else np.zeros(0)
        if len(tops) >= FLAT_TOPS:
            share += float(tops.sum()) / len(samples)
    return share


def _tops(mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    starts, ends = runs(mask)
    lengths: NDArray[np.intp] = ends - starts
    return lengths[lengths >= CLIPPED_RUN]
