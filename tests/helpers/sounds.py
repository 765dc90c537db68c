"""Sounds like speech, made: syllables of harmonics under moving formants, with hisses between them and a pause."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from olu.core.types import Audio

RATE = 16000
SHARED = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared")) / "corpora"
FORMANTS = ((270, 730), (840, 2290), (2240, 3010))  # Hz that a vowel's three may have
SYLLABLE, GAP = (0.14, 0.24), 0.05  # seconds


def speech(
    syllables: int = 14,
    *,
    semitones: float = 0.0,
    slow: float = 1.0,
    seed: int = 0,
    hertz: float = 120.0,
    tones: str = "",
    pause_after: int = 7,
    edges: float = 0.3,
    room: float = 1e-3,
) -> Audio:
    """`tones` gives each syllable a height (H 4, M 2, L 0 semitones); else the pitch wanders."""
    random = np.random.default_rng(seed)
    lengths = _lengths(syllables, seed)
    heights = [{"H": 4.0, "M": 2.0, "L": 0.0}[tone] for tone in tones] or list(random.uniform(-2, 2, syllables))
    vowels = [[float(random.uniform(*bounds)) for bounds in FORMANTS] for _ in range(syllables)]
    parts = [_hush(edges * slow)]
    for place in range(syllables):
        height = heights[place % len(heights)] + semitones
        parts.append(_vowel(vowels[place], hertz * 2 ** (height / 12), lengths[place] * slow))
        parts.append(_hiss(GAP * slow, random))
        if place + 1 == pause_after and place + 1 < syllables:
            parts.append(_hush(0.5 * slow))
    parts.append(_hush(edges * slow))
    wave = np.concatenate(parts)
    behind = np.random.default_rng(seed).normal(0, room, len(wave))
    return Audio((0.25 * wave / np.abs(wave).max() + behind).astype(np.float32), RATE)


def times(syllables: int, *, seed: int = 0, pause_after: int = 7, edges: float = 0.3) -> list[tuple[float, float]]:
    """Where the vowels of `speech` lie."""
    found, at = [], edges
    for place, length in enumerate(_lengths(syllables, seed)):
        found.append((at, at + length))
        at += length + GAP + (0.5 if place + 1 == pause_after else 0.0)
    return found


def noisy(audio: Audio, *, snr: float = 20.0, seed: int = 1) -> Audio:
    power = float(np.mean(audio.samples**2)) * 10 ** (-snr / 10)
    noise = np.random.default_rng(seed).normal(0, power**0.5, len(audio.samples))
    return Audio((audio.samples + noise).astype(np.float32), audio.rate)


def real(language: str, count: int) -> list[tuple[str, Audio]]:
    """Clips of a shared corpus, spread over it."""
    from olu.audio import io

    lines = (SHARED / language / "metadata.csv").read_text(encoding="utf-8").splitlines()
    step = max(1, len(lines) // count)
    rows = [line.split("|", 1) for line in lines[::step][:count]]
    return [(text, io.read(SHARED / language / "audio" / f"{name}.ogg")) for name, text in rows]


def _lengths(syllables: int, seed: int) -> list[float]:
    return [float(one) for one in np.random.default_rng(seed + 100).uniform(*SYLLABLE, syllables)]


def _vowel(formants: list[float], hertz: float, seconds: float) -> np.ndarray:
    time = np.arange(round(seconds * RATE)) / RATE
    number = np.arange(1, int(3800 / hertz) + 1)[:, None]
    place = number * hertz
    gains = sum(
        1 / (1 + ((place - formant) / width) ** 2) for formant, width in zip(formants, (80, 110, 160), strict=True)
    )
    wave = (gains / number**0.3 * np.sin(2 * np.pi * place * time + number)).sum(axis=0)
    edge = min(round(0.02 * RATE), len(time) // 2)
    shape = np.ones(len(time))
    shape[:edge] = np.linspace(0, 1, edge)
    shape[-edge:] = np.linspace(1, 0, edge)
    return wave * shape


def _hiss(seconds: float, random: np.random.Generator) -> np.ndarray:
    size = round(seconds * RATE)
    return np.diff(random.normal(0, 0.15, size + 1)) * np.hanning(size)


def _hush(seconds: float) -> np.ndarray:
    return np.random.default_rng(9).normal(0, 2e-4, round(seconds * RATE))
