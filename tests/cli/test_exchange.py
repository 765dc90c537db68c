"""A folder that is replaced is the old one or the new one, whole, at whatever call its writer is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from olu.core import exchange
from olu.core.files import Workspace, whole
from olu.stages.clean import clean

from ..conftest import SOAK
from .conftest import fine, olu

CALLS = ("rename", "replace", "unlink", "rmdir", "fsync", "mkdir", "chmod")
KILLED = 9
FULL = {"voice.json": "{}", "a/model.onnx": "graph", "a/b/lexicon.tsv": "words"}


def die_at(number: int, *, after: bool, swaps: bool, calls: tuple[str, ...] = CALLS) -> None:
    """From now on the n-th call that changes the disk is the last, before it is made or after."""
    count = 0

    def fatal(call: Callable[..., object]) -> Callable[..., object]:
        def made(*args: object, **more: object) -> object:
            nonlocal count
            count += 1
            if count == number and not after:
                os._exit(KILLED)
            mine = count
            try:
                return call(*args, **more)
            finally:
                if mine == number:
                    os._exit(KILLED)

        return made

    for name in calls:
        setattr(os, name, fatal(getattr(os, name)))
    exchange.swap = fatal(exchange.swap) if swaps else lambda one, other: False  # type: ignore[assignment]


def write(path: Path, text: str) -> None:
    with whole(path) as partial:
        for name, held in FULL.items():
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_text(held + text)


def version(path: Path) -> str:
    """Which one lies there; whatever is not whole is an error."""
    held = {name: (path / name).read_text() for name in FULL}
    found = [text for text in ("old", "new") if held == {name: start + text for name, start in FULL.items()}]
    assert len(found) == 1, held
    return found[0]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("swaps", [True, False])
def test_a_kill_at_any_call_leaves_the_old_folder_or_the_new_one(tmp_path: Path, after: bool, swaps: bool) -> None:
    """`swaps`: the disk can exchange names; else two renames, which the next command takes back."""
    seen: set[str] = set()
    for number in range(1, 1000):
        ws = Workspace.create(tmp_path / f"ws{number}", language="swa")
        path = ws.voices / "x.voice"
        write(path, "old")
        child = os.fork()
        if child == 0:
            die_at(number, after=after, swaps=swaps)
            write(path, "new")
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if swaps:
            assert version(path) in ("old", "new"), "even before anybody mends anything"
        elif number % 2:
            Workspace.open(ws.root)
            assert version(path) in ("old", "new")
        clean(ws)
        seen.add(version(path))
        assert [one.name for one in ws.voices.iterdir()] == ["x.voice"], "no leftovers"
        shutil.rmtree(ws.root)
        if code == 0:
            break
        assert code == KILLED
    assert number > 15 and seen == {"old", "new"}


def test_this_disk_can_exchange_names(tmp_path: Path) -> None:
    """Else nothing here tests it."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "who").write_text(name)
    if sys.platform != "linux" or not exchange.swap(tmp_path / "a", tmp_path / "b"):
        pytest.skip("no exchange of names here")
    assert [(tmp_path / name / "who").read_text() for name in ("a", "b")] == ["b", "a"]
    with pytest.raises(FileNotFoundError):
        exchange.swap(tmp_path / "a", tmp_path / "gone")


def test_the_only_copy_is_never_cleaned_away(tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    write(ws.voices / "x.voice", "old")
    mine = ws.voices / f".x.voice.{os.getppid()}.old.partial"  # of a process that lives
    (ws.voices / "x.voice").rename(mine)
    assert clean(ws).removed == [] and version(mine) == "old"
    write(ws.voices / "y.voice", "old")
    (ws.voices / "y.voice").rename(ws.voices / ".y.voice.99999999.old.partial")
    write(ws.voices / ".y.voice.99999999.partial", "new")
    told = fine("clean", ws.root).out
    assert version(ws.voices / "y.voice") == "old" and "voices/.y.voice.99999999.partial" in told
    assert not list(ws.voices.glob(".y*"))


EXPORT = """
import os, sys
sys.path.insert(0, {tests!r})
from tests.cli.test_exchange import die_at
from olu.cli.main import main
import olu.stages.export, olu.export.package, torch, onnx
sys.argv = ["olu", "export", {ws!r}, "--to", {to!r}]
die_at({number}, after=True, swaps={swaps}, calls={calls})
main()
"""


@pytest.mark.parametrize("swaps", [True, False])
def test_an_export_that_is_killed_leaves_a_voice_that_speaks(tmp_path: Path, walked: Path, swaps: bool) -> None:
    """In `make test` at the call that takes the old voice away, in `make soak` at every twelfth call of the export."""
    from olu.speak.voice import Voice

    ws = Path(shutil.copytree(walked, tmp_path / "ws"))
    voice = next((ws / "voices").iterdir())
    calls = CALLS if SOAK else () if swaps else ("rename",)
    for number in range(1, 1000, 12) if SOAK else (1,):
        (ws / "stamps" / "export.json").unlink(missing_ok=True)  # else nothing would be done again
        root = str(Path(__file__).parents[2])
        script = EXPORT.format(tests=root, ws=str(ws), to="voice", number=number, swaps=swaps, calls=calls)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == KILLED or (SOAK and done.returncode == 0), done.stderr
        if swaps:
            Voice.open(voice)
        fine("clean", ws)
        Voice.open(voice)
        assert not list(ws.rglob("*.partial"))
        if done.returncode == 0:
            break
    assert olu("speak", "habari", "--voice", ws, "-o", tmp_path / "x.wav").code == 0


def test_features_in_use_are_left_alone(ws: Path) -> None:
    from olu.core.job import finish
    from olu.features.store import Store
    from olu.stages.prepare import prepare

    space = Workspace.open(ws)
    finish(prepare(space, rate=16000))
    store = next(space.features.iterdir())
    building = space.features / f".wave-x.{os.getppid()}.partial"  # of a process that lives
    building.mkdir()
    held = Store(store)
    told = fine("clean", ws)
    assert store.is_dir() and building.is_dir() and f"Kept: features/{building.name}, features/{store.name}" in told.out
    finish(prepare(space, rate=8000))
    assert (store / "samples.i16").is_file(), "another rate does not take them away either"
    del held
    building.rmdir()
    assert "features: " in fine("clean", ws).out and not space.features.exists()
