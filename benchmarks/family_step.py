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
from vocoder_step import measure, timed_engine

from olu.families import family
from olu.train.engine import Engine
from olu.train.family import Example

RATE, HOP, SYMBOLS, TOKEN_FRAMES = 16000, 256, 40, 5
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
    fast = device == "cuda"
    precision = "bf16" if fast else "fp32"
    return timed_engine(
        kind,
        learner.to(device),
        examples,
        folder,
        batch=batch,
        device=device,
        recorded=fast,
        precision=precision,
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
