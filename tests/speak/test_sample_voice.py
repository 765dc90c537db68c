"""The sample corpus, spoken by the voice inside this package in another pitch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu import files
from olu.audio import io
from olu.errors import ConfigError, LanguageError
from olu.export.package import write_package
from olu.families import family
from olu.speak.voice import Voice
from olu.stages import sample as stage
from olu.stages.sample import sample_corpus
from olu.text.characters import CharacterFrontend
from olu.text.languages import load
from olu.types import finish

from . import made


@pytest.fixture(scope="module")
def voices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small voice for Swahili, in a folder like src/olu/voices."""
    folder = tmp_path_factory.mktemp("voices")
    language = load("swa")
    held = replace(
        made.contents(speakers=["default"], name="own"),
        language=language,
        frontend=CharacterFrontend("swa", inventory=made.LETTERS),
        sentences=language.sentences()[:1],
    )
    learner, export = made.learner(speakers=1), family("vits").export
    write_package(folder / "swa.voice", held, graphs=lambda place: export(learner, folder=place))
    return folder


@pytest.fixture
def inside(voices: Path, monkeypatch: pytest.MonkeyPatch) -> Voice:
    monkeypatch.setattr(files, "VOICES", voices)
    return Voice.open(voices / "swa.voice", threads=1)


def test_its_own_voice_in_another_pitch_and_the_same_tempo(inside: Voice, tmp_path: Path) -> None:
    summary = finish(sample_corpus(tmp_path / "a", clips=3, pitch=1.25))
    assert (summary.language, summary.clips) == ("swa", 3)
    assert summary.spoken_by == "the voice own at 1.25 times its pitch"
    texts = load("swa").sentences()[:3]
    lines = (tmp_path / "a" / "metadata.csv").read_text(encoding="utf-8").splitlines()
    assert lines == [f"swa_{number:04}|{text}" for number, text in enumerate(texts, 1)]
    for number, text in enumerate(texts):
        samples, rate = soundfile.read(tmp_path / "a" / "wavs" / f"swa_{number + 1:04}.wav", dtype="float32")
        slow = inside.speak(text, speed=1 / 1.25, seed=number)
        expected = io.resample(slow, slow.rate, factor=1.25).samples
        assert rate == inside.rate
        np.testing.assert_allclose(samples, np.clip(expected, -1, 1), atol=1e-4)
        plain = inside.speak(text, seed=number)
        assert len(samples) / rate == pytest.approx(plain.seconds, rel=0.15), "frames are whole, so not exact"
    finish(sample_corpus(tmp_path / "b", language="sw", clips=3, pitch=1.25))
    for path in (tmp_path / "a" / "wavs").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / "wavs" / path.name).read_bytes()


def test_what_it_cannot_speak(inside: Voice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pitch in (0.69, 1.41, float("nan")):
        with pytest.raises(ConfigError, match=r"--pitch .*: give 0\.7 to 1\.4"):
            finish(sample_corpus(tmp_path / "a", pitch=pitch))
    with pytest.raises(ConfigError, match="--pitch has no effect here"):
        finish(sample_corpus(tmp_path / "a", language="es", pitch=1.1))
    monkeypatch.setattr(stage, "ESPEAK_TOO", False)
    with pytest.raises(LanguageError, match=r"no sample can be made for Spanish .*: a sample can be made for swa"):
        finish(sample_corpus(tmp_path / "a", language="es"))
    monkeypatch.setattr(files, "VOICES", tmp_path)
    with pytest.raises(LanguageError, match="built without a voice of its own"):
        finish(sample_corpus(tmp_path / "a"))
    with pytest.raises(LanguageError, match="built without a voice of its own"):
        finish(sample_corpus(tmp_path / "a", language="sw"))
    assert list(tmp_path.iterdir()) == []
