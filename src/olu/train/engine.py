"""The one training loop.

A learner yields updates; the engine backpropagates each into its own part, asks the guards, clips, steps, averages and
saves. `train` yields in turn: the caller decides what to print, plot or stream.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

import torch
from torch import Tensor, nn

from olu.errors import TrainError
from olu.train.batches import Batches
from olu.train.checkpoint import Checkpoint, Checkpoints
from olu.train.family import Batch, Clock, Exhibit, Learner, Part, Update
from olu.train.guards import Event, Guard, Observation, Verdict
from olu.train.recipe import GuardSettings, PlanSettings

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
SEED_SPAN = 2**63 - 1
VALIDATION_SEED = 977


@dataclass(frozen=True)
class Report:
    """What one step did. `step` counts finished steps; `tried` is the one this was, finished or not."""

    step: int
    tried: int
    rewinds: int  # before it
    steps: int
    epoch: int
    clips: int
    seen: tuple[Observation, ...]
    events: tuple[Event, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    exhibits: tuple[Exhibit, ...] = ()
    seconds: float = 0.0
    saves: bool = False  # a checkpoint of this step follows
    rewound: bool = False


def rate_factor(step: int, epoch: int, plan: PlanSettings) -> float:
    """The share of each part's rate used at this step: a pure function, so there is nothing to restore."""
    if step < plan.warmup_steps:
        return (step + 1) / plan.warmup_steps
    done = min(1.0, (step - plan.warmup_steps) / max(1, plan.steps - plan.warmup_steps))
    if plan.schedule == "linear":
        return 1 - (1 - plan.final_rate) * done
    if plan.schedule == "cosine":
        return plan.final_rate + (1 - plan.final_rate) * 0.5 * (1 + math.cos(math.pi * done))
    return float(plan.decay**epoch) if plan.schedule == "exponential" else 1.0


