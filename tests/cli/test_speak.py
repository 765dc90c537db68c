"""`olu speak` as people use it: arguments, files, pipes, every format, many lines, and mistakes."""

from __future__ import annotations

import io as stdlib_io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from olu.audio import io
from olu.audio.sink import FORMATS, into_pipe
from olu.cli.main import app, main
from olu.core.errors import TextError
from olu.speak.voice import Voice, each
from olu.stages.speak import batch_lines

from ..helpers.packages import TEXT


def run(*arguments: object, stdin: bytes | None = None) -> tuple[int, bytes, str]:
    """The verb in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-m", "olu", "speak", *map(str, arguments)], input=stdin, capture_output=True
    )
    return found.returncode, found.stdout, found.stderr.decode()


def invoke(*arguments: object, stdin: str | None = None) -> tuple[int, str]:
    """The verb in this process: quicker; errors come as they are raised."""
    found = CliRunner().invoke(app, ["speak", *map(str, arguments)], input=stdin)
    return found.exit_code, str(found.exception) if found.exception else found.output


def test_text_from_the_argument_a_file_or_a_pipe(folder: Path, voice: Voice, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    for name, given, stdin in (("a", TEXT, None), ("b", "-", TEXT), ("c", "--file", None), ("d", "--file", TEXT)):
        where = [given, tmp_path / "text.txt" if name == "c" else "-"] if given == "--file" else [given]
        code, said = invoke(*where, "--voice", folder, "-o", tmp_path / f"{name}.wav", "--threads", 1, stdin=stdin)
        assert (code, said) == (0, f"{tmp_path / name}.wav: {voice.speak(TEXT).seconds:.2f} s\n")
    first, *others = [(tmp_path / f"{name}.wav").read_bytes() for name in "abcd"]
    assert all(other == first for other in others)
    found = io.read(tmp_path / "a.wav")
    np.testing.assert_allclose(found.samples, voice.speak(TEXT).samples, atol=2 / 32768)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_into_a_pipe(voice: Voice, kind: str) -> None:
    """Each piece is out before the next is made, and what came out can be read."""
    pipe, sizes = stdlib_io.BytesIO(), []
    pieces = [voice.speak(TEXT).samples] * 6
    with into_pipe(pipe, kind=kind, rate=16000) as add:
        for piece in pieces:
            add(piece)
            sizes.append(len(pipe.getvalue()))
    assert sizes[1] > 0 and sizes == sorted(set(sizes)), "it grows with every piece"
    data = pipe.getvalue()
    whole = np.concatenate(pieces)
    if kind == "pcm":
        found = np.frombuffer(data, "<i2").astype(np.float32) / 32767
    else:
        if kind == "flac":  # libsndfile reads no flac of unknown length: told it, it does
            assert data[21] & 15 == 0 and data[22:26] == bytes(4), "the length is left open"
            data = data[:22] + len(whole).to_bytes(4, "big") + data[26:]
        found, rate = soundfile.read(stdlib_io.BytesIO(data), dtype="float32")
        assert rate == 16000
    assert abs(len(found) - len(whole)) <= 2 * 1152 + 320
    if kind in ("pcm", "wav", "flac"):
        np.testing.assert_allclose(found, whole, atol=2 / 32768)


def test_a_pipe_of_samples(folder: Path, voice: Voice) -> None:
    code, out, errors = run(TEXT, "--voice", folder, "-o", "-", "--format", "pcm", "--rate", 8000, "--threads", 1)
    assert (code, errors) == (0, "")
    assert len(out) == 2 * round(voice.speak(TEXT).seconds * 8000)
    code, out, _ = run("-", "--voice", folder, "-o", "-", stdin=TEXT.encode())
    assert code == 0 and out[:4] == b"RIFF" and out[8:12] == b"WAVE"


@pytest.mark.parametrize(("kind", "rate"), [("opus", 48000), ("mp3", 44100), ("ogg", 22050), ("flac", 96000)])
def test_formats_and_rates_of_files(folder: Path, voice: Voice, tmp_path: Path, kind: str, rate: int) -> None:
    code, said = invoke(TEXT, "--voice", folder, "-o", tmp_path / f"a.{kind}", "--rate", rate, "--json")
    assert code == 0
    assert json.loads(said)["rate"] == rate
    found = io.header(tmp_path / f"a.{kind}")
    assert found.seconds == pytest.approx(voice.speak(TEXT).seconds, abs=0.15)


def test_times_beside_the_sound(folder: Path, tmp_path: Path) -> None:
    code, said = invoke(TEXT, "--voice", folder, "-o", tmp_path / "a.wav", "--times", "json", "--json", "--pause", 1)
    assert code == 0 and json.loads(said)["times"] == str(tmp_path / "a.json")
    times = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert times["audio"] == "a.wav"
    assert [sentence["text"] for sentence in times["sentences"]] == ["Kedu ka ị mere?", "Ọ dị mma."]
    assert times["unsaid"] == {} and [sentence["unsaid"] for sentence in times["sentences"]] == [{}, {}]
    assert invoke("Kedu 漢?", "--voice", folder, "-o", tmp_path / "b.wav", "--times", "json")[0] == 0
    gaps = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    assert gaps["unsaid"] == gaps["sentences"][0]["unsaid"] == {"漢": 1}
    assert times["sentences"][1]["start"] - times["sentences"][0]["end"] == pytest.approx(1.0, abs=1e-3)
    assert [word["word"].lower() for word in times["sentences"][0]["words"]] == ["kedu", "ka", "ị", "mere"]
    assert invoke(TEXT, "--voice", folder, "-o", tmp_path / "a.wav", "--times", "srt")[0] == 0
    assert (tmp_path / "a.srt").read_text(encoding="utf-8").count(" --> ") == 7


def test_a_knob_by_its_name_and_by_its_short_one(folder: Path, voice: Voice, tmp_path: Path) -> None:
    for name, words in {"a": ("--knob", "noise=0.2"), "b": ("--noise", "0.2")}.items():
        code, out = invoke(TEXT, "--voice", folder, "-o", tmp_path / f"{name}.wav", *words)
        assert code == 0, out
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()
    for wrong, says in {
        "mood=1": "has no knob 'mood'; it has: noise, duration_noise",
        "noise=low": "NAME=VALUE",
    }.items():
        code, out = invoke(TEXT, "--voice", folder, "-o", tmp_path / "c.wav", "--knob", wrong)
        assert code and says in out
    assert not (tmp_path / "c.wav").exists()


def test_a_batch(folder: Path, voice: Voice, tmp_path: Path) -> None:
    rows = [f"line-{n}|{'ọ dị mma ' * (n % 4 + 1)}" for n in range(8)] + ["", "Kedu ka ị mere?"]
    (tmp_path / "lines.txt").write_text("\n".join(rows), encoding="utf-8")
    code, said = invoke(
        "--batch", tmp_path / "lines.txt", "--voice", folder, "-o", tmp_path / "out", "--format", "flac"
    )
    assert code == 0 and "9 files" in said
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["0010.flac", *(f"line-{n}.flac" for n in range(8))]
    for n in range(8):
        alone = voice.speak("ọ dị mma " * (n % 4 + 1)).samples
        np.testing.assert_allclose(io.read(tmp_path / "out" / f"line-{n}.flac").samples, alone, atol=2 / 32768)


def test_a_line_that_cannot_be_said_costs_no_other(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a|Kedu.\nb|漢字\nc|Ọ dị.\n", encoding="utf-8")
    code, said = invoke("--batch", tmp_path / "lines.txt", "--voice", folder, "-o", tmp_path / "out")
    assert code == 1 and "1 of 3 lines" in said and "b: nothing in the text" in said
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.wav", "c.wav"]


@pytest.mark.parametrize(
    "lines", ["a|x\na|y", "../a|x", "a/b|x", "|x", "", "\n\n", ".hidden|x", "a" * 200 + "|x", "ị" * 90 + "|x"]
)
def test_batch_files_that_cannot_be_used(tmp_path: Path, lines: str) -> None:
    (tmp_path / "lines.txt").write_text(lines, encoding="utf-8")
    with pytest.raises(TextError) as raised:
        batch_lines(tmp_path / "lines.txt")
    assert "\n" not in str(raised.value)


def test_work_stops_when_nobody_waits() -> None:
    done: list[int] = []
    found = each(["a" * n for n in range(50)], lambda n: done.append(n), threads=1)
    next(found)
    found.close()
    assert len(done) < 50


MISTAKES: dict[str, list[object]] = {
    "no text": [],
    "text and file": ["Kedu.", "--file", "x.txt"],
    "no such file": ["--file", "/nowhere/x.txt"],
    "an ending nobody knows": ["Kedu.", "-o", "a.wave"],
    "a format nobody knows": ["Kedu.", "--format", "aac"],
    "a rate opus has not": ["Kedu.", "--format", "opus", "--rate", "44100"],
    "times into a pipe": ["Kedu.", "-o", "-", "--times", "srt"],
    "times of no kind": ["Kedu.", "--times", "vtt"],
    "times where the sound is": ["Kedu.", "-o", "a.json", "--format", "wav", "--times", "json"],
    "speed": ["Kedu.", "--speed", "9"],
    "threads": ["Kedu.", "--threads", "-2"],
    "a name that is no text": ["Kedu.", "-o", "\udcff.wav"],
    "a device": ["Kedu.", "-o", "/dev/null", "--format", "wav"],
    "speaker": ["Kedu.", "--speaker", "eze"],
    "markup": ["<break Kedu."],
    "batch into a pipe": ["--batch", "x.txt", "-o", "-"],
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_sentence(
    folder: Path,
    tmp_path: Path,
    mistake: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [str(one) for one in MISTAKES[mistake]]
    out = [] if "-o" in given else ["-o", "out.wav"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["olu", "speak", *given, "--voice", str(folder), *out])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("olu: ") and said.count("\n") == 1, said
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_encoding(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes("Ọ dị".encode("utf-16"))
    code, said = invoke("--file", tmp_path / "x.txt", "--voice", folder, "-o", tmp_path / "a.wav")
    assert code == 1 and "is not UTF-8" in said


def test_a_batch_on_less_than_no_threads(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("Kedu.", encoding="utf-8")
    code, said = invoke("--batch", tmp_path / "lines.txt", "--voice", folder, "-o", tmp_path / "out", "--threads", "-1")
    assert code == 1 and "threads -1: choose 1 to 256" in said and not (tmp_path / "out").exists()
    code, said = invoke("Ab.", "--voice", folder, "-o", tmp_path / "a.wav", "--threads", "5000")
    assert code == 1 and "threads 5000: choose 1 to 256" in said


def test_a_folder_is_not_replaced_by_a_sound(folder: Path, tmp_path: Path) -> None:
    for name in ("mine", "mine.wav", "a.json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kept.txt").write_text("kept")
    for out, more in (("mine", ["--format", "wav"]), ("mine.wav", []), ("a.wav", ["--times", "json"])):
        code, said = invoke("Kedu.", "--voice", folder, "-o", tmp_path / out, *more)
        assert code == 1 and "is a folder" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "mine", "mine.wav"]
    assert all((path / "kept.txt").is_file() for path in tmp_path.iterdir())


@pytest.mark.parametrize("kind", FORMATS)
def test_a_pipe_that_closes_is_one_sentence(folder: Path, kind: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "olu", "speak", TEXT * 30, "--voice", folder, "-o", "-", "--format", kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as made:
        assert made.stdout and made.stderr
        made.stdout.read(1)
        made.stdout.close()
        said = made.stderr.read().decode()
        assert (made.wait(), said) == (2, "olu: the pipe was closed before everything was said\n")
