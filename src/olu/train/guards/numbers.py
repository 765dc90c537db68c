"""Numbers no update may bring: weights out of reach, what is not a number, gradients that leap or stand still."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

from olu.core.words import first_names
from olu.train.guards.seen import GuardEvent, Observation, Seen, Verdict

MIN_HISTORY = 20  # updates before a median means anything
SUSPECT_TIMES = 3  # bad batches with a clip in common before it is left out
NEW_LEVEL = 3  # spikes directly after one another that are no spikes any more


class Wiring:
    """Stops a run where, at a part's first update, the loss does not reach all its parameters."""

    def __init__(self) -> None:
        self.checked: list[str] = []

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, Observation) or seen.part in self.checked:
            return None
        self.checked.append(seen.part)
        if not seen.untouched:
            return None
        names = first_names(seen.untouched, 5)
        message = f"{seen.part}: no gradient reaches {names}: these weights would never learn; report this as a bug"
        return GuardEvent(seen.step, "wiring", Verdict.STOP, message)

    def state(self) -> dict[str, Any]:
        return {"checked": self.checked}

    def load(self, state: dict[str, Any]) -> None:
        self.checked = list(state["checked"])


class Finite:
    """Skips updates that are not numbers; rewinds where weights or buffers are none, or it goes on."""

    def __init__(self, *, patience: int = 3) -> None:
        self.patience = patience
        self.streaks: dict[str, int] = {}  # by part: a discriminator in health must not excuse a sick generator
        self.suspects: list[str] = []  # clips that were in every such batch
        self.times = 0  # such batches, since the suspects began

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, Observation):
            return None
        if seen.sick:
            message = f"{', '.join(seen.sick[:3])}: not a number any more; going back to the last good checkpoint"
            return GuardEvent(seen.step, "finite", Verdict.REWIND, message, seen.clips)
        numbers = {**seen.losses, "gradient": seen.grad_norm}
        bad = [name for name, value in numbers.items() if not math.isfinite(value)]
        if not bad:
            self.streaks[seen.part] = 0
            return None
        self.streaks[seen.part] = streak = self.streaks.get(seen.part, 0) + 1
        verdict = Verdict.SKIP if streak <= self.patience else Verdict.REWIND
        common = [clip for clip in seen.clips if clip in self.suspects]
        self.suspects, self.times = (common, self.times + 1) if common else (list(seen.clips), 1)
        message = f"{seen.part}: {', '.join(bad)} not a number ({streak} in a row); the update was not made"
        aside = tuple(self.suspects) if self.times == SUSPECT_TIMES else ()
        if self.suspects:
            names = first_names(self.suspects, 4)
            again = f"in all {self.times} such batches: left out from now on, {names}"
            message += f"; {again}" if aside else f"; if it comes again, look at {names}"
        if verdict is Verdict.REWIND:
            self.streaks = {}
        return GuardEvent(seen.step, "finite", verdict, message, seen.clips, aside)

    def state(self) -> dict[str, Any]:
        return {"streaks": self.streaks, "suspects": self.suspects, "times": self.times}

    def load(self, state: dict[str, Any]) -> None:
        self.streaks, self.suspects, self.times = dict(state["streaks"]), list(state["suspects"]), state["times"]


class Spike:
    """A gradient far outside its own recent history is skipped.

    One that stays there is a new level (a discriminator that begins to tell real from made does this) and is accepted;
    spikes that come too often, or a level out of all proportion, send the run back.
    """

    def __init__(self, *, factor: float = 20.0, window: int = 50, patience: int = 5) -> None:
        self.factor, self.window, self.patience = factor, window, patience
        self.history: dict[str, list[float]] = {}
        self.spikes: dict[str, list[int]] = {}  # steps of single spikes
        self.row: dict[str, list[float]] = {}  # the spikes that came directly after one another

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, Observation) or not math.isfinite(seen.grad_norm):
            return None  # the Finite guard's matter
        past = self.history.setdefault(seen.part, [])
        usual = seen.limit / self.factor if seen.limit is not None else self._usual(past)
        if seen.grad_norm <= self.factor * usual:
            self.history[seen.part] = [*past, seen.grad_norm][-self.window :]
            self.row[seen.part] = []
            return None
        row = self.row[seen.part] = [*self.row.get(seen.part, []), seen.grad_norm]
        said = f"{seen.part}: gradient {seen.grad_norm:.3g}, usually {usual:.3g}"
        if len(row) >= NEW_LEVEL and median(row) <= self.factor**2 * usual:
            self.history[seen.part], self.row[seen.part] = row, []
            return GuardEvent(seen.step, "spike", Verdict.NOTE, f"{said}: it stays there, so this is its new level")
        if self._too_often(seen, row):
            self.spikes[seen.part], self.row[seen.part] = [], []
            return GuardEvent(seen.step, "spike", Verdict.REWIND, f"{said}; the update was not made", seen.clips)
        return GuardEvent(seen.step, "spike", Verdict.SKIP, f"{said}; the update was not made", seen.clips)

    def limit(self, part: str) -> float:
        """The largest norm that would pass now."""
        return self.factor * self._usual(self.history.get(part, []))

    @staticmethod
    def _usual(past: list[float]) -> float:
        return max(median(past), 1e-8) if len(past) >= MIN_HISTORY else math.inf

    def _too_often(self, seen: Observation, row: list[float]) -> bool:
        recent = [step for step in self.spikes.get(seen.part, []) if step > seen.step - self.window]
        self.spikes[seen.part] = recent = [*recent, seen.step] if len(row) == 1 else recent
        return len(recent) >= self.patience or len(row) >= NEW_LEVEL

    def state(self) -> dict[str, Any]:
        return {"history": self.history, "spikes": self.spikes, "row": self.row}

    def load(self, state: dict[str, Any]) -> None:
        self.history = {part: list(past) for part, past in state["history"].items()}
        self.spikes = {part: list(steps) for part, steps in state["spikes"].items()}
        self.row = {part: list(norms) for part, norms in state["row"].items()}


class Still:
    """Tells of gradients of exactly zero, again and again: nothing is learnt, whatever the losses say."""

    def __init__(self, *, patience: int = 20) -> None:
        self.patience = patience
        self.streaks: dict[str, int] = {}

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, Observation):
            return None
        streak = self.streaks[seen.part] = self.streaks.get(seen.part, 0) + 1 if seen.grad_norm == 0 else 0
        if streak < self.patience:
            return None
        message = (
            f"{seen.part}: its gradient was exactly zero in {streak} updates, so it learns nothing: look whether its"
            " losses have a weight of 0, whether everything in it is frozen, and whether the clips hold sound"
        )
        return GuardEvent(seen.step, "still", Verdict.STOP, message, seen.clips)

    def state(self) -> dict[str, Any]:
        return {"streaks": self.streaks}

    def load(self, state: dict[str, Any]) -> None:
        self.streaks = dict(state["streaks"])
