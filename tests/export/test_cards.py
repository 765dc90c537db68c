"""Cards say what is so, and what they tell people to type works."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile

from olu.core.errors import MissingExtra, how_to_install
from olu.core.files import Workspace
from olu.core.job import finish
from olu.stages.export import export

from ..helpers.workspaces import trained, workspace

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
PROGRAMS = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]


def card(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", text, flags=re.S)


def typed(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """The command of a card that begins with this program, run in its folder as it stands there."""
    for block in blocks(card(folder), "sh"):
        lines = block.replace("\\\n", " ").splitlines()
        for line in lines:
            if line.startswith(f"{program} "):
                found = PROGRAMS / program
                if not found.exists():
                    pytest.skip(f"{program} is not installed")
                words = [str(found), *shlex.split(line)[1:]]
                return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    raise AssertionError(f"no command {program} in the card")


def test_piper_as_its_card_says_and_without_a_warning(phones: Workspace, tmp_path: Path) -> None:
    finish(export(phones.root, to="piper", output=tmp_path / "p"))
    done = typed(tmp_path / "p", "piper")
    assert done.returncode == 0, done.stderr
    assert "Missing phoneme from id map: -" not in done.stderr
    assert soundfile.info(tmp_path / "p" / "out.wav").duration > 0.05


def test_sherpa_as_its_card_says(phones: Workspace, tmp_path: Path) -> None:
    """The programs of sherpa-onnx are in a package of their own."""
    finish(export(phones.root, to="sherpa", output=tmp_path / "s"))
    assert "pip install sherpa-onnx-bin\nsherpa-onnx-offline-tts " in card(tmp_path / "s")
    done = typed(tmp_path / "s", "sherpa-onnx-offline-tts")
    assert done.returncode == 0, done.stderr
    assert soundfile.info(tmp_path / "s" / "out.wav").duration > 0.05


def test_transformers_as_its_card_says(phones: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole sentence, whose phones are those that the card's own command gives."""
    finish(export(phones.root, to="hf", output=tmp_path / "h"))
    monkeypatch.chdir(tmp_path / "h")
    held: dict[str, object] = {}
    for block in blocks(card(tmp_path / "h"), "python"):
        exec(block, held)
    symbols = held["symbols"]
    assert isinstance(symbols, list) and " " in symbols and len(symbols) > 10
    assert held["sound"]["audio"].size > 1000  # type: ignore[index]
    (line,) = [one for block in blocks(card(tmp_path / "h"), "sh") for one in block.splitlines()]
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"},
    )
    assert json.loads(done.stdout)["symbols"] == symbols


def test_a_card_counts_the_clips_that_trained_and_names_the_folder_they_came_from(tmp_path: Path) -> None:
    rows = [(f"c{at}", f"text number {name}", "x", "train") for at, name in enumerate(("one", "two", "three", "four"))]
    ws = workspace(tmp_path / "a", [*rows, ("c8", "a hen", "x", "valid")])
    trained(ws, "data.train_clips=2")
    finish(export(ws.root, output=tmp_path / "x.voice"))
    told = card(tmp_path / "x.voice")
    assert re.search(r"- trained on 2 clips, [\d.]+ minutes, 1 speaker; the corpus has 5 clips, [\d.]+ minutes", told)
    folder = Path(json.loads((ws.corpus / "sources.json").read_text())[0]["root"]).name
    assert f"- Licence of the recordings '{folder}': not stated" in told
    assert "recordings s1" not in told
    facts = ws.runs_folder / "vits-001" / "facts.json"
    older = json.loads(facts.read_text())
    assert older.pop("trained")["clips"] == 2
    facts.write_text(json.dumps(older))
    finish(export(ws.root, output=tmp_path / "y.voice"))
    assert "- trained on 4 clips" in card(tmp_path / "y.voice"), "an older run knows only what it left out"


def test_the_code_of_an_onnx_card_runs_as_it_stands(phones: Workspace, tmp_path: Path) -> None:
    finish(export(phones.root, to="onnx", output=tmp_path / "o"))
    (code,) = blocks(card(tmp_path / "o"), "python")
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(wave.size)"],
        cwd=tmp_path / "o",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and int(done.stdout) > 1000, done.stderr


def test_the_card_of_a_voice_tells_a_stranger_what_olu_is(phones_voice: Path) -> None:
    said = " ".join(card(phones_voice).split())
    assert "Olu, a command-line tool in Python" in said and "its repository" not in said
    assert (
        "ask whoever gave you this voice for it" in said and "Write the path of that folder for PATH_OF_CLONE" in said
    )


def test_olu_is_installed_from_a_clone_wherever_that_is_said() -> None:
    said = how_to_install("train")
    assert shlex.split(said) == ["pip", "install", "-c", str(ROOT / "constraints.txt"), "-e", f"{ROOT}[train]"]
    assert how_to_install("train", here=False) == "pip install 'PATH_OF_CLONE[train]'"
    assert said in str(MissingExtra("olu train", extra="train", package="torch"))
    places = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/olu/**/*.py"), *ROOT.glob("src/**/*.md")]
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in places
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"pip install ([^`]*\s)?['\"]?olu(?![\w-])", line)
    ]
    assert not wrong, "no registry has a package of this name"
