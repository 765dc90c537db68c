"""A training step of each family that makes a voice, alone on a GPU, on made sound: `python benchmarks/family_step.py`.

Milliseconds a step of 48 clips of 6 s (32 segments of a second for the vocoder), recorded, in bf16.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from vocoder_step import measure

from olu.families import family
from olu.train.batches import Batches, make_buckets
from olu.train.checkpoint import Checkpoints
from olu.train.cuda_graph import Resident
from olu.train.engine import Engine
from olu.train.family import Example
from olu.train.guards import watchmen
from olu.train.recipe import Recipe

RATE, HOP, SYMBOLS, TOKEN_FRAMES = 16000, 256, 40, 5
NEVER = 10**9
CASES: dict[str, tuple[str, int, dict[str, Any]]] = {  # family, clips, settings
    "vocoder": ("vocoder", 32, {"discriminator_start": 0, "discriminator_warmup": 0}),
    "acoustic": ("acoustic", 48, {}),
    "vits small": ("vits", 48, {"size": "small"}),
    "vits small, source decoder": ("vits", 48, {"size": "small", "decoder": "source"}),
    "vits mms": ("vits", 48, {"size": "mms"}),
}


def made(kind: str, clips: int, seconds: float) -> dict[str, Example]:
    """A hum with noise, its pitch, and tokens of five frames."""
    random, found = np.random.default_rng(0), {}
    for number in range(clips):
        hertz, samples = 90 + 3 * number, int(seconds * RATE)
        frames = samples // HOP
        wave = np.cumsum(np.sin(2 * np.pi * hertz * np.arange(samples) / RATE)) / 40
        wave = 6000 * (wave + 0.1 * random.standard_normal(samples))
        tokens = frames // TOKEN_FRAMES
        ids = random.integers(1, SYMBOLS, 2 * tokens if kind == "vits" else tokens)  # with blanks between them
        lengths = np.full(tokens, TOKEN_FRAMES)
        lengths[-1] += frames - lengths.sum()
        features = {
            "pitch": np.stack([np.full(frames, hertz), np.ones(frames)], 1).astype(np.float32),
            "frames": lengths,
            "gaps": (np.arange(tokens) % 6 == 0).astype(np.int64),
            "tones": np.zeros(tokens, np.int64),
            "stress": np.zeros(tokens, np.int64),
        }
        if kind == "vits":
            features = {"pitch": features["pitch"]}
        said = () if kind == "vocoder" else tuple(map(int, ids))
        found[f"c{number}"] = Example(f"c{number}", said, wave.clip(-32000, 32000).astype(np.int16), 0, features)
    return found


def engine_for(case: str, folder: Path, *, device: str, seconds: float) -> Engine:
    kind, batch, changes = CASES[case]
    examples, own = made(kind, batch, seconds), family(kind)
    torch.manual_seed(0)
    learner = own.learner(own.config(**changes), vocab_size=SYMBOLS if kind != "vocoder" else 0, num_speakers=1)
    learner.to(device)
    fast = device == "cuda"
    plan = {"steps": NEVER, "batch_clips": batch, "batch_seconds": 1e6, "validate_every": NEVER, "save_every": NEVER}
    plan |= {"record": fast, "precision": "bf16" if fast else "fp32"}
    recipe = Recipe.model_validate({"family": kind, "plan": plan})
    segment = learner.config.segment_size if kind == "vocoder" else None
    length = {clip: segment or len(one.samples) for clip, one in examples.items()}
    tokens = {clip: len(one.ids) for clip, one in examples.items()}
    order = [clip for clip in examples for _ in range(8)]
    buckets = make_buckets(
        length,
        tokens,
        rate=RATE,
        batch_clips=batch,
        batch_seconds=1e6,
        most=8,
        **({"number": len(order)} if segment else {}),
    )
    batches = Batches(
        order,
        [length[clip] / RATE for clip in order],
        example=examples.__getitem__,
        collate=learner.collate,
        seed=1,
        batch_clips=batch,
        batch_seconds=1e6,
        buckets=buckets if fast else None,
    )
    resident = Resident(learner, list(examples), example=examples.__getitem__, buckets=buckets, device=device)
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
        resident=resident if fast else None,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warm", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--only", nargs="*", default=list(CASES), help="cases, of those above")
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for case in given.only:
        with tempfile.TemporaryDirectory() as folder:
            engine = engine_for(case, Path(folder), device=device, seconds=given.seconds)
            row = measure(engine, warm=given.warm, steps=given.steps, device=device)
        print(json.dumps({"case": case, **row}), flush=True)
        del engine
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


if __name__ == "__main__":
    main()
