"""Whether a run gets anywhere: too slow, drifting away, learning its clips by heart, a discriminator that teaches
nothing, samples that are silent, clipped or endless, or time and disk that run out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olu.core.words import length, size
from olu.train.guards.seen import GuardEvent, Observation, Resources, SampleFigures, Seen, ValidationView, Verdict

# Share of the weights an update must move. From scratch a fair rate moves 1e-3 to 4e-3, a tenth of it 4e-4 to 6e-4.
FROM_SCRATCH, FROM_WEIGHTS = 8e-4, 2e-5
FAIR, TOO_FAR = 4e-3, 0.05  # and what it should not move: ten times the largest of a fair rate


class Slow:
    """The loss hardly moves over the first updates, or each update moves the weights by next to nothing.

    The second tells more: from scratch even a tenth of a fair rate brings the loss down at first. It also tells a rate
    far too high, which clipping hides: the loss falls and stays bad.
    """

    def __init__(
        self, *, part: str, loss: str, after: int = 300, least: float = 0.03, ratio: float = FROM_SCRATCH
    ) -> None:
        self.part, self.loss, self.after, self.least, self.ratio = part, loss, after, least, ratio
        self.window = max(1, after // 6)  # updates a mean is taken over
        self.first: list[float] = []
        self.last: list[float] = []
        self.ratios: list[float] = []  # by unit of the rate: schedules move it
        self.rate = 0.0  # the highest so far
        self.told = False  # that it is too high
        self.updates = 0

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, Observation) or seen.part != self.part or self.updates > self.after:
            return None
        value = seen.losses.get(self.loss, math.nan)
        if not math.isfinite(value):
            return None
        self.updates += 1
        if seen.ratio is not None and seen.ratio > TOO_FAR and not self.told:
            return self._too_far(seen, seen.ratio)
        self._keep(seen, value)
        if self.updates <= self.after:
            return None
        fell = 1 - _mean(self.last) / max(_mean(self.first), 1e-12)
        share = self._usual_share()
        learnt = self.ratio < FROM_SCRATCH <= share < math.inf  # what was learnt before may have little left to fall
        if (fell >= self.least or learnt) and share >= self.ratio:
            return None
        why = f"{self.loss} fell by {100 * fell:.1f} % in {self.after} updates"
        if share < self.ratio:
            why += f", and an update moves the weights by {share:.1e} of themselves, which is little"
        message = f"{self.part}: {why}: the rate {self.rate:.2g} is probably too low; try {10 * self.rate:.2g}"
        return GuardEvent(seen.step, "slow", Verdict.NOTE, message)

    def _keep(self, seen: Observation, loss: float) -> None:
        self.first = [*self.first, loss][: self.window]
        self.last = [*self.last, loss][-self.window :]
        self.ratios = [*self.ratios, seen.ratio / seen.lr] if seen.ratio is not None and seen.lr else self.ratios
        self.rate = max(self.rate, seen.lr)

    def _usual_share(self) -> float:
        """The share of the weights that an update moves, at the highest rate so far."""
        late = sorted(self.ratios[len(self.ratios) // 2 :])  # the first updates of Adam are larger than its others
        return late[len(late) // 2] * self.rate if late else math.inf

    def _too_far(self, seen: Observation, share: float) -> GuardEvent:
        self.told = True
        said = f"{self.part}: an update moves the weights by {100 * share:.0f} % of themselves"
        better = f"the rate {seen.lr:.2g} is far too high; try {seen.lr * FAIR / share:.1g}"
        return GuardEvent(seen.step, "fast", Verdict.NOTE, f"{said}: {better}")

    def state(self) -> dict[str, Any]:
        held = {"first": self.first, "last": self.last, "ratios": self.ratios}
        return {**held, "rate": self.rate, "updates": self.updates, "told": self.told}

    def load(self, state: dict[str, Any]) -> None:
        self.first, self.last, self.ratios = list(state["first"]), list(state["last"]), list(state["ratios"])
        self.rate, self.updates, self.told = state["rate"], state["updates"], state["told"]


class Drift:
    """Notes a loss, no opponent's, far above its best for long; rewinds only where validation is worse too."""

    KEEP = 0.98  # of the running mean at each update

    def __init__(self, *, losses: tuple[str, ...], factor: float = 2.0, patience: int = 300, warmup: int = 500) -> None:
        self.losses, self.factor, self.patience, self.warmup = losses, factor, patience, warmup
        self.means: dict[str, float] = {}
        self.best: dict[str, float] = {}
        self.above: dict[str, int] = {}
        self.updates: dict[str, int] = {}
        self.heard: float | None = None  # the best validation

    def watch(self, seen: Seen) -> GuardEvent | None:
        if isinstance(seen, ValidationView):
            return self._look(seen)
        return self._update(seen) if isinstance(seen, Observation) else None

    def _update(self, seen: Observation) -> GuardEvent | None:
        said = None
        for name in self.losses:
            value = seen.losses.get(name, math.nan)
            if not math.isfinite(value):
                continue
            self.updates[name] = self.updates.get(name, 0) + 1
            mean = self.means[name] = self.KEEP * self.means.get(name, value) + (1 - self.KEEP) * value
            if self.updates[name] < self.warmup:
                continue
            best = self.best[name] = min(self.best.get(name, mean), mean)
            far = mean > self.factor * best if best > 0 else False
            self.above[name] = self.above.get(name, 0) + 1 if far else 0
            if self.above[name] == self.patience:
                said = f"{name} is {mean:.3g}, {mean / best:.1f} times its best, for {self.patience} updates"
        if said is None:
            return None
        return GuardEvent(seen.step, "drift", Verdict.NOTE, f"{said}: if the samples get worse, lower the rate")

    def _look(self, seen: ValidationView) -> GuardEvent | None:
        value = seen.scores.get(seen.score, math.nan)
        if not math.isfinite(value):
            return None
        worse = self.heard is not None and value > 1.3 * self.heard
        self.heard = value if self.heard is None else min(self.heard, value)
        drifting = [name for name, count in self.above.items() if count >= self.patience]
        if not worse or not drifting:
            return None
        message = f"{', '.join(drifting)} drifted away and validation {seen.score} is worse too ({value:.3g})"
        self.above = {}
        return GuardEvent(seen.step, "drift", Verdict.REWIND, f"{message}: going back")

    def state(self) -> dict[str, Any]:
        held = {"means": self.means, "best": self.best, "above": self.above, "updates": self.updates}
        return {**held, "heard": self.heard}

    def load(self, state: dict[str, Any]) -> None:
        self.means, self.best = dict(state["means"]), dict(state["best"])
        self.above, self.updates, self.heard = dict(state["above"]), dict(state["updates"]), state["heard"]


