"""olu as a Python library: the page docs/python.md, run as it stands."""

from __future__ import annotations

import inspect
import os
import re
import runpy
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
from olu.api import method_name, method_parameters
from olu.cli.main import app
from olu.core.errors import AudioError, VoiceError
from olu.core.files import embedded_voice
from olu.speak.package import package_place
from olu.speak.stream import Wishes
from olu.stages.verbs import VERBS

from .helpers.melodic import melodic

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
    melodic(folder / "yoruba.voice")
    return folder


def test_the_page_runs(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(blocks) > 6
    monkeypatch.chdir(place)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    for name in ("peace.wav", "hello.wav", "slow.opus", "plain.flac", "first.wav", "hoe.wav"):
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


def test_a_method_for_every_verb_that_is_about_a_workspace() -> None:
    verbs = {verb.name for verb in VERBS.values() if verb.workspace}
    assert {"import", "audit", "clips", "drop", "keep", "correct", "split", "read", "merge", "status", "clean"} <= verbs
    for name in verbs:
        method = getattr(Workspace, method_name(VERBS[name]))
        taken = inspect.signature(method).parameters
        assert set(taken) == {"self", "on_event", *(one.name for one in method_parameters(VERBS[name]))}
        assert VERBS[name].help in (inspect.getdoc(method) or "")


def test_type_checkers_know_the_methods() -> None:
    dev = runpy.run_path(str(PAGE.parents[1] / "dev" / "declared.py"))
    assert dev["stub"]() == dev["STUB"].read_text(encoding="utf-8"), "run 'python dev/declared.py'"


def test_verbs_from_python(place: Path, tmp_path: Path) -> None:
    ws = Workspace(str(shutil.copytree(place / "swahili", tmp_path / "ws")))
    assert ws == Workspace.open(ws.root) and ws.language == "swa"
    ids = [row["id"] for row in ws.clips(sort="id").rows]
    assert len(ids) == 4
    assert ws.drop(ids[:2], reason="noise").ids == tuple(ids[:2])
    assert ws.keep(ids[2]).ids == (ids[2],)
    assert ws.status().decisions == {"drop": 2, "keep": 1}
    told: list[object] = []
    assert ws.audit(force=True, on_event=told.append).audit.clips == 4
    assert any(isinstance(one, olu.Tick) and one.done == one.total for one in told)
    with pytest.raises(TypeError, match="audit takes no 'loud'"):
        ws.audit(loud=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="needs 'source'"):
        ws.import_()  # type: ignore[call-arg]
    with pytest.raises(olu.OluError, match="--dry-run shows what --fix would decide"):
        ws.audit(dry_run=True)
    with pytest.raises(olu.OluError, match="no verb 'sing'"):
        olu.run("sing")


def test_a_verb_that_fails_raises(place: Path, tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    quiet = tmp_path / "in"
    Audio(np.zeros(32000, np.float32), 16000).save(_made(quiet) / "a.wav")
    (quiet / "a.txt").write_text("kimya", encoding="utf-8")
    ws.import_(quiet)
    assert ws.audit().audit.clips_with_errors == 1
    with pytest.raises(olu.OluError, match="1 of 1 clip has errors"):
        ws.audit(strict=True)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_every_name_holds_after_all_modules_were_imported() -> None:
    """`import olu.speak.voice` binds `olu.speak`: it must still be what the page says."""
    code = """
import importlib, pkgutil, warnings
import olu
before = {name: getattr(olu, name) for name in olu.__all__}
skipped = []
for one in pkgutil.walk_packages(olu.__path__, "olu."):
    if one.name == "olu.__main__":
        continue
    try:
        importlib.import_module(one.name)
    except ImportError as missing:  # of an extra that is not installed
        if (missing.name or "olu").startswith("olu"):
            raise
        skipped.append(one.name)
assert all(getattr(olu, name) is value for name, value in before.items())
assert olu.speak("ሰላም ነው።", voice=olu.Voice.open("embedded"), speed=2).seconds > 0.2
assert olu.read_text("ilé", language="yor").words and olu.Workspace.audit and olu.run and olu.Audio.save
print(len(before), len(skipped))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) == len(olu.__all__)


def test_importing_olu_is_light() -> None:
    """Neither numpy nor onnxruntime nor torch; nor does asking what there is."""
    code = "import sys, olu; dir(olu); print(*sorted({'numpy', 'onnxruntime', 'torch', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
