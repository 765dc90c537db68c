"""What the engine tells of one step, what a checkpoint holds of it, and what it does when the memory is full."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from olu.core.job import Report
from olu.core.words import many
from olu.train.checkpoint import EXTRA, Checkpoint
from olu.train.family import SpokenSample
from olu.train.guards import GuardEvent, Observation, Verdict
from olu.train.part import assign, under

if TYPE_CHECKING:
    from olu.train.engine import Engine


@dataclass(frozen=True)
class StepUpdates:
    """The updates of one step, before what falls due after them. Saved where a validation was broken off."""

    tried: int
    rewinds: int  # before it
    clips: tuple[str, ...]
    seen: tuple[Observation, ...]
    events: tuple[GuardEvent, ...]
    waited: float

    @staticmethod
    def of(state: dict[str, Any]) -> StepUpdates:
        seen = [Observation(**_with_tuples(one)) for one in state["seen"]]
        events = [GuardEvent(**{**_with_tuples(one), "verdict": Verdict(one["verdict"])}) for one in state["events"]]
        return StepUpdates(**{**state, "clips": tuple(state["clips"]), "seen": tuple(seen), "events": tuple(events)})


def _with_tuples(state: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in state.items()}


def taken(engine: Engine, *, extra: bool = False) -> Checkpoint:
    """A checkpoint of the engine as it stands now. `extra`: one that only a stop made."""
    weights = {f"learner/{n}": t for n, t in engine.module.state_dict().items()}
    optimiser: dict[str, Tensor] = {}
    for name, live in engine.live.items():
        weights |= {f"average/{name}/{n}": t for n, t in (live.average or {}).items()}
        optimiser |= {f"{name}/{n}": t for n, t in live.moments().items()}
    state: dict[str, Any] = {
        "step": engine.step,
        "rewinds": engine.rewinds,
        "rate": engine.rate,
        "precision": engine.precision,
        "pieces": engine.pieces,
        "scale": engine.scale.state(),
        "hours": round(engine.hours, 4),
        "history": engine.history,
        "learnt": engine.learnt,
        "best": engine.best,
        "since": engine.since,
        "updates": {name: live.updates for name, live in engine.live.items()},
        "ratios": {name: live.ratio for name, live in engine.live.items()},
        "batches": engine.batches.state(),
        "guards": {type(guard).__name__: guard.state() for guard in engine.guards},
    }
    if limited := {name: live.acted for name, live in engine.live.items() if live.limits}:
        state["limits"] = limited
    if engine.due is not None:
        state["due"] = asdict(engine.due)
    if extra:
        state[EXTRA] = True
    return Checkpoint(weights=weights, optimiser=optimiser, state=state, frozen=_frozen(engine))


def _frozen(engine: Engine) -> frozenset[str]:
    """The weights that no step moves, by their names in a checkpoint."""
    moved = {id(one) for live in engine.live.values() for one in live.params}
    named = engine.module.named_parameters()
    return frozenset(f"learner/{name}" for name, one in named if id(one) not in moved)


def put_back(engine: Engine, checkpoint: Checkpoint, *, weights_only: bool) -> None:
    """Take up a checkpoint. `weights_only` leaves the place in the data, the guards and the counters alone."""
    if engine.fast is not None:
        engine.fast.forget()
    engine.module.load_state_dict(under(checkpoint.weights, "learner/"))
    for name, live in engine.live.items():
        live.load_moments(under(checkpoint.optimiser, f"{name}/"))
        live.updates = checkpoint.state["updates"].get(name, 0)
        live.ratio = checkpoint.state["ratios"].get(name)
        if live.average is not None:
            saved = under(checkpoint.weights, f"average/{name}/")  # none where the run before kept no average
            assign(live.average, {n: saved.get(n, p) for n, p in live.named.items()})
        live.clear()
    if weights_only:
        return
    engine.step, engine.best = checkpoint.state["step"], checkpoint.state["best"]
    engine.rewinds, engine.rate = checkpoint.state["rewinds"], checkpoint.state["rate"]
    engine.precision, engine.pieces = checkpoint.state["precision"], checkpoint.state["pieces"]
    engine.hours, engine.history = checkpoint.state["hours"], list(checkpoint.state["history"])
    engine.since = checkpoint.state.get("since", 0)
    engine.learnt = {name: list(held) for name, held in checkpoint.state["learnt"].items()}
    engine.scale.load(checkpoint.state["scale"])
    engine.batches.load(checkpoint.state["batches"])
    for name, acted in checkpoint.state.get("limits", {}).items():
        engine.live[name].acted |= {prefix: acted.get(prefix, 0) for prefix in engine.live[name].limits}
    engine.due = StepUpdates.of(checkpoint.state["due"]) if "due" in checkpoint.state else None
    engine.extra = engine.step if checkpoint.state.get(EXTRA) else None
    for guard in engine.guards:
        guard.load(checkpoint.state["guards"][type(guard).__name__])


NO_ROOM = ("not enough memory", "allocate memory", "could not create a primitive")  # the last is oneDNN's, on CPUs


class Full(Exception):
    """Some process ran out of memory; the argument is the place of the micro-batch."""


def in_pieces(clips: list[str], number: int) -> list[list[str]]:
    """`clips` dealt into at most `number` pieces of almost the same size."""
    return [clips[first::number] for first in range(min(number, len(clips)))]


def lighter(engine: Engine, clips: list[str]) -> GuardEvent:
    """After the memory was full: the same clips in smaller pieces, or without the one that is too much alone."""
    for live in engine.live.values():
        live.clear()
    if engine.device.type == "cuda":
        torch.cuda.empty_cache()
    longest = max(clips, key=engine.batches.length)
    said = f"the memory was full with clip {longest} ({engine.batches.length(longest):.1f} s) in the batch"
    if len(clips) > engine.ranks.size:
        engine.pieces *= 2
        most = many(-(-len(clips) // 2), "clip")
        message = f"{said}: from now on at most {most} at a time; the effective batch stays"
        return GuardEvent(engine.step, "memory", Verdict.NOTE, message, (longest,))
    if engine.batches.length(longest) <= median(engine.batches.seconds):
        message = f"{said}, alone, and it is not even long: this voice needs more memory; try a smaller model.size"
        return GuardEvent(engine.step, "memory", Verdict.STOP, message, (longest,))
    engine.batches.put_aside([longest])
    message = f"{said}, which does not fit even alone: it is left out; cut it, or lower data.max_seconds"
    return GuardEvent(engine.step, "memory", Verdict.SKIP, message, (longest,))


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
