"""Melody: pitch by the SwiftF0 network, and how far it is from the natural recording's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.audio import io
from olu.core.errors import MissingExtra
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate, figure
from olu.evaluate.metrics.duration import numbers_only
from olu.networks.models import INSTALL
from olu.networks.session import open_session, quiet, read_network

if TYPE_CHECKING:
    from olu.evaluate.metrics.paired import Paired

RATE, STEP = 16000, 256  # of the network: a frame every 16 ms
LOWEST, HIGHEST = 60.0, 600.0  # Hz that a voice may have
VOICED = 0.5  # the network's own bound
SILENT_PEAK = 1e-3  # the network never saw digital silence and hears voices in it
BLOCK_FRAMES, LEFT, RIGHT = 1875, 11, 10  # a long recording goes in pieces with what the network sees around them
GROSS = 0.2  # a pitch off by more is a wrong one, not an inexact one
LEAST_FRAMES = 10  # voiced in both, below which a clip says nothing of pitch
REASON = "one text can be said with many good melodies"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pitch:
    """Hertz every `step` seconds from 0 on; 0 where unvoiced."""

    hertz: Floats
    step: float

    @property
    def times(self) -> Floats:
        return np.arange(len(self.hertz), dtype=np.float64) * self.step

    @property
    def voiced(self) -> float:
        """Share of the frames with a pitch."""
        return float(np.mean(self.hertz > 0)) if len(self.hertz) else 0.0

    def at(self, times: Floats) -> Floats:
        """Pitch at other times: between two voiced frames on the line of their logarithms, else the nearest."""
        if len(self.hertz) == 0:
            return np.zeros(len(times))
        place = np.clip(times / self.step, 0, len(self.hertz) - 1)
        left = np.floor(place).astype(np.int64)
        right = np.minimum(left + 1, len(self.hertz) - 1)
        share = place - left
        one, two = self.hertz[left], self.hertz[right]
        both = (one > 0) & (two > 0)
        line = np.exp((1 - share) * np.log(np.where(both, one, 1.0)) + share * np.log(np.where(both, two, 1.0)))
        return np.where(both, line, np.where(share < 0.5, one, two))


@dataclass(frozen=True, slots=True)
class PitchError:
    """One clip, over the frames that belong together. None: too little of it is voiced in both."""

    semitones: float | None  # root mean square of the difference
    shift: float | None  # its median, spoken above natural
    correlation: float | None  # of the logarithms
    gross: float | None  # share of frames voiced in both whose pitch is off by more than a fifth
    voicing: float  # share of frames voiced in one only


def track(audio: Audio, *, low: float = LOWEST, high: float = HIGHEST, finer: int = 1) -> Pitch:
    """The pitch of a recording every 16 ms, or `finer` times as often."""
    sound = io.resample(numbers_only(audio), RATE).samples
    if len(sound) < STEP:
        return Pitch(np.zeros(1), STEP / RATE / finer)
    parts = [_hertz(sound[round(turn * STEP / finer) :], low=low, high=high) for turn in range(finer)]
    woven = np.zeros((max(len(part) for part in parts), finer))
    for turn, part in enumerate(parts):
        woven[: len(part), turn] = part
    return Pitch(woven.reshape(-1), STEP / RATE / finer)


def bounds(recordings: Iterable[Audio]) -> tuple[float, float]:
    """Between which pitches a speaker is to be looked for: 5 to 95 % of what is heard, and some room."""
    heard = [pitch.hertz[pitch.hertz > 0] for pitch in map(track, recordings)]
    found = np.concatenate([*heard, np.zeros(0)])
    if len(found) < LEAST_FRAMES:
        return LOWEST, HIGHEST
    low, high = np.percentile(found, (5, 95))
    return max(LOWEST, 0.75 * float(low)), min(HIGHEST, 1.5 * float(high))


def compare(pair: Paired | None) -> PitchError | None:
    """The pitch of two paired recordings."""
    if pair is None:
        return None
    natural = pair.natural.hertz[pair.path[:, 0]]
    spoken = pair.spoken.hertz[pair.path[:, 1]]
    both = (natural > 0) & (spoken > 0)
    voicing = float(np.mean((natural > 0) != (spoken > 0)))
    if int(both.sum()) < LEAST_FRAMES:
        return PitchError(None, None, None, None, voicing)
    one, two = np.log2(natural[both]), np.log2(spoken[both])
    off = 12 * (two - one)
    moving = float(np.std(one)) > 1e-9 and float(np.std(two)) > 1e-9
    return PitchError(
        semitones=float(np.sqrt(np.mean(off**2))),
        shift=float(np.median(off)),
        correlation=float(np.corrcoef(one, two)[0, 1]) if moving else None,
        gross=float(np.mean(np.abs(spoken[both] / natural[both] - 1) > GROSS)),
        voicing=voicing,
    )


def summarise(clips: Sequence[PitchError | None]) -> tuple[Estimate, ...]:
    """f0_error and f0_shift in semitones, f0_cents, f0_correlation, gross_pitch_error, voicing_error."""
    said: dict[str, Any] = {"instrument": instrument(), "trust": "medium", "reason": REASON}
    cents = [None if one is None or one.semitones is None else 100 * one.semitones for one in clips]
    return (
        figure("f0_error", [None if one is None else one.semitones for one in clips], unit="semitones", **said),
        figure("f0_cents", cents, unit="cents", **said),
        figure("f0_shift", [None if one is None else one.shift for one in clips], unit="semitones", **said),
        figure("f0_correlation", [None if one is None else one.correlation for one in clips], unit="", **said),
        figure("gross_pitch_error", [None if one is None else one.gross for one in clips], unit="share", **said),
        figure("voicing_error", [None if one is None else one.voicing for one in clips], unit="share", **said),
    )


def instrument() -> str:
    try:
        return f"SwiftF0 {metadata.version('swift-f0')}"
    except metadata.PackageNotFoundError:
        return "SwiftF0"


@cache
def _session() -> Any:
    """The network's file alone is used, with one thread; the package is not imported."""
    spec = find_spec("swift_f0")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "model.onnx"
        if path.is_file():
            return open_session(read_network(path), quiet(1))
    raise MissingExtra("olu evaluate", package="swift-f0", install=INSTALL)


def _hertz(sound: NDArray[np.float32], *, low: float, high: float) -> Floats:
    count = len(sound) // STEP
    parts = [np.zeros(0)]
    for start in range(0, count, BLOCK_FRAMES):
        end = min(start + BLOCK_FRAMES, count)
        left = max(0, start - LEFT)
        piece = sound[left * STEP : (end + RIGHT) * STEP] if end < count else sound[left * STEP :]
        parts.append(_piece(piece, low=low, high=high)[start - left : end - left])
    return np.concatenate(parts)


def _piece(sound: NDArray[np.float32], *, low: float, high: float) -> Floats:
    asked = {"audio": sound[None], "fmin": np.asarray(low, np.float32), "fmax": np.asarray(high, np.float32)}
    hertz, sure = (np.asarray(found[0], np.float64) for found in _session().run(["pitch", "confidence"], asked))
    count = min(len(hertz), len(sound) // STEP)
    peaks = np.abs(sound[: count * STEP].reshape(count, STEP)).max(axis=1)
    return np.where((sure[:count] >= VOICED) & (peaks >= SILENT_PEAK), hertz[:count], 0.0)
