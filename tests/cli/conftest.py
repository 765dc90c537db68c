"""The command line in this process: fast, and with stdout and stderr apart."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..helpers.sounds import speech
from ..speak import conftest as spoken

folder, voice = spoken.folder, spoken.voice  # fixtures
TINY = ("--set", "model.size=tiny", "--set", "plan.steps=2", "--set", "plan.batch_clips=2")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1, self.out
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def olu(*words: str | Path) -> Done:
    """`olu WORDS` as the console script runs it."""
    from olu.cli.main import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["olu", *map(str, words)]
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # a refused command leaves its threads to the exit
            main()
    except SystemExit as left:
        code = int(left.code or 0)
    finally:
        sys.argv = before
    return Done(code, out.getvalue(), err.getvalue())


def fine(*words: str | Path) -> Done:
    done = olu(*words)
    assert done.code == 0, done.err
    return done


def times(folder: Path) -> dict[str, int]:
    """Every file and when it was written."""
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file()}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def next_command(ws: Path) -> str:
    return str(fine("status", ws, "--json").json()["next"])


def states(ws: Path) -> dict[str, str]:
    return {stage["name"]: stage["state"] for stage in fine("status", ws, "--json").json()["stages"]}


def begin_training(ws: Path, *, steps: int = 3) -> None:
    """A run that was left after its first step."""
    from olu.core.files import Workspace
    from olu.stages.train import train
    from olu.train.engine_state import StepReport

    changes = ["model.size=tiny", f"plan.steps={steps}", "plan.batch_clips=2", "plan.save_every=1"]
    work = train(Workspace.open(ws), overrides=changes, new=True)
    for event in work:
        if isinstance(event, StepReport):
            break
    work.close()


def make_recordings(folder: Path, *, clips: int) -> Path:
    """Clips of something like Swahili, laid out as `olu sample` does; the first ones are the same however many."""
    from olu.audio import io as sound
    from olu.text.languages import load

    lines = {f"swa_{number:04}": text for number, text in enumerate(load("sw").sentences()[:clips], 1)}
    for number, (id, text) in enumerate(lines.items()):
        sound.write(
            folder / "wavs" / f"{id}.wav", sound.resample(speech(len(text) // 3, seed=number, edges=0.1), 22050)
        )
    (folder / "metadata.csv").write_text("".join(f"{id}|{text}\n" for id, text in lines.items()), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten clips. Read only: tests copy what they change."""
    return make_recordings(tmp_path_factory.mktemp("recordings") / "swahili", clips=10)


@pytest.fixture(scope="session")
def walked(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that went the whole path, to a voice of two steps. Read only."""
    ws = tmp_path_factory.mktemp("walked") / "ws"
    fine("new", ws, "--language", "sw")
    fine("import", ws, recordings)
    fine("train", ws, *TINY)
    fine("export", ws, "--to", "voice")
    return ws


@pytest.fixture
def ws(recordings: Path, tmp_path: Path) -> Path:
    """A workspace with its clips imported."""
    made = tmp_path / "ws"
    fine("new", made, "--language", "sw")
    fine("import", made, recordings)
    return made


@pytest.fixture
def voiced(walked: Path, tmp_path: Path) -> Path:
    """A copy of the whole path, to change."""
    return Path(shutil.copytree(walked, tmp_path / "ws"))


Mount = Callable[[int], Path]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Mount]:
    """A disk of so many KiB; skipped where this user may not mount one."""
    places: list[Path] = []

    def mount(kib: int) -> Path:
        if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("a small disk needs Linux and the right to mount")
        place = tmp_path / f"disk{len(places)}"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(place)], capture_output=True)
        if done.returncode != 0:
            pytest.skip(f"a small disk needs the right to mount: {done.stderr.decode().strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, *, leave_kib: int = 0) -> Path:
    """Use the disk up, but for so much."""
    plug = disk / "plug"
    free = shutil.disk_usage(disk).free - leave_kib * 1024
    with plug.open("wb") as out:
        out.write(b"\0" * free)
    return plug
