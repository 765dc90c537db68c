"""Which step is the best so far: by the family's loss, or by what is heard in the samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from olu.train.guards.seen import GuardEvent, Verdict
from olu.train.validation import HEARD

GRID = 0.02  # heard scores this close are equal, for a few samples tell no more; the loss then decides


def candidate(step: int, scores: Mapping[str, float], *, by: str, loss: str) -> dict[str, Any] | None:
    """A step as it would be kept; none where its figures are not numbers."""
    value = scores.get(loss, math.nan)
    if by == "loss":
        return {"step": step, "score": value} if math.isfinite(value) else None
    if not math.isfinite(value) or not math.isfinite(scores.get(HEARD, math.nan)):
        return None
    parts = {name: score for name, score in scores.items() if name.startswith(f"{HEARD}_")}
    return {"step": step, "score": scores[HEARD], "loss": value, **parts}


def is_better(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> bool:
    return old is None or _order(new) < _order(old)


def _order(best: Mapping[str, Any]) -> tuple[float, float]:
    return (best["score"], 0.0) if "loss" not in best else (round(best["score"] / GRID), best["loss"])


def held_as(best: dict[str, Any] | None, *, by: str) -> dict[str, Any] | None:
    """A best step that was chosen by ear, in a run that now chooses by the loss."""
    return {"step": best["step"], "score": best["loss"]} if by == "loss" and best and "loss" in best else best


def metric_of(by: str, *, loss: str) -> str:
    return loss if by == "loss" else HEARD


def why(best: Mapping[str, Any], *, metric: str) -> str:
    """One sentence for best.json."""
    if "loss" not in best:
        return f"the lowest {metric} on the validation clips of all validations so far"
    parts = ", ".join(f"{name.removeprefix('heard_')} {value:.3g}" for name, value in best.items() if "heard_" in name)
    return f"the best heard samples of all validations so far ({parts}); between equals the lower loss decides"


def nothing_better(best: Mapping[str, Any], *, step: int, since: int) -> GuardEvent:
    message = f"nothing better in {since} validations (plan.stop_patience): it ends here; step {best['step']} is best"
    return GuardEvent(step, "enough", Verdict.NOTE, message)
