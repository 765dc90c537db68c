"""Where in a recording somebody speaks: the Silero network where it is installed and hears a voice, else levels.

Levels alone lose soft endings as soon as there is noise: on our clips 20 dB of it shortened speech by up to a fifth.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from olu.audio import activity, io
from olu.core.errors import MissingExtra
from olu.core.types import Audio
from olu.networks import silero
from olu.networks.models import RATE, weights

SHORTEST_PAUSE = 0.2  # seconds: less is a stop consonant or a breath between words

Stretches = tuple[tuple[float, float], ...]


def numbers_only(audio: Audio) -> Audio:
    """The recording with nothing where a sample is no number: what is broken is counted elsewhere (sanity.py)."""
    return Audio(np.nan_to_num(audio.samples, posinf=0.0, neginf=0.0).astype(np.float32), audio.rate)


def stretches(audio: Audio) -> Stretches:
    """Beginnings and ends in seconds; none in a silent recording."""
    if len(audio.samples) == 0:
        return ()
    sound = numbers_only(audio)
    levels = activity.frame_dbfs(sound)
    if float(np.max(levels)) <= activity.SILENT_DBFS:
        return ()
    return _voiced(sound) or _loud(levels, activity.frame_rate(audio.rate))


def instrument() -> str:
    finder = "levels of 10 ms frames" if _ears() is None else f"Silero VAD {_version()}"
    return f"{finder}, pauses from {1000 * SHORTEST_PAUSE:.0f} ms"


def _version() -> str:
    try:
        return metadata.version("silero-vad")
    except metadata.PackageNotFoundError:
        return "?"


def _voiced(sound: Audio) -> Stretches:
    ears = _ears()
    if ears is None:
        return ()
    starts, ends = activity.runs(silero.spoken(ears, io.resample(sound, RATE).samples))
    frame = silero.FRAME / RATE
    return _joined(
        [(float(one) * frame, min(float(two) * frame, sound.seconds)) for one, two in zip(starts, ends, strict=True)]
    )


def _loud(levels: activity.Levels, rate: float) -> Stretches:
    return tuple((float(one) / rate, float(two) / rate) for one, two in zip(*activity.sounds(levels), strict=True))


def _joined(found: list[tuple[float, float]]) -> Stretches:
    joined: list[tuple[float, float]] = []
    for start, end in found:
        if joined and start - joined[-1][1] < SHORTEST_PAUSE:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)


@cache
def _ears() -> Any:
    try:
        return silero.load(weights("silero_vad", "data/silero_vad_16k_sequence.onnx"))
    except MissingExtra:
        return None