class Overfit:
    """Tells when validation has not been better for long while training still improves."""

    BETTER = 0.02  # less than this share is the chance of the batches

    def __init__(self, *, patience: int = 5, loss: str = "") -> None:
        self.patience = patience
        self.loss = loss  # the training loss that goes with the score; empty: one of the same name
        self.best: dict[str, float] | None = None  # step, score, and the training loss of that time
        self.since = 0

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, ValidationView):
            return None
        value, learnt = seen.scores.get(seen.score, math.nan), seen.losses.get(self.loss or seen.score, math.nan)
        if not (math.isfinite(value) and math.isfinite(learnt)):
            return None
        if self.best is None or value < self.best["score"]:
            self.best, self.since = {"step": seen.step, "score": value, "learnt": learnt}, 0
            return None
        self.since += 1
        if self.since != self.patience or learnt > (1 - self.BETTER) * self.best["learnt"]:
            return None
        at = int(self.best["step"])
        message = (
            f"validation {seen.score} was best at step {at} ({self.best['score']:.3g}, now {value:.3g}) while training"
            f" goes on improving: listen to the samples; step {at} is the one to export, and more data helps most"
        )
        return GuardEvent(seen.step, "overfit", Verdict.NOTE, message)

    def state(self) -> dict[str, Any]:
        return {"best": self.best, "since": self.since}

    def load(self, state: dict[str, Any]) -> None:
        self.best, self.since = state["best"], state["since"]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


