"""olu as a Python library: the page docs/python.md, run as it stands."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

import olu
from olu import Audio, Manner, Voice, Workspace, read_text
from olu.cli.main import app
from olu.core.errors import AudioError, VoiceError
from olu.core.files import embedded_voice
from olu.speak.package import package_place
from olu.speak.stream import Wishes

PAGE = Path(__file__).parents[1] / "docs" / "python.md"


def run(*words: str | Path) -> None:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, f"{done.output} {done.exception!r}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the workspace that the page speaks of, which has a voice."""
    folder = tmp_path_factory.mktemp("python")
    run("sample", folder / "recordings", "--clips", "4")
    run("new", folder / "swahili", "--language", "swa")
    run("import", folder / "swahili", folder / "recordings")
    run("audit", folder / "swahili")
    own = embedded_voice()
    assert own is not None
    shutil.copytree(own, folder / "swahili" / "voices" / "old.voice")
    return folder


def test_the_page_runs(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(blocks) > 6
    monkeypatch.chdir(place)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    for name in ("hello.wav", "slow.opus", "plain.flac", "first.wav"):
        assert soundfile.info(str(place / name)).frames > 1000
    printed = capsys.readouterr().out
    assert "nowhere.voice is not there" in printed
    assert "˥" in printed  # the tones of the phones


def test_the_page_names_everything() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in olu.__all__:
        assert f"`{name}" in text or f" {name}\n" in text, name
        assert name in dir(olu)
        assert getattr(olu, name).__doc__
    for field in fields(Manner):
        assert f"`{field.name}`" in text, field.name


def test_help_shows_what_may_be_wished_for() -> None:
    wishes = {field.name for field in fields(Manner)}
    wishes |= {"noise", "duration_noise"}  # short for knobs
    assert wishes == set(Wishes.__annotations__)
    for method in (Voice.speak, Voice.stream):
        named = set(re.findall(r"\w+", inspect.getdoc(method) or ""))
        assert wishes <= named, wishes - named


def test_a_voice_by_any_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = embedded_voice()
    assert own is not None
    monkeypatch.chdir(place)
    assert Voice.open("embedded").name == Voice.open(own).name == Voice.open("swahili").name
    Workspace.create(place / "empty", language="swa")
    with pytest.raises(VoiceError, match="has no voice yet: make one with 'olu export"):
        Voice.open("empty")
    with pytest.raises(VoiceError, match="nowhere is not there"):
        Voice.open("nowhere")


def test_the_newest_voice_of_a_workspace(place: Path) -> None:
    ws = place / "swahili"
    new = Path(shutil.copytree(ws / "voices" / "old.voice", ws / "voices" / "new.voice"))
    os.utime(ws / "voices" / "old.voice" / "voice.json", (1, 1))
    assert package_place(ws) == new


@pytest.mark.parametrize("ending", ["wav", "flac", "ogg", "opus", "mp3"])
def test_saving(ending: str, tmp_path: Path) -> None:
    tone = np.sin(np.arange(16000) * 0.1).astype(np.float32) * 0.5
    Audio(tone, 16000).save(tmp_path / f"x.{ending}")
    samples, rate = soundfile.read(str(tmp_path / f"x.{ending}"))
    assert abs(len(samples) / rate - 1.0) < 0.1
    assert 0.4 < np.abs(samples).max() < 0.6


def test_saving_raw_and_wrong(tmp_path: Path) -> None:
    sound = Audio(np.zeros(100, np.float32), 16000)
    sound.save(str(tmp_path / "x.pcm"))
    assert (tmp_path / "x.pcm").stat().st_size == 200
    with pytest.raises(AudioError, match=r"no format for the ending '.txt'"):
        sound.save(tmp_path / "x.txt")
    with pytest.raises(AudioError, match="a folder"):
        (tmp_path / "y.wav").mkdir()
        sound.save(tmp_path / "y.wav")


def test_phones_of_a_text() -> None:
    reading = read_text("ilé", language="yor")
    assert [word.phones for word in reading.words] == [("i", "l", "e")]
    assert reading.symbols() == ["i˧", "l", "e˥"]


def test_importing_olu_is_light() -> None:
    """Neither numpy nor onnxruntime nor torch; nor does asking what there is."""
    code = "import sys, olu; dir(olu); print(*sorted({'numpy', 'onnxruntime', 'torch', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
