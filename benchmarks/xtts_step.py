"""One training step of XTTS: clips a second and memory, ours beside the public package in a plain loop, on one batch.

    python benchmarks/xtts_step.py --public FOLDER           # v2 with random weights, on a GPU
    python benchmarks/xtts_step.py --size tiny --device cpu --public FOLDER  # whether it runs at all

FOLDER has the packages of coqui-tts (`TTS`) and einops side by side, as `pip install --no-deps --target` leaves them;
of `TTS` the transformer alone is imported, and what that asks of other packages and never runs is stood in for. Without
FOLDER a plain form of ours takes its place: texts and codes padded each for themselves with a mask in between.

The public loop: its own class, forward and losses, fp32 as it is configured, AdamW, gradients cut to 1. Ours: rows
packed without a gap, bf16 on a GPU. Without dropout both losses are the same numbers; that is checked first, in fp32
with the same weights and masks.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import types
from collections.abc import Callable
from dataclasses import replace
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


# ---------------------------------------------------------------- the public package


def public_gpt(folder: Path, config: XttsConfig, *, tokens: int) -> nn.Module:
    """The transformer of the public package, in the sizes of `config`."""
    sys.path.append(str(folder))
    for name in ("TTS", "TTS.tts", "TTS.tts.layers", "TTS.utils"):  # their own files import the whole package
        sys.modules[name] = made = types.ModuleType(name)
        made.__path__ = [str(folder.joinpath(*name.split(".")))]
    trainer = types.ModuleType("trainer.generic_utils")
    trainer.is_pytorch_at_least_2_4 = lambda: True  # type: ignore[attr-defined]
    sys.modules |= {"trainer": types.ModuleType("trainer"), "trainer.generic_utils": trainer}
    importlib.import_module("transformers")  # it looks for what is installed, and must not find a stand-in
    try:
        importlib.import_module("torchaudio")
    except (ImportError, OSError):
        sys.modules["torchaudio"] = types.ModuleType("torchaudio")
    made_by: Any = importlib.import_module("TTS.tts.layers.xtts.gpt")
    gpt: nn.Module = made_by.GPT(
        layers=config.layers,
        model_dim=config.width,
        heads=config.heads,
        start_text_token=config.text_start,
        stop_text_token=config.text_stop,
        max_text_tokens=config.text_places - 2,
        max_mel_tokens=config.code_places - 3,
        max_prompt_tokens=70,
        number_text_tokens=tokens,
        num_audio_tokens=config.codes + 2,
        start_audio_token=config.start_code,
        stop_audio_token=config.stop_code,
        code_stride_len=CODE_SAMPLES,
        use_perceiver_resampler=True,
    )
    return gpt


def public_losses(gpt: nn.Module, learner: XttsLearner, batch: XttsBatch) -> tuple[Tensor, Tensor]:
    """Its own forward, with everything made anew in each step as its trainer does, but for the codes."""
    device = learner.device
    codes = [list(map(int, one)) for one in batch.codes if one is not None]
    lengths = [torch.tensor([len(row) for row in rows], device=device) for rows in (batch.ids, codes)]
    mel = prompt_mel(batch.prompts.stacked(device), learner.mel_stats)
    text, spoken = _padded([list(one) for one in batch.ids], 0, device), _padded(codes, 0, device)
    found = gpt(text, lengths[0], spoken, CODE_SAMPLES * lengths[1], cond_mels=mel)
    return found[0], found[1]


def plain_losses(learner: XttsLearner, batch: XttsBatch) -> tuple[Tensor, Tensor]:
    """Padded rows, a mask in between, and means, as the public trainer has it; without its two wrong indexes."""
    config, device = learner.config, learner.device
    texts = [[config.text_start, *ids, config.text_stop] for ids in batch.ids]
    codes = [[config.start_code, *map(int, one), *[config.stop_code] * 4] for one in batch.codes if one is not None]
    padded = [_padded(texts, 0, device), _padded(codes, config.stop_code, device)]
    lengths = [torch.tensor([len(row) for row in rows], device=device) for rows in (texts, codes)]
    prompt = learner.gpt.condition(prompt_mel(batch.prompts.stacked(device), learner.mel_stats))
    made = learner.gpt(prompt, *padded, text_lengths=lengths[0], code_lengths=lengths[1])
    losses = []
    for logits, rows in zip(made[:2], (texts, codes), strict=True):
        targets = _padded([row[1:] for row in rows], -100, device)
        flat = logits[:, : targets.shape[1]].float().flatten(0, 1)
        losses.append(nn.functional.cross_entropy(flat, targets.flatten(), ignore_index=-100))
    return losses[0], losses[1]


def _padded(rows: list[list[int]], value: int, device: torch.device) -> Tensor:
    widest = max(map(len, rows))
    return torch.tensor([row + [value] * (widest - len(row)) for row in rows], device=device)


def own_losses(learner: XttsLearner, batch: XttsBatch) -> tuple[Tensor, Tensor]:
    (update,) = learner.step(batch, Clock(0, 1))
    text, codes = (update.losses[name].sum / batch.counts[update.losses[name].over] for name in ("text", "codes"))
    return text, codes


Losses = Callable[[], tuple[Tensor, Tensor]]


def timed(gpt: nn.Module, losses: Losses, config: XttsConfig, *, steps: int, half: bool) -> tuple[float, float]:
    """Seconds of a step with its optimiser, the median; and gigabytes at its peak."""
    device = next(gpt.parameters()).device
    optimiser = torch.optim.AdamW(gpt.parameters(), lr=1e-7, fused=device.type == "cuda")
    taken = []
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    for _ in range(steps + 2):
        begun = _now(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
            text, codes = losses()
        found = config.weight_text * text + config.weight_codes * codes
        optimiser.zero_grad(set_to_none=True)
        found.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
        optimiser.step()
        taken.append(_now(device) - begun)
    optimiser.zero_grad(set_to_none=True)
    peak = torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0
    return float(np.median(taken[2:])), peak


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


@torch.no_grad()
def compared(gpt: nn.Module | None, learner: XttsLearner, batch: XttsBatch) -> dict[str, Any]:
    """Both losses of each way, without dropout; they must be the same numbers."""
    learner.eval()
    ways = {"ours": own_losses(learner, batch), "plain": plain_losses(learner, batch)}
    if gpt is not None:
        ways["public"] = public_losses(gpt.eval(), learner, batch)
        gpt.train()
    learner.train()
    found = {name: [float(one) for one in losses] for name, losses in ways.items()}
    for name, losses in found.items():
        if any(abs(a - b) > CLOSE * abs(b) for a, b in zip(losses, found["ours"], strict=True)):
            sys.exit(f"the losses of {name} are others: {found}")
    return found


def main() -> None:
    wish = argparse.ArgumentParser()
    wish.add_argument("--public", type=Path, metavar="FOLDER", help="with the packages of coqui-tts and einops")
    wish.add_argument("--size", default="v2", choices=("v2", "small", "tiny"))
    wish.add_argument("--device", default="cuda")
    wish.add_argument("--clips", type=int, default=16)
    wish.add_argument("--steps", type=int, default=10)
    wish.add_argument("--output", type=Path)
    asked = wish.parse_args()
    tokens = 6681 if asked.size == "v2" else 300
    own = {"codec": "0" * 64, "codes_steps": 0, "decoder_from": 0}
    if asked.public and asked.size != "v2":  # what hears a speaker has fixed sizes there
        own |= {"conditioning_layers": 6, "perceiver_layers": 2, "prompt_rows": 32, "perceiver_heads": 8}
        own |= {"perceiver_head_width": 64}
    config = XttsConfig.model_validate({"size": asked.size, **PUBLISHED, **own})
    gpu, seconds = asked.device.startswith("cuda"), (4.0, 11.0) if asked.size != "tiny" else (0.5, 1.5)
    torch.manual_seed(1)
    with torch.device(asked.device):  # drawn where they will be
        learner = XttsLearner(config, vocab_size=tokens, num_speakers=1).train()
        theirs = public_gpt(asked.public, config, tokens=tokens).train() if asked.public else None
    for name, one in learner.gpt.named_parameters():
        if "proj_out" in name:  # born as zeros, which would hide errors
            nn.init.normal_(one, std=0.02)
    if theirs is not None:
        theirs.load_state_dict(learner.gpt.state_dict())
    batch = learner.collate(made_clips(asked.clips, config, seconds=seconds, tokens=tokens))
    found: dict[str, Any] = {"size": asked.size, "clips": asked.clips, "torch": torch.__version__}
    found["device"] = torch.cuda.get_device_name() if gpu else asked.device
    found["losses"] = compared(theirs, learner, batch)
    print("losses of the text and the codes:", found["losses"], flush=True)

    def ours() -> tuple[Tensor, Tensor]:
        return own_losses(learner, batch)

    def public() -> tuple[Tensor, Tensor]:
        return public_losses(theirs, learner, batch) if theirs is not None else plain_losses(learner, batch)

    name = "public" if theirs is not None else "plain"
    ways: list[tuple[str, Losses, bool, bool]] = [
        (f"{name}, fp32", public, False, False),
        ("ours, fp32", ours, False, False),
    ]
    if gpu:
        ways += [(f"{name}, bf16", public, True, False), ("ours, bf16", ours, True, False)]
        ways += [("ours, bf16, checkpointing", ours, True, True)]
    ways += [("ours, fp32, checkpointing", ours, False, True)]
    rows = []
    for name, losses, half, again in ways:
        learner.gpt.gpt.checkpointing = again
        gpt = theirs if losses is public and theirs is not None else learner.gpt
        taken, peak = timed(gpt, losses, config, steps=asked.steps, half=half)
        rows.append({"way": name, "seconds": taken, "clips_per_second": asked.clips / taken, "peak_gb": peak})
        print(f"{name:28} {taken:8.3f} s a step  {asked.clips / taken:7.1f} clips/s  {peak:6.1f} GB", flush=True)
        if asked.output:  # after each, so that a run that is stopped leaves what it has
            asked.output.write_text(json.dumps({**found, "ways": rows}, indent=1) + "\n", encoding="utf-8")
        if gpu:
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
