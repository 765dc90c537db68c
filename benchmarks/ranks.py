"""Two processes against one, in losses: `python benchmarks/ranks.py --device cuda` (on one GPU the two share it).

Each process draws its own noise, so here noise and dropout are taken away, and what is left must be equal: the same
batches, shared out, give the same losses step by step, and the same weights at the end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))
from train_step import RATE, machine, made

from olu.families import family
from olu.nn.kernels.streams import LEVERS
from olu.train.batches import Batches
from olu.train.checkpoint import Checkpoints
from olu.train.engine import Engine
from olu.train.guards import watchmen
from olu.train.ranks import Ranks, joined
from olu.train.recipe import Recipe

CLIPS, BATCH = 12, 5  # an odd batch: one process has three clips, the other two
NEAR = 1e-3  # of a loss: the sums are taken in another order, and Adam makes such a difference larger


def still(learner: nn.Module) -> None:
    """Take the noise away: nothing is drawn, nothing is dropped, every segment is in the middle."""
    for module in learner.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    torch.randn_like = lambda like, **_: torch.zeros_like(like)
    torch.randn = lambda *size, device=None, **_: torch.zeros(*size, device=device)
    torch.rand = lambda *size, device=None, **_: torch.full(size, 0.5, device=device)


def engine(size: str, folder: Path, *, steps: int, device: str, ranks: Ranks) -> Engine:
    for lever in ("channels_last", "kernels", "streams", "separable"):
        setattr(LEVERS, lever, False)
    vits = family("vits")
    torch.manual_seed(0)
    learner = vits.learner(vits.config(size=size), vocab_size=40, num_speakers=1)
    still(learner)
    examples = made(CLIPS, 2.0, spread=0.4)
    plan = {"steps": steps, "batch_clips": BATCH, "batch_seconds": 1e6, "validate_every": 10**6, "save_every": 10**6}
    recipe = Recipe.model_validate({"plan": {**plan, "precision": "fp32", "record": False, "warmup_steps": 0}})
    batches = Batches(
        list(examples),
        [len(one.samples) / RATE for one in examples.values()],
        example=examples.__getitem__,
        collate=learner.collate,
        seed=1,
        batch_clips=BATCH,
        batch_seconds=1e6,
    )
    return Engine(
        learner,
        batches,
        validation=list,
        score="mel",
        plan=recipe.plan,
        rewinds=recipe.guards,
        guards=watchmen(recipe, vits),
        checkpoints=Checkpoints(folder, keep=1),
        seed=1,
        device=device,
        ranks=ranks,
    )


def worker(given: argparse.Namespace) -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with TemporaryDirectory() as folder, joined(given.device) as (ranks, device):
        one = engine(given.size, Path(folder), steps=given.steps, device=device, ranks=ranks)
        rows, began = [], time.monotonic()
        for _ in range(given.steps):
            report = one.advance()
            losses = {name: value for seen in report.seen for name, value in seen.losses.items()}
            rows.append(losses | {f"norm of {seen.part}": seen.grad_norm for seen in report.seen})
        took = (time.monotonic() - began) / given.steps
        if ranks.leads:
            told = {"processes": ranks.size, "device": device, "losses": rows, "seconds": took}
            given.worker.write_text(json.dumps(told))
            save_file({name: one.cpu() for name, one in one.module.state_dict().items()}, weights_of(given.worker))


def weights_of(out: Path) -> Path:
    return out.with_suffix(".safetensors")


def norm(tensors: Iterable[Tensor]) -> float:
    return float(sum(tensor.double().square().sum() for tensor in tensors) ** 0.5)


def run(processes: int, out: Path, given: argparse.Namespace) -> dict[str, Any]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    start = start if processes > 1 else [sys.executable]
    words = [__file__, "--worker", out, "--device", given.device, "--size", given.size, "--steps", given.steps]
    subprocess.run([*start, *map(str, words)], check=True)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--device", default="cpu")
    ask.add_argument("--size", default="small")
    ask.add_argument("--steps", type=int, default=12)
    ask.add_argument("--json", type=Path)
    ask.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = ask.parse_args()
    if given.worker:
        worker(given)
        return
    with TemporaryDirectory() as folder:
        outs = [Path(folder) / f"{count}.json" for count in (1, 2)]
        one, two = (run(count, out, given) for count, out in enumerate(outs, 1))
        a, b = (load_file(weights_of(out)) for out in outs)
        weights = norm(b[name] - a[name] for name in a) / norm(a.values())
    far = [
        {name: abs(b[name] - a[name]) / max(abs(a[name]), 1e-9) for name in a}
        for a, b in zip(one["losses"], two["losses"], strict=True)
    ]
    worst = [max(row.values()) for row in far]
    for step, (a, b, apart) in enumerate(zip(one["losses"], two["losses"], worst, strict=True), 1):
        print(f"step {step:3} mel {a['mel']:.6f} {b['mel']:.6f}; furthest of {len(a)} losses and norms {apart:.1e}")
    where = machine() if given.device == "cuda" else "CPU"
    print(f"{where}: {one['seconds']:.3f} s a step alone, {two['seconds']:.3f} in two processes on {two['device']}")
    print(f"losses and norms of gradients at most {max(worst):.1e} apart, weights {weights:.1e} of their norm")
    if given.json:
        told = {"machine": where, "size": given.size, "apart": worst, "weights": weights, "one": one, "two": two}
        given.json.write_text(json.dumps(told, indent=1))
    sys.exit(0 if max(worst) < NEAR else 1)


if __name__ == "__main__":
    main()
