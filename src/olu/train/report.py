"""What the engine tells of one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olu.core.job import Report
from olu.train.family import SpokenSample
from olu.train.guards import GuardEvent, Observation


@dataclass(frozen=True, kw_only=True)
class StepReport(Report):
    """What one step did, for whoever records it, draws it or goes on after it."""

    seen: tuple[Observation, ...]
    events: tuple[GuardEvent, ...]
    exhibits: tuple[SpokenSample, ...] = ()
    saves: bool = False  # a checkpoint of this step follows
    extra: bool = False  # it is saved only because training ends here
    rewound: bool = False
    ends: bool = False  # nothing follows: a budget is used up, or an end was asked for
    halted: int = 0  # what asked for the end: a signal, or a file
    cut: bool = False  # its validation was broken off: this step is told again when the run goes on
    enough: bool = False  # nothing follows: no better step came for long

    def parts(self) -> dict[str, dict[str, Any]]:
        return {
            seen.part: {
                "losses": dict(seen.losses),
                "grad_norm": seen.grad_norm,
                "lr": seen.lr,
                **({"ratio": seen.ratio} if seen.ratio is not None else {}),
            }
            for seen in self.seen
        }

    def said(self) -> list[tuple[str, str]]:
        return [(event.guard, event.message) for event in self.events]
