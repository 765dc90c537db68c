"""A few padded sizes for all batches of a run: a step whose shape repeats can be recorded once and played back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

POINTS = 96  # lengths that may become the end of a bucket


@dataclass(frozen=True)
class BatchShape:
    """The padded size of a batch."""

    clips: int
    tokens: int
    samples: int


@dataclass(frozen=True)
class Buckets:
    """Upper ends in samples, rising, and the shape of each bucket's batches."""

    shapes: tuple[BatchShape, ...]
    length: Mapping[str, int]  # samples of each clip

    def place(self, clip: str) -> int:
        return int(np.searchsorted([shape.samples for shape in self.shapes], self.length[clip]))

    def shape_of(self, clips: Sequence[str]) -> BatchShape:
        """The padded size these clips take together; a batch of another number of clips has a shape of its own."""
        shape = self.shapes[max(map(self.place, clips))]
        return shape if shape.clips == len(clips) else BatchShape(len(clips), shape.tokens, shape.samples)


def make_buckets(
    length: Mapping[str, int],
    tokens: Mapping[str, int],
    *,
    rate: int,
    batch_clips: int,
    batch_seconds: float,
    most: int,
) -> Buckets:
    """At most `most` buckets with the least padding in all. A bucket's batch keeps to the budget of padded seconds."""
    clips = sorted(length, key=lambda clip: (length[clip], clip))
    ends = _ends(np.array([length[clip] for clip in clips]), most)
    shapes, widest, at = [], 1, 0
    for end in ends:
        while at < len(clips) and length[clips[at]] <= end:
            widest = max(widest, tokens[clips[at]])  # what is left over from a shorter bucket moves on to this one
            at += 1
        number = max(1, min(batch_clips, int(batch_seconds * rate / end), len(clips)))
        shapes.append(BatchShape(number, widest, int(end)))
    return Buckets(tuple(shapes), dict(length))


def _ends(lengths: np.ndarray, most: int) -> list[int]:
    """Where to cut sorted lengths so that rounding each up to the end of its bucket adds least."""
    picked = np.unique(np.linspace(0, len(lengths) - 1, min(POINTS, len(lengths))).round().astype(int))
    points = np.unique(lengths[picked])
    upto = np.searchsorted(lengths, points, side="right")  # clips up to each point
    most = min(most, len(points))
    cost = points * upto  # one bucket from the start
    choice = [np.full(len(points), -1)]
    for _ in range(most - 1):
        # all[j, i]: the buckets before end at i, the last one at j
        all_costs = cost[None, :] + points[:, None] * (upto[:, None] - upto[None, :])
        all_costs[np.triu_indices(len(points))] = np.iinfo(np.int64).max
        best = all_costs.argmin(1)
        better = all_costs[np.arange(len(points)), best] < cost
        choice.append(np.where(better, best, -1))
        cost = np.where(better, all_costs[np.arange(len(points)), best], cost)
    ends, at = [], len(points) - 1
    for came in reversed(choice):
        ends.append(int(points[at]))
        if came[at] < 0:
            if came is choice[0]:
                break
            ends.pop()
            continue
        at = int(came[at])
    return sorted(set(ends))
