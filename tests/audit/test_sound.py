from __future__ import annotations

import numpy as np
import pytest

from olu.audit.sound import measure
from olu.types import Audio

from .conftest import RATE, Samples, silence, speech


def facts(*parts: Samples):
    return measure(Audio(np.concatenate(parts), RATE))


def test_silence_at_the_ends_and_inside_is_measured_in_seconds():
    found = facts(silence(0.8), speech(2, lead=0, tail=0), silence(2.0), speech(1, lead=0, tail=0), silence(1.2))
    assert found.leading == pytest.approx(0.8, abs=0.06)
    assert found.trailing == pytest.approx(1.2, abs=0.06)
    assert found.pause == pytest.approx(2.0, abs=0.12)
    assert found.speech == pytest.approx(3 / 7, abs=0.03)
    assert found.spoken == pytest.approx(5.0, abs=0.12)


@pytest.mark.parametrize("level", [1.0, 0.1, 0.02])
def test_loudness_does_not_change_what_is_speech(level: float):
    sound = np.concatenate([silence(1), speech(2, lead=0, tail=0), silence(1)])
    noise = np.random.default_rng(1).normal(0, 0.002, len(sound)).astype(np.float32)
    found = measure(Audio(np.float32(level) * (sound + noise), RATE))
    assert found.leading == pytest.approx(1.0, abs=0.06)
    assert found.speech == pytest.approx(0.5, abs=0.05)


def test_a_clip_without_pauses_is_all_speech():
    steady = np.sin(np.arange(RATE * 2) * 0.1).astype(np.float32) * np.float32(0.3)
    assert measure(Audio(steady, RATE)).speech == pytest.approx(1.0, abs=0.01)


def test_an_offset_is_no_sound_and_a_click_is_no_speech():
    sound = silence(2) + np.float32(0.2)
    assert measure(Audio(sound, RATE)).speech == 0.0
    clicked = silence(2)
    clicked[100:110] = 0.9
    assert measure(Audio(clicked, RATE)).speech == 0.0


def test_only_runs_of_three_count_as_clipped():
    sound = silence(1)
    sound[10:12] = 1.0
    assert measure(Audio(sound, RATE)).clipped == 0.0
    sound[100:103] = -1.0
    sound[-4:] = 1.0
    assert measure(Audio(sound, RATE)).clipped == pytest.approx(7 / RATE)


def test_level_and_hash():
    sound = np.full(RATE, 0.5, dtype=np.float32)
    found = measure(Audio(sound, RATE))
    assert (found.peak, found.rms_dbfs) == (0.5, pytest.approx(-6.02, abs=0.01))
    assert found.pcm == measure(Audio(sound.copy(), RATE)).pcm
    sound[7] = 0.4
    assert found.pcm != measure(Audio(sound, RATE)).pcm


@pytest.mark.parametrize("count", [1, 5, 159, 161])
def test_tiny_clips_are_measured_too(count: int):
    found = measure(Audio(np.full(count, 0.1, dtype=np.float32), RATE))
    assert 0.0 <= found.speech <= 1.0
