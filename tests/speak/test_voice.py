"""A voice package made here: it speaks without torch, repeats itself by seed, and says what is wrong with it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.audio import io
from olu.core.errors import AudioError, ExportError, TextError, VoiceError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.export.package import write_package
from olu.speak.stream import PAUSE_SECONDS
from olu.speak.voice import Voice
from olu.stages.speak import find_voice, speak_to

from ..helpers.packages import TEXT, contents

# ---------------------------------------------------------------- speaking


def test_it_speaks(voice: Voice) -> None:
    audio = voice.speak(TEXT)
    assert audio.rate == voice.rate == 16000
    assert audio.samples.dtype == np.float32
    assert np.isfinite(audio.samples).all()
    assert audio.samples.std() > 0.01


SPEAK = """
import sys, hashlib
import olu.speak.voice
assert "torch" not in sys.modules, "importing the voice imports torch"
audio = olu.speak.voice.Voice.open(sys.argv[1], threads=1).speak(sys.argv[2], seed=int(sys.argv[3]))
heavy = {"torch", "transformers", "numba", "onnx", "safetensors"} & set(sys.modules)
assert not heavy, heavy
print(hashlib.sha256(audio.samples.tobytes()).hexdigest())
"""


def test_two_processes_agree_without_torch(folder: Path, voice: Voice) -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", SPEAK, str(folder), TEXT, seed], capture_output=True, text=True, check=False
        )
        for seed in ("5", "5", "6")
    ]
    assert [run.stderr for run in said] == ["", "", ""]
    one, two, other = (run.stdout.strip() for run in said)
    assert one == two != other
    assert one == hashlib.sha256(voice.speak(TEXT, seed=5).samples.tobytes()).hexdigest()


def test_the_seed_acts(voice: Voice) -> None:
    first, again, other = (voice.speak(TEXT, seed=seed).samples for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or not np.allclose(first, other, atol=1e-3)
    with pytest.raises(VoiceError, match="seed -1"):
        voice.speak(TEXT, seed=-1)


@pytest.mark.parametrize("speed", [0.25, 0.5, 2.0, 4.0])
def test_speed_scales_durations(voice: Voice, speed: float) -> None:
    usual, changed = ([p for p in voice.stream(TEXT, speed=s, pause=0) if p.last] for s in (1.0, speed))
    assert len(voice.speak(TEXT, speed=speed, pause=0).samples) == 256 * sum(sum(p.sentence.durations) for p in changed)
    for before, after in zip(usual, changed, strict=True):
        for was, now in zip(before.sentence.durations, after.sentence.durations, strict=True):
            assert np.ceil((was - 1) / speed) <= now <= np.ceil(was / speed)
    frames = [sum(sum(spoken.sentence.durations) for spoken in said) for said in (usual, changed)]
    assert frames[0] != frames[1]


@pytest.mark.parametrize("speed", [0.0, -1.0, 0.2, 4.1, float("nan"), float("inf")])
def test_a_speed_out_of_reach(voice: Voice, speed: float) -> None:
    with pytest.raises(VoiceError, match=r"choose 0\.25 to 4"):
        voice.speak(TEXT, speed=speed)


def test_speakers(voice: Voice) -> None:
    ada, default, obi = (voice.speak(TEXT, speaker=name).samples for name in ("ada", None, "obi"))
    np.testing.assert_array_equal(ada, default)
    assert ada.shape != obi.shape or not np.allclose(ada, obi, atol=1e-3)
    with pytest.raises(VoiceError, match=r"no speaker 'eze'.*ada, obi"):
        voice.speak(TEXT, speaker="eze")


@pytest.mark.parametrize("pause", [0.0, PAUSE_SECONDS, 1.5])
def test_sentences_are_joined_by_a_pause(voice: Voice, pause: float) -> None:
    ends = [piece.sentence for piece in voice.stream(TEXT, pause=pause) if piece.last]
    whole = voice.speak(TEXT, pause=pause).samples
    assert [sentence.number for sentence in ends] == [0, 1]
    assert ends[1].start == pytest.approx(ends[0].end + pause)
    assert len(whole) == round(ends[1].end * voice.rate)
    silent = whole[round(ends[0].end * voice.rate) : round(ends[1].start * voice.rate)]
    assert len(silent) == round(pause * voice.rate)
    assert not silent.any()


def test_tones_and_spellings(voice: Voice) -> None:
    high, low = (voice.vocabulary.encode(voice.frontend.read(word)) for word in ("ọ́kụ́", "ọ̀kụ̀"))
    assert high != low
    same = [voice.speak(text).samples for text in ("Ọ́kụ́", "O\u0323\u0301ku\u0323\u0301")]
    np.testing.assert_array_equal(*same)


def test_unknown_characters_are_reported(voice: Voice, tmp_path: Path) -> None:
    *_, spoken = voice.stream("Ka漢漢 ọ x\u200b")
    assert spoken.sentence.dropped == {"漢": 2, "x": 1, "\u200b": 1}
    said = finish(speak_to(tmp_path / "out.wav", voice, "Ka漢 ọ"))
    assert said.dropped == {"漢": 1}
    assert io.header(tmp_path / "out.wav").frames == round(said.seconds * said.rate)


@pytest.mark.parametrize("text", ["", " \n\t", "漢字", "...", "?!", "\x00", "\u200b", "🎉", "_"])
def test_nothing_sayable_is_a_text_error(voice: Voice, text: str) -> None:
    with pytest.raises(TextError, match="nothing in the text") as raised:
        voice.speak(text)
    assert "\n" not in str(raised.value)


def test_arguments_are_checked_before_the_first_sentence(voice: Voice) -> None:
    for wrong in ({"speed": 9.0}, {"speaker": "eze"}, {"seed": -3}):
        with pytest.raises(VoiceError):
            voice.stream(TEXT, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TextError):
        voice.stream("漢字")


def test_very_long_text(voice: Voice) -> None:
    """One sentence without an end is spoken in pieces; a hundred thousand letters start at once."""
    audio = voice.speak("ọ dị mma " * 300, speed=4.0)
    assert np.isfinite(audio.samples).all()
    first = next(voice.stream("k" * 100_000, speed=4.0))
    assert 0 < len(first.sentence.durations) <= 2 * 500 + 1


# ---------------------------------------------------------------- writing


def _never(folder: Path) -> dict[str, Any]:
    pytest.fail("graphs were written although the place is taken")


@pytest.mark.parametrize("name", ["x.voice", "x.zip"])
def test_what_is_no_voice_is_never_overwritten(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.mkdir()
    (place / "thesis.txt").write_text("years of work")
    with pytest.raises(ExportError, match="is no voice"):
        finish(write_package(place, contents(speakers=["a"]), graphs=_never))
    assert (place / "thesis.txt").read_text() == "years of work"
    shutil.rmtree(place)
    place.write_bytes(b"a file")
    with pytest.raises(ExportError, match="is no voice"):
        finish(write_package(place, contents(speakers=["a"]), graphs=_never))
    assert place.read_bytes() == b"a file"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_zip_of_other_things_is_never_overwritten(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "corpus.zip", "w") as archive:
        archive.writestr("wavs/1.wav", b"sound")
    before = (tmp_path / "corpus.zip").read_bytes()
    with pytest.raises(ExportError, match="is no voice"):
        finish(write_package(tmp_path / "corpus.zip", contents(speakers=["a"]), graphs=_never))
    assert (tmp_path / "corpus.zip").read_bytes() == before


@pytest.mark.parametrize("name", ["x.voice", "x.zip"])
def test_an_old_voice_is_replaced_whole_or_not_at_all(folder: Path, tmp_path: Path, name: str) -> None:
    place = tmp_path / name

    def graphs(into: Path) -> dict[str, Any]:
        for graph in ("encoder.onnx", "decoder.onnx"):
            shutil.copy(folder / graph, into / graph)
        facts = json.loads((folder / "voice.json").read_text(encoding="utf-8"))
        return {key: facts[key] for key in ("rate", "hop", "channels", "context", "sampling", "parameters")}

    def broken(into: Path) -> dict[str, Any]:
        graphs(into)
        raise MemoryError

    assert finish(write_package(place, contents(speakers=["a", "b"], name="old"), graphs=graphs)).name == "old"
    with pytest.raises(MemoryError):
        finish(write_package(place, contents(speakers=["a", "b"], name="half"), graphs=broken))
    assert Voice.open(place).name == "old"
    assert finish(write_package(place, contents(speakers=["a", "b"], name="new"), graphs=graphs)).name == "new"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_workspace_speaks_with_its_newest_voice(folder: Path, tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="ibo")
    with pytest.raises(VoiceError, match="has no voice yet"):
        find_voice(ws.root)
    (ws.voices / "half.voice").mkdir(parents=True)
    with pytest.raises(VoiceError, match="has no voice yet"):
        find_voice(ws.root)
    shutil.copytree(folder, ws.voices / "a.voice")
    assert find_voice(ws.root).name == "test"


@pytest.mark.parametrize("suffix", io.SUFFIXES)
def test_every_format_reads_back(voice: Voice, tmp_path: Path, suffix: str) -> None:
    audio = voice.speak(TEXT)
    path = tmp_path / f"out{suffix}"
    io.write(path, audio)
    again = io.read(path)
    lossless = suffix in (".wav", ".flac")
    assert again.rate == audio.rate
    assert abs(len(again.samples) - len(audio.samples)) <= (0 if lossless else 2 * 1152)
    if lossless:
        np.testing.assert_allclose(again.samples, audio.samples, atol=1.0 / 32768)
    else:
        assert 0.5 < again.samples.std() / audio.samples.std() < 2.0


def test_an_unknown_format_is_named_before_speaking(voice: Voice, tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"'\.wave'"):
        finish(speak_to(tmp_path / "out.wave", voice, TEXT))
    with pytest.raises(AudioError):
        io.write(tmp_path / "out", Audio(np.zeros(10, np.float32), 16000))
    assert list(tmp_path.iterdir()) == []
