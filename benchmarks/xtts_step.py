"""One training step of XTTS: clips a second and memory, ours beside the published way in a plain loop, on one batch.

    python benchmarks/xtts_step.py                         # v2 with random weights, on a GPU
    python benchmarks/xtts_step.py --size tiny --device cpu  # whether it runs at all

The published way: texts and codes padded each for themselves with a mask in between, the text's stop hidden, mean
losses, fp32 as it is configured. Ours: rows packed without a gap, bf16 on a GPU. In fp32 without dropout both losses
are the same numbers; that is checked before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from olu.families.xtts.batch import CODES, XttsBatch
from olu.families.xtts.config import CODE_SAMPLES, RATE, XttsConfig
from olu.families.xtts.learn import XttsLearner
from olu.families.xtts.spectrum import prompt_mel
from olu.train.family import Clock, Example

PUBLISHED = {"stops": 4, "hears_stop": False, "text_start": 261}
CLOSE = 1e-3


def made_clips(count: int, config: XttsConfig, *, seconds: tuple[float, float], tokens: int) -> list[Example]:
    """Clips of random codes and ids, of lengths as a corpus has them."""
    chance = np.random.default_rng(3)
    clips = []
    for number in range(count):
        samples = round(RATE * chance.uniform(*seconds))
        noise = (2000 * chance.standard_normal(samples)).astype(np.int16)
        codes = chance.integers(0, config.codes, -(-samples // CODE_SAMPLES)).astype(np.int16)
        ids = tuple(int(one) for one in chance.integers(3, tokens, max(4, round(samples / RATE * 12))))
        clips.append(Example(f"clip-{number}", ids, noise, 0, {CODES: codes}))
    return [replace(one, beside=clips[at - 1]) for at, one in enumerate(clips)]


def published_loss(learner: XttsLearner, batch: XttsBatch) -> Tensor:
    """Padded rows, a mask in between, and means, as the public trainer has it; without its two wrong indexes."""
    config, device = learner.config, learner.mel_stats.device
    texts = [[config.text_start, *ids, config.text_stop] for ids in batch.ids]
    codes = [[config.start_code, *map(int, one), *[config.stop_code] * 4] for one in batch.codes if one is not None]
    padded = [_padded(texts, 0, device), _padded(codes, config.stop_code, device)]
    lengths = [torch.tensor([len(row) for row in rows], device=device) for rows in (texts, codes)]
    prompt = learner.gpt.condition(prompt_mel(torch.stack(batch.prompts), learner.mel_stats))
    made = learner.gpt(prompt, *padded, text_lengths=lengths[0], code_lengths=lengths[1])
    losses = []
    for logits, rows in zip(made[:2], (texts, codes), strict=True):
        targets = _padded([row[1:] for row in rows], -100, device)
        flat = logits[:, : targets.shape[1]].float().flatten(0, 1)
        losses.append(nn.functional.cross_entropy(flat, targets.flatten(), ignore_index=-100))
    return config.weight_text * losses[0] + config.weight_codes * losses[1]


def _padded(rows: list[list[int]], value: int, device: torch.device) -> Tensor:
    widest = max(map(len, rows))
    return torch.tensor([row + [value] * (widest - len(row)) for row in rows], device=device)


def own_loss(learner: XttsLearner, batch: XttsBatch) -> Tensor:
    (update,) = learner.step(batch, Clock(0, 1))
    return sum(  # type: ignore[return-value]
        (one.sum * one.weight / batch.counts[one.over] for one in update.losses.values()), start=torch.zeros(())
    )


def timed(learner: XttsLearner, loss: Callable[[], Tensor], *, steps: int, half: bool) -> tuple[float, float]:
    """Seconds of a step with its optimiser, the median; and gigabytes at its peak."""
    device = learner.mel_stats.device
    optimiser = torch.optim.AdamW(learner.gpt.parameters(), lr=1e-7, fused=device.type == "cuda")
    taken = []
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    for _ in range(steps + 2):
        begun = _now(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
            found = loss()
        optimiser.zero_grad(set_to_none=True)
        found.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(learner.gpt.parameters(), 1.0)
        optimiser.step()
        taken.append(_now(device) - begun)
    peak = torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0
    return float(np.median(taken[2:])), peak


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def main() -> None:
    wish = argparse.ArgumentParser()
    wish.add_argument("--size", default="v2", choices=("v2", "small", "tiny"))
    wish.add_argument("--device", default="cuda")
    wish.add_argument("--clips", type=int, default=16)
    wish.add_argument("--steps", type=int, default=10)
    wish.add_argument("--output", type=Path)
    asked = wish.parse_args()
    tokens = 6681 if asked.size == "v2" else 300
    own = {"codec": "0" * 64, "codes_steps": 0, "decoder_from": 0, "dropout": 0.0}
    base = XttsConfig.model_validate({"size": asked.size, **PUBLISHED, **own})
    seconds = (4.0, 11.0) if asked.size != "tiny" else (0.5, 1.5)
    found: dict[str, Any] = {"size": asked.size, "clips": asked.clips, "torch": torch.__version__}
    found["device"] = torch.cuda.get_device_name() if asked.device.startswith("cuda") else asked.device
    gpu, rows = asked.device.startswith("cuda"), []
    ways = [("published, fp32", False, False, False), ("ours, fp32", True, False, False)]
    ways += [("ours, bf16", True, True, False), ("ours, bf16, checkpointing", True, True, True)] if gpu else []
    ways += [("ours, fp32, checkpointing", True, False, True)]
    for name, packs, half, again in ways:
        torch.manual_seed(1)
        config = base.model_copy(update={"gradient_checkpointing": again})
        learner = XttsLearner(config, vocab_size=tokens, num_speakers=1).to(asked.device).train()
        batch = learner.collate(made_clips(asked.clips, config, seconds=seconds, tokens=tokens)).to(
            learner.mel_stats.device
        )
        if not rows:
            with torch.no_grad():
                both = [float(one) for one in (published_loss(learner, batch), own_loss(learner, batch))]
            found["losses"] = both
            if abs(both[0] - both[1]) > CLOSE * abs(both[0]):
                sys.exit(f"the two ways differ: {both}")
        loss = own_loss if packs else published_loss
        taken, peak = timed(learner, partial(loss, learner, batch), steps=asked.steps, half=half)
        rows.append({"way": name, "seconds": taken, "clips_per_second": asked.clips / taken, "peak_gb": peak})
        print(f"{name:28} {taken:8.3f} s a step  {asked.clips / taken:7.1f} clips/s  {peak:6.1f} GB", flush=True)
        del learner, batch
        if gpu:
            torch.cuda.empty_cache()
    found["ways"] = rows
    if asked.output:
        asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
