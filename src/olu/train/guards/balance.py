"""A judge that always wins, or that sees nothing, teaches the generator nothing."""

from __future__ import annotations

from typing import Any

from olu.train.guards.seen import GuardEvent, Observation, Seen, Verdict


class Balance:
    """`won`: a judge's loss below this means every verdict is right; `chance`: the loss of one that only guesses."""

    NEAR = 0.01  # of the loss of guessing

    def __init__(self, *, part: str, loss: str, won: float, chance: float, patience: int = 500) -> None:
        self.part, self.loss, self.won, self.chance, self.patience = part, loss, won, chance, patience
        self.streaks = {"won": 0, "blind": 0}

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, Observation) or seen.part != self.part or self.loss not in seen.losses:
            return None
        value = seen.losses[self.loss]
        now = {"won": value < self.won, "blind": abs(value - self.chance) < self.NEAR * self.chance}
        self.streaks = {kind: self.streaks[kind] + 1 if is_so else 0 for kind, is_so in now.items()}
        kind, streak = max(self.streaks.items(), key=lambda item: item[1])
        if streak not in (self.patience, 2 * self.patience):
            return None
        said = {
            "won": "tells real from made every time, so the voice has nothing to learn from it: lower its rate",
            "blind": "only guesses, so the voice learns nothing from it: raise its rate, or look at its input",
        }[kind]
        last = streak == 2 * self.patience
        return GuardEvent(
            seen.step,
            "balance",
            Verdict.STOP if last else Verdict.NOTE,
            f"{self.part}: its loss is {value:.3g} for {streak} updates: it {said}",
        )

    def state(self) -> dict[str, Any]:
        return {"streaks": self.streaks}

    def load(self, state: dict[str, Any]) -> None:
        self.streaks = dict(state["streaks"])
