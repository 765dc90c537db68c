"""The sample corpus by the voice inside this package: sound, the same bytes every time, whole or not at all."""

from __future__ import annotations

import array
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.audio import io
from olu.core import files
from olu.core.errors import ConfigError, CorpusError, LanguageError
from olu.core.files import embedded_voice
from olu.core.job import Tick, finish
from olu.speak.voice import Voice
from olu.stages.sample import CLIPS, SampleSummary, sample_corpus
from olu.text.languages import load

own = embedded_voice()
if own is None:
    pytest.skip("this Olu was built without a voice of its own", allow_module_level=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def voice() -> Voice:
    assert own is not None
    return Voice.open(own, threads=1)


def test_sound_and_text(voice: Voice, tmp_path: Path) -> None:
    language = load("amh")
    folder = tmp_path / "new" / "corpus"
    made = finish(sample_corpus(folder, clips=2))
    ids = ["amh_0001", "amh_0002"]
    said = f"the voice {voice.name} at 1.2 times its pitch"
    assert made == SampleSummary(folder=str(folder), language="amh", clips=2, seconds=made.seconds, spoken_by=said)
    assert sorted(contents(folder)) == ["metadata.csv", f"wavs/{ids[0]}.wav", f"wavs/{ids[1]}.wav"]
    lines = (folder / "metadata.csv").read_text(encoding="utf-8").splitlines()
    assert lines == [f"{id}|{text}" for id, text in zip(ids, language.sentences(), strict=False)]
    total = 0.0
    for id in ids:
        with wave.open(str(folder / "wavs" / f"{id}.wav")) as sound:
            assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, voice.rate)
            seconds = sound.getnframes() / sound.getframerate()
            samples = array.array("h", sound.readframes(sound.getnframes()))
        assert 1 < seconds < 8
        assert 2000 < max(samples) < 32767
        total += seconds
    assert made.seconds == pytest.approx(total, abs=0.001)
    assert [path.name for path in folder.parent.iterdir()] == ["corpus"]


def test_the_same_bytes_again_and_another_speaker_at_another_pitch(tmp_path: Path) -> None:
    for name, language, pitch in (("one", None, 1.2), ("two", "am", 1.2), ("low", None, 0.8)):
        finish(sample_corpus(tmp_path / name, language=language, clips=3, pitch=pitch))
    first, low = contents(tmp_path / "one"), contents(tmp_path / "low")
    assert len(set(first.values())) == 4
    assert first == contents(tmp_path / "two")
    assert low["metadata.csv"] == first["metadata.csv"]
    assert not set(low.values()) & {data for name, data in first.items() if name.endswith(".wav")}


def test_another_pitch_and_the_same_tempo(voice: Voice, tmp_path: Path) -> None:
    finish(sample_corpus(tmp_path / "a", clips=2, pitch=1.25))
    for number, text in enumerate(load("amh").sentences()[:2]):
        samples, rate = soundfile.read(tmp_path / "a" / "wavs" / f"amh_{number + 1:04}.wav", dtype="float32")
        slow = voice.speak(text, speed=1 / 1.25, seed=number)
        expected = io.resample(slow, slow.rate, factor=1.25).samples
        assert rate == voice.rate
        np.testing.assert_allclose(samples, np.clip(expected, -1, 1), atol=1e-4)
        plain = voice.speak(text, seed=number)
        assert len(samples) / rate == pytest.approx(plain.seconds, rel=0.15), "frames are whole, so not exact"


def test_ticks(tmp_path: Path) -> None:
    assert list(sample_corpus(tmp_path / "a", clips=2)) == [Tick(1, 2, "amh"), Tick(2, 2, "amh")]


def test_there_are_sentences_enough() -> None:
    assert len(load("amh").sentences()) >= CLIPS


@pytest.mark.parametrize("clips", [-1, 0, 61])
def test_the_number_of_clips_is_checked(tmp_path: Path, clips: int) -> None:
    with pytest.raises(ConfigError, match="give 1 to 60"):
        finish(sample_corpus(tmp_path / "a", clips=clips))


@pytest.mark.parametrize(("code", "name"), [("sw", r"Swahili \(swa\)"), ("yor", r"Yoruba \(yor\)"), ("kmb", "kmb")])
def test_another_language_is_refused(tmp_path: Path, code: str, name: str) -> None:
    says = rf"no sample can be made in {name}.*Olu's own voice speaks Amharic \(amh\) only; leave --language out, or .*"
    with pytest.raises(LanguageError, match=says):
        finish(sample_corpus(tmp_path / "a", language=code))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("pitch", [0.69, 1.41, float("nan")])
def test_a_pitch_too_far_away_is_refused(tmp_path: Path, pitch: float) -> None:
    with pytest.raises(ConfigError, match=r"--pitch .*: give 0\.7 to 1\.4"):
        finish(sample_corpus(tmp_path / "a", pitch=pitch))


@pytest.mark.parametrize("language", [None, "am", "sw"])
def test_an_olu_without_a_voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str | None) -> None:
    monkeypatch.setattr(files, "VOICES", tmp_path)
    with pytest.raises(LanguageError, match="built without a voice of its own"):
        finish(sample_corpus(tmp_path / "a", language=language))
    assert list(tmp_path.iterdir()) == []


def test_only_a_free_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full, file, empty = tmp_path / "full", tmp_path / "file", tmp_path / "empty"
    full.mkdir()
    empty.mkdir()
    (full / "mine.txt").write_text("mine")
    file.write_text("mine")
    with pytest.raises(CorpusError, match="full is not empty"):
        finish(sample_corpus(full, clips=1))
    with pytest.raises(CorpusError, match="is a file"):
        finish(sample_corpus(file, clips=1))
    finish(sample_corpus(empty, clips=1))
    assert (empty / "metadata.csv").is_file()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(CorpusError, match="folder you are in"):
        finish(sample_corpus(Path(), clips=1))


def test_stopping_leaves_nothing(tmp_path: Path) -> None:
    work = sample_corpus(tmp_path / "a", clips=4)
    next(work)
    work.close()
    assert list(tmp_path.iterdir()) == []
