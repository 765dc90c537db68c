"""Pitch by the SwiftF0 network: hertz and confidence of every mel frame, and the contour that models learn from.

F frames (= S // 256); frame i of a prepared pitch lies at sample 256 i + 128, the centre of mel frame i.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import MissingExtra
from olu.features.store import FeatureClip, PreparedFeature
from olu.networks.models import INSTALL
from olu.networks.session import open_session, quiet, read_network

RATE, STEP = 16000, 256  # of the network: a frame every 16 ms, the first at sample 0
LOWEST, HIGHEST = 60.0, 600.0  # Hz that a voice may have
VOICED = 0.5  # the network's own bound
SILENT_PEAK = 1e-3  # the network never saw digital silence and hears voices in it
BLOCK_FRAMES, LEFT, RIGHT = 1875, 11, 10  # a long recording goes in pieces with what the network sees around them
LEAST_FRAMES = 10  # voiced, below which nothing can be said of a speaker's range
SLIP, SLIP_FRAMES = 0.6, 11  # octaves from the median of so many frames, from which a frame is a slip
NO_VOICE = float(np.log2(100.0))  # the contour of a clip in which nothing is voiced

Floats = NDArray[np.float64]
Frames = NDArray[np.float32]


def instrument() -> str:
    try:
        return f"SwiftF0 {metadata.version('swift-f0')}"
    except metadata.PackageNotFoundError:
        return "SwiftF0"


def hear(sound: NDArray[np.float32], *, low: float = LOWEST, high: float = HIGHEST) -> tuple[Floats, Floats]:
    """Hertz and confidence (0 in silence) of S // 256 frames at samples 0, 256, ... of sound at 16 kHz."""
    count = len(sound) // STEP
    parts = [(np.zeros(0), np.zeros(0))]
    for start in range(0, count, BLOCK_FRAMES):
        end = min(start + BLOCK_FRAMES, count)
        left = max(0, start - LEFT)
        piece = sound[left * STEP : (end + RIGHT) * STEP] if end < count else sound[left * STEP :]
        hertz, sure = hear_piece(piece, low=low, high=high)
        parts.append((hertz[start - left : end - left], sure[start - left : end - left]))
    return np.concatenate([hertz for hertz, _ in parts]), np.concatenate([sure for _, sure in parts])


def hear_piece(sound: NDArray[np.float32], *, low: float, high: float) -> tuple[Floats, Floats]:
    """As `hear`, in one run of the network."""
    asked = {"audio": sound[None], "fmin": np.asarray(low, np.float32), "fmax": np.asarray(high, np.float32)}
    heard = _session().run(["pitch", "confidence"], asked)
    hertz, sure = (np.asarray(found[0], np.float64) for found in heard)
    count = min(len(hertz), len(sound) // STEP)
    peaks = np.abs(sound[: count * STEP].reshape(count, STEP)).max(axis=1)
    return hertz[:count], np.where(peaks >= SILENT_PEAK, sure[:count], 0.0)


@cache
def _session() -> Any:
    """The network's file alone is used, with one thread; the package is not imported."""
    spec = find_spec("swift_f0")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "model.onnx"
        if path.is_file():
            return open_session(read_network(path), quiet(1))
    raise MissingExtra("the tracker of pitch", package="swift-f0", install=INSTALL)


def at_centres(samples: NDArray[np.int16]) -> Frames:
    """Hertz and confidence [F, 2] at the centres of mel frames, of int16 samples at 16 kHz."""
    count = len(samples) // STEP
    sound = samples.astype(np.float32) / 32768
    padded = np.concatenate([sound[STEP // 2 : count * STEP], np.zeros(STEP, np.float32)])
    hertz, sure = hear(padded)
    return np.stack([hertz[:count], sure[:count]], 1).astype(np.float32)


def pitch_feature() -> PreparedFeature:
    """The feature `pitch` [F, 2] of clips at 16 kHz."""
    settings = {"tracker": instrument(), "rate": RATE, "hop": STEP, "low": LOWEST, "high": HIGHEST}
    return PreparedFeature("pitch", settings, lambda device: _of_clip, threads=True)


def _of_clip(clip: FeatureClip) -> Frames:
    return at_centres(clip.samples)


def voiced(hertz: NDArray[Any], confidence: NDArray[Any], bounds: tuple[float, float]) -> NDArray[np.bool_]:
    """Which frames have a pitch; what is no number has none."""
    with np.errstate(invalid="ignore"):
        inside = (confidence >= VOICED) & (hertz >= bounds[0]) & (hertz <= bounds[1])
        return np.asarray(inside & np.isfinite(hertz), np.bool_)


def bounds(hertz: NDArray[Any]) -> tuple[float, float]:
    """Between which pitches a speaker is to be looked for: 5 to 95 % of these voiced frames, and some room."""
    if len(hertz) < LEAST_FRAMES:
        return LOWEST, HIGHEST
    low, high = np.percentile(hertz, (5, 95))
    return max(LOWEST, 0.75 * float(low)), min(HIGHEST, 1.5 * float(high))


def clip_bounds(pitch: NDArray[Any]) -> tuple[float, float]:
    """The bounds of one clip, from its own frames [F, 2]."""
    hertz = pitch[:, 0]
    return bounds(hertz[voiced(hertz, pitch[:, 1], (LOWEST, HIGHEST))])


def middle(sound: NDArray[np.float32]) -> float | None:
    """The median of what is voiced, in hertz, of sound at 16 kHz; none where too little is."""
    hertz, sure = hear(sound)
    found = hertz[voiced(hertz, sure, (LOWEST, HIGHEST))]
    return float(np.median(found)) if len(found) >= LEAST_FRAMES else None


def contour(hertz: NDArray[Any], confidence: NDArray[Any], bounds: tuple[float, float]) -> tuple[Frames, Frames]:
    """log2 of hertz [F], bridged over gaps and slips of an octave, and voicing [F], 0 or 1. Always finite."""
    there = voiced(hertz, confidence, bounds)
    places = np.arange(len(hertz))
    if not there.any():
        return np.full(len(hertz), NO_VOICE, np.float32), np.zeros(len(hertz), np.float32)
    line = np.interp(places, places[there], np.log2(hertz[there].astype(np.float64)))
    around = np.lib.stride_tricks.sliding_window_view(np.pad(line, SLIP_FRAMES // 2, mode="edge"), SLIP_FRAMES)
    steady = there & (np.abs(line - np.median(around, axis=1)) < SLIP)
    if steady.any():
        line = np.interp(places, places[steady], line[steady])
    return line.astype(np.float32), there.astype(np.float32)


def melody(pitch: NDArray[Any], frames: int) -> Frames:
    """What a model learns of a clip's prepared pitch [F, 2]: log2 of hertz and voicing, [frames, 2], always finite."""
    kept = pitch[:frames]
    made = np.full((frames, 2), (NO_VOICE, 0.0), np.float32)
    made[: len(kept)] = np.stack(contour(kept[:, 0], kept[:, 1], clip_bounds(kept)), 1)
    return made
