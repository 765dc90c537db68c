"""What one pass over a clip's samples tells: level, clipping, silence, and a hash of the sound itself."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.io import to_int16
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

    @property
    def spoken(self) -> float:
        """Seconds from the first sound to the last."""
        return max(0.0, self.seconds - self.leading - self.trailing)


def measure(audio: Audio) -> Facts:
    samples = audio.samples
    peak = max(float(samples.max()), -float(samples.min()))
    power = float(np.dot(samples, samples)) / len(samples)
    starts, ends = _sounds(_frame_dbfs(audio))
    total = audio.seconds
    silent = len(starts) == 0
    return Facts(
        seconds=total,
        peak=peak,
        rms_dbfs=_dbfs(power),
        clipped=_clipped(samples) if peak >= CLIPPED_LEVEL else 0.0,
        leading=total if silent else float(starts[0]) * FRAME_SECONDS,
        trailing=0.0 if silent else max(0.0, total - float(ends[-1]) * FRAME_SECONDS),
        pause=float((starts[1:] - ends[:-1]).max()) * FRAME_SECONDS if len(starts) > 1 else 0.0,
        speech=min(1.0, float((ends - starts).sum()) * FRAME_SECONDS / total),
        pcm=hashlib.sha256(to_int16(audio).tobytes()).hexdigest(),
    )


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
