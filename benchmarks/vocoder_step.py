"""A vocoder's training step alone on a GPU, its parts switched off one by one: `python benchmarks/vocoder_step.py`.

The sound is made; the numbers are milliseconds a step of 32 segments of 64 frames.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from olu.families import family
from olu.families.vocoder.config import HOP, RATE
from olu.nn.kernels.streams import LEVERS
from olu.train.batches import Batches, make_buckets
from olu.train.checkpoint import Checkpoints
from olu.train.cuda_graph import Resident
from olu.train.engine import Engine
from olu.train.family import Example
from olu.train.guards import watchmen
from olu.train.recipe import Recipe

NEVER = 10**9
CASES: dict[str, dict[str, Any]] = {
    "all": {},
    "spectrogram discriminators off": {"model": {"discriminator_windows": ()}},
    "period discriminators off": {"model": {"discriminator_periods": ()}},
    "all discriminators off": {"model": {"discriminator_start": NEVER}},
    "32 channels in the spectrogram discriminators": {"model": {"discriminator_window_channels": 32}},
    "one magnitude window": {"model": {"magnitude_windows": (1024,)}},
    "fp32": {"precision": "fp32"},
    "no streams": {"streams": False},
    "no kernels": {"kernels": False},
    "not recorded": {"record": False},
}


def made(clips: int, seconds: float) -> dict[str, Example]:
    """A hum with noise, and its pitch."""
    random, found = np.random.default_rng(0), {}
    for number in range(clips):
        hertz = 90 + 10 * number
        wave = np.cumsum(np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE)) / 40
        wave = 6000 * (wave + 0.1 * random.standard_normal(len(wave)))
        pitch = np.stack([np.full(len(wave) // HOP, hertz), np.ones(len(wave) // HOP)], 1).astype(np.float32)
        samples = wave.clip(-32000, 32000).astype(np.int16)
        found[f"c{number}"] = Example(f"c{number}", (), samples, 0, {"pitch": pitch})
    return found


def engine_for(case: dict[str, Any], examples: dict[str, Example], folder: Path, *, batch: int, device: str) -> Engine:
    vocoder = family("vocoder")
    LEVERS.streams, LEVERS.kernels = case.get("streams", True), case.get("kernels", True)
    torch.manual_seed(0)
    learner = vocoder.learner(
        vocoder.config(**{"discriminator_start": 0, "discriminator_warmup": 0, **case.get("model", {})}),
        vocab_size=0,
        num_speakers=1,
    ).to(device)
    recorded = device == "cuda" and case.get("record", True)
    precision = case.get("precision", "bf16" if device == "cuda" else "fp32")
    return timed_engine(
        "vocoder", learner, examples, folder, batch=batch, device=device, recorded=recorded, precision=precision
    )


def timed_engine(
    kind: str,
    learner: Any,
    examples: dict[str, Example],
    folder: Path,
    *,
    batch: int,
    device: str,
    recorded: bool,
    precision: str,
) -> Engine:
    """One that trains a learner on these examples, over and over, and neither validates nor saves."""
    plan = {"steps": NEVER, "batch_clips": batch, "batch_seconds": 1e6, "validate_every": NEVER, "save_every": NEVER}
    recipe = Recipe.model_validate({"family": kind, "plan": {**plan, "record": recorded, "precision": precision}})
    segment = learner.config.segment_size if kind == "vocoder" else None  # of a clip, however long it is
    length = {clip: segment or len(one.samples) for clip, one in examples.items()}
    tokens = {clip: len(one.ids) for clip, one in examples.items()}
    order = [clip for clip in examples for _ in range(8)]
    number = len(order) if segment else None
    buckets = make_buckets(
        length,
        tokens,
        rate=RATE,
        batch_clips=batch,
        batch_seconds=1e6,
        most=8,
        **({"number": number} if number else {}),
    )
    batches = Batches(
        order,
        [length[clip] / RATE for clip in order],
        example=examples.__getitem__,
        collate=learner.collate,
        seed=1,
        batch_clips=batch,
        batch_seconds=1e6,
        buckets=buckets if recorded else None,
    )
    resident = Resident(learner, list(examples), example=examples.__getitem__, buckets=buckets, device=device)
    own = family(kind)
    return Engine(
        learner,
        batches,
        validation=list,
        score="mel",
        plan=recipe.plan,
        rewinds=recipe.guards,
        guards=watchmen(recipe, own),
        checkpoints=Checkpoints(folder, keep=1),
        seed=1,
        device=device,
        resident=resident if recorded else None,
    )


def measure(engine: Engine, *, warm: int, steps: int, device: str) -> dict[str, Any]:
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    events: list[str] = []
    for _ in range(warm):
        events += [event.message for event in engine.advance().events]
    wait()
    began, losses = time.monotonic(), dict[str, float]()
    for _ in range(steps):
        report = engine.advance()
        events += [event.message for event in report.events]
        losses |= {name: round(value, 3) for one in report.seen for name, value in one.losses.items()}
    wait()
    row: dict[str, Any] = {"ms": round(1000 * (time.monotonic() - began) / steps, 2), **losses}
    if engine.fast:
        row["recorded"] = engine.fast.played
    if device == "cuda":
        row["peak_gb"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return row | ({"events": events[:2]} if events else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warm", type=int, default=12)
    parser.add_argument("--only", nargs="*", default=list(CASES), help="cases, of those above")
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for name in given.only:
        with tempfile.TemporaryDirectory() as folder:
            engine = engine_for(CASES[name], made(16, 6.0), Path(folder), batch=given.batch, device=device)
            row = measure(engine, warm=given.warm, steps=given.steps, device=device)
        print(json.dumps({"case": name, **row}), flush=True)
        del engine
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


if __name__ == "__main__":
    main()
