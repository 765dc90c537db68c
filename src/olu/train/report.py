"""What the engine tells of one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from olu.train.family import SpokenSample
from olu.train.guards import Event, Observation


@dataclass(frozen=True)
class Report:
    """What one step did. `step` counts finished steps; `tried` is the one this was, finished or not."""

    step: int
    tried: int
    rewinds: int  # before it
    steps: int
    epoch: int
    clips: int
    seen: tuple[Observation, ...]
    events: tuple[Event, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    exhibits: tuple[SpokenSample, ...] = ()
    seconds: float = 0.0
    waited: float = 0.0  # of these seconds, for the batch
    memory: int = 0  # bytes of the device at most, where it can tell
    saves: bool = False  # a checkpoint of this step follows
    extra: bool = False  # it is saved only because training ends here
    rewound: bool = False
    ends: bool = False  # nothing follows: a budget is used up, or an end was asked for
    halted: int = 0  # what asked for the end: a signal, or a file
    cut: bool = False  # its validation was broken off: this step is told again when the run goes on
    enough: bool = False  # nothing follows: no better step came for long
