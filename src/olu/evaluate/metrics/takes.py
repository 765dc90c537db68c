"""What a voice that draws its codes does when it is asked again: several seeds, stops it did not find, loops, lengths.

Takes of one text differ, so each sentence is said with three seeds, and every take counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

from olu.core.errors import TextError
from olu.evaluate.estimates import Estimate, figure
from olu.speak.stream import ENDLESS, LOOP, SILENCE
from olu.speak.voice import Voice

SEEDS = 3
SENTENCES = 20


@dataclass(frozen=True)
class Take:
    seconds: float
    faults: tuple[str, ...]  # of all its sentences and of every try


def takes_of(voice: Voice, texts: Sequence[tuple[str, str]], *, seed: int) -> Iterator[tuple[Take, ...] | None]:
    """The takes of each text, by its speaker; none where it cannot be said. Guards that try again tell of the first."""
    for text, speaker in texts:
        who = speaker if speaker in voice.speakers else None
        try:
            yield tuple(_take(voice, text, who, seed + number) for number in range(SEEDS))
        except TextError:
            yield None


def _take(voice: Voice, text: str, speaker: str | None, seed: int) -> Take:
    seconds, faults = 0.0, dict[int, tuple[str, ...]]()
    for chunk in voice.stream(text, seed=seed, speaker=speaker, quick=False):
        seconds += chunk.audio.seconds
        faults[chunk.sentence.number] = chunk.sentence.faults
    return Take(seconds, tuple(fault for found in faults.values() for fault in found))


def settings(voice: Voice) -> str:
    """How it was drawn: figures of takes mean nothing without."""
    return ", ".join(f"{name} {knob.default:g}" for name, knob in voice.knobs.items())


def summarise(
    found: Sequence[tuple[Take, ...] | None], *, natural: Sequence[float | None], drawn: str
) -> tuple[Estimate, ...]:
    """stop_failures and loops (shares of takes), take_length (over the recording), take_spread (between seeds)."""
    said: dict[str, Any] = {"instrument": f"{SEEDS} seeds; {drawn}", "trust": "high", "reason": "counted in its codes"}

    def share(*names: str) -> list[float | None]:
        return [
            None if takes is None else fmean(any(one in take.faults for one in names) for take in takes)
            for takes in found
        ]

    pairs = list(zip(found, natural, strict=True))
    ratios = [fmean(one.seconds for one in takes) / true if takes and true else None for takes, true in pairs]
    spread = [
        None if not takes else pstdev(one.seconds for one in takes) / max(1e-6, fmean(one.seconds for one in takes))
        for takes in found
    ]
    figures = [
        figure("stop_failures", share(ENDLESS, SILENCE), unit="share of takes", counted=True, **said),
        figure("loops", share(LOOP), unit="share of takes", counted=True, **said),
        figure("take_spread", spread, unit="of the mean length", **said),
    ]
    if any(one is not None for one in ratios):
        figures.append(figure("take_length", ratios, unit="times the recording", **said))
    return tuple(figures)
