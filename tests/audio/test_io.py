"""Sound files in and out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.audio import io
from olu.audio.activity import file_levels
from olu.core.types import Audio

RATE = 16000


def voice(seconds: float = 2.0) -> np.ndarray:
    time = np.arange(round(seconds * RATE)) / RATE
    return np.asarray(0.3 * np.sin(2 * np.pi * 220 * time) * np.sin(2 * np.pi * 2 * time), dtype=np.float32)


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [(1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (0.8, -1.0, -1.0), (1.0, 0.0, 0.5), (1.0, -0.2, 0.4), (0.0, 0.0, 0.0)],
)
def test_channels_that_cancel_each_other_are_not_averaged(left: float, right: float, wanted: float, tmp_path: Path):
    sound = voice()
    path = tmp_path / "two.wav"
    soundfile.write(path, np.stack([left * sound, right * sound], axis=1), RATE, subtype="FLOAT")
    assert np.allclose(io.read(path).samples, wanted * sound, atol=1e-6)
    loudest = 20 * np.log10(max(abs(wanted), 1e-6))
    assert file_levels(path).max() - max(file_levels_of(sound, tmp_path) + loudest, -120) == pytest.approx(0, abs=0.1)


def file_levels_of(sound: np.ndarray, folder: Path) -> float:
    path = folder / "one.wav"
    soundfile.write(path, sound, RATE, subtype="FLOAT")
    return float(file_levels(path).max())


def test_different_channels_are_averaged(tmp_path: Path):
    one, other = np.random.default_rng(0).normal(0, 0.1, (2, RATE)).astype(np.float32)
    path = tmp_path / "two.wav"
    soundfile.write(path, np.stack([one, other], axis=1), RATE, subtype="FLOAT")
    assert np.allclose(io.read(path).samples, (one + other) / 2, atol=1e-6)


@pytest.mark.parametrize("kind", ["ogg", "flac"])
def test_minutes_are_written_in_one_go(kind: str, tmp_path: Path):
    """The encoder of Vorbis ends the whole process when it is given five minutes at once."""
    path = tmp_path / f"long.{kind}"
    io.write(path, Audio(np.tile(voice(10.0), 36), RATE))
    found = io.read(path)
    assert found.seconds == pytest.approx(360.0, abs=0.1)
    assert float(np.abs(found.samples).max()) == pytest.approx(0.3, abs=0.05)
