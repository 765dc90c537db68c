"""Melody: pitch by the SwiftF0 network, and how far it is from the natural recording's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.audio import io
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate, figure, pick
from olu.evaluate.metrics.duration import numbers_only
from olu.features import pitch
from olu.features.pitch import HIGHEST, LEAST_FRAMES, LOWEST, RATE, STEP

if TYPE_CHECKING:
    from olu.evaluate.metrics.paired import Paired

GROSS = 0.2  # a pitch off by more is a wrong one, not an inexact one
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
    heard = [one.hertz[one.hertz > 0] for one in map(track, recordings)]
    return pitch.bounds(np.concatenate([*heard, np.zeros(0)]))


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
    said: dict[str, Any] = {"instrument": pitch.instrument(), "trust": "medium", "reason": REASON}
    cents = [None if off is None else 100 * off for off in pick(clips, "semitones")]
    return (
        figure("f0_error", pick(clips, "semitones"), unit="semitones", **said),
        figure("f0_cents", cents, unit="cents", **said),
        figure("f0_shift", pick(clips, "shift"), unit="semitones", **said),
        figure("f0_correlation", pick(clips, "correlation"), unit="", **said),
        figure("gross_pitch_error", pick(clips, "gross"), unit="share", **said),
        figure("voicing_error", pick(clips, "voicing"), unit="share", **said),
    )


def _hertz(sound: NDArray[np.float32], *, low: float, high: float) -> Floats:
    """The pitch of each frame; 0 where unvoiced."""
    hertz, sure = pitch.hear(sound, low=low, high=high)
    return np.where(sure >= pitch.VOICED, hertz, 0.0)
