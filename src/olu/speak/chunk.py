"""A long sentence decoded in overlapping chunks, so that its beginning is heard before its end is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIRST_SECONDS = 0.25  # the first chunk, for a quick start
GROWTH = 3  # each one after it is this much longer
MOST_SECONDS = 4.0  # memory grows with this, and what is longer no longer fits the processor's cache
LEAST_SECONDS = 0.1  # a rest shorter than this goes with the chunk before it


@dataclass(frozen=True)
class ChunkPlan:
    """How long chunks are, in frames; without a context a sentence cannot be cut."""

    context: int | None
    first: int
    most: int
    least: int

    @staticmethod
    def of(frame_seconds: float, *, context: int | None, quick: bool, heard: float = 0.0) -> ChunkPlan:
        """`quick` for the earliest sound, or for the next in time after the seconds `heard`; else the least work."""
        first = min(MOST_SECONDS, max(FIRST_SECONDS, (GROWTH - 1) * heard)) if quick else MOST_SECONDS
        frames = (max(1, round(seconds / frame_seconds)) for seconds in (first, MOST_SECONDS, LEAST_SECONDS))
        return ChunkPlan(context, *frames)

    def spans(self, frames: int) -> Iterator[tuple[int, int]]:
        start, size = 0, self.first
        while start < frames:
            end = start + size
            if self.context is None or frames - end < self.least:
                end = frames
            yield start, min(end, frames)
            start, size = end, min(size * GROWTH, self.most)


@dataclass(frozen=True)
class DecoderChunk:
    """What the decoder is given for one chunk, and what of its sound to keep."""

    latents: NDArray[np.float32]  # [1, C, F]: the chunk in its context
    speaker: int
    keep: slice  # samples
    ends: bool  # the sentence


def parts(latents: NDArray[np.float32], *, plan: ChunkPlan, hop: int, speaker: int = 0) -> Iterator[DecoderChunk]:
    """The chunks of [1, C, F] latents, each cut out when it is asked for."""
    frames = latents.shape[2]
    context = plan.context or 0
    for start, end in plan.spans(frames):
        left, right = max(0, start - context), min(frames, end + context)
        keep = slice((start - left) * hop, (end - left) * hop)
        yield DecoderChunk(np.ascontiguousarray(latents[:, :, left:right]), speaker, keep, end == frames)
