"""A made language: eight sounds of fixed spectra, words of them, and clips whose boundaries are known to the sample."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from olu.core.types import Audio

RATE = 16000
PHONES = tuple("aeioksmn")
WORDS = ("kasa", "moni", "sok", "nemo", "aki", "isan", "mok", "ane", "koni", "sema")
BANDS = 16
FRAME = 320  # samples of the made recogniser's frame: 20 ms
FLOOR = 0.001


def _colour(phone: str) -> NDArray[np.float64]:
    """[BANDS] how loud the sound is in each 500 Hz."""
    random = np.random.default_rng(PHONES.index(phone) + 100)
    return np.asarray(10.0 ** (random.uniform(-1.6, 0.0, BANDS)))


def sound(phone: str, samples: int, random: np.random.Generator) -> NDArray[np.float32]:
    spectrum = np.fft.rfft(random.standard_normal(samples + FRAME))
    place = np.linspace(0, BANDS - 1e-6, len(spectrum)).astype(int)
    wave = np.fft.irfft(spectrum * _colour(phone)[place], samples + FRAME)[:samples]
    return np.asarray(0.1 * wave / wave.std(), dtype=np.float32)


@dataclass(frozen=True)
class Made:
    id: str
    words: tuple[tuple[str, tuple[str, ...]], ...]
    audio: Audio
    times: tuple[tuple[float, float], ...]  # of each phone


def clip(seed: int, *, words: int = 5, edge: float = 0.3, pause: float = 0.3) -> Made:
    """A clip of made words; a pause after a third of them."""
    random = np.random.default_rng(seed)
    chosen = [str(random.choice(WORDS)) for _ in range(words)]
    parts: list[NDArray[np.float32]] = []
    times: list[tuple[float, float]] = []
    at = 0

    def put(wave: NDArray[np.float32]) -> None:
        nonlocal at
        parts.append(wave)
        at += len(wave)

    def quiet(seconds: float) -> None:
        put(FLOOR * random.standard_normal(round(seconds * RATE)).astype(np.float32))

    quiet(edge)
    for number, word in enumerate(chosen):
        if number and random.random() < 1 / 3:
            quiet(pause * random.uniform(0.5, 1.5))
        for phone in word:
            start = at
            put(sound(phone, int(RATE * random.uniform(0.05, 0.15)), random))
            times.append((start / RATE, at / RATE))
    quiet(edge)
    return Made(
        f"made-{seed}", tuple((word, tuple(word)) for word in chosen), Audio(np.concatenate(parts), RATE), tuple(times)
    )


class MadeRecogniser:
    """Hears the made sounds as CTC does: of each, one peak in its middle, and blank around it."""

    rate = RATE
    frame_seconds = FRAME / RATE
    symbols = ("<blank>", *PHONES)

    def __init__(self) -> None:
        random = np.random.default_rng(1)
        quiet = FLOOR * random.standard_normal(RATE).astype(np.float32)
        waves = [quiet, *(sound(phone, RATE, random) for phone in PHONES)]
        self._means = np.stack([_bands(wave).mean(0) for wave in waves])

    def log_probs(self, audio: Audio) -> NDArray[np.float32]:
        heard = _bands(audio.samples)
        far = ((heard[:, None] - self._means) ** 2).sum(2)
        scores = -0.1 * far
        best = scores.argmax(1)
        edges = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist(), len(best)]
        for first, last in pairwise(edges):
            for frame in set(range(first, last)) - {(first + last) // 2}:
                scores[frame, 0] = scores[frame].max() + 3.0
        top = scores.max(1, keepdims=True)
        return np.asarray(scores - top - np.log(np.exp(scores - top).sum(1, keepdims=True)), dtype=np.float32)


def _bands(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
    power = np.abs(np.fft.rfft(frames * np.hanning(FRAME), axis=1)[:, 1:]) ** 2
    return np.log(power.reshape(len(frames), BANDS, -1).mean(2) + 1e-6)
