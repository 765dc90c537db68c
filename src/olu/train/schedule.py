"""How large an update is: the learning-rate schedule, a pure function of the step, and the loss scale of fp16."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olu.train.guards.seen import GuardEvent, Verdict

if TYPE_CHECKING:
    from olu.train.recipe import PlanSettings


def rate_factor(step: int, epoch: int, plan: PlanSettings, scores: Sequence[float] = ()) -> float:
    """The factor of the rate at a step; `scores`: validations so far, for the plateau schedule."""
    if step < plan.warmup_steps:
        return (step + 1) / plan.warmup_steps
    done = min(1.0, (step - plan.warmup_steps) / max(1, plan.steps - plan.warmup_steps))
    if plan.schedule == "linear":
        return 1 - (1 - plan.final_rate) * done
    if plan.schedule == "cosine":
        return plan.final_rate + (1 - plan.final_rate) * 0.5 * (1 + math.cos(math.pi * done))
    if plan.schedule == "exponential":
        return float(plan.decay**epoch)
    if plan.schedule == "milestones":
        return float(plan.drop ** sum(step >= milestone for milestone in plan.milestones))
    if plan.schedule == "plateau":
        return max(plan.least_rate, float(plan.drop ** plateaus(scores, patience=plan.plateau_patience)))
    return 1.0


def lowered(step: int, plan: PlanSettings, scores: Sequence[float]) -> list[GuardEvent]:
    """What a plateau did to the rate after the last of these validations."""
    if plan.schedule != "plateau" or not scores:
        return []
    number, before = (plateaus(held, patience=plan.plateau_patience) for held in (scores, scores[:-1]))
    if number == before:
        return []
    share = max(plan.least_rate, plan.drop**number)
    said = f"nothing better in {plan.plateau_patience} validations (plan.plateau_patience): "
    if max(plan.least_rate, plan.drop**before) == share:
        said += f"the rate stays at {share:.3g} of the recipe's (plan.least_rate)"
    else:
        said += f"the rate falls to {share:.3g} of the recipe's"
    return [GuardEvent(step, "plateau", Verdict.NOTE, said)]


def plateaus(scores: Sequence[float], *, patience: int) -> int:
    """How often `patience` validations in a row were no better."""
    best, waited, found = math.inf, 0, 0
    for score in scores:
        if score < best:
            best, waited = score, 0
            continue
        waited += 1
        if waited == patience:
            found, waited = found + 1, 0
    return found


START = 2.0**14
GROW_EVERY = 500  # good steps
LARGEST = 2.0**20


class Scale:
    """The loss scale of fp16: halved on overflow, doubled after long good; 1 in every other precision."""

    def __init__(self, *, on: bool) -> None:
        self.on = on
        self.value, self.good = (START if on else 1.0), 0

    def overflowed(self) -> None:
        self.value, self.good = max(1.0, self.value / 2), 0

    def went_well(self) -> None:
        self.good += self.on
        if self.good >= GROW_EVERY:
            self.value, self.good = min(LARGEST, 2 * self.value), 0

    def off(self) -> None:
        self.on, self.value, self.good = False, 1.0, 0

    def state(self) -> dict[str, Any]:
        return {"on": self.on, "value": self.value, "good": self.good}

    def load(self, state: dict[str, Any]) -> None:
        self.on, self.value, self.good = state["on"], state["value"], state["good"]
