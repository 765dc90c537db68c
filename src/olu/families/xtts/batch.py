"""Clips as XTTS learns from them: codes, and a prompt that is cut from another clip or from the clip itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from olu.core.errors import TrainError
from olu.families.xtts.codes import code_count
from olu.families.xtts.config import CODE_SAMPLES, RATE, XttsConfig
from olu.train.family import Example

CODES = "codes"  # the prepared feature
Span = tuple[int, int]  # codes [first, end) that the prompt gives away


@dataclass(frozen=True)
class Waves:
    """Sounds as they are stored. They reach the device when somebody wants them, all in one piece: a step of training
    wants few of a batch's, and many small copies take longer than its arithmetic."""

    rows: tuple[NDArray[np.int16], ...] = ()
    size: int = 0  # samples that each is filled up to with silence; 0: as long as it is

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: slice) -> Waves:
        return replace(self, rows=self.rows[rows])

    def on(self, device: torch.device) -> tuple[Tensor, ...]:
        """Every wave, from -1 to 1."""
        lengths = [self.size or len(row) for row in self.rows]
        flat = np.zeros(sum(lengths), np.result_type(np.int16, *{row.dtype for row in self.rows}))
        for row, end, length in zip(self.rows, np.cumsum(lengths), lengths, strict=True):
            flat[end - length : end - length + len(row)] = row
        waves: tuple[Tensor, ...] = torch.split(torch.from_numpy(flat).to(device).float() / 32768.0, lengths)
        return waves

    def stacked(self, device: torch.device) -> Tensor:
        return torch.stack(self.on(device))


@dataclass(frozen=True)
class Prompt:
    """A stretch of sound, and which of the clip's own codes it lets be heard."""

    wave: NDArray[np.int16]
    hidden: Span = (0, 0)


@dataclass(frozen=True)
class XttsBatch:
    prompts: Waves  # all of the longest length there may be, silence after the stretch
    middles: Waves  # the same for validation: always the middle
    sounds: Waves  # whole clips; none where codes are prepared and no decoder learns
    ids: tuple[tuple[int, ...], ...]
    codes: tuple[NDArray[np.int64] | None, ...]  # None: its own DVAE makes them
    hidden: tuple[Span, ...]
    middle_hidden: tuple[Span, ...]
    speakers: tuple[int, ...]
    counts: Mapping[str, float]
    clips: tuple[str, ...]
    seconds: tuple[float, ...] = field(default=())

    def to(self, device: torch.device) -> XttsBatch:
        """As it is: its waves go where they are wanted."""
        return self


def collated(examples: Sequence[Example], config: XttsConfig) -> XttsBatch:
    """The batch of some clips. Every draw is a pure function of the example's own number."""
    drawn = [prompt_of(one, config, share=_shares(one.draw)) for one in examples]
    fixed = [prompt_of(one, config, share=(0.5, 0.5)) for one in examples]
    codes = [_codes_of(one, config) for one in examples]
    numbers = [
        len(made) if made is not None else code_count(len(one.samples))
        for one, made in zip(examples, codes, strict=True)
    ]
    needs_sound = not config.codec or config.decoder_from > 0
    sizes = list(zip(numbers, drawn, fixed, strict=True))
    longest = round(config.prompt_seconds[1] * RATE)
    return XttsBatch(
        prompts=Waves(tuple(one.wave for one in drawn), longest),
        middles=Waves(tuple(one.wave for one in fixed), longest),
        sounds=Waves(tuple(np.asarray(one.samples) for one in examples) if needs_sound else ()),
        ids=tuple(tuple(one.ids) for one in examples),
        codes=tuple(codes),
        hidden=tuple(one.hidden for one in drawn),
        middle_hidden=tuple(one.hidden for one in fixed),
        speakers=tuple(one.speaker for one in examples),
        counts={
            "tokens": float(sum(len(one.ids) + 1 for one in examples)),
            "codes": float(sum(targets(n, one.hidden, config) for n, one, _ in sizes)),
            "middle_codes": float(sum(targets(n, one.hidden, config) for n, _, one in sizes)),
            "clips": float(len(examples)),
        },
        clips=tuple(one.id for one in examples),
        seconds=tuple(len(one.samples) / RATE for one in examples),
    )


def targets(codes: int, hidden: Span, config: XttsConfig) -> int:
    """How many codes of a clip are learnt, with its stops, which always are."""
    return codes - max(0, min(hidden[1], codes) - hidden[0]) + config.stops


def prompt_of(example: Example, config: XttsConfig, *, share: tuple[float, float]) -> Prompt:
    """A stretch of the clip beside, or of the clip itself, whose codes are then no targets. `share`: of the lengths
    that it may have, and of the places where it may lie."""
    least, most = (round(seconds * RATE) for seconds in config.prompt_seconds)
    own = example.beside is None or config.conditioning == "same"
    source = example if own or example.beside is None else example.beside
    whole = len(source.samples) // 2 if own else len(source.samples)  # never all of a clip that is to be learnt
    size = min(round(least + share[0] * (most - least)), max(1, whole))
    start = round(share[1] * (len(source.samples) - size))
    wave = np.asarray(source.samples)[start : start + size]
    return Prompt(wave, (start // CODE_SAMPLES, (start + size) // CODE_SAMPLES) if own else (0, 0))


def sound_of(example: Example) -> NDArray[np.float32]:
    return np.asarray(example.samples).astype(np.float32) / 32768.0


def _shares(draw: int) -> tuple[float, float]:
    return (draw & 0xFFFFFFFF) / 2**32, (draw >> 32) / 2**32


def _codes_of(example: Example, config: XttsConfig) -> NDArray[np.int64] | None:
    if not config.codec:
        return None
    codes = example.features[CODES].astype(np.int64)
    if len(codes) == 0 or codes.min() < 0 or codes.max() >= config.codes:
        raise TrainError(f"clip {example.id}: its codes are not of this base's DVAE: run 'olu prepare' again")
    return codes
