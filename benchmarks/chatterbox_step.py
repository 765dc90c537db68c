"""One training step of Chatterbox at its full size with drawn weights: clips a second, milliseconds and memory.

    python benchmarks/chatterbox_step.py --json step.json                  # on a GPU, about a minute
    python benchmarks/chatterbox_step.py --size tiny --device cpu          # whether it runs at all

By the engine that `olu train` runs: batches collated on the CPU, fused AdamW over fp32 weights, gradients clipped. The
batch is the planned one, 32 clips of 2.5 to 7.5 s. Before the steps, what `olu prepare` makes of clips on the device.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from olu.families import family
from olu.families.chatterbox.batch import CODES, VOICE
from olu.families.chatterbox.config import CODE_SAMPLES, RATE, ChatterboxConfig
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.train.batches import Batches
from olu.train.checkpoint import Checkpoints
from olu.train.engine import Engine
from olu.train.family import Example
from olu.train.guards import watchmen
from olu.train.recipe import Recipe

CLIPS, SECONDS, SPREAD = 32, 5.0, 0.5
IDS = {"multilingual": 2454, "turbo": 50_276, "nano": 50_276, "tiny": 270}
IDS_A_SECOND = {"llama": 12, "gpt2": 4}  # letters and some pieces, or pieces of bytes
LORA = 32
WAYS: dict[str, dict[str, Any]] = {
    "whole, fp32": {"precision": "fp32"},
    "whole, bf16": {},
    "whole, bf16, checkpointing": {"gradient_checkpointing": True},
    "LoRA 32, bf16": {"lora_rank": LORA},
    "LoRA 32, bf16, checkpointing": {"lora_rank": LORA, "gradient_checkpointing": True},
}
SIZES = {"multilingual": list(WAYS), "turbo": ["whole, bf16", "LoRA 32, bf16"], "nano": ["whole, bf16"]}


def made_clips(config: ChatterboxConfig, *, count: int, ids: int) -> dict[str, Example]:
    """Random codes, vectors and texts, of lengths as a corpus has them; each beside another."""
    chance, clips = np.random.default_rng(3), list[Example]()
    for number in range(count):
        samples = round(RATE * SECONDS * (1 + SPREAD * (2 * chance.random() - 1)))
        codes = chance.integers(0, config.codes, -(-samples // CODE_SAMPLES)).astype(np.int16)
        voice = np.abs(chance.standard_normal(config.voice_width)).astype(np.float32)
        features = {CODES: codes, VOICE: voice / np.linalg.norm(voice)}
        letters = min(round(samples / RATE * IDS_A_SECOND[config.backbone]), config.most_text)
        text = chance.integers(4, min(ids, 255), letters)
        wave = np.zeros(samples, np.int16)
        clips.append(Example(f"c{number}", tuple(map(int, text)), wave, 0, features, draw=int(chance.integers(2**62))))
    return {one.id: replace(one, beside=clips[at - 1]) for at, one in enumerate(clips)}


def drawn_learner(config: ChatterboxConfig, *, ids: int, device: str) -> ChatterboxLearner:
    torch.manual_seed(0)
    with torch.device(device):  # drawn where it is used: no gigabytes travel
        learner = ChatterboxLearner(config, vocab_size=ids, num_speakers=1)
    return learner.to(device)


def engine_for(
    learner: ChatterboxLearner, examples: dict[str, Example], folder: Path, *, batch: int, precision: str, device: str
) -> Engine:
    big = {"steps": 10**6, "batch_clips": batch, "batch_seconds": 1e6, "validate_every": 10**6, "save_every": 10**6}
    recipe = Recipe.model_validate({"plan": {**big, "precision": precision, "record": False}})
    batches = Batches(
        list(examples),
        [len(example.samples) / RATE for example in examples.values()],
        example=examples.__getitem__,
        collate=learner.collate,
        seed=1,
        batch_clips=batch,
        batch_seconds=1e6,
    )
    return Engine(
        learner,
        batches,
        validation=list,
        score="speech",
        plan=recipe.plan,
        rewinds=recipe.guards,
        guards=watchmen(recipe, family("chatterbox")),
        checkpoints=Checkpoints(folder, keep=1),
        seed=1,
        device=device,
    )


def clock(device: str) -> Callable[[], float]:
    """Wall clock of a GPU that has done its work; processor seconds of a CPU, which others may share."""

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now if device.startswith("cuda") else time.process_time


def measured(engine: Engine, *, warm: int, steps: int) -> dict[str, Any]:
    device = engine.device.type
    now, losses, rows = clock(device), dict[str, float](), 0
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    for _ in range(warm):
        engine.advance()
    taken = []
    for _ in range(steps):
        begun = now()
        report = engine.advance()
        taken.append(now() - begun)
        losses |= {name: round(value, 3) for one in report.seen for name, value in one.losses.items()}
        rows += report.clips
    each, learnt = float(np.median(taken)), sum(one.numel() for live in engine.live.values() for one in live.params)
    found = {"ms": 1000 * each, "clips_per_s": rows / steps / each, "learns": learnt, "losses": losses}
    found["speech_per_s"] = found["clips_per_s"] * SECONDS
    if device == "cuda":
        found["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
        found["reserved_gb"] = torch.cuda.max_memory_reserved() / 1e9
    return found


@torch.no_grad()
def prepared(learner: ChatterboxLearner, *, count: int, device: str) -> dict[str, float]:
    """Seconds of speech a second that become codes, and speaker vectors; the share of codes that a CPU makes too."""
    chance, now = np.random.default_rng(4), clock(device)
    waves = [(0.05 * chance.standard_normal(round(RATE * SECONDS))).astype(np.float32) for _ in range(count)]
    found = {}
    made: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
        "codes": lambda wave: learner.s3gen.tokenizer.codes(torch.from_numpy(wave).to(device)),
        "vectors": learner.ve.vector,
    }
    learner.eval()
    for name, make in made.items():
        make(waves[0])
        begun = now()
        for wave in waves:
            make(wave)
        found[name] = count * SECONDS / (now() - begun)
    own = [made["codes"](wave).cpu() for wave in waves[:2]]
    tokenizer = learner.s3gen.tokenizer.cpu()
    plain = [tokenizer.codes(torch.from_numpy(wave)) for wave in waves[:2]]
    found["codes as on a CPU"] = float(torch.cat([a == b for a, b in zip(own, plain, strict=True)]).float().mean())
    learner.to(device).train()
    return found


def machine(device: str) -> str:
    shown = torch.cuda.get_device_name() if device.startswith("cuda") else f"{os.cpu_count()} cores"
    try:
        head = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(head, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        commit = ""
    return f"{shown}, torch {torch.__version__}, {platform.platform()}, commit {commit or 'not told'}"


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--size", action="append", default=[], choices=sorted(IDS), help="may be given again; else all")
    ask.add_argument("--device", default="cuda")
    ask.add_argument("--clips", type=int, default=CLIPS)
    ask.add_argument("--steps", type=int, default=10)
    ask.add_argument("--limit", type=float, default=150.0, help="seconds after which no other row is begun")
    ask.add_argument("--json", type=Path, help="where to write what was measured")
    given = ask.parse_args()
    began, rows = time.monotonic(), list[dict[str, Any]]()
    found: dict[str, Any] = {"machine": machine(given.device), "clips": given.clips, "rows": rows, "left_out": []}
    for size in given.size or list(SIZES):
        for way in SIZES.get(size, list(WAYS)):
            if time.monotonic() - began > given.limit:
                found["left_out"].append(f"{size}, {way}")
                continue
            rows.append({"size": size, "way": way, **measured_way(size, way, given, found)})
            told = {name: round(value, 2) for name, value in rows[-1].items() if isinstance(value, float)}
            print(f"{size}, {way}: {told}", flush=True)
            if given.json:
                given.json.write_text(json.dumps({**found, "seconds": time.monotonic() - began}, indent=1) + "\n")
    sys.stdout.write(f"{time.monotonic() - began:.0f} s in all\n")


def measured_way(size: str, way: str, given: argparse.Namespace, found: dict[str, Any]) -> dict[str, Any]:
    """One row; a way that fails says so, and the others go on."""
    wish = dict(WAYS[way])
    precision = wish.pop("precision", "bf16")
    config = ChatterboxConfig.model_validate({"size": size, **wish})
    examples = made_clips(config, count=2 * given.clips, ids=IDS[size])
    try:
        learner = drawn_learner(config, ids=IDS[size], device=given.device)
        if "prepared" not in found:
            found["prepared"] = prepared(learner, count=16 if config.size != "tiny" else 2, device=given.device)
        with tempfile.TemporaryDirectory() as folder:
            made = {"batch": given.clips, "precision": precision, "device": given.device}
            return measured(engine_for(learner, examples, Path(folder), **made), warm=3, steps=given.steps)
    except RuntimeError as bad:  # no room for it, mostly
        return {"failed": str(bad).splitlines()[0]}
    finally:
        learner = None  # type: ignore[assignment]
        if given.device.startswith("cuda"):
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