class LivePart:
    """A part with its optimiser and its average."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.named = {n: p for n, p in part.module.named_parameters() if _scale(n, part.lr_scale) > 0}
        for name, parameter in part.module.named_parameters():
            parameter.requires_grad_(name in self.named)
        self.params = list(self.named.values())
        by_scale: dict[float, list[nn.Parameter]] = {}
        for name, parameter in self.named.items():
            by_scale.setdefault(_scale(name, part.lr_scale), []).append(parameter)
        groups = [{"params": params, "scale": scale} for scale, params in by_scale.items()]
        settings = {"lr": part.lr, "betas": part.betas, "eps": part.eps, "weight_decay": part.weight_decay}
        self.optimiser = torch.optim.AdamW(groups, **settings)  # type: ignore[arg-type]
        self.average = {n: p.detach().clone() for n, p in self.named.items()} if part.ema else None
        self.updates = 0
        self.sums: dict[str, Tensor] = {}
        self.overs: dict[str, str] = {}

    def moves(self, step: int) -> bool:
        return self.part.start <= step and (self.part.until is None or step < self.part.until)

    def untouched(self) -> tuple[str, ...]:
        return tuple(name for name, p in self.named.items() if p.grad is None)

    def clear(self) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        self.sums, self.overs = {}, {}

    def apply(self, rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["scale"]
        self.optimiser.step()
        self.updates += 1
        if self.average is not None and self.part.ema is not None:
            # A young average follows quickly, so that a short run is not an average of its random start.
            follow = 1 - min(self.part.ema, (1 + self.updates) / (10 + self.updates))
            torch._foreach_lerp_(list(self.average.values()), [p.detach() for p in self.params], follow)

    def moments(self) -> dict[str, Tensor]:
        state = self.optimiser.state
        return {f"{n}/{m}": state[p][m] for n, p in self.named.items() if p in state for m in MOMENTS}

    def load_moments(self, moments: Mapping[str, Tensor]) -> None:
        self.optimiser.state.clear()
        for name, p in self.named.items():
            if f"{name}/step" in moments:
                step, *both = (moments[f"{name}/{m}"] for m in MOMENTS)
                self.optimiser.state[p] = {
                    "step": step.clone(),
                    **{m: t.to(p.device) for m, t in zip(MOMENTS[1:], both, strict=True)},
                }


def _scale(name: str, scales: Mapping[str, float]) -> float:
    return next((factor for prefix, factor in scales.items() if name.startswith(prefix)), 1.0)


class Engine:
    def __init__(
        self,
        learner: nn.Module,
        batches: Batches,
        *,
        validation: Callable[[], Sequence[Batch]],
        score: str,
        plan: PlanSettings,
        rewinds: GuardSettings,
        guards: Sequence[Guard],
        checkpoints: Checkpoints,
        seed: int,
        device: str = "cpu",
    ) -> None:
        self.module = learner.to(device)
        self.learner = cast(Learner, learner)
        self.batches, self.validation, self.score = batches, validation, score
        self.plan, self.limits, self.guards, self.checkpoints = plan, rewinds, list(guards), checkpoints
        self.seed, self.device, self.precision = seed, torch.device(device), plan.precision
        self.step, self.rewinds, self.rate = 0, 0, 1.0
        self.best: dict[str, float] | None = None
        learner.requires_grad_(False)
        self.live = {name: LivePart(part) for name, part in self.learner.parts().items()}

    # ------------------------------------------------------------ the loop

    def train(self) -> Iterator[Report]:
        if not self.checkpoints.steps():
            self._save()  # so that there is always something to rewind to
        while self.step < self.plan.steps:
            report = self.advance()
            try:
                yield report  # first, so that whoever records it has done so when the checkpoint appears
            finally:
                if report.saves:
                    self._save()
            if any(event.verdict is Verdict.STOP for event in report.events):
                return

    def advance(self) -> Report:
        """One step: all its micro-batches, its updates, and what falls due after it."""
        started, tried, rewinds, best = time.monotonic(), self.step + 1, self.rewinds, self.best
        self._training_mode()
        batches = self._next_batches()
        seen, events = self._updates(batches)
        clips = tuple(clip for batch in batches for clip in batch.clips)
        worst = max((event.verdict for event in events), default=Verdict.NOTE)
        scores: Mapping[str, float] = {}
        exhibits: tuple[Exhibit, ...] = ()
        saves = False
        if worst is Verdict.REWIND:
            events.append(self._rewind(clips))
        elif worst is not Verdict.STOP:
            self.step += 1
            last = self.step == self.plan.steps
            if last or self.step % self.plan.validate_every == 0:
                scores, exhibits = self._validate()
            saves = last or self.step % self.plan.save_every == 0 or self._is_best()
            if saves and (sick := _sick([*self.module.named_parameters(), *self.module.named_buffers()])):
                saves, self.best = False, best
                events.append(self._rewind(clips, why=f"{', '.join(sick[:3])}: not a number; "))
        return Report(
            step=self.step,
            tried=tried,
            rewinds=rewinds,
            steps=self.plan.steps,
            epoch=self.batches.epoch,
            clips=len(clips),
            seen=tuple(seen),
            events=tuple(events),
            scores=scores,
            exhibits=exhibits,
            seconds=time.monotonic() - started,
            saves=saves,
            rewound=self.rewinds > rewinds,
        )

    def _next_batches(self) -> list[Batch]:
        try:
            return [next(self.batches).to(self.device) for _ in range(self.plan.accumulate)]
        except StopIteration:
            raise TrainError("every clip is in quarantine: audit the corpus and lower the learning rate") from None

    def _updates(self, batches: list[Batch]) -> tuple[list[Observation], list[Event]]:
        seen: list[Observation] = []
        events: list[Event] = []
        totals: dict[str, float] = {}
        for batch in batches:
            for over, count in batch.counts.items():
                totals[over] = totals.get(over, 0.0) + count
        torch.manual_seed((self.seed * 1_000_003 + self.step * 101 + self.rewinds) % SEED_SPAN)
        at_once = len(batches) == 1  # else every micro-batch sees the weights of before the step
        clips = tuple(clip for batch in batches for clip in batch.clips)
        for batch in batches:
            updates = self.learner.step(batch, Clock(self.step, self.plan.steps))
            while (update := self._next_update(updates)) is not None:
                live = self.live[update.part]
                if live.moves(self.step):
                    self._backward(update, live, totals)
                    if at_once and self._settle([live], totals, clips, seen, events):
                        return seen, events  # the rest of this batch is tainted
        if not at_once:
            self._settle([live for live in self.live.values() if live.sums], totals, clips, seen, events)
        return seen, events

    def _next_update(self, updates: Iterator[Update]) -> Update | None:
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"):
            return next(updates, None)

    def _backward(self, update: Update, live: LivePart, totals: Mapping[str, float]) -> None:
        total = torch.zeros((), device=self.device)
        for name, loss in update.losses.items():
            total = total + loss.sum * (loss.weight / totals[loss.over])
            live.sums[name] = live.sums.get(name, torch.zeros((), device=self.device)) + loss.sum.detach()
            live.overs[name] = loss.over
        total.backward(inputs=live.params)  # type: ignore[no-untyped-call]  # into this part and no other

    def _settle(
        self,
        parts: list[LivePart],
        totals: Mapping[str, float],
        clips: tuple[str, ...],
        seen: list[Observation],
        events: list[Event],
    ) -> bool:
        """Ask the guards, then move these parts or none. True when the step must not go on."""
        names = {id(live): name for name, live in self.live.items()}
        rate = rate_factor(self.step, self.batches.epoch, self.plan) * self.rate
        fresh = []
        for live in parts:
            norm = nn.utils.get_total_norm([p.grad for p in live.params if p.grad is not None])
            losses = {name: float(total) / totals[live.overs[name]] for name, total in live.sums.items()}
            fresh.append(
                Observation(
                    step=self.step,
                    part=names[id(live)],
                    losses=losses,
                    grad_norm=float(norm),
                    lr=live.part.lr * rate,
                    clips=clips,
                    untouched=live.untouched(),
                    sick=_sick(self.module.named_buffers()),
                )
            )
        raised = [event for o in fresh for guard in self.guards if (event := guard.watch(o)) is not None]
        seen += fresh
        events += raised
        if any(event.verdict >= Verdict.SKIP for event in raised):
            for live in self.live.values():
                live.clear()
            return True
        for live, observation in zip(parts, fresh, strict=True):
            if live.part.clip is not None:
                norm = torch.tensor(observation.grad_norm, device=self.device)
                nn.utils.clip_grads_with_norm_(live.params, live.part.clip, norm)
            live.apply(observation.lr)
            live.clear()
        return False

    # ------------------------------------------------------------ looking at itself

    @contextmanager
    def averaged(self) -> Iterator[Learner]:
        """The learner with averaged weights, in eval mode: what is validated, heard and exported."""
        held = {
            name: {n: p.detach().clone() for n, p in live.named.items()}
            for name, live in self.live.items()
            if live.average
        }
        for name in held:
            _assign(self.live[name].named, self.live[name].average or {})
        self.module.eval()
        try:
            with torch.no_grad():
                yield self.learner
        finally:
            for name, weights in held.items():
                _assign(self.live[name].named, weights)

    def _validate(self) -> tuple[dict[str, float], tuple[Exhibit, ...]]:
        sums: dict[str, float] = {}
        counts: dict[str, float] = {}
        exhibits: list[Exhibit] = []
        torch.manual_seed(VALIDATION_SEED)
        with self.averaged() as learner:
            for batch in self.validation():
                placed = batch.to(self.device)
                for name, loss in learner.validate(placed).items():
                    sums[name] = sums.get(name, 0.0) + float(loss.sum)
                    counts[name] = counts.get(name, 0.0) + placed.counts[loss.over]
                exhibits += islice(learner.demo(placed), self.plan.demo_clips - len(exhibits))
        scores = {name: total / counts[name] for name, total in sums.items()}
        value = scores.get(self.score, math.nan)
        if math.isfinite(value) and (self.best is None or value < self.best["score"]):
            self.best = {"step": self.step, "score": value}
        return scores, tuple(exhibits)

    def _is_best(self) -> bool:
        return self.best is not None and self.best["step"] == self.step

    def _training_mode(self) -> None:
        self.module.eval()
        for live in self.live.values():
            live.part.module.train(live.moves(self.step))

    # ------------------------------------------------------------ saving and going back

    def snapshot(self) -> Checkpoint:
        weights = {f"learner/{n}": t for n, t in self.module.state_dict().items()}
        optimiser: dict[str, Tensor] = {}
        for name, live in self.live.items():
            weights |= {f"average/{name}/{n}": t for n, t in (live.average or {}).items()}
            optimiser |= {f"{name}/{n}": t for n, t in live.moments().items()}
        state: dict[str, Any] = {
            "step": self.step,
            "rewinds": self.rewinds,
            "rate": self.rate,
            "precision": self.precision,
            "best": self.best,
            "updates": {name: live.updates for name, live in self.live.items()},
            "batches": self.batches.state(),
            "guards": {type(guard).__name__: guard.state() for guard in self.guards},
        }
        return Checkpoint(weights=weights, optimiser=optimiser, state=state)

    def restore(self, checkpoint: Checkpoint, *, weights_only: bool = False) -> None:
        """Take up a checkpoint. `weights_only` leaves the place in the data, the guards and the counters alone."""
        self.module.load_state_dict(_under(checkpoint.weights, "learner/"))
        for name, live in self.live.items():
            live.load_moments(_under(checkpoint.optimiser, f"{name}/"))
            live.updates = checkpoint.state["updates"].get(name, 0)
            if live.average is not None:
                saved = _under(checkpoint.weights, f"average/{name}/")  # none where the run before kept no average
                _assign(live.average, {n: saved.get(n, p) for n, p in live.named.items()})
            live.clear()
        if weights_only:
            return
        self.step, self.best = checkpoint.state["step"], checkpoint.state["best"]
        self.rewinds, self.rate = checkpoint.state["rewinds"], checkpoint.state["rate"]
        self.precision = checkpoint.state["precision"]
        self.batches.load(checkpoint.state["batches"])
        for guard in self.guards:
            guard.load(checkpoint.state["guards"][type(guard).__name__])

    def resume(self) -> list[str]:
        """Go on from the newest whole checkpoint; returns a sentence for each damaged one passed over."""
        checkpoint, step, passed = self.checkpoints.newest()
        self.restore(checkpoint)
        self.checkpoints.drop_after(step)
        return passed

    def _save(self) -> None:
        best = None if self.best is None else int(self.best["step"])
        self.checkpoints.save(self.step, self.snapshot(), best=best)

    def _rewind(self, clips: tuple[str, ...], why: str = "") -> Event:
        """Back to the last whole checkpoint, slower, and past the data that hurt, whose clips are put in quarantine."""
        at = self.step
        if self.rewinds >= self.limits.rewind_limit:
            message = (
                f"{why}still unstable after {self.rewinds} rewinds: look at these clips, and train with a lower rate"
            )
            return Event(at, "rewind", Verdict.STOP, message, clips)
        checkpoint, step, passed = self.checkpoints.newest()
        self.restore(checkpoint, weights_only=True)
        self.step, self.rewinds = step, self.rewinds + 1
        self.rate = self.limits.rewind_factor**self.rewinds
        if self.rewinds >= 2:
            self.precision = "fp32"
        aside = self.batches.put_aside(clips)
        message = "; ".join(
            [f"{why}back to step {step}, rate x {self.rate:g}, {aside} clips put in quarantine", *passed]
        )
        return Event(at, "rewind", Verdict.NOTE, message, clips)


def _sick(named: Any) -> tuple[str, ...]:
    return tuple(name for name, t in named if t.is_floating_point() and not bool(torch.isfinite(t).all()))


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


@torch.no_grad()
def _assign(targets: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    for name, target in targets.items():
        target.copy_(values[name])
