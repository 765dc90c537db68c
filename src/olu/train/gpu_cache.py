"""All sound of a run on the GPU, as int16: 110 MiB an hour, and no step waits for a copy of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from olu.train.buckets import BatchShape, Buckets
from olu.train.family import Example, PackedLearner

SHARE = 0.25  # of the device's memory that sound may take


class Resident:
    """Where each clip begins in `sound`, and batches made of it."""

    def __init__(
        self, learner: object, clips: Sequence[str], *, example: Callable[[str], Example], buckets: Buckets, device: str
    ) -> None:
        self.learner, self.example, self.buckets = cast(PackedLearner, learner), example, buckets
        held = [example(clip).samples for clip in clips]
        ends = np.cumsum([len(samples) for samples in held])
        self.first = {clip: int(end) - len(samples) for clip, end, samples in zip(clips, ends, held, strict=True)}
        self.sound: Tensor = torch.from_numpy(np.concatenate(held)).to(device)

    @staticmethod
    def fits(samples: int, device: str) -> bool:
        return 2 * samples < SHARE * torch.cuda.get_device_properties(device).total_memory

    def pack(self, clips: Sequence[str]) -> tuple[Tensor, BatchShape, dict[str, float]]:
        examples = [self.example(clip) for clip in clips]
        shape = self.buckets.shape_of(clips)
        flat = self.learner.pack(examples, [self.first[clip] for clip in clips], shape)
        return torch.from_numpy(flat), shape, self.learner.counts(examples)

    def batch(self, clips: Sequence[str]) -> Any:
        """For a plain step: the same padded shape that a recorded one has."""
        flat, shape, counts = self.pack(clips)
        return replace(
            self.learner.unpack(flat.to(self.sound.device), self.sound, shape), counts=counts, clips=tuple(clips)
        )
