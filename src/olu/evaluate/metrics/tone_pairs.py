"""Words that differ in tone alone, to be said in a carrier sentence: does the voice obey the marks?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from olu.evaluate.estimates import Estimate, figure
from olu.evaluate.metrics.tones import HEIGHT, Move, Syllable, moves
from olu.text.languages import traits

REASON = "a few words in one sentence, and the sign of the step alone"

LEAST_STEP = 0.5  # semitones: a smaller step has no sign
LEVEL = 1.5


@dataclass(frozen=True, slots=True)
class Probe:
    """A sentence to be spoken, and which of its words is asked about."""

    text: str
    word: str
    place: int  # of the word in the sentence


def probes(language: str) -> tuple[Probe, ...]:
    """The sentences of a language by its ISO 639-3 code; none where no pairs are known."""
    known = traits(language)
    carrier = known.tone_carrier
    place = len(carrier.partition("{}")[0].split())
    return tuple(Probe(carrier.format(word), word, place) for words in known.tone_sets for word in words)


def obeyed(probe: Probe, found: Sequence[Syllable]) -> bool | None:
    """Whether every step inside the word has the sign its tones ask for; None where it cannot be heard."""
    steps = moves([one for one in found if one.word == probe.place])
    return all(_sign(step) for step in steps) if steps else None


def summarise_pairs(answers: Sequence[bool | None]) -> tuple[Estimate, ...]:
    """tone_pairs: share of the words whose pitch goes the way of their marks."""
    values = [None if answer is None else float(answer) for answer in answers]
    said: dict[str, Any] = {"instrument": "minimal pairs in a carrier sentence", "trust": "medium", "reason": REASON}
    return (figure("tone_pairs", values, unit="share", counted=True, **said),)


def _sign(move: Move) -> bool:
    first, second = (HEIGHT["H"] if tone == "D" else HEIGHT[tone] for tone in move.kind)
    if first == second:
        return move.semitones < 0 if move.kind.endswith("D") else abs(move.semitones) <= LEVEL
    return move.semitones >= LEAST_STEP if second > first else move.semitones <= -LEAST_STEP
