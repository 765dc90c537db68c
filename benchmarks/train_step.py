"""The training step on a GPU, with and without each lever, on made sound: `python benchmarks/train_step.py`."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from olu.families import family
from olu.nn.kernels.streams import LEVERS
from olu.train.batches import Batches, make_buckets
from olu.train.checkpoint import Checkpoints
from olu.train.cuda_graph import Resident
from olu.train.engine import Engine
from olu.train.family import Example
from olu.train.guards import watchmen
from olu.train.recipe import Recipe

RATE = 16000
TOKENS_PER_SECOND = 25  # phones with blanks between them
BASELINE = {(16, 4.0): 47.9, (64, 4.0): 202.2}  # samples/s of finetune-hf-vits, fp16, on an H200
NOTHING: dict[str, Any] = {
    "precision": "fp32",
    "record": False,
    "channels_last": False,
    "kernels": False,
    "streams": False,
    "separable": False,
    "tune": False,
}
LEVER_NAMES = {
    "bf16": {"precision": "bf16"},
    "record": {"record": True},
    "channels_last": {"channels_last": True},
    "streams": {"streams": True},
    "kernels": {"kernels": True},
    "separable": {"separable": True},
    "tune": {"tune": True},
}


def rungs() -> dict[str, dict[str, Any]]:
    """One lever after the other, then all but one."""
    found, now = {"plain": dict(NOTHING)}, dict(NOTHING)
    for name, change in LEVER_NAMES.items():
        now = {**now, **change}
        found[f"+ {name}"] = now
    found["all"] = now
    for name, change in LEVER_NAMES.items():
        found[f"all but {name}"] = {**now, **{key: NOTHING[key] for key in change}}
    return found


def made(clips: int, seconds: float, *, spread: float = 0.0) -> dict[str, Example]:
    """Noise under a slow envelope; with a spread, lengths differ as in a corpus."""
    random = np.random.default_rng(0)
    found = {}
    for number in range(clips):
        length = seconds * (1 + spread * (2 * random.random() - 1))
        samples = int(length * RATE)
        wave = random.standard_normal(samples) * 3000 * np.abs(np.sin(np.arange(samples) / 2000))
        ids = random.integers(1, 40, max(2, int(length * TOKENS_PER_SECOND)))
        found[f"c{number}"] = Example(f"c{number}", tuple(map(int, ids)), wave.clip(-32000, 32000).astype(np.int16), 0)
    return found


def engine_for(
    size: str, examples: dict[str, Example], folder: Path, *, batch: int, steps: int, plan: dict[str, Any], device: str
) -> Engine:
    vits = family("vits")
    tune = plan.pop("tune", True)
    for lever in ("channels_last", "kernels", "streams", "separable"):
        setattr(LEVERS, lever, plan.pop(lever, True))
    torch.manual_seed(0)
    learner = vits.learner(vits.config(size=size, **plan.pop("model", {})), vocab_size=40, num_speakers=1)
    big = {"steps": steps, "batch_clips": batch, "batch_seconds": 1e6, "validate_every": 10**6, "save_every": 10**6}
    recipe = Recipe.model_validate({"plan": {**big, **plan}})
    length = {clip: len(example.samples) for clip, example in examples.items()}
    tokens = {clip: len(example.ids) for clip, example in examples.items()}
    recorded = recipe.plan.record is True and device == "cuda"
    buckets = make_buckets(length, tokens, rate=RATE, batch_clips=batch, batch_seconds=1e6, most=8)
    batches = Batches(
        list(examples),
        [count / RATE for count in length.values()],
        example=examples.__getitem__,
        collate=learner.collate,
        seed=1,
        batch_clips=batch,
        batch_seconds=1e6,
        buckets=buckets if recorded else None,
    )
    learner.to(device)
    torch.backends.cudnn.benchmark = tune and not recorded
    resident = None
    if recorded:
        resident = Resident(learner, list(examples), example=examples.__getitem__, buckets=buckets, device=device)
    engine = Engine(
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
        resident=resident,
    )
    if engine.fast:
        engine.fast.tune = tune
    return engine


def measure(engine: Engine, *, warm: int, steps: int) -> dict[str, Any]:
    began = time.monotonic()
    losses: dict[str, float] = {}
    for _ in range(warm):
        engine.advance()
    torch.cuda.synchronize()
    ready = time.monotonic()
    events = []
    for _ in range(steps):
        report = engine.advance()
        events += [event.message for event in report.events]
        losses |= {name: value for one in report.seen for name, value in one.losses.items()}
    torch.cuda.synchronize()
    took = (time.monotonic() - ready) / steps
    return {
        "ms": 1000 * took,
        "samples_per_s": engine.plan.batch_clips / took,
        "warm_s": ready - began,
        "peak_gib": torch.cuda.max_memory_reserved() / 2**30,
        "losses": {name: round(value, 3) for name, value in losses.items()},
        "recorded": engine.fast.played if engine.fast else 0,
        "off": engine.fast.off if engine.fast else "",
        "events": events[:3],
    }


def profile(engine: Engine, rows: int) -> str:
    for _ in range(12):
        engine.advance()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        for _ in range(4):
            engine.advance()
        torch.cuda.synchronize()
    return str(found.key_averages().table(sort_by="self_device_time_total", row_limit=rows, max_name_column_width=150))


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--size", default="mms")
    ask.add_argument("--batch", type=int, default=16)
    ask.add_argument("--seconds", type=float, default=4.0)
    ask.add_argument("--steps", type=int, default=40)
    ask.add_argument("--only", action="append", default=[], help="rungs of the ladder; without it all of them")
    ask.add_argument("--precision", default="", help="instead of bf16")
    ask.add_argument("--cap", type=float, default=0.0, help="GiB of memory that may be used, as on a smaller card")
    ask.add_argument("--json", type=Path, help="where to write what was measured")
    ask.add_argument("--profile", type=int, default=0, help="rows of the kernel table")
    ask.add_argument("--device", default="cuda")
    given = ask.parse_args()
    if given.cap:
        whole = torch.cuda.get_device_properties(0).total_memory / 2**30
        torch.cuda.set_per_process_memory_fraction(given.cap / whole)
    examples = made(4 * given.batch, given.seconds)
    kept = []
    for name, plan in rungs().items():
        if given.only and name not in given.only:
            continue
        if given.precision and plan["precision"] != "fp32":
            plan = {**plan, "precision": given.precision}
        with tempfile.TemporaryDirectory() as folder:
            torch.cuda.reset_peak_memory_stats()
            engine = engine_for(
                given.size, examples, Path(folder), batch=given.batch, steps=10**6, plan=dict(plan), device=given.device
            )
            if given.profile:
                print(profile(engine, given.profile))
                continue
            found = measure(engine, warm=8, steps=given.steps)
        times = found["samples_per_s"] / BASELINE.get((given.batch, given.seconds), float("nan"))
        print(f"{given.size} {given.batch} x {given.seconds:g} s  {name}: {found['ms']:.1f} ms,", end=" ")
        print(f"{found['samples_per_s']:.0f} samples/s, {times:.2f} x baseline,", json.dumps(found))
        kept.append({"size": given.size, "batch": given.batch, "seconds": given.seconds, "rung": name, **found})
        if given.json:
            given.json.write_text(json.dumps({"machine": machine(), "rows": kept}, indent=1))
        sys.stdout.flush()
        del engine
        torch.cuda.empty_cache()


def machine() -> str:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {platform.platform()}, commit {commit}"


if __name__ == "__main__":
    main()
