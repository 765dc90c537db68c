"""Where something is heard: levels of short frames, and the stretches that stand out of a recording's own floor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.audio.io import header, mono, opened
from olu.core.errors import AudioError
from olu.core.types import Audio

Levels = NDArray[np.float32]

FRAME_SECONDS = 0.01
SILENT_DBFS = -60.0  # below this nothing is heard next to any speech, whatever the recording's own floor is

# A frame is speech when it stands out of the clip's own floor, measured against its own loud parts. The bounds keep
# a studio clip (floor near nothing) from counting breath, and a clip without pauses from losing its quiet vowels.
ABOVE_FLOOR_DB = 8.0
BELOW_LOUD_DB = (35.0, 15.0)
SHORTEST_SOUND_FRAMES = 4  # less is a click
SHORTEST_PAUSE_FRAMES = 20  # less is a stop consonant or a breath between words

WINDOW_SECONDS = 60.0  # a threshold of its own for each: people move, rooms change
WINDOW_DB = 10.0  # that a window's threshold may lie off the whole recording's
NEAR_STEP, NEAR_SECONDS = 2.0, 15.0  # the same where noise may come and go: how often, and by how much on both sides
BLOCK_FRAMES = 1000


def frame_dbfs(audio: Audio) -> Levels:
    """(frames,) level of each frame around its own mean: an offset or a slow rumble is no sound."""
    width = max(1, round(audio.rate * FRAME_SECONDS))
    count = max(1, len(audio.samples) // width)
    frames = audio.samples[: count * width].reshape(count, -1)
    means = frames @ np.full(frames.shape[1], 1.0 / frames.shape[1], dtype=np.float32)  # faster than mean()
    power = np.einsum("ij,ij->i", frames, frames) / frames.shape[1] - means**2
    return np.asarray(10.0 * np.log10(np.maximum(power, 1e-12)), dtype=np.float32)


def threshold(levels: Levels) -> float:
    """The level from which a frame is sound."""
    floor, loud = (float(level) for level in np.percentile(levels, (5, 99)))
    far, near = BELOW_LOUD_DB
    return max(min(max(floor + ABOVE_FLOOR_DB, loud - far), loud - near), SILENT_DBFS)


def sounds(levels: Levels) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First frames and ends of the stretches of sound."""
    starts, ends = runs(levels >= threshold(levels))
    heard = ends - starts >= min(SHORTEST_SOUND_FRAMES, len(levels))
    starts, ends = starts[heard], ends[heard]
    parted = starts[1:] - ends[:-1] >= SHORTEST_PAUSE_FRAMES
    if len(starts) == 0:
        return starts, ends
    return starts[np.append(True, parted)], ends[np.append(parted, True)]


def stretches(
    levels: Levels, frames_per_second: float, *, pause_frames: int = SHORTEST_PAUSE_FRAMES, noisy: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First frames and ends of the sound in a long recording, whose loudness may change from part to part.

    `noisy`: so may its noise, which is no sound however loud it is beside other parts.
    """
    step, reach = (NEAR_STEP, NEAR_SECONDS) if noisy else (WINDOW_SECONDS, WINDOW_SECONDS / 2)
    least = _near_thresholds(
        levels,
        size=round(step * frames_per_second),
        reach=round(reach * frames_per_second),
        higher=np.inf if noisy else WINDOW_DB,
    )
    starts, ends = runs(levels >= least)
    heard = ends - starts >= SHORTEST_SOUND_FRAMES
    starts, ends = starts[heard], ends[heard]
    if len(starts) == 0:
        return starts, ends
    parted = starts[1:] - ends[:-1] >= pause_frames
    return starts[np.append(True, parted)], ends[np.append(parted, True)]


def _near_thresholds(levels: Levels, *, size: int, reach: int, higher: float) -> Levels:
    """(frames,) the level from which each is sound, by what is around it, every `size` frames anew."""
    whole = threshold(levels)
    least = np.empty(len(levels), dtype=np.float32)
    for start in range(0, len(levels), size):
        own = threshold(levels[max(0, start - reach) : start + size + reach])
        least[start : start + size] = np.clip(own, whole - WINDOW_DB, whole + higher)
    return least


def bounds(audio: Audio) -> tuple[float, float]:
    """Seconds at which the first sound begins and the last one ends; all of it where nothing stands out."""
    starts, ends = sounds(frame_dbfs(audio))
    if len(starts) == 0:
        return 0.0, audio.seconds
    rate = frame_rate(audio.rate)
    return float(starts[0]) / rate, min(float(ends[-1]) / rate, audio.seconds)


def runs(mask: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the stretches of True start, and where they end."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    return edges[0::2], edges[1::2]


def file_levels(path: Path) -> Levels:
    """(frames,) levels of a whole file of any length, read block by block."""
    rate = header(path).rate
    width = max(1, round(rate * FRAME_SECONDS))
    try:
        return opened(path, partial(_levels, rate=rate, width=width))
    except (soundfile.SoundFileError, OSError) as bad:
        raise AudioError(f"{path} breaks off while decoding ({bad}): convert or copy it again") from None


def _levels(file: Any, *, rate: int, width: int) -> Levels:
    with soundfile.SoundFile(file) as sound:
        coming = sound.blocks(blocksize=BLOCK_FRAMES * width, dtype="float32", always_2d=True)
        return _joined(frame_dbfs(Audio(one, rate)) for one in _mono(coming))


def frame_rate(rate: int) -> float:
    """Frames per second: a frame has a whole number of samples."""
    return rate / max(1, round(rate * FRAME_SECONDS))


def _mono(blocks: Iterable[NDArray[np.float32]]) -> Iterator[NDArray[np.float32]]:
    for block in blocks:
        if len(block):
            yield mono(np.nan_to_num(block))


def _joined(parts: Iterator[Levels]) -> Levels:
    found = list(parts)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.float32)


def quiet_cuts(audio: Audio, *, longest: float, earliest: float) -> list[Audio]:
    """Stretches of at most `longest` seconds, cut at the quietest place from `earliest` seconds on."""
    sound, cuts = audio.samples, list[Audio]()
    while len(sound) > longest * audio.rate:
        levels = frame_dbfs(Audio(sound[: round(longest * audio.rate)], audio.rate))
        first = round(earliest / FRAME_SECONDS)
        cut = (first + int(np.argmin(levels[first:]))) * round(FRAME_SECONDS * audio.rate)
        cuts.append(Audio(sound[:cut], audio.rate))
        sound = sound[cut:]
    return [*cuts, Audio(sound, audio.rate)]
