from __future__ import annotations

import numpy as np
import pytest

from olu.audio import io
from olu.audit.sound import measure
from olu.core.types import Audio

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


def test_noise_is_measured_between_the_words_and_not_in_digital_silence():
    sound = speech(3, lead=0.6, tail=0.6)
    noise = np.random.default_rng(1).normal(0, 0.01, len(sound)).astype(np.float32)
    found = measure(Audio(sound + noise, RATE))
    assert found.noise_dbfs == pytest.approx(-40.0, abs=0.7)
    assert found.snr == pytest.approx(20.0, abs=3.0)
    gated = np.concatenate([silence(0.6), speech(0.9, lead=0, tail=0), silence(0.6)])
    assert measure(Audio(gated, RATE)).snr is None


def test_noise_without_pauses_is_what_the_quietest_moments_hold():
    hiss = np.random.default_rng(1).normal(0, 0.05, 3 * RATE).astype(np.float32)
    tone = np.float32(0.2) * np.sin(2 * np.pi * 440 * np.arange(3 * RATE) / RATE).astype(np.float32)
    for steady in (hiss, tone):
        assert (measure(Audio(steady, RATE)).snr or 99) < 2
    talking = speech(3, lead=0, tail=0)
    assert (measure(Audio(talking, RATE)).snr or 0) > 12
    assert (measure(Audio(talking + hiss, RATE)).snr or 99) < 9


def test_noise_over_the_speech_is_no_lack_of_bandwidth():
    hiss = np.random.default_rng(1).normal(0, 0.05, 3 * RATE).astype(np.float32)
    assert measure(Audio(speech(3, lead=0.5, tail=0.5) + hiss, RATE)).bandwidth == pytest.approx(8000, abs=300)
    tone = np.sin(np.arange(3 * RATE) * 0.1).astype(np.float32)
    assert measure(Audio(tone, RATE)).bandwidth == 0.0  # steady throughout, which is not judged


@pytest.mark.parametrize("gain", [0.9, 0.3])
def test_flat_tops_are_found_after_the_sound_was_turned_down(gain: float):
    sound = speech(3) * np.float32(0.5)
    assert measure(Audio(sound, RATE)).clipped == 0.0
    half = float(np.abs(sound).max()) / 4
    clipped = measure(Audio(np.clip(sound, -half, half) / np.float32(half) * np.float32(gain), RATE)).clipped
    assert clipped > 0.001


def test_the_print_of_the_core_outlives_trimming_and_turning_down():
    sound = speech(4, lead=1.0, tail=1.2) + np.random.default_rng(3).normal(0, 0.002, 4 * RATE).astype(np.float32)
    whole, trimmed = measure(Audio(sound, RATE)), measure(Audio(sound[15360:46080] * np.float32(0.4), RATE))
    assert trimmed.core == pytest.approx(whole.core, abs=0.05)
    differ = np.bitwise_count(np.frombuffer(whole.prints[1], np.uint8) ^ np.frombuffer(trimmed.prints[1], np.uint8))
    assert differ.sum() < 0.3 * 1024


@pytest.mark.parametrize(("line", "seconds"), [(50, 3), (60, 3), (50, 1.2)])
def test_hum_is_told_from_speech(line: float, seconds: float):
    sound = speech(seconds)
    assert (measure(Audio(sound, RATE)).hum_dbfs or 0) < -60
    hum = np.float32(0.02) * np.sin(2 * np.pi * line * np.arange(len(sound)) / RATE).astype(np.float32)
    assert measure(Audio(sound + hum, RATE)).hum_dbfs == pytest.approx(-37.0, abs=1.5)
    assert measure(Audio(sound[:100], RATE)).hum_dbfs is None


@pytest.mark.parametrize("rate", [16000, 44100])
def test_bandwidth_is_that_of_the_sound_not_of_the_file(rate: int):
    whole = io.resample(Audio(speech(3), RATE), rate)
    assert measure(whole).bandwidth == pytest.approx(8000, abs=300)
    narrow = io.resample(io.resample(whole, 8000), rate)
    assert measure(narrow).bandwidth == pytest.approx(4000, abs=300)
    assert measure(io.resample(whole, 8000)).bandwidth == 4000


def test_an_offset_is_measured():
    assert measure(Audio(speech(2) + np.float32(0.03), RATE)).offset == pytest.approx(0.03, abs=0.002)


def test_prints_of_a_copy_agree_and_of_strangers_do_not():
    sound = speech(3)
    noise = np.random.default_rng(9).normal(0, 0.002, len(sound)).astype(np.float32)

    def differ(other: Samples) -> float:
        pairs = zip(measure(Audio(sound, RATE)).prints, measure(Audio(other, RATE)).prints, strict=True)
        return min(sum((a ^ b).bit_count() for a, b in zip(one, two, strict=True)) / 1024 for one, two in pairs)

    assert differ(sound * np.float32(0.5) + noise) < 0.2
    assert differ(speech(3, seed=1)) > 0.4
    assert measure(Audio(silence(2), RATE)).prints == ()
