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
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.audio import io
from olu.corpus.manifest import Corpus, Source
from olu.files import Workspace
from olu.train.recipe import Recipe
from olu.train.run import Run
from olu.types import Audio, Clip

STEPS = 40
SOAK = os.environ.get("OLU_SOAK") == "1"
SETTINGS = {
    "model.size": "tiny",
    "model.segment_size": 2048,
    "model.use_stochastic_duration_prediction": "false",
    "model.spectrogram_bins": 257,
    "model.discriminator_periods": [2],
    "model.discriminator_scale_channels": [],
    "model.upsample_initial_channel": 16,
    "data.leave_out_errors": "false",
    "plan.steps": STEPS,
    "plan.batch_clips": 2,
    "plan.accumulate": 1,
    "plan.schedule": "cosine",
    "plan.validate_every": 20,
    "plan.save_every": 5,
    "plan.demo_clips": 1,
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


def start(ws: Path, *, resume: bool) -> subprocess.Popen[str]:
    changes = [] if resume else [arg for key, value in SETTINGS.items() for arg in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "olu", "train", str(ws), *(["--resume"] if resume else changes)]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)


def ended(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said


def begun(ws: Path) -> bool:
    """Whether there is a run to go on with."""
    return bool(Run.all(ws / "runs"))


def wait(process: subprocess.Popen[str], there: Any) -> bool:
    """Until `there()`; false when the process ended first."""
    limit = time.monotonic() + PATIENCE_SECONDS
    while not there():
        if process.poll() is not None:
            return False
        assert time.monotonic() < limit
        time.sleep(0.0005)
    return True


def killed(process: subprocess.Popen[str], ws: Path, *, how: str, chance: random.Random) -> bool:
    """Kill in the middle of a save or some time after a step was recorded; false when it ended before."""
    checkpoints, metrics = ws / "runs/vits-001/checkpoints", ws / "runs/vits-001/metrics.jsonl"
    before = metrics.read_text().count("\n") if metrics.exists() else 0
    if how == "save":
        old = set(checkpoints.glob(".*.partial")) if checkpoints.exists() else set()
        there = wait(process, lambda: set(checkpoints.glob(".*.partial")) - old)
        time.sleep(chance.random() * 0.01)
    elif how == "step":
        there = wait(process, lambda: metrics.exists() and metrics.read_text().count("\n") != before)
        time.sleep(chance.random() * 1.2)
    else:
        there = wait(process, lambda: begun(ws))
        time.sleep(chance.random() * 0.2)
    if not there or process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return True


def tortured(ws: Path, hows: list[str], chance: random.Random) -> int:
    """Train to the end through these kills; returns how many struck."""
    struck = 0
    for how in hows:
        process = start(ws, resume=begun(ws))
        if not killed(process, ws, how=how, chance=chance):
            ended(process)
            return struck
        struck += 1
    if not (ws / "runs/vits-001/result.json").exists():
        ended(start(ws, resume=begun(ws)))
    return struck


def remains(ws: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Everything a run leaves that must not depend on how often it was killed."""
    (run,) = Run.all(ws / "runs")
    last = run.checkpoints().load(STEPS)
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, STEPS + 1))
    for row in rows:
        row.pop("seconds")
    facts = {
        "state": last.state,
        "steps": run.checkpoints().steps(),
        "metrics": rows,
        "events": (run.folder / "events.jsonl").read_text(),
        "best": run.best,
        "result": run.result,
        "recipe": (run.folder / "recipe.toml").read_text(),
        "samples": {str(p.relative_to(run.folder)): p.read_bytes() for p in run.folder.rglob("*.wav")},
    }
    return facts, {**last.weights, **{f"optimiser/{name}": t for name, t in last.optimiser.items()}}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A run nobody kills; it goes on beside the others until it is asked for."""
    ws = corpus(tmp_path_factory.mktemp("whole"))
    process = start(ws, resume=False)

    @cache
    def whole() -> Path:
        ended(process)
        return ws

    return whole


def same_as(uninterrupted: Callable[[], Path], ws: Path, seed: int) -> None:
    expected, tensors = remains(uninterrupted())
    facts, others = remains(ws)
    for key, value in expected.items():
        assert facts[key] == value, (key, seed)
    assert tensors.keys() == others.keys()
    assert [name for name in tensors if not torch.equal(tensors[name], others[name])] == [], seed


def test_two_kills_change_nothing(uninterrupted: Callable[[], Path], tmp_path: Path) -> None:
    seed = time.time_ns()
    ws = corpus(tmp_path)
    assert tortured(ws, ["step", "save"], random.Random(seed)) == 2, seed
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
def test_twenty_five_kills_change_nothing(uninterrupted: Callable[[], Path], tmp_path: Path) -> None:
    seed, struck = time.time_ns(), 0
    chance = random.Random(seed)
    while struck < 25:
        ws = corpus(tmp_path)
        hows = [chance.choice(["begin", "step", "step", "save", "save"]) for _ in range(min(5, 25 - struck))]
        struck += tortured(ws, hows, chance)
        same_as(uninterrupted, ws, seed)
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
