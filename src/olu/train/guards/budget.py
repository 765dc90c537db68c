"""Time, disk and data: what runs out is said early, and the run stops with everything saved."""

from __future__ import annotations

from typing import Any

from olu.core.units import length, size
from olu.train.guards.seen import GuardEvent, Resources, Seen, Verdict


class Budget:
    def __init__(self, *, max_hours: float = 0.0) -> None:
        self.max_hours = max_hours
        self.told: list[str] = []

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, Resources):
            return None
        if self.max_hours and seen.hours >= self.max_hours:
            used = f"{length(3600 * seen.hours)} are used up (plan.max_hours = {self.max_hours:g})"
            message = f"{used}: saved; go on with --resume"
            return GuardEvent(seen.step, "budget", Verdict.STOP, message)
        if seen.free_bytes < 1.2 * seen.checkpoint_bytes:
            left = f"the disk has {size(seen.free_bytes)} left and a checkpoint takes {size(seen.checkpoint_bytes)}"
            message = f"{left}: free some, then go on with --resume"
            return GuardEvent(seen.step, "budget", Verdict.STOP, message)
        if seen.free_bytes < 3 * seen.checkpoint_bytes:
            return self._once(
                seen, "disk", "the disk holds fewer than three more checkpoints: free some, or lower plan.keep"
            )
        if self.max_hours and seen.hours >= 0.9 * self.max_hours:
            return self._once(seen, "time", f"nine tenths of plan.max_hours = {self.max_hours:g} are used up")
        if seen.waiting > 0.5:
            share = round(100 * seen.waiting)
            return self._once(seen, "data", f"{share} % of the time went into waiting for batches: is the disk slow?")
        return None

    def _once(self, seen: Resources, what: str, message: str) -> GuardEvent | None:
        if what in self.told:
            return None
        self.told.append(what)
        return GuardEvent(seen.step, "budget", Verdict.NOTE, message)

    def state(self) -> dict[str, Any]:
        return {"told": self.told}

    def load(self, state: dict[str, Any]) -> None:
        self.told = list(state["told"])
