"""What is sound in a long recording whose noise comes and goes."""

from __future__ import annotations

import numpy as np

from olu.audio.activity import stretches

FPS = 100.0


def levels_of(floors: list[float], *, seconds: float = 60.0) -> np.ndarray:
    """A second of speech at -15 dBFS and two of a pause, over a floor for each minute."""
    random, found = np.random.default_rng(0), []
    for floor in floors:
        one = np.full(round(seconds * FPS), floor)
        for start in range(0, len(one), 300):
            one[start : start + 100] = -15.0
        found.append(one)
    joined = np.concatenate(found)
    return (joined + random.normal(0.0, 0.5, len(joined))).astype(np.float32)


def share(levels: np.ndarray, *, noisy: bool) -> list[float]:
    """Of each minute, how much of it is sound."""
    heard = np.zeros(len(levels), dtype=bool)
    for start, end in zip(*stretches(levels, FPS, noisy=noisy), strict=True):
        heard[start:end] = True
    return heard.reshape(-1, 6000).mean(axis=1).round(2).tolist()


def test_noise_in_a_part_of_a_recording_is_no_sound():
    levels = levels_of([-60.0, -60.0, -31.0, -31.0, -31.0, -60.0, -60.0, -60.0])
    heard = share(levels, noisy=True)
    assert [*heard[:2], heard[3], *heard[5:]] == [0.33] * 6
    assert max(heard) <= 0.5, "a quarter of a minute beside its begin and end is not known"
    assert max(share(levels, noisy=False)) == 1.0, "by the whole recording's threshold the noise is sound"


def test_a_loud_stretch_without_pauses_stays_sound():
    levels = levels_of([-60.0, -60.0, -60.0])
    levels[6000:12000] = -20.0 + np.random.default_rng(1).normal(0.0, 2.0, 6000)
    assert share(levels, noisy=True)[1] > 0.95
