"""The sample corpus: sound, the same bytes every time, whole or not at all."""

from __future__ import annotations

import array
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from olu import files
from olu.corpus import sample
from olu.errors import ConfigError, CorpusError, LanguageError, MissingExtra
from olu.stages.sample import SampleSummary, sample_corpus
from olu.text.languages import load
from olu.types import Tick, finish

espeakng_loader = pytest.importorskip("espeakng_loader", reason="espeakng-loader is not installed (olu[sample])")


@pytest.fixture(autouse=True)
def no_voice_inside(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here espeak-ng speaks; the voice inside this package has tests/speak/test_sample_voice.py."""
    monkeypatch.setattr(files, "VOICES", tmp_path_factory.getbasetemp() / "no-voices")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def worker(voice: str, out: Path, *, text: str = "Hola.") -> subprocess.CompletedProcess[str]:
    places = [espeakng_loader.get_library_path(), espeakng_loader.get_data_path()]
    command = [sys.executable, "-m", "olu.corpus.espeak", *places, voice, str(out)]
    return subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("code", ["am", "es", "sw"])
def test_sound_and_text(tmp_path: Path, code: str) -> None:
    language = load(code)
    made = finish(sample_corpus(tmp_path / "new" / "corpus", language=code, clips=2))
    folder = tmp_path / "new" / "corpus"
    ids = [f"{language.code}_0001", f"{language.code}_0002"]
    assert made == SampleSummary(
        folder=str(folder), language=language.code, clips=2, seconds=made.seconds, spoken_by="espeak-ng"
    )
    assert sorted(contents(folder)) == ["metadata.csv", f"wavs/{ids[0]}.wav", f"wavs/{ids[1]}.wav"]
    lines = (folder / "metadata.csv").read_text(encoding="utf-8").splitlines()
    assert lines == [f"{id}|{text}" for id, text in zip(ids, language.sentences(), strict=False)]
    total = 0.0
    for id in ids:
        with wave.open(str(folder / "wavs" / f"{id}.wav")) as sound:
            assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, 22050)
            seconds = sound.getnframes() / sound.getframerate()
            samples = array.array("h", sound.readframes(sound.getnframes()))
        assert 1 < seconds < 8
        assert max(samples) > 5000
        total += seconds
    assert made.seconds == pytest.approx(total, abs=0.001)
    assert [path.name for path in folder.parent.iterdir()] == ["corpus"]


def test_same_bytes_whatever_the_workers(tmp_path: Path) -> None:
    lines = {f"clip{n}": text for n, text in enumerate(load("sw").sentences()[:4])}
    for name, workers, order in (("one", 1, 1), ("three", 3, 1), ("backwards", 2, -1)):
        (tmp_path / name).mkdir()
        lengths = list(
            sample.record(tmp_path / name, lines=dict(list(lines.items())[::order]), voice="sw", workers=workers)
        )
        assert len(lengths) == 4
    first = contents(tmp_path / "one")
    assert len(set(first.values())) == 4
    assert first == contents(tmp_path / "three") == contents(tmp_path / "backwards")


def test_ticks(tmp_path: Path) -> None:
    assert list(sample_corpus(tmp_path / "a", language="es", clips=2)) == [Tick(1, 2, "spa"), Tick(2, 2, "spa")]


@pytest.mark.parametrize("voice", ["zz", "es-zz", "esx", "roa", "", "Spanish", "../lang/roa/es"])
def test_the_worker_refuses_an_unknown_voice(tmp_path: Path, voice: str) -> None:
    ended = worker(voice, tmp_path / "x.wav")
    assert ended.returncode == 2
    assert "no voice" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "x.wav").exists()


def test_the_worker_says_where_its_data_should_be(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "olu.corpus.espeak",
        espeakng_loader.get_library_path(),
        str(tmp_path / "no"),
        "es",
    ]
    ended = subprocess.run([*command, str(tmp_path / "x.wav")], input=b"Hola.", capture_output=True, check=False)
    assert ended.returncode == 2
    assert b"cannot open its data" in ended.stderr


def test_a_language_folder_with_an_unknown_voice(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    toml = 'code="qaa"\nname="Mine"\nnative="Mine"\nscript="Latn"\nlower=true\nsentence_ends=["."]\nsample="zz"\n'
    (mine / "language.toml").write_text(toml, encoding="utf-8")
    (mine / "sentences.txt").write_text("Hola.\nAdiós.\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"clip qaa_0001: espeak-ng has no voice 'zz'"):
        finish(sample_corpus(tmp_path / "out", language=str(mine), clips=2))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]  # nothing half-made is left


def test_a_long_data_path(tmp_path: Path) -> None:
    lines = {"a": "Buenos días."}
    list(sample.record(tmp_path, lines=lines, voice="es"))
    plain = (tmp_path / "a.wav").read_bytes()
    deep = tmp_path.joinpath(*["d" * 50] * 4)
    deep.mkdir(parents=True)
    (deep / "data").symlink_to(espeakng_loader.get_data_path())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(espeakng_loader, "get_data_path", lambda: str(deep / "data"))
        list(sample.record(tmp_path, lines=lines, voice="es"))
        assert (tmp_path / "a.wav").read_bytes() == plain
        patch.setattr("tempfile.tempdir", str(deep))
        with pytest.raises(CorpusError, match="TMPDIR"):
            list(sample.record(tmp_path, lines=lines, voice="es"))


@pytest.mark.parametrize("clips", [-1, 0, 61])
def test_the_number_of_clips_is_checked(tmp_path: Path, clips: int) -> None:
    with pytest.raises(ConfigError, match="give 1 to 60"):
        finish(sample_corpus(tmp_path / "a", language="es", clips=clips))


@pytest.mark.parametrize("code", ["yor", "deu"])
def test_a_language_without_sentences(tmp_path: Path, code: str) -> None:
    with pytest.raises(LanguageError, match="a sample can be made for amh, spa, swa"):
        finish(sample_corpus(tmp_path / "a", language=code))


def test_only_a_free_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full, file, empty = tmp_path / "full", tmp_path / "file", tmp_path / "empty"
    full.mkdir()
    empty.mkdir()
    (full / "mine.txt").write_text("mine")
    file.write_text("mine")
    with pytest.raises(CorpusError, match="full is not empty"):
        finish(sample_corpus(full, language="es", clips=1))
    with pytest.raises(CorpusError, match="is a file"):
        finish(sample_corpus(file, language="es", clips=1))
    finish(sample_corpus(empty, language="es", clips=1))
    assert (empty / "metadata.csv").is_file()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(CorpusError, match="folder you are in"):
        finish(sample_corpus(Path(), language="es", clips=1))


def test_stopping_leaves_nothing(tmp_path: Path) -> None:
    work = sample_corpus(tmp_path / "a", language="es", clips=4)
    next(work)
    work.close()
    assert list(tmp_path.iterdir()) == []


def test_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(MissingExtra, match=r"olu\[sample\]"):
        finish(sample_corpus(tmp_path / "a", language="es", clips=1))
    assert list(tmp_path.iterdir()) == []
