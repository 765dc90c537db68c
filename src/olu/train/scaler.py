"""The loss scale of fp16: as large as the gradients allow, halved when one overflows."""

from __future__ import annotations

from typing import Any

START = 2.0**14
GROW_EVERY = 500  # good steps
LARGEST = 2.0**20


class Scale:
    """1 and out of the way in every other precision."""

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
