"""What a recipe's [data] does to the sound of a clip: silent ends, loudness."""

from __future__ import annotations

import numpy as np
import pytest

from olu.audio.loudness import loudness
from olu.core.types import Audio
from olu.features.store import WaveFeature, between, levelled

RATE = 16000


def said(*, before: float = 0.8, after: float = 1.2, level: float = 0.1) -> Audio:
    """A second of tone between near silence."""
    random = np.random.default_rng(0)
    tone = level * np.sin(2 * np.pi * 200 * np.arange(RATE) / RATE)
    quiet = [1e-4 * random.standard_normal(round(seconds * RATE)) for seconds in (before, after)]
    return Audio(np.concatenate([quiet[0], tone, quiet[1]]).astype(np.float32), RATE)


@pytest.mark.parametrize("edges", [0.05, 0.3])
def test_edges_keep_so_much_silence_and_all_of_the_speech(edges: float) -> None:
    kept = between(said(), edges)
    assert kept.seconds == pytest.approx(1.0 + 2 * edges, abs=0.03)
    assert np.abs(kept.samples).sum() == pytest.approx(np.abs(said().samples).sum(), rel=0.01)


def test_short_ends_and_no_edges_are_left_alone() -> None:
    assert between(said(before=0.1, after=0.1), 0.5).seconds == pytest.approx(1.2)
    assert len(between(said(), 0.0).samples) == len(said().samples)


def test_silence_alone_is_left_alone() -> None:
    nothing = Audio(np.zeros(RATE, np.float32), RATE)
    assert between(nothing, 0.1).seconds == 1.0 and not levelled(nothing, -20.0).samples.any()


@pytest.mark.parametrize("level", [0.01, 0.1, 0.9])
def test_loudness_is_what_was_asked_or_just_below_clipping(level: float) -> None:
    made = levelled(said(level=level), -23.0)
    assert loudness(made.samples, RATE) == pytest.approx(-23.0, abs=0.1)
    assert np.abs(levelled(said(level=level), -1.0).samples).max() == pytest.approx(0.97, abs=0.001)


def test_every_way_of_making_sound_has_a_folder_of_its_own() -> None:
    ways = [
        WaveFeature(RATE),
        WaveFeature(RATE, edges=0.1),
        WaveFeature(RATE, loudness=-23.0),
        WaveFeature(RATE, 1.1, edges=0.1),
    ]
    assert len({way.key for way in ways}) == len(ways)
    assert len(WaveFeature(RATE, edges=0.1).compute(said())) < len(WaveFeature(RATE).compute(said()))
