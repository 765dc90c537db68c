"""kill -9 at any moment, then --resume: the run ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.audio import io
from olu.core.files import Workspace
from olu.core.types import Audio, Clip
from olu.corpus.manifest import Corpus
from olu.corpus.sources import Source
from olu.stages.train_setup import prepare_run
from olu.train.recipe import Recipe
from olu.train.run import Run

from ..helpers import forks

SOAK = os.environ.get("OLU_SOAK") == "1"
STEPS = 200 if SOAK else 80
KILLS = 25  # in `make soak`
SETTINGS = {
    "model.size": "tiny",
    "model.segment_size": 2048,
    "model.hidden_size": 8,
    "model.flow_size": 8,
    "model.num_hidden_layers": 1,
    "model.prior_encoder_num_flows": 1,
    "model.use_stochastic_duration_prediction": "false",
    "model.spectrogram_bins": 257,
    "model.discriminator_periods": [2],
    "model.discriminator_scale_channels": [],
    "model.discriminator_start": STEPS * 3 // 5,
    "model.upsample_initial_channel": 8,
    "data.leave_out_errors": "false",
    "plan.steps": STEPS,
    "plan.batch_clips": 2,
    "plan.schedule": "cosine",
    "plan.validate_every": STEPS // 4,
    "plan.save_every": 10,
    "plan.demo_clips": 1,
    "view.tensorboard": "false",
}
RATE = 16000
PATIENCE_SECONDS = 120.0


def corpus(root: Path) -> Path:
    """Eight clips of tones and their texts in a workspace of its own."""
    sounds = root / "sounds"
    ws = Workspace.create(root / "ws", language="ibo")
    clips = []
    for number in range(8):
        seconds = 0.7 + 0.05 * number
        moment = np.arange(round(seconds * RATE)) / RATE
        tone = sum(np.sin(2 * np.pi * (150 + 40 * number) * k * moment) / k for k in range(1, 8))
        io.write(sounds / f"c{number}.wav", Audio((0.2 * tone).astype(np.float32), RATE))
        text = "abcdefgh"[number:] + " na " + "abcdefgh"[:number]
        clips.append(
            Clip(id=f"c{number}", audio=f"s1/c{number}.wav", seconds=seconds, rate=RATE, text=text, language="ibo")
        )
    sides = {clip.id: "valid" if clip.id == "c3" else "train" for clip in clips}
    Corpus.save(ws, clips, [Source(name="s1", root=str(sounds), layout="folder")], sides)  # type: ignore[arg-type]
    return ws.root


# olu, killed by itself before this flush of a save at or after this step: between any two of its writes.
FLUSH = """
import os, signal, sys
from olu.cli.main import main
from olu.train.checkpoint import Checkpoints
at, step, fsync, save = int(sys.argv.pop(1)), int(sys.argv.pop(1)), os.fsync, Checkpoints.save
left = []
def flush(handle):
    if left and left.pop() and not left:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(handle)
def watched(self, number, *args, **more):
    left[:] = range(1, at + 1) if number >= step else []
    save(self, number, *args, **more)
    left[:] = []
