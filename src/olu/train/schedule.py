"""The share of each part's rate used at a step: a pure function, so there is nothing to restore."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from olu.train.guards.seen import GuardEvent, Verdict

if TYPE_CHECKING:
    from olu.train.recipe import PlanSettings


def rate_factor(step: int, epoch: int, plan: PlanSettings, scores: Sequence[float] = ()) -> float:
    """`scores` are the validations so far, for the plateau schedule; lower is better."""
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
    """How often `patience` validations in a row brought nothing better."""
    best, waited, found = math.inf, 0, 0
    for score in scores:
        if score < best:
            best, waited = score, 0
            continue
        waited += 1
        if waited == patience:
            found, waited = found + 1, 0
    return found
