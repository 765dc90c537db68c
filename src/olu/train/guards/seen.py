"""What guards look at and what they answer: plain data, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol


class Verdict(IntEnum):
    NOTE, SKIP, REWIND, STOP = range(4)


@dataclass(frozen=True)
class GuardEvent:
    step: int
    guard: str
    verdict: Verdict
    message: str
    clips: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()  # clips to leave out from now on


@dataclass(frozen=True)
class Observation:
    """What happened in one update, before its optimiser moves."""

    step: int
    part: str
    losses: Mapping[str, float]
    grad_norm: float
    lr: float
    clips: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()  # parameters of the part that the loss did not reach
    sick: tuple[str, ...] = ()  # weights or buffers that are not numbers
    epoch: int = 0
    limit: float | None = None  # where the device itself drew the line for the norm, as the history stood then
    ratio: float | None = None  # how far the last measured update moved the weights, as a share of them
    norms: Mapping[str, float] = field(default_factory=dict)  # of gradients with a limit of their own, by prefix


@dataclass(frozen=True)
class SampleFigures:
    """One spoken sample, as figures."""

    name: str
    seconds: float
    peak: float
    level: float  # dB of full scale
    clipped: float  # share of the samples
    repeats: float  # likeness of its two most alike stretches that do not touch, 0 to 1
    natural: float | None = None  # seconds the recording of the same text has


@dataclass(frozen=True)
class ValidationView:
    """What a validation saw."""

    step: int
    steps: int
    score: str  # the figure that chooses the best step; lower is better
    scores: Mapping[str, float]
    losses: Mapping[str, float]  # of training, mean since the validation before
    sounds: tuple[SampleFigures, ...] = ()


@dataclass(frozen=True)
class Resources:
    """What the run has used up and has left."""

    step: int
    hours: float
    free_bytes: int
    checkpoint_bytes: int
    waiting: float  # share of the time since the last look in which the step waited for its batch


Seen = Observation | ValidationView | Resources


class Guard(Protocol):
    """Answers by what it has seen alone; its memory is plain data that is saved with the run."""

    def watch(self, seen: Seen) -> GuardEvent | None: ...
    def state(self) -> dict[str, Any]: ...
    def load(self, state: dict[str, Any]) -> None: ...
