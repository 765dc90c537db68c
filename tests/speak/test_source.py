"""Pulses that follow a pitch."""

from __future__ import annotations

import numpy as np
import pytest

from olu.speak.source import framed, pulses

RATE, HOP = 16000, 256


def test_the_closed_form_is_the_sum_of_cosines() -> None:
    contour = np.log2(np.linspace(90.0, 210.0, 12))
    made = pulses(contour, np.ones(12), hop=HOP, rate=RATE)
    at = np.arange(12 * HOP)
    hertz = np.exp2(np.interp(at, np.arange(12) * HOP + HOP / 2, contour))
    phase = 2 * np.pi * np.cumsum(hertz / RATE)
    most = np.floor(RATE / 2 / hertz)
    plain = sum(np.where(k <= most, np.cos(k * phase), 0.0) for k in range(1, int(most.max()) + 1))
    np.testing.assert_allclose(made, np.sqrt(2 / most) * plain, atol=1e-4)
    assert 0.8 < np.mean(made**2) < 1.2


@pytest.mark.parametrize("hertz", [70.0, 133.0, 400.0])
def test_its_pitch_is_the_one_asked_for(hertz: float) -> None:
    made = pulses(np.full(60, np.log2(hertz)), np.ones(60), hop=HOP, rate=RATE)
    spectrum = np.abs(np.fft.rfft(made[:15360] * np.hanning(15360)))
    lowest = np.argmax(spectrum[: round(1.5 * hertz * 15360 / RATE)]) * RATE / 15360
    assert abs(12 * np.log2(lowest / hertz)) < 0.3


def test_unvoiced_frames_are_silent_and_short_ones_are_no_error() -> None:
    voicing = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    made = pulses(np.full(6, 7.0), voicing, hop=HOP, rate=RATE)
    assert not made[: HOP + HOP // 2].any() and made[2 * HOP : 4 * HOP].any() and not made[-HOP:].any()
    assert not pulses(np.full(3, 7.0), np.zeros(3), hop=HOP, rate=RATE).any()
    assert pulses(np.array([7.0]), np.array([1.0]), hop=HOP, rate=RATE).shape == (HOP,)


def test_frames_hold_the_samples_in_order() -> None:
    wave = np.arange(2 * HOP, dtype=np.float32)
    held = framed(wave, HOP)
    assert held.shape == (1, HOP, 2)
    np.testing.assert_array_equal(held[0, :, 1], wave[HOP:])
