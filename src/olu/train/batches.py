"""Which clips come in which batch: length buckets under a budget of padded seconds, the same for the same seed.

A run whose steps are CUDA graphs has a few padded sizes for all its batches: a shape that repeats is recorded once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from olu.train.family import Batch, Example

POOL = 50  # batches worth of clips that are sorted by length together: enough to pad little, few enough to stay random


def drawn(what: str, seed: int, epoch: int, clip: str) -> int:
    """A number below 2**64, always the same for the same."""
    return int.from_bytes(sha256(f"{what} {seed} {epoch} {clip}".encode()).digest()[:8], "big")


@dataclass(frozen=True)
class Prompts:
    """Chooses the clip beside another: of the same speaker, never itself, the same for seed and epoch."""

    seed: int
    speaker_of: Mapping[str, int]
    clips: Sequence[str]  # those that may be chosen

    @cached_property
    def _of_speaker(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for clip in sorted(self.clips):
            found.setdefault(self.speaker_of[clip], []).append(clip)
        return found

    def choose(self, clip: str, *, epoch: int) -> str | None:
        """The clip that stands beside this one; None where the speaker has no other."""
        others = self._of_speaker.get(self.speaker_of[clip], [])
        at = bisect_left(others, clip)
        own = at < len(others) and others[at] == clip
        if len(others) == own:
            return None
        place = drawn("beside", self.seed, epoch, clip) % (len(others) - own)
        return others[place + (own and place >= at)]


class Batches:
    """An endless, resumable stream of batches: its whole state is the epoch, the place in it and the quarantine."""

    def __init__(
        self,
        clips: Sequence[str],
        seconds: Sequence[float],
        *,
        example: Callable[[str], Example],
        collate: Callable[[Sequence[Example]], Batch],
        seed: int,
        batch_clips: int,
        batch_seconds: float,
        curriculum_epochs: int = 0,
        buckets: Buckets | None = None,
        prompts: Prompts | None = None,
        changed: Callable[..., Example] | None = None,
    ) -> None:
        self.clips, self.seconds = list(clips), list(seconds)
        self._length = dict(zip(self.clips, self.seconds, strict=True))
        self.example, self.collate = example, collate
        self.seed, self.batch_clips, self.batch_seconds = seed, batch_clips, batch_seconds
        self.curriculum_epochs, self.buckets, self.prompts = curriculum_epochs, buckets, prompts
        self.changed = changed  # (example, epoch=): a clip as it is heard in this epoch
        self.epoch, self.place, self.quarantine = 0, 0, list[str]()
        self._plan = self.plan(0)

    def plan(self, epoch: int) -> list[list[int]]:
        """Every clip once, in batches of alike length: random order with the heavy ones spread, or short to long."""
        random = np.random.default_rng([self.seed, epoch])
        order = random.permutation(len(self.clips))
        pool = POOL * self.batch_clips
        batches: list[list[int]] = []
        for first in range(0, len(order), pool):
            chunk = sorted((int(i) for i in order[first : first + pool]), key=lambda i: (self.seconds[i], i))
            batches += self._filled(chunk, random) if self.buckets else self._cut(chunk)
        if epoch < self.curriculum_epochs:
            return sorted(batches, key=self._padded)
        return self._spread([batches[i] for i in random.permutation(len(batches))])

    def _padded(self, batch: list[int]) -> float:
        return len(batch) * max(self.seconds[i] for i in batch)

    def _spread(self, batches: list[list[int]]) -> list[list[int]]:
        """The heaviest quarter at even distances, so that two of them seldom follow each other."""
        heavy_from = sorted(map(self._padded, batches))[-max(1, len(batches) // 4)] if batches else 0.0
        heavy = [batch for batch in batches if self._padded(batch) >= heavy_from]
        light = iter([batch for batch in batches if self._padded(batch) < heavy_from])
        number, spread = len(batches), list[list[int]]()
        for place in range(number):
            due = (place + 1) * len(heavy) // number > place * len(heavy) // number
            spread.append(heavy[place * len(heavy) // number] if due else next(light))
        return spread

    def _cut(self, sorted_by_length: list[int]) -> list[list[int]]:
        batches: list[list[int]] = [[]]
        for index in sorted_by_length:  # the newest is the longest, so it alone decides the padded size
            size = len(batches[-1]) + 1
            if batches[-1] and (size > self.batch_clips or size * self.seconds[index] > self.batch_seconds):
                batches.append([])
            batches[-1].append(index)
        return batches

    def _filled(self, sorted_by_length: list[int], random: np.random.Generator) -> list[list[int]]:
        """Full batches of few shapes: what is left of a bucket goes into the next longer one, and the last batch is
        filled up with clips that are drawn once more."""
        assert self.buckets is not None
        places = {index: self.buckets.place(self.clips[index]) for index in sorted_by_length}
        batches, held = list[list[int]](), list[int]()
        for place, shape in enumerate(self.buckets.shapes):
            held += [index for index in sorted_by_length if places[index] == place]
            while len(held) >= shape.clips:
                batches.append(held[: shape.clips])
                held = held[shape.clips :]
        if held:
            longest = max(places[index] for index in held)
            away = set(held)
            others = [index for index in sorted_by_length if places[index] <= longest and index not in away]
            number = min(len(others), self.buckets.shapes[longest].clips - len(held))
            batches.append(held + [others[at] for at in random.permutation(len(others))[: max(0, number)]])
        return batches

    def take(self) -> list[str]:
        """The clips of the next batch."""
        away = set(self.quarantine)
        for _ in range(2 * len(self._plan) + 2):
            if self.place >= len(self._plan):
                self.epoch, self.place = self.epoch + 1, 0
                self._plan = self.plan(self.epoch)
            ids = [self.clips[i] for i in self._plan[self.place]]
            self.place += 1
            if kept := [id for id in ids if id not in away]:
                return kept
        raise StopIteration

    def make(self, clips: Sequence[str]) -> Batch:
        return self.collate([self.made(id, epoch=self.epoch) for id in clips])

    def made(self, clip: str, *, epoch: int) -> Example:
        """An example with a number to draw by, and with the clip beside it where there is to be one."""
        other = self.prompts.choose(clip, epoch=epoch) if self.prompts else None
        beside = self.example(other) if other else None
        own = self.example(clip)
        own = self.changed(own, epoch=epoch) if self.changed else own
        return replace(own, beside=beside, draw=drawn("draw", self.seed, epoch, clip))

    def length(self, clip: str) -> float:
        """The length of a clip in seconds."""
        return self._length[clip]

    def put_aside(self, clips: Sequence[str]) -> int:
        """Quarantine these, unless that would leave less than half of all: then the clips are hardly at fault."""
        new = [clip for clip in clips if clip not in self.quarantine]
        if 2 * (len(self.quarantine) + len(new)) > len(self.clips):
            return 0
        self.quarantine += new
        return len(new)

    def state(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "place": self.place, "quarantine": self.quarantine}

    def load(self, state: dict[str, Any]) -> None:
        self.epoch, self.place, self.quarantine = state["epoch"], state["place"], list(state["quarantine"])
        self._plan = self.plan(self.epoch)

    def padding_share(self) -> float:
        """Share of the padded seconds of one epoch that is padding."""
        padded = sum(map(self._padded, self._plan))
        return 1 - sum(self.seconds) / padded if padded else 0.0


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
    number: int | None = None,
) -> Buckets:
    """At most `most` buckets with the least padding in all. A bucket's batch keeps to the budget of padded seconds.

    `number`: clips of an epoch, where some come more than once.
    """
    clips = sorted(length, key=lambda clip: (length[clip], clip))
    ends = _ends(np.array([length[clip] for clip in clips]), most)
    shapes, widest, at = [], 1, 0
    for end in ends:
        while at < len(clips) and length[clips[at]] <= end:
            widest = max(widest, tokens[clips[at]])  # what is left over from a shorter bucket moves on to this one
            at += 1
        together = max(1, min(batch_clips, int(batch_seconds * rate / end), number or len(clips)))
        shapes.append(BatchShape(together, widest, int(end)))
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