os.fsync, Checkpoints.save = flush, watched
main()
"""
PLAIN = "from olu.cli.main import main; main()"
QUIET = """
import os, sys, torch
os.environ["OMP_NUM_THREADS"] = "1"
sys.argv, (said, none) = words, (os.open(said, os.O_WRONLY | os.O_CREAT), os.open(os.devnull, os.O_WRONLY))
os.dup2(none, 1), os.dup2(said, 2)
torch.set_num_threads(1)
"""
FLUSHES = 6  # of one save: state.json and its folder, the three files, the folder of checkpoints


@dataclass(frozen=True)
class Blow:
    """Where to kill: `how` is at the beginning, at a step, while a save writes, or before a flush of a save."""

    how: str
    step: int = 0
    flush: int = 0


def blows(hows: list[str], chance: random.Random) -> list[Blow]:
    """At random steps in order, so that each finds the run still going."""
    steps = sorted(chance.sample(range(1, STEPS - 10), len(hows)))
    return [Blow(how, step, chance.randint(1, FLUSHES)) for how, step in zip(hows, steps, strict=True)]


CHANGES = [arg for key, value in SETTINGS.items() for arg in ("--set", f"{key}={value}")]


def start(ws: Path, *, resume: bool, blow: Blow | None = None) -> BaseProcess:
    itself = ["olu", str(blow.flush), str(blow.step)] if blow and blow.how == "flush" else ["olu"]
    words = [*itself, "train", str(ws), *(["--resume"] if resume else CHANGES)]
    code = QUIET + (FLUSH if itself[1:] else PLAIN)
    return forks.begun(code, words=words, said=f"{ws}.said")


def ended(process: BaseProcess, ws: Path) -> None:
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == 0, Path(f"{ws}.said").read_text()


def begun(ws: Path) -> bool:
    """Whether there is a run to go on with."""
    return bool(Run.all(ws / "runs"))


def wait(process: BaseProcess, there: Callable[[], bool]) -> bool:
    """Until `there()`; false when the process ended first."""
    limit = time.monotonic() + PATIENCE_SECONDS
    while not there():
        if not process.is_alive():
            return False
        assert time.monotonic() < limit
        time.sleep(0.0005)
    return True


def recorded(ws: Path) -> int:
    metrics = ws / "runs/vits-001/metrics.jsonl"
    return metrics.read_text().count("\n") if metrics.exists() else 0


def partials(ws: Path) -> set[Path]:
    return set((ws / "runs/vits-001/checkpoints").glob(".*.partial"))


def killed(process: BaseProcess, ws: Path, blow: Blow, chance: random.Random) -> None:
    old = partials(ws)
    if blow.how == "begin":
        there = wait(process, lambda: begun(ws))
        time.sleep(chance.random() * 0.2)
    else:
        before = recorded(ws)  # a resume first takes away what came after its checkpoint
        there = wait(process, lambda: recorded(ws) != before and recorded(ws) >= blow.step)
        if blow.how == "step":
            time.sleep(chance.random() * 0.1)
        elif blow.how == "save":
            there = wait(process, lambda: bool(partials(ws) - old))
            time.sleep(chance.random() * 0.01)
        else:
            wait(process, lambda: False)  # it does it itself
            there = process.exitcode == -signal.SIGKILL
    assert there, (blow, Path(f"{ws}.said").read_text())
    process.kill()
    process.join()


def tortured(ws: Path, plan: list[Blow], chance: random.Random) -> int:
    """Train to the end through these kills; returns how many struck within a save."""
    within = 0
    for blow in plan:
        killed(start(ws, resume=begun(ws), blow=blow), ws, blow, chance)
        within += bool(partials(ws))
    ended(start(ws, resume=True), ws)
    assert not partials(ws), "a resumed run clears away what a killed save left"
    return within


def remains(ws: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Everything a run leaves that must not depend on how often it was killed."""
    (run,) = Run.all(ws / "runs")
    last = run.checkpoints().load(STEPS)
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    for row in rows:
        row.pop("seconds")
    for wall_clock in (last.state, last.state["guards"]):
        wall_clock.pop("hours" if wall_clock is last.state else "Budget")
    events = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    facts = {
        "state": last.state,
        "steps": run.checkpoints().steps(),
        "metrics": rows,
        "events": [event for event in events if event["guard"] != "budget"],
        "best": run.best,
        "result": run.result,
        "recipe": (run.folder / "recipe.toml").read_text(),
        "samples": {str(p.relative_to(run.folder)): p.read_bytes() for p in run.folder.rglob("*.wav")},
    }
    return facts, {**last.weights, **{f"optimiser/{name}": t for name, t in last.optimiser.items()}}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus after all stages before training."""
    ws = corpus(tmp_path_factory.mktemp("prepared"))
    for _ in prepare_run(Workspace.open(ws), Recipe(model={"size": "tiny"})):
        pass
    return ws


@pytest.fixture(scope="module")
def uninterrupted(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A run nobody kills, of a Python of its own; it goes on beside the others until it is asked for."""
    ws = shutil.copytree(prepared, tmp_path_factory.mktemp("whole") / "ws")
    command = [sys.executable, "-m", "olu", "train", str(ws), *CHANGES]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)

    @cache
    def whole() -> Path:
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0, said
        return ws

    return whole


