"""Made sentences and a made recogniser, so that judging can be tried without training one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from olu.core.types import Audio, Reading, Word
from olu.evaluate.estimates import Estimate, figure
from olu.evaluate.evaluation import Domain, Evaluation, Sample, SentenceResult, Subject
from olu.evaluate.words import gates, verdict_of

RATE = 16000


def voice(seconds: float = 1.5, *, hertz: float = 120.0, seed: int = 0, level: float = 0.2) -> Audio:
    """A buzz with a melody and three syllables: enough of a voice for pitch, length and level."""
    time = np.arange(round(seconds * RATE)) / RATE
    pitch = hertz * (1 + 0.15 * np.sin(2 * np.pi * time / seconds * 1.5))
    phase = np.cumsum(pitch) * 2 * np.pi / RATE
    buzz = sum(np.sin(number * phase) / number for number in range(1, 12))
    shape = np.clip(np.sin(np.pi * time / seconds * 3) ** 2 * 1.4, 0, 1) * np.minimum(1, 40 * (seconds - time))
    noise = 0.002 * np.random.default_rng(seed).normal(size=len(time))
    return Audio((level * buzz * shape + noise).astype(np.float32), RATE)


def reading(text: str) -> Reading:
    words = tuple(Word(word, tuple(word)) for word in text.split())
    return Reading(text=text, normal=text, words=words, breaks=("",) * (len(words) + 1))


def take(id: str, text: str, spoken: Audio, natural: Audio | None = None, *, domain: Domain = "in") -> Sample:
    return Sample(
        id=id,
        text=text,
        domain=domain,
        wav=f"{id}.wav",
        spoken=partial(_given, spoken),
        natural=None if natural is None else partial(_given, natural),
        reading=reading(text),
        speaker="default",
    )


def _given(audio: Audio) -> Audio:
    return audio


class Ears:
    """Hears what it is told for sounds of a length."""

    version = "ears-001, made for a test"
    natural_cer = 0.05
    units = "letters"

    def __init__(self, hears: Callable[[Audio], str]) -> None:
        self.hears = hears

    def target(self, reading: Reading) -> list[str]:
        return list(reading.normal)

    def transcribe(self, audio: Audio) -> str:
        return self.hears(audio)


def evaluation(
    name: str, values: dict[str, Sequence[float | None]], *, count: int, natural: float | None = 0.05
) -> Evaluation:
    """One whose sentences say `s0`, `s1`, ... in the same order for every name."""
    made: list[Estimate] = [
        figure(key, held, unit="share" if key.startswith(("cer", "hard")) else "", instrument="a rule", trust="high",
               reason="made", natural=natural)
        for key, held in values.items()
    ]  # fmt: skip
    held = gates(made)
    level, said = verdict_of(held)
    items = tuple(
        SentenceResult(id=f"s{n}", text=f"sentence <b>{n}</b> & more", domain="in", wav=f"wavs/s{n}.wav", seconds=1.0)
        for n in range(count)
    )
    return Evaluation(
        subject=Subject(name=name, kind="voice", path=name, fingerprint=name, language="swa", run="vits-001", step=9),
        level=level,
        verdict=said,
        figures={"in": tuple(made)},
        gates=held,
        items=items,
    )
