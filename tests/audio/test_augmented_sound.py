"""What augmentation does to a recording, measured: pitch, formants, length, signal to noise, and where things are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from olu.audio.augment import CODECS, coded, in_room, noisy, paced, pitched
from olu.core.types import Audio

RATE = 16000
FORMANTS = ((700.0, 90.0), (1400.0, 100.0), (2600.0, 140.0))  # of an open vowel, with their widths


def vowel(hertz: float = 120.0, seconds: float = 0.8, *, rate: int = RATE) -> Audio:
    """Pulses with a falling spectrum through three resonances."""
    count = round(seconds * rate)
    bins, size = np.fft.rfftfreq(2 * count, 1 / rate), 2 * count
    track = hertz * (1 + 0.02 * np.sin(2 * np.pi * 3 * np.arange(count) / rate))
    turns = np.floor(np.cumsum(track) / rate)
    pulses = np.diff(turns, prepend=0.0)
    shape = np.ones(len(bins), complex) / (1 + bins / 300)
    for middle, width in FORMANTS:
        pole = 2j * np.pi * bins + np.pi * width
        shape *= (2 * np.pi * middle) ** 2 / (pole**2 + (2 * np.pi * middle) ** 2)
    wave = np.fft.irfft(np.fft.rfft(pulses, size) * shape, size)[:count]
    return Audio((0.3 * wave / np.abs(wave).max()).astype(np.float32), rate)


def median_hertz(audio: Audio) -> float:
    pyworld = pytest.importorskip("pyworld")
    found, _ = pyworld.dio(audio.samples.astype(np.float64), audio.rate, f0_floor=60, f0_ceil=500)
    return float(np.median(found[found > 0]))


def throat(audio: Audio) -> NDArray[np.float64]:
    """The mean envelope (CheapTrick) in dB, bin by bin up to half the rate."""
    pyworld = pytest.importorskip("pyworld")
    wave = audio.samples.astype(np.float64)
    found, times = pyworld.dio(wave, audio.rate, f0_floor=60, f0_ceil=500)
    return 10 * np.log10(pyworld.cheaptrick(wave, found, times, audio.rate)[20:-20]).mean(0)


def formants_moved(before: Audio, after: Audio) -> float:
    """By how many semitones the envelope has to be moved to lie best on that of before, around 1 kHz."""
    grid, tried = np.arange(-18, 22, 0.25), np.arange(-6, 6.1, 0.1)
    bins = np.linspace(0, RATE / 2, len(own := throat(before)))
    moved = throat(after)

    def at(envelope: NDArray[np.float64], semitones: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.interp(1000 * 2 ** (semitones / 12), bins, envelope)

    off = [np.std(at(moved, grid + shift) - at(own, grid)) for shift in tried]
    return float(tried[int(np.argmin(off))])


@pytest.mark.parametrize("semitones", [-3.0, 2.0, 4.0])
@pytest.mark.parametrize("hertz", [110.0, 210.0])
def test_pitch_moves_by_what_is_asked_while_formants_stay(semitones: float, hertz: float) -> None:
    before = vowel(hertz)
    after = pitched(before, semitones, formants=False)
    assert len(after.samples) == len(before.samples)
    assert 12 * np.log2(median_hertz(after) / median_hertz(before)) == pytest.approx(semitones, abs=0.1)
    assert formants_moved(before, after) == pytest.approx(0, abs=0.5)


@pytest.mark.parametrize("semitones", [-3.0, 2.0])
def test_formants_move_along_where_that_is_asked(semitones: float) -> None:
    before = vowel(120.0)
    after = pitched(before, semitones, formants=True)
    assert len(after.samples) == len(before.samples)
    assert 12 * np.log2(median_hertz(after) / median_hertz(before)) == pytest.approx(semitones, abs=0.1)
    assert formants_moved(before, after) == pytest.approx(semitones, abs=0.6)


@given(speed=st.floats(0.6, 1.6), count=st.integers(0, 9000))
def test_speed_changes_the_length_exactly_and_keeps_the_pitch(speed: float, count: int) -> None:
    sound = Audio(np.sin(np.arange(count) / 9).astype(np.float32), RATE)
    assert len(paced(sound, speed).samples) == round(count / speed)


def test_what_is_said_faster_has_its_pitch_and_its_places() -> None:
    before = vowel(120.0, 1.0)
    quiet = Audio(np.concatenate([np.zeros(8000, np.float32), before.samples, np.zeros(8000, np.float32)]), RATE)
    after = paced(quiet, 1.25)
    assert abs(12 * np.log2(median_hertz(after) / median_hertz(before))) < 0.1
    loud = np.flatnonzero(np.abs(after.samples) > 0.02)
    assert loud[0] == pytest.approx(8000 / 1.25, abs=300) and loud[-1] == pytest.approx(24000 / 1.25, abs=300)


@given(decibels=st.floats(-5, 40), seed=st.integers(0, 1000))
def test_the_signal_to_noise_ratio_is_what_was_asked(decibels: float, seed: int) -> None:
    before = vowel(seconds=0.2)
    after = noisy(before, decibels, np.random.default_rng(seed))
    noise = after.samples.astype(np.float64) - before.samples
    power = np.mean(before.samples.astype(np.float64) ** 2) / np.mean(noise**2)
    assert 10 * np.log10(power) == pytest.approx(decibels, abs=0.05)


@given(seed=st.integers(0, 50))
def test_a_room_comes_after_the_sound_and_is_as_loud(seed: int) -> None:
    before = np.zeros(RATE, np.float32)
    before[4000] = 1.0
    after = in_room(Audio(before, RATE), np.random.default_rng(seed)).samples
    assert int(np.abs(after).argmax()) == 4000 and not np.abs(after[:4000]).max() > 1e-4
    assert np.abs(after[4000 + 400 :]).max() > 1e-4
    assert np.mean(after.astype(np.float64) ** 2) == pytest.approx(np.mean(before**2), rel=1e-3)


def lag(first: NDArray[np.float32], second: NDArray[np.float32]) -> int:
    reach = 400
    found = np.correlate(np.pad(second, reach), first, "valid")
    return int(found.argmax()) - reach


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("rate", [16000, 22050])
def test_a_codec_changes_the_sound_and_neither_its_length_nor_its_place(codec: str, rate: int) -> None:
    before = vowel(120.0, rate=rate)
    after = coded(before, codec)
    assert after.rate == rate and len(after.samples) == len(before.samples)
    assert abs(lag(before.samples, after.samples)) <= rate // 4000
    off = np.sqrt(np.mean((after.samples - before.samples) ** 2) / np.mean(before.samples**2))
    assert 0.01 < off < 0.9


def test_nothing_and_silence_stay_what_they_are() -> None:
    for count in (1, 50, 4000):
        silent = Audio(np.zeros(count, np.float32), RATE)
        random = np.random.default_rng(1)
        made = [
            paced(silent, 1.1),
            pitched(silent, 2, formants=False),
            in_room(silent, random),
            noisy(silent, 10, random),
        ]
        made += [coded(silent, one) for one in CODECS]
        assert all(np.isfinite(one.samples).all() and np.abs(one.samples).max(initial=0.0) < 1e-2 for one in made)