def same_as(uninterrupted: Callable[[], Path], ws: Path, seed: int) -> None:
    expected, tensors = remains(uninterrupted())
    facts, others = remains(ws)
    for key, value in expected.items():
        assert facts[key] == value, (key, seed)
    assert tensors.keys() == others.keys()
    assert [name for name in tensors if not torch.equal(tensors[name], others[name])] == [], seed


def test_three_kills_change_nothing(prepared: Path, uninterrupted: Callable[[], Path], tmp_path: Path) -> None:
    """At a step, while a checkpoint is written, and between two flushes of one."""
    seed = time.time_ns()
    chance = random.Random(seed)
    ws = shutil.copytree(prepared, tmp_path / "ws")
    tortured(ws, blows(["step", "save", "flush"], chance), chance)
    same_as(uninterrupted, ws, seed)


STOPS = {"SIGTERM": 143, "SIGINT": 130, "SIGHUP": 129, "stop": 0}  # and the exit code of each


def stopped(ws: Path, name: str, *, after: int) -> None:
    """A training that is asked to end once it has recorded so many steps: what it kept, and what it says."""
    Path(f"{ws}.said").unlink(missing_ok=True)
    process = start(ws, resume=begun(ws))
    before = recorded(ws)
    assert wait(process, lambda: recorded(ws) != before and recorded(ws) >= after), Path(f"{ws}.said").read_text()
    if name == "stop":
        (ws / "runs/vits-001/stop").touch()
    else:
        os.kill(process.pid or 0, getattr(signal, name))
    process.join(PATIENCE_SECONDS)
    said = Path(f"{ws}.said").read_text().splitlines()[-1]
    assert process.exitcode == STOPS[name], said
    (run,) = Run.all(ws / "runs")
    step = run.checkpoints().steps()[-1]
    assert step >= after and step in (recorded(ws), recorded(ws) + 1)  # one more where a validation was broken off
    assert f"step {step} is kept: go on with 'olu train {ws} --resume'" in said
    assert run.result is None and not (run.folder / "stop").exists()


def test_every_way_to_stop_keeps_the_step_in_hand(
    prepared: Path, uninterrupted: Callable[[], Path], tmp_path: Path
) -> None:
    ws = shutil.copytree(prepared, tmp_path / "ws")
    seed = time.time_ns()
    places = sorted(random.Random(seed).sample(range(1, STEPS - 15), len(STOPS)))
    for name, after in zip(STOPS, places, strict=True):
        stopped(ws, name, after=after)
    ended(start(ws, resume=True), ws)
    same_as(uninterrupted, ws, seed)


def test_a_half_made_run_is_passed_over(tmp_path: Path) -> None:
    """Killed while its folder is being made, a run leaves a hidden one; people leave others."""
    for name in ("vits-002", ".vits-003.4711.partial", "vits-backup", "vits-010", "my vits-007 copy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "recipe.toml").touch()
    (tmp_path / "vits-011").mkdir()
    assert [run.name for run in Run.all(tmp_path)] == ["vits-002", "vits-010"]
    assert Run.create(tmp_path, Recipe(), facts={}, documents={}).name == "vits-012"


@pytest.mark.soak
@pytest.mark.skipif(not SOAK, reason="the full count of kills: OLU_SOAK=1")
def test_twenty_five_kills_change_nothing(prepared: Path, uninterrupted: Callable[[], Path], tmp_path: Path) -> None:
    seed = time.time_ns()
    chance, within = random.Random(seed), 0
    for number in range(KILLS // 5):
        ws = shutil.copytree(prepared, tmp_path / str(number))
        first = "begin" if number % 2 else "step"
        within += tortured(ws, blows([first, "flush", "save", "step", "flush"], chance), chance)
        same_as(uninterrupted, ws, seed)
        shutil.rmtree(ws)
    assert within >= KILLS // 5, seed
