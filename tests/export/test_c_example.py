"""docs/c/speak.c, built by the compiler here: the ids are ours, and the sound is that of the same graph in Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import soundfile

from olu.core.job import finish
from olu.families.vits.formats.android import ASSETS
from olu.speak.voice import Voice
from olu.stages.export import export

SOURCE = Path(__file__).parents[2] / "docs" / "c" / "speak.c"
TEXTS = ("ሰላም ለዓለም።", "በ 12/05/2020 ዓ.ም. 1,250 ብር ከፈልኩ።")
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


def flags() -> list[str]:
    """OLU_ORT_C, a folder with include/ and lib/, or what pkg-config knows of libonnxruntime."""
    if given := os.environ.get("OLU_ORT_C"):
        return [f"-I{given}/include", f"-L{given}/lib", "-lonnxruntime", f"-Wl,-rpath,{given}/lib"]
    if shutil.which("pkg-config") is None:
        return []
    told = subprocess.run(["pkg-config", "--cflags", "--libs", "libonnxruntime"], capture_output=True, text=True)
    return [] if told.returncode else told.stdout.split()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler, wanted = shutil.which("cc") or shutil.which("gcc"), flags()
    if compiler is None or not wanted:
        pytest.skip("no C compiler, or OLU_ORT_C and pkg-config name no onnxruntime for C")
    made = tmp_path_factory.mktemp("c") / "speak"
    words = [compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", str(SOURCE), *wanted, "-o", str(made)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("a") / "project"
    return Path(finish(export(Path("embedded"), to="android", output=place)).voice) / ASSETS


def speak(program: Path, *words: object, given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *map(str, words)], input=given, capture_output=True, text=True, timeout=120)


def test_it_says_what_python_says(program: Path, folder: Path, tmp_path: Path) -> None:
    voice, graph = Voice.open("embedded"), onnxruntime.InferenceSession(str(folder / "model.onnx"))
    reader, lines, ids, waves = voice.reader(), list[str](), list[str](), list[np.ndarray]()
    length = json.loads((folder / "voice.json").read_text())["length_scale"]
    for line in (line for text in TEXTS for line in reader.lines(text)):
        assert line.reading is not None
        lines.append("\t".join(line.reading.symbols(reader.vocabulary.marks)))
        ids.append(" ".join(map(str, line.ids)))
        feeds = {"input": np.array([line.ids], np.int64), "input_lengths": np.array([len(line.ids)], np.int64)}
        (wave,) = graph.run(None, {**feeds, "scales": np.array([0, length, 0], np.float32)})
        waves.append(wave.ravel())
    done = speak(program, folder, tmp_path / "out.wav", 0, given="\n".join(lines) + "\n")
    assert not done.returncode, done.stderr
    assert done.stdout.splitlines() == ids
    said, rate = soundfile.read(tmp_path / "out.wav", dtype="float32")
    ours = np.concatenate(waves)
    assert rate == voice.rate and len(said) == len(ours)
    assert np.abs(said - ours).max() < 1e-4 and np.abs(ours).max() > 0.05


def test_what_is_wrong_is_one_sentence(program: Path, folder: Path, tmp_path: Path) -> None:
    def told(*words: object, given: str = "h\tu\n") -> str:
        done = speak(program, *words, given=given)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        return done.stderr

    out = tmp_path / "out.wav"
    assert "no symbol: XX" in told(folder, out, given="h\tXX\n")
    assert "usage" in told(folder)
    assert "reading.json: cannot be opened" in told(tmp_path / "nowhere", out)
    assert "cannot be written" in told(folder, tmp_path / "no" / "out.wav")
    assert "nothing was said" in told(folder, out, given="\n")
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    reading = (folder / "reading.json").read_text()
    for spoilt, why in (
        (reading.replace("olu-reading/1", "olu-reading/9"), "another format"),
        (reading.replace('"symbols"', '"letters"', 1), "symbols"),
        ('{"format": "olu-reading/1", "symbols": ["a', "ends in the middle"),
        ('{"format": "olu-reading/1", "symbols": ["' + "a" * 999 + '"]', "too long"),
    ):
        (other / "reading.json").write_text(spoilt)
        assert why in told(other, out)
    (other / "reading.json").write_text(reading)
    (other / "model.onnx").write_bytes(b"no network")
    assert "onnxruntime" in told(other, out)
