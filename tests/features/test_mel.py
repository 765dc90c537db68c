"""Spectrograms against a plain transcription of their definition, and against transformers' filter bank."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers.audio_utils import mel_filter_bank

from olu.core.errors import ConfigError
from olu.families.vits.config import VitsConfig
from olu.families.vits.learn import VitsLearner
from olu.features import mel as spectra
from olu.train.family import Example

SIZE = {"fft_size": 1024, "hop": 256}


def wave(samples: int, *, seed: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    tone = 0.3 * np.sin(2 * np.pi * 440 / 16000 * np.arange(samples))
    return (tone + rng.normal(0, 0.05, samples)).astype(np.float32)


def linear_by_hand(samples: NDArray[np.float32], fft_size: int, hop: int) -> NDArray[np.float64]:
    """Reflect (n - hop) / 2 each side, periodic Hann, no centring, root of power plus 1e-6: [N, F]."""
    pad = (fft_size - hop) // 2
    x = samples.astype(np.float64)
    padded = np.concatenate([x[pad:0:-1], x, x[-2 : -pad - 2 : -1]])
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(fft_size) / fft_size)
    columns = []
    for start in range(0, len(padded) - fft_size + 1, hop):
        spectrum = np.fft.rfft(padded[start : start + fft_size] * window)
        columns.append(np.sqrt(spectrum.real**2 + spectrum.imag**2 + 1e-6))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("samples", [256 * 20, 256 * 20 + 1, 256 * 20 + 255, 400])
def test_linear_is_as_defined(samples: int) -> None:
    x = wave(samples)
    found = spectra.linear(spectra.reflect(torch.from_numpy(x)[None], **SIZE), **SIZE)[0].numpy()
    expected = linear_by_hand(x, **SIZE)
    assert found.shape == expected.shape == (513, samples // 256)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5)


def test_silence_is_the_root_of_the_floor() -> None:
    quiet = spectra.linear(torch.zeros(1, 4096), **SIZE)
    np.testing.assert_allclose(quiet.numpy(), 1e-3, rtol=1e-6)


def test_mel_is_as_defined() -> None:
    x = wave(256 * 30)
    linear = spectra.linear(spectra.reflect(torch.from_numpy(x)[None], **SIZE), **SIZE)
    bank = spectra.mel_bank(rate=16000, fft_size=1024, bins=80, low=0.0, high=8000.0)
    found = spectra.mel(linear, torch.from_numpy(bank))[0].numpy()
    theirs = mel_filter_bank(513, 80, 0.0, 8000.0, 16000, norm="slaney", mel_scale="slaney").T
    expected = np.log(np.maximum(theirs @ linear_by_hand(x, **SIZE), 1e-5))
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert spectra.mel(torch.zeros(1, 513, 2), torch.from_numpy(bank)).numpy() == pytest.approx(np.log(1e-5))


@pytest.mark.parametrize(
    ("rate", "bins", "low", "high"),
    [
        (16000, 80, 0.0, 8000.0),
        (22050, 80, 0.0, 11025.0),
        (24000, 80, 0.0, 12000.0),
        (22050, 80, 0.0, 8000.0),
        (24000, 100, 50.0, 7600.0),
        (16000, 40, 1200.0, 4000.0),
    ],
)
def test_mel_bank_equals_transformers(rate: int, bins: int, low: float, high: float) -> None:
    ours = spectra.mel_bank(rate=rate, fft_size=1024, bins=bins, low=low, high=high)
    theirs = mel_filter_bank(513, bins, low, high, rate, norm="slaney", mel_scale="slaney").T
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_clip_has_the_same_spectrogram_alone_and_among_longer_ones() -> None:
    learner = VitsLearner(VitsConfig(size="tiny"), vocab_size=5, num_speakers=1)
    lengths = (4096 + 13, 9000, 16 * 256, 12345)
    examples = [
        Example(f"c{n}", (0, 1, 0), np.rint(wave(size, seed=n) * 20000).astype(np.int16), 0)
        for n, size in enumerate(lengths)
    ]
    together = learner.collate(examples)
    many = spectra.linear(together.padded_BS, **SIZE)
    assert together.frames_B.tolist() == [size // 256 for size in lengths]
    assert together.counts["frames"] == sum(size // 256 for size in lengths)
    for row, example in enumerate(examples):
        alone = learner.collate([example])
        frames = int(alone.frames_B[0])
        one = spectra.linear(alone.padded_BS, **SIZE)[0, :, :frames]
        np.testing.assert_array_equal(many[row, :, :frames].numpy(), one.numpy())
        by_hand = linear_by_hand(example.samples.astype(np.float32) / 32768, **SIZE)
        np.testing.assert_allclose(one.numpy(), by_hand, rtol=1e-4, atol=2e-5)


def test_a_contract_of_spectrograms_names_the_field_that_differs():
    spec = spectra.MelSpec()
    assert spec.hash == spectra.MelSpec().hash != spectra.MelSpec(inside=1e-9).hash
    assert spec.probe == pytest.approx([-0.9487, -2.9539, -1.6772, -9.6473, -9.6549, -7.4815], abs=1e-3)
    spec.must_fit(spec.facts, whose="a run")
    with pytest.raises(ConfigError, match="of a run differs: hop is 200, here 256"):
        spec.must_fit(spectra.MelSpec(hop=200).facts, whose="a run")
    with pytest.raises(ConfigError, match="probe is"):  # the same settings, other code
        spec.must_fit({**spec.facts, "probe": [0.0] * 6}, whose="a run")
    sound = torch.sin(torch.arange(5000) / 9)[None]
    assert spec.of(sound).shape == (1, 80, 5000 // 256)
