"""Long made recordings: vowels are loud, s is bright, m is dark, k begins with nothing; the words' times are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from olu.core.types import Audio

RATE = 16000
FORMANTS = {"a": (750, 1250), "e": (480, 1900), "i": (300, 2300), "o": (480, 850), "u": (320, 700)}
WORDS = (
    *("kama", "sasa", "moto", "sita", "nane", "kesho", "maisha", "tumaini", "meza", "samaki", "kiti", "nusu", "simu"),
    *("kuku", "mtoto", "asante", "sikia", "tazama", "neno", "kisima", "mama", "taka", "unasema", "kimya", "somo"),
)

Wave = NDArray[np.float32]


def sound(letter: str, samples: int, random: np.random.Generator) -> Wave:
    time = np.arange(samples) / RATE
    if letter in FORMANTS or letter in "mnywl":
        first, second = FORMANTS.get(letter, (250, 600))
        tones = np.arange(120, 3600, 120)
        loud = np.exp(-(((tones - first) / 150) ** 2)) + 0.5 * np.exp(-(((tones - second) / 200) ** 2)) + 0.01
        wave = (loud[:, None] * np.sin(2 * np.pi * tones[:, None] * time)).sum(axis=0)
        level = 0.2 if letter in FORMANTS else 0.06
    else:
        noise = np.fft.rfft(random.standard_normal(samples))
        hertz = np.linspace(0, RATE / 2, len(noise))
        low = 3800 if letter in "sz" else 2500 if letter == "h" else 1200
        wave = np.fft.irfft(noise * (hertz > low), samples)
        level = 0.08 if letter in "sz" else 0.04
        if letter in "ktp":
            wave[: round(0.6 * samples)] *= 0.02
    return np.asarray(level * wave / max(float(wave.std()), 1e-6), dtype=np.float32)


def jingle(seconds: float, random: np.random.Generator) -> Wave:
    """Tones of another kind than any sound of the language."""
    time = np.arange(round(seconds * RATE)) / RATE
    steps = 500.0 * 2.0 ** (np.floor(4 * time) % 7 / 7)
    wave = np.sin(2 * np.pi * np.cumsum(steps) / RATE) + np.sin(2 * np.pi * np.cumsum(5.03 * steps) / RATE)
    return np.asarray(0.15 * wave + 0.02 * random.standard_normal(len(time)), dtype=np.float32)


@dataclass
class MadeRadio:
    """A recording that grows: what is said, what is written, and where each written word lies (none: not said)."""

    random: np.random.Generator
    parts: list[Wave] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    times: list[tuple[float, float] | None] = field(default_factory=list)
    text: str = ""
    samples: int = 0

    def put(self, wave: Wave) -> tuple[float, float]:
        start = self.samples / RATE
        self.parts.append(wave)
        self.samples += len(wave)
        return start, self.samples / RATE

    def quiet(self, seconds: float) -> None:
        self.put((0.0005 * self.random.standard_normal(round(seconds * RATE))).astype(np.float32))

    def sentence(self, words: Sequence[str] = (), *, said: bool = True, written: bool = True) -> None:
        chosen = list(words) or [str(self.random.choice(WORDS)) for _ in range(int(self.random.integers(5, 10)))]
        for word in chosen:
            at = self._say(word) if said else None
            if written:
                self.words.append(word)
                self.times.append(at)
        if said:
            self.quiet(float(self.random.uniform(0.4, 0.8)))
        if written:
            self.text += f"{' '.join(chosen).capitalize()}. "

    def _say(self, word: str) -> tuple[float, float]:
        spans = [self.put(sound(letter, int(RATE * self.random.uniform(0.06, 0.14)), self.random)) for letter in word]
        if self.random.random() < 0.4:
            self.quiet(float(self.random.uniform(0.1, 0.3)))
        return spans[0][0], spans[-1][1]

    @property
    def audio(self) -> Audio:
        return Audio(np.concatenate(self.parts), RATE)


def radio(seed: int, *, sentences: int, jingle_after: int = -1, unsaid_after: int = -1) -> MadeRadio:
    """So many sentences; a jingle of 6 s after one of them, after another one that is written and not said."""
    made = MadeRadio(np.random.default_rng(seed))
    made.quiet(0.5)
    for number in range(sentences):
        made.sentence()
        if number == jingle_after:
            made.put(jingle(6.0, made.random))
            made.quiet(0.5)
        if number == unsaid_after:
            made.sentence(said=False)
    return made
