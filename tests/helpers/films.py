"""A made film: known speech, music and pauses between, and cues that are a little off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RATE = 16000
SOFT_DB = 40.0  # what is softer than this next to a clip's loud parts counts as its own silence
Wave = NDArray[np.float32]


@dataclass(frozen=True)
class Film:
    samples: Wave
    speech: list[tuple[float, float]]  # the true spans, without the silence at their own edges
    cues: list[tuple[float, float]]
    texts: list[str]


def voice(seed: int, seconds: float) -> Wave:
    """Speech-like: syllables of a buzzing voice and of hiss, with stops between, rising softly and dying away."""
    rng = np.random.default_rng(seed)
    parts = [np.zeros(round(rng.uniform(0.05, 0.4) * RATE))]
    total = 0.0
    while total < seconds:
        length = rng.uniform(0.08, 0.3)
        time = np.arange(round(length * RATE)) / RATE
        pitch = rng.uniform(90, 220) * (1 + 0.1 * np.sin(2 * np.pi * 2 * time))
        buzz = sum(np.sin(2 * np.pi * n * np.cumsum(pitch) / RATE) / n for n in range(1, 12))
        hiss = rng.normal(size=len(time)) * 0.15
        sound = hiss if rng.random() < 0.25 else buzz
        parts.append(sound * np.hanning(len(time)) * rng.uniform(0.2, 1.0))
        gap = rng.uniform(0.0, 0.12) if rng.random() < 0.9 else rng.uniform(0.2, 0.6)
        parts.append(np.zeros(round(gap * RATE)))
        total += length + gap
    parts.append(np.zeros(round(rng.uniform(0.05, 0.4) * RATE)))
    wave = np.concatenate(parts)
    wave = 0.3 * wave / np.abs(wave).max()
    return np.asarray(wave + rng.normal(size=len(wave)) * 10 ** (-62 / 20), dtype=np.float32)


def music(rng: np.random.Generator, seconds: float, *, level: float) -> Wave:
    """Chords that change twice a second, as loud as the speech."""
    time = np.arange(round(seconds * RATE)) / RATE
    wave = np.zeros(len(time))
    for beat in range(int(seconds * 2) + 1):
        inside = (time >= beat / 2) & (time < (beat + 1) / 2)
        fade = np.exp(-1.5 * (time[inside] - beat / 2))
        root = 110 * 2 ** (rng.integers(0, 24) / 12)
        for ratio in (1, 1.26, 1.5, 2, 3):
            wave[inside] += fade * np.sin(2 * np.pi * root * ratio * time[inside]) / ratio
    power = float(np.sqrt(np.mean(wave**2))) or 1.0
    return np.asarray(level * wave / power, dtype=np.float32)


def own_speech(wave: Wave) -> tuple[int, int]:
    """First sample and end of what is heard in a clip."""
    width = RATE // 100
    frames = wave[: len(wave) // width * width].reshape(-1, width)
    levels = 10 * np.log10(np.maximum(np.mean(frames**2, axis=1), 1e-12))
    loud, floor = np.percentile(levels, (95, 5))
    heard = levels >= max(loud - SOFT_DB, floor + 8.0)
    heard[1:-1] = heard[1:-1] & (heard[:-2] | heard[2:])  # a lone frame is a click of the recorder
    first, *_, last = np.flatnonzero(heard[1:-1]) + 1
    return int(first) * width, int(last + 1) * width


def make(clips: Sequence[Wave], texts: Sequence[str], *, seed: int, jitter: float = 0.8, least: float = 2.0) -> Film:
    """Clips with pauses of at least `least` between their speech: silence, noise, music, or music and silence."""
    rng = np.random.default_rng(seed)
    parts: list[Wave] = []
    speech: list[tuple[float, float]] = []
    at = 0
    for number, clip in enumerate(clips):
        first, end = own_speech(clip)
        inside = clip[first:end]
        level = float(np.sqrt(np.mean(inside**2)))
        gap = least + (3.0 if number == 0 else 0.0 if rng.random() < 0.5 else rng.exponential(2.0))
        pause = _pause(rng, gap, level=level, kind=("music", "music", "silence", "noise", "both")[number % 5])
        parts += [pause, inside]
        start = at + len(pause)
        at = start + len(inside)
        speech.append((start / RATE, at / RATE))
    parts.append(_pause(rng, least, level=0.05, kind="music"))
    samples = np.concatenate(parts)
    moves = rng.uniform(-jitter, jitter, size=(len(speech), 2))
    moves[rng.random(moves.shape) < 0.3] = jitter  # the extremes are what breaks things
    moves[rng.random(moves.shape) < 0.2] = -jitter
    cues = []
    for (start, end), (a, b) in zip(speech, moves, strict=True):
        if end + b < start + a + 0.1:  # hardly longer than the jitter
            a, b = 0.4 * a, 0.4 * b
        cues.append((start + a, end + b))
    return Film(np.clip(samples, -1, 1), speech, cues, list(texts))


def _pause(rng: np.random.Generator, seconds: float, *, level: float, kind: str) -> Wave:
    hiss = np.asarray(rng.normal(size=round(seconds * RATE)) * 10 ** (-62 / 20), dtype=np.float32)
    if kind == "music":
        return hiss + music(rng, seconds, level=level)[: len(hiss)]
    if kind == "noise":
        return hiss * 10
    if kind == "both":
        half = music(rng, seconds / 2, level=level)
        hiss[len(hiss) // 4 : len(hiss) // 4 + len(half)] += half[: len(hiss) - len(hiss) // 4]
    return hiss


def srt(film: Film) -> str:
    def stamp(seconds: float) -> str:
        ms = round(seconds * 1000)
        return f"{ms // 3600000:02d}:{ms // 60000 % 60:02d}:{ms // 1000 % 60:02d},{ms % 1000:03d}"

    blocks = (
        f"{n}\n{stamp(start)} --> {stamp(end)}\n{text}\n"
        for n, ((start, end), text) in enumerate(zip(film.cues, film.texts, strict=True), 1)
    )
    return "\n".join(blocks)
