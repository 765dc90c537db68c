"""Two processes learn what one does, and one that dies takes nothing with it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from olu.train.ranks import Ranks, own_gpu

from ..helpers import forks

ROOT = Path(__file__).parents[2]
WORKER = ROOT / "tests" / "helpers" / "ranks_worker.py"
COMPARED = ROOT / "benchmarks" / "ranks.py"


def torchrun(folder: Path, *, name: str, accumulate: int = 1, kill_at: int = 0, stop_at: int = 0) -> int:
    """How two processes end that torchrun starts, with a fault in the second one."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    given = [str(WORKER), str(folder), name, str(accumulate), str(kill_at), str(stop_at)]
    done = subprocess.run([*start, *given], capture_output=True, text=True, timeout=240, check=False)
    sys.stderr.write(done.stderr[-4000:])  # pytest shows it where the test fails
    return done.returncode


FORKED = """
import os, sys
os.environ.update(told)
sys.path.insert(0, root)
from pathlib import Path
from tests.helpers.ranks_worker import main
main(Path(folder), name, accumulate=accumulate, kill_at=0, stop_at=0)
sys.stderr.flush()
os._exit(0)
"""


def go(folder: Path, *, name: str, processes: int, accumulate: int = 1) -> None:
    """So many processes as torchrun starts them, copied from one that has torch loaded."""
    (folder / "checkpoints").mkdir(exist_ok=True, parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {
        "WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }
    given = {"root": str(ROOT), "folder": str(folder), "name": name, "accumulate": accumulate}
    ranks = ({"RANK": str(rank), "LOCAL_RANK": str(rank), **shared} for rank in range(processes))
    started = [forks.begun(FORKED, told=rank if processes > 1 else {}, **given) for rank in ranks]
    for process in started:
        process.join(240)
    assert [process.exitcode for process in started] == [0] * processes


SOAK = os.environ.get("OLU_SOAK") == "1"
CASES = [("judged", 1), ("tokens", 2)] if SOAK else [("judged", 1)]


@pytest.mark.parametrize(("name", "accumulate"), CASES)
def test_two_processes_equal_one_and_a_killed_one_resumes_exactly(name: str, accumulate: int, tmp_path: Path) -> None:
    """One batch is shared out, so the effective batch is the recipe's, whatever the number of processes."""
    one, two, cut = (tmp_path / kind for kind in ("one", "two", "cut"))
    go(one, name=name, processes=1, accumulate=accumulate)
    go(two, name=name, processes=2, accumulate=accumulate)
    alone, together = load_file(one / "end.safetensors"), load_file(two / "end.safetensors")
    assert alone.keys() == together.keys()
    for key, tensor in alone.items():
        torch.testing.assert_close(together[key], tensor, rtol=2e-4, atol=2e-6)
    (cut / "checkpoints").mkdir(parents=True)
    assert torchrun(cut, name=name, accumulate=accumulate, kill_at=8) != 0
    assert not (cut / "end.safetensors").exists()
    go(cut, name=name, processes=2, accumulate=accumulate)
    resumed = load_file(cut / "end.safetensors")
    assert all(torch.equal(resumed[key], tensor) for key, tensor in together.items())
    assert (cut / "best.txt").read_text() == (two / "best.txt").read_text()
    if not SOAK:
        return
    halted = tmp_path / "halted"
    (halted / "checkpoints").mkdir(parents=True)
    assert torchrun(halted, name=name, accumulate=accumulate, stop_at=8) == 0  # asked of the second alone
    assert [(halted / f"stopped-{rank}.txt").read_text() for rank in (0, 1)] == ["8 15", "8 15"]
    assert torchrun(halted, name=name, accumulate=accumulate) == 0
    resumed = load_file(halted / "end.safetensors")
    assert all(torch.equal(resumed[key], tensor) for key, tensor in together.items())


def test_every_clip_goes_to_one_process() -> None:
    clips = [f"c{number}" for number in range(7)]
    shares = [Ranks(rank, 3).share(clips) for rank in range(3)]
    assert sorted(clip for share in shares for clip in share) == clips
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


DEVICES = [
    pytest.param("cpu", marks=pytest.mark.skipif(not SOAK, reason="half a minute: make soak")),
    pytest.param(
        "cuda",
        marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")],
    ),
]


@pytest.mark.parametrize("device", DEVICES)
def test_a_voice_learns_the_same_in_two_processes(device: str) -> None:
    """Losses and gradients of a real network, with its noise taken away; on one GPU the two share it."""
    words = [sys.executable, str(COMPARED), "--device", device, "--size", "tiny", "--steps", "4"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


@pytest.mark.parametrize(
    ("processes", "gpus", "own", "shared"), [(2, 1, "cuda:0", True), (2, 2, "cuda:1", False), (3, 2, "cuda:1", True)]
)
def test_more_processes_than_gpus_share_them(
    processes: int, gpus: int, own: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    assert own_gpu() == (own, shared)
