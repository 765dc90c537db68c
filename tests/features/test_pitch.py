"""Pitch at the centres of mel frames, and the contour that models learn from."""

from __future__ import annotations

import numpy as np
import pytest

from olu.features import pitch

RATE = pitch.RATE


def hummed(hertz: np.ndarray) -> np.ndarray:
    """A hum of ten harmonics with this pitch at every sample, as int16."""
    phase = 2 * np.pi * np.cumsum(hertz) / RATE
    return (4000 * sum(np.cos(k * phase) / k for k in range(1, 11)) / 2).astype(np.int16)


@pytest.mark.parametrize("samples", [1, 255, 256, 300, 511, 512, 4000, 4095])
def test_there_are_as_many_frames_as_mel_frames(samples: int):
    assert pitch.at_centres(np.zeros(samples, np.int16)).shape == (samples // 256, 2)


def test_frames_lie_at_the_centres_of_mel_frames():
    at = np.arange(2 * RATE) / RATE
    hertz = 110 * 2 ** (at / 2)  # half an octave a second: 8 ms are 0.05 semitones
    found = pitch.at_centres(hummed(hertz))
    wanted = hertz[128::256][: len(found)]
    off = 12 * np.log2(found[5:-5, 0] / wanted[5:-5])
    assert np.abs(np.median(off)) < 0.02 and (found[5:-5, 1] > 0.5).all()


def test_silence_has_no_pitch():
    assert (pitch.at_centres(np.zeros(8000, np.int16))[:, 1] == 0).all()


def test_the_contour_is_bridged_over_gaps_and_slips_and_is_always_a_number():
    hertz, sure = np.full(60, 120.0), np.ones(60)
    hertz[10:20], sure[10:20] = 0, 0  # a gap
    hertz[30:33] = 240  # three frames an octave too high
    hertz[40], hertz[41], sure[42] = np.nan, np.inf, np.nan
    line, voicing = pitch.contour(hertz, sure, (60, 600))
    assert np.allclose(line, np.log2(120), atol=1e-6)
    assert voicing[:10].all() and not voicing[10:20].any() and voicing[30:33].all() and not voicing[40:43].any()
    for nothing in (np.zeros(5), np.full(5, np.nan), np.zeros(0)):
        line, voicing = pitch.contour(nothing, nothing, (60, 600))
        assert np.isfinite(line).all() and not voicing.any() and len(line) == len(nothing)
    line, voicing = pitch.contour(np.array([90.0]), np.array([1.0]), (60, 600))  # one frame
    assert line[0] == pytest.approx(np.log2(90)) and voicing[0] == 1


def test_what_lies_outside_the_speakers_bounds_is_not_voiced():
    frames = np.stack([np.r_[np.full(95, 100.0), np.full(5, 400.0)], np.ones(100)], 1)
    low, high = pitch.clip_bounds(frames)
    assert low == pytest.approx(75) and 100 < high < 400
    line, voicing = pitch.contour(frames[:, 0], frames[:, 1], (low, high))
    assert voicing.sum() == 95 and np.allclose(line, np.log2(100))
    assert pitch.clip_bounds(np.zeros((3, 2))) == (pitch.LOWEST, pitch.HIGHEST)


@pytest.mark.parametrize("hertz", [90.0, 210.0])
def test_the_middle_of_a_clip_is_that_of_its_voice(hertz: float):
    found = pitch.middle(hummed(np.full(RATE, hertz)).astype(np.float32) / 32768)
    assert found is not None and abs(12 * np.log2(found / hertz)) < 0.1
    assert pitch.middle(np.zeros(RATE, np.float32)) is None