class Balance:
    """A discriminator that always wins, or that sees nothing, teaches the generator nothing.

    `won`: a loss below this means every verdict is right; `chance`: the loss of one that only guesses.
    """

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


class Budget:
    """Tells early that hours or disk run out, or that batches come late; then the run stops, saved."""

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


SILENT_PEAK, SILENT_LEVEL = 0.02, -45.0  # of full scale, dB
CLIPPED = 1e-3  # share of the samples
ENDLESS = 3.0  # times the recording of the same text
REPEATS = 0.98


class Samples:
    """Notes samples that are all silent, clipped, endless or repetitive, after `warmup` of the steps."""

    def __init__(self, *, warmup: float = 0.25) -> None:
        self.warmup = warmup
        self.well: list[str] = []  # faults that some earlier sample did not have
        self.told: list[str] = []

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, ValidationView) or not seen.sounds:
            return None
        found = _by_fault(seen.sounds)
        late = seen.step >= self.warmup * seen.steps
        new = [fault for fault, names in found.items() if late and len(names) == len(seen.sounds)]
        untold = {"silent", *self.well} - set(self.told)
        said = [fault for fault in new if fault in untold]
        self.well = sorted({*self.well, *(fault for fault, names in found.items() if not names)})
        self.told = [fault for fault in new if fault in {*self.told, *said}]
        if not said:
            return None
        names = ", ".join(found[said[0]][:2])
        message = f"the samples are {' and '.join(said)} ({names}): listen to them; {ADVICE[said[0]]}"
        return GuardEvent(seen.step, "samples", Verdict.NOTE, message)

    def state(self) -> dict[str, Any]:
        return {"well": self.well, "told": self.told}

    def load(self, state: dict[str, Any]) -> None:
        self.well, self.told = list(state["well"]), list(state["told"])


class Doubts:
    """Notes what a family doubts of its figures at a validation, each once, after `warmup` of the steps."""

    def __init__(self, doubts: Callable[[Mapping[str, float]], Mapping[str, str]], *, warmup: float = 0.25) -> None:
        self.doubts, self.warmup = doubts, warmup
        self.told: list[str] = []

    def watch(self, seen: Seen) -> GuardEvent | None:
        if not isinstance(seen, ValidationView) or seen.step < self.warmup * seen.steps:
            return None
        found = {name: said for name, said in self.doubts(seen.scores).items() if name not in self.told}
        self.told += found
        return GuardEvent(seen.step, "doubts", Verdict.NOTE, "; ".join(found.values())) if found else None

    def state(self) -> dict[str, Any]:
        return {"told": self.told}

    def load(self, state: dict[str, Any]) -> None:
        self.told = list(state["told"])


ADVICE = {
    "silent": "a voice that is well with teacher forcing and silent on its own has learnt no durations or no text",
    "clipped": "lower the rate, and look whether the recordings are clipped",
    "endless": "the durations went wrong: look at the audit's rate outliers, or export an earlier step",
    "repetitive": "the text no longer steers the voice: export an earlier step",
}
FAULTS = tuple(ADVICE)


def _by_fault(sounds: Sequence[SampleFigures]) -> dict[str, list[str]]:
    """For each fault the names of the samples that have it."""
    return {fault: [one.name for one in sounds if fault in faults(one)] for fault in FAULTS}


def faults(sound: SampleFigures) -> tuple[str, ...]:
    endless = sound.natural is not None and sound.seconds > ENDLESS * sound.natural
    is_so = {
        "silent": sound.peak < SILENT_PEAK or sound.level < SILENT_LEVEL,
        "clipped": sound.clipped > CLIPPED,
        "endless": endless,
        "repetitive": sound.repeats > REPEATS,
    }
    return tuple(fault for fault, found in is_so.items() if found)
