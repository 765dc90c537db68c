"""Clips as T3 learns from them: their codes, a prompt and a speaker vector mostly of another clip.

Every draw is a pure function of the example's own number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from olu.core.errors import TrainError
from olu.families.chatterbox.config import RATE, ChatterboxConfig
from olu.nn.sequence import CodeSequence, SequenceRules
from olu.train.family import Example

CODES, VOICE = "codes", "voice"  # the prepared features
CODES_A_SECOND = 25
AWAY = CODES_A_SECOND  # codes between a prompt and what is learnt, where both are of one clip
NOTHING = 1e-6  # a count of what no clip of a batch has: a mean over it stays 0
Codes = NDArray[np.int64]
Made = Callable[[Example], tuple[Codes, NDArray[np.float32]]]


@dataclass(frozen=True)
class CodePrompt:
    """Codes that are heard before, and which of the clip's own are then no target."""

    codes: Codes
    hidden: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class HeardClip:
    """One clip, with what is drawn for it, or what always stands for it in validation."""

    sequence: CodeSequence
    prompt: Codes
    voice: NDArray[np.float32]
    dropped: bool


@dataclass(frozen=True)
class ChatterboxBatch:
    drawn: tuple[HeardClip, ...]
    fixed: tuple[HeardClip, ...]
    voices: tuple[Tensor, ...]  # vectors of the drawn [G], and of the fixed
    fixed_voices: tuple[Tensor, ...]
    speakers: tuple[int, ...]
    counts: Mapping[str, float]
    clips: tuple[str, ...]
    seconds: tuple[float, ...] = field(default=())
    sounds: tuple[NDArray[np.float32], ...] = field(default=())  # of the clips that prompts were cut from

    def to(self, device: torch.device) -> ChatterboxBatch:
        voices, fixed = (tuple(one.to(device) for one in held) for held in (self.voices, self.fixed_voices))
        return replace(self, voices=voices, fixed_voices=fixed)


def rules_of(config: ChatterboxConfig) -> SequenceRules:
    return SequenceRules(
        config.condition_rows,
        config.text_start if config.text_bounds else None,
        config.text_stop,
        config.start_code,
        config.stop_code,
        starts=config.starts,
    )


def collated(examples: Sequence[Example], config: ChatterboxConfig, made: Made) -> ChatterboxBatch:
    """`made`: codes and speaker vector of a clip that has none prepared."""
    drawn = [_clip(one, config, made, np.random.default_rng(one.draw).random(5)) for one in examples]
    fixed = [_clip(one, config, made, np.array([0.5, 0.5, 0.0, 1.0, 0.5])) for one in examples]
    return ChatterboxBatch(
        drawn=tuple(drawn),
        fixed=tuple(fixed),
        voices=tuple(torch.from_numpy(one.voice.copy()) for one in drawn),
        fixed_voices=tuple(torch.from_numpy(one.voice.copy()) for one in fixed),
        speakers=tuple(one.speaker for one in examples),
        counts={
            **_counts(drawn, config, ""),
            **_counts(fixed, config, "fixed_"),
            "clips": float(len(examples)),
        },
        clips=tuple(one.id for one in examples),
        seconds=tuple(len(one.samples) / RATE for one in examples),
        sounds=tuple(_sound(one.beside or one) for one in examples),
    )


def _counts(clips: Sequence[HeardClip], config: ChatterboxConfig, kind: str) -> dict[str, float]:
    text = sum(len(one.sequence.ids) + (1 if config.text_bounds else -1) for one in clips if not one.dropped)
    hidden = sum(max(0, min(b, len(one.sequence.codes)) - a) for one in clips for a, b in [one.sequence.hidden])
    codes = sum(len(one.sequence.codes) + 1 for one in clips)
    return {f"{kind}text": float(text) or NOTHING, f"{kind}speech": float(codes - hidden)}


def _clip(example: Example, config: ChatterboxConfig, made: Made, shares: NDArray[np.float64]) -> HeardClip:
    """`shares`: of the prompt's length and place, whether the voice is another clip's, whether the text is dropped."""
    codes, voice = features_of(example, config, made)
    beside = None if example.beside is None else features_of(example.beside, config, made)
    prompt = prompt_of(codes, None if beside is None else beside[0], config, shares[0], shares[1])
    if beside is not None and shares[2] < config.other_voice:
        voice = beside[1]
    dropped = bool(shares[3] < config.unconditional)
    rows = 1 + int(config.emotion)
    if len(prompt.codes):
        rows += config.prompt_rows or len(prompt.codes)
    sequence = CodeSequence(example.ids, codes, prompt.hidden, prompt_rows=rows, text_learnt=not dropped)
    return HeardClip(sequence, prompt.codes, voice, dropped)


def prompt_of(own: Codes, beside: Codes | None, config: ChatterboxConfig, length: float, place: float) -> CodePrompt:
    """A stretch of the clip beside. Without one, a stretch of the clip itself, whose surroundings are then not learnt;
    a clip too short for that has no prompt."""
    least, most = (round(seconds * CODES_A_SECOND) for seconds in config.prompt_seconds)
    size = min(round(least + length * (most - least)), config.prompt_codes)
    if beside is not None:
        size = min(size, len(beside))
        start = round(place * (len(beside) - size))
        return CodePrompt(beside[start : start + size])
    size = min(size, (len(own) - 2 * AWAY) // 3)
    if size < min(least, AWAY):
        return CodePrompt(own[:0])
    start = round(place * (len(own) - size))
    return CodePrompt(own[start : start + size], (max(0, start - AWAY), start + size + AWAY))


def features_of(example: Example, config: ChatterboxConfig, made: Made) -> tuple[Codes, NDArray[np.float32]]:
    if CODES not in example.features or VOICE not in example.features:
        return made(example)
    codes = example.features[CODES].astype(np.int64)
    if len(codes) == 0 or codes.min() < 0 or codes.max() >= config.codes:
        raise TrainError(f"clip {example.id}: its codes are not of this base's tokenizer: run 'olu prepare' again")
    return codes, example.features[VOICE].astype(np.float32)


def _sound(example: Example) -> NDArray[np.float32]:
    return np.asarray(example.samples).astype(np.float32) / 32768.0


def padded_prompts(clips: Sequence[HeardClip]) -> tuple[Tensor, Tensor]:
    """[B, N] with padding at the end, and how long each is; one that has none counts as one code, left out later."""
    lengths = [max(1, len(one.prompt)) for one in clips]
    held = np.zeros((len(clips), max(lengths)), np.int64)
    for row, one in enumerate(clips):
        held[row, : len(one.prompt)] = one.prompt
    return torch.from_numpy(held), torch.tensor(lengths)
