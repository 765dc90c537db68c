"""The one training loop.

A learner yields updates; the engine backpropagates each into its own part, asks the guards, clips, steps, averages and
saves. `train` yields in turn: the caller decides what to print, plot or stream.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import nn

from olu.core.errors import TrainError
from olu.core.words import many
from olu.train.batches import Batches
from olu.train.checkpoint import Checkpoint, Checkpoints
from olu.train.cuda_graph import FastSteps, Resident
from olu.train.engine_state import NO_ROOM, Full, StepReport, StepUpdates, in_pieces, lighter, put_back, taken
from olu.train.family import Batch, Clock, DemoSentence, Learner, SpokenSample, Update
from olu.train.guards import Guard, GuardEvent, Observation, Resources, Seen, ValidationView, Verdict
from olu.train.part import LivePart, live_parts
from olu.train.ranks import Ranks
from olu.train.recipe import GuardSettings, PlanSettings
from olu.train.schedule import Scale, lowered, rate_factor
from olu.train.validation import Cut, Ear, averaged, candidate, held_as, is_better, measure, nothing_better, validated

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}
SEED_SPAN = 2**63 - 1
VALIDATION_SEED = 977
RESOURCES_EVERY = 20  # steps between two looks at clock and disk


@dataclass
class After:
    """What followed the updates of a step: events, validation, samples, whether it saves and ends."""

    events: list[GuardEvent]
    scores: Mapping[str, float] = field(default_factory=dict)
    exhibits: tuple[SpokenSample, ...] = ()
    saves: bool = False
    extra: bool = False  # a run never stopped would not save here
    ends: bool = False


@dataclass(frozen=True)
class Micro:
    """One piece of a step's clips on the device. `share` 0: a process without clips goes through it for nothing."""

    batch: Batch
    share: float = 1.0


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
        ranks: Ranks | None = None,
        sentences: Sequence[DemoSentence] = (),
        held_rows: Mapping[str, int] | None = None,
        ear: Ear | None = None,
        resident: Resident | None = None,
    ) -> None:
        self.module = learner.to(device)
        self.learner = cast(Learner, learner)
        self.batches, self.validation, self.score = batches, validation, score
        self.plan, self.limits, self.guards, self.checkpoints = plan, rewinds, list(guards), checkpoints
        self.seed, self.device, self.precision = seed, torch.device(device), plan.precision
        self.ranks, self.sentences, self.ear = ranks or Ranks(), sentences, ear
        self.step, self.rewinds, self.rate, self.pieces = 0, 0, 1.0, 1
        self.best: dict[str, Any] | None = None
        self.since = 0  # validations without a better one
        self.history: list[float] = []  # of the score, one for each validation
        self.learnt: dict[str, list[float]] = {}  # sum and number of each training loss since then
        self.scale = Scale(on=plan.precision == "fp16")
        self.asked: Callable[[], int] = lambda: 0  # whether an end is asked for, and by what
        self.halted = 0  # what asked for it, in any of the processes
        self.last_words: list[GuardEvent] = []  # why it ends, said when the steps in flight have landed
        self.due: StepUpdates | None = None  # a step whose validation was broken off
        self.extra: int | None = None  # the checkpoint that a stop left
        self.hours, self._looked, self._waited = 0.0, time.monotonic(), 0.0
        learner.requires_grad_(False)
        self.live = live_parts(self.learner.parts(), rates=plan.rates, late=plan.late, held=held_rows)
        self.fast = FastSteps(self, resident) if resident else None

    # ------------------------------------------------------------ the loop

    def train(self) -> Generator[StepReport, None, None]:
        if not self.ranks.from_first(bool(self.checkpoints.steps())):
            self._save()  # so that there is always something to rewind to
        while self.due or (self.step < self.plan.steps and not self.enough):
            report = self.advance()
            try:
                yield report  # first, so that whoever records it has done so when the checkpoint appears
            finally:
                if report.saves:
                    self._save(extra=report.extra)
            if report.ends or any(event.verdict is Verdict.STOP for event in report.events):
                return

    def advance(self) -> StepReport:
        """One step: all its micro-batches, its updates, and what falls due after it."""
        started, due = time.monotonic(), self.due
        made = due or self._made()
        self.due = None
        worst = max((event.verdict for event in made.events), default=Verdict.NOTE)
        after = After(events=list(made.events))
        if worst is Verdict.REWIND:
            after.events.append(self._rewind(made.clips))
        elif worst is not Verdict.STOP:
            self.step += due is None
            self._follow_up(made, after)
        if self.rewinds > made.rewinds and (self.last_words or self.halted) and not after.ends:
            after.ends = True  # a checkpoint of where it is now is there
            after.events += self.last_words
        return StepReport(
            step=self.step,
            tried=made.tried,
            rewinds=made.rewinds,
            steps=self.plan.steps,
            epoch=self.batches.epoch,
            clips=len(made.clips),
            seen=made.seen,
            events=tuple(after.events),
            scores=after.scores,
            exhibits=after.exhibits,
            seconds=time.monotonic() - started,
            waited=made.waited,
            memory=torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else 0,
            saves=after.saves,
            extra=after.extra,
            rewound=self.rewinds > made.rewinds,
            ends=after.ends,
            halted=self.halted,
            cut=self.due is not None,
            enough=self.enough,
        )

    def _made(self) -> StepUpdates:
        tried = self.step + 1
        if self.fast is not None and self.fast.ready():
            clips, seen, events, waited = self.fast.advance()
        else:
            ids = self._next_clips()
            clips = tuple(clip for group in ids for clip in group)
            seen, events, waited = self._step(ids)
        return StepUpdates(tried, self.rewinds, clips, tuple(seen), tuple(events), waited)

    def _follow_up(self, made: StepUpdates, after: After) -> None:
        """What falls due after a step that was made: a validation, a look at clock and disk, a checkpoint, the end."""
        best, said = self.best, self._looked_after(made, after)
        self._settle_end(said, after)
        if any(event.verdict is Verdict.REWIND for event in said):
            after.saves, self.best = False, best
            after.events.append(self._rewind((), to=best))  # the newest checkpoint may have drifted already
        elif after.saves and (sick := self._sick([*self.module.named_parameters(), *self.module.named_buffers()])):
            after.saves, self.best = False, best
            after.events.append(self._rewind(made.clips, why=f"{', '.join(sick[:3])}: not a number; "))

    def _looked_after(self, made: StepUpdates, after: After) -> list[GuardEvent]:
        """The validation and the look at clock and disk, where they are due, and what the guards say of them."""
        said: list[GuardEvent] = []
        try:
            if self.step == self.plan.steps or self.step % self.plan.validate_every == 0:
                after.scores, after.exhibits = self._validate()
                said += self._ask(self._look(after.scores, after.exhibits))
                said += lowered(self.step, self.plan, self.history)
        except Cut:
            self.due = made
        else:
            if self.step % RESOURCES_EVERY == 0:
                said += self.ranks.from_first(self._ask(self._resources()))
            if after.scores and self.enough and self.best:
                said.append(nothing_better(self.best, step=self.step, since=self.since))
        return said

    def _settle_end(self, said: list[GuardEvent], after: After) -> None:
        """Whether training ends with this step, and whether a checkpoint of it is saved."""
        self.halted = self.halted or self.ranks.highest(self.asked(), self.device)
        self.last_words += [event for event in said if event.verdict is Verdict.STOP]
        after.events += [event for event in said if event.verdict is not Verdict.STOP]
        over = self.due is None and (self.step == self.plan.steps or self.enough)  # by itself
        asked_to_end = bool(self.last_words) or (bool(self.halted) and not over)
        after.ends = asked_to_end and (self.fast is None or self.fast.settle())  # else those in flight land first
        if after.ends:
            after.events += self.last_words
        regular = self.due is None and (over or self.step % self.plan.save_every == 0 or self._is_best())
        after.saves, after.extra = regular or after.ends, not regular

    def _next_clips(self) -> list[list[str]]:
        try:
            return [self.batches.take() for _ in range(self.plan.accumulate)]
        except StopIteration:
            raise TrainError("every clip is in quarantine: audit the corpus and lower the learning rate") from None

    def _step(self, ids: list[list[str]]) -> tuple[list[Observation], list[GuardEvent], float]:
        """The updates of one step, in smaller pieces when the memory is full."""
        self._training_mode()
        events: list[GuardEvent] = []
        while True:
            began = time.monotonic()
            pieces = [piece for group in ids for piece in in_pieces(group, self.pieces)]
            micro = [self._micro(piece) for piece in pieces]
            waited = time.monotonic() - began
            self._waited += waited
            try:
                seen, raised = self._updates(micro, tuple(clip for piece in pieces for clip in piece))
                return seen, events + raised, waited
            except Full as full:
                events.append(lighter(self, pieces[full.args[0]]))
                if events[-1].verdict is not Verdict.NOTE:
                    return [], events, waited

    def _micro(self, clips: list[str]) -> Micro:
        own = self.ranks.share(clips)
        if self.fast is not None:
            return Micro(self.fast.resident.batch(own), 1.0)
        return Micro(self.batches.make(own or clips[:1]).to(self.device), 1.0 if own else 0.0)

    def _updates(self, micro: list[Micro], clips: tuple[str, ...]) -> tuple[list[Observation], list[GuardEvent]]:
        seen: list[Observation] = []
        events: list[GuardEvent] = []
        totals: dict[str, float] = {}
        for one in micro:
            for over, count in one.batch.counts.items():
                totals[over] = totals.get(over, 0.0) + count * one.share
        totals = self.ranks.sum_counts(totals, self.device)
        self.seed_step(self.step)
        at_once = len(micro) == 1  # else every micro-batch sees the weights of before the step
        for place, one in enumerate(micro):
            updates = self.learner.step(one.batch, Clock(self.step, self.plan.steps))
            while (live := self._next_update(updates, one.share, totals, place)) is not None:
                if at_once and live.moves(self.step) and self._settle([live], totals, clips, seen, events):
                    return seen, events  # the rest of this batch is tainted
        if not at_once:
            self._settle([live for live in self.live.values() if live.sums], totals, clips, seen, events)
        return seen, events

    def seed_step(self, step: int) -> None:
        seed = self.seed * 1_000_003 + step * 101 + self.rewinds + 7919 * self.ranks.rank
        torch.manual_seed(seed % SEED_SPAN)

    def _next_update(
        self, updates: Iterator[Update], share: float, totals: Mapping[str, float], place: int
    ) -> LivePart | None:
        """The next update's gradients, in every process or in none."""
        live = None
        try:
            half = self._half()
            with torch.autocast(self.device.type, dtype=half, enabled=half is not None):
                update = next(updates, None)
            if update is not None:
                live = self.live[update.part]
                if live.moves(self.step):
                    self._backward(update, live, share, totals)
            well = True
        except (torch.OutOfMemoryError, MemoryError):
            well = False
        except RuntimeError as bad:
            if not any(words in str(bad) for words in NO_ROOM):
                raise
            well = False
        if not self.ranks.agree(well, self.device):
            raise Full(place)
        return live

    def _half(self) -> torch.dtype | None:
        return HALF.get(self.precision)

    def _backward(self, update: Update, live: LivePart, share: float, totals: Mapping[str, float]) -> None:
        total = torch.zeros((), device=self.device)
        for name, loss in update.losses.items():
            total = total + loss.sum * (share * loss.weight / totals[loss.over])
            live.sums[name] = live.sums.get(name, torch.zeros((), device=self.device)) + loss.sum.detach() * share
            live.overs[name] = loss.over
        (total * self.scale.value).backward(inputs=live.params)  # type: ignore[no-untyped-call]  # no other part's

    def _observed(
        self, live: LivePart, totals: Mapping[str, float], clips: tuple[str, ...], *, rate: float, sick: tuple[str, ...]
    ) -> Observation:
        """What the guards are told of one part, whose gradients are summed over all processes first."""
        untouched = live.untouched()
        live.hold_back(self.step)
        self.ranks.sum_gradients(live.grads())
        if self.scale.value != 1.0:
            torch._foreach_div_(live.grads(), self.scale.value)
        sums = self.ranks.sum_losses(live.sums)
        return Observation(
            step=self.step,
            part=next(name for name, part in self.live.items() if part is live),
            losses={name: float(total) / totals[live.overs[name]] for name, total in sums.items()},
            grad_norm=float(nn.utils.get_total_norm(live.grads())),
            lr=live.part.lr * rate,
            clips=clips,
            untouched=untouched,
            sick=sick,
            epoch=self.batches.epoch,
            ratio=live.ratio,
            norms={prefix: float(norm) for prefix, norm in live.norms().items()},
        )

    def _settle(
        self,
        parts: list[LivePart],
        totals: Mapping[str, float],
        clips: tuple[str, ...],
        seen: list[Observation],
        events: list[GuardEvent],
    ) -> bool:
        """Ask the guards, then move these parts or none. True when the step must not go on."""
        rate = rate_factor(self.step, self.batches.epoch, self.plan, self.history) * self.rate
        sick = self._sick(self.module.named_buffers())
        fresh = [self._observed(live, totals, clips, rate=rate, sick=sick) for live in parts]
        seen += fresh
        if self.scale.value > 1.0 and not all(math.isfinite(one.grad_norm) for one in fresh):
            self.scale.overflowed()  # fp16's own business, not a fault of the run
            raised = [GuardEvent(self.step, "scale", Verdict.SKIP, f"fp16 overflowed: loss scale {self.scale.value:g}")]
        else:
            raised = [event for one in fresh for event in self._ask(one)]
        events += raised
        if any(event.verdict >= Verdict.SKIP for event in raised):
            self.batches.put_aside([clip for event in raised for clip in event.aside])
            for live in self.live.values():
                live.clear()
            return True
        self.scale.went_well()
        for live, observation in zip(parts, fresh, strict=True):
            self._move(live, observation)
        return False

    def _move(self, live: LivePart, observation: Observation) -> None:
        if live.limits:
            norms = {name: torch.tensor(norm, device=self.device) for name, norm in observation.norms.items()}
            live.clip(torch.tensor(observation.grad_norm, device=self.device), norms)
        live.apply(observation.lr)
        live.clear()
        self.note_losses(observation)

    def note_losses(self, observation: Observation) -> None:
        for name, value in observation.losses.items():
            total, number = self.learnt.get(name, [0.0, 0.0])
            self.learnt[name] = [total + value, number + 1]
        if (live := self.live[observation.part]).limits:
            live.note_limits(observation.grad_norm, observation.norms)

    def _ask(self, seen: Seen) -> list[GuardEvent]:
        return [event for guard in self.guards if (event := guard.watch(seen)) is not None]

    # ------------------------------------------------------------ looking at itself

    @contextmanager
    def averaged(self) -> Iterator[Learner]:
        """The learner with averaged weights, in eval mode: what is validated, heard and exported."""
        with averaged(self.live), torch.no_grad():
            self.module.eval()
            yield self.learner

    def _validate(self) -> tuple[dict[str, float], tuple[SpokenSample, ...]]:
        """Figures and samples of a validation, made in the first process for all."""
        found = None
        if self.ranks.leads:
            with suppress(Cut):
                found = self._validated()
        found = self.ranks.from_first(found)
        if found is None:
            raise Cut
        scores, exhibits = found
        self.history.append(scores.get(self.score, math.nan))
        self.since += 1
        new = candidate(self.step, scores, by=self.plan.choose, loss=self.score)
        if new is not None and is_better(new, self.best):
            self.best, self.since = new, 0
        return scores, exhibits

    def _validated(self) -> tuple[dict[str, float], tuple[SpokenSample, ...]]:
        torch.manual_seed(VALIDATION_SEED)
        with self.averaged() as learner:
            return validated(
                learner,
                self.validation(),
                plan=self.plan,
                sentences=self.sentences,
                device=self.device,
                ear=self.ear,
                asked=self.asked,
            )

    @property
    def enough(self) -> bool:
        """Whether the recipe waits no longer for a better step."""
        return self.best is not None and 0 < self.plan.stop_patience <= self.since

    def _look(self, scores: Mapping[str, float], exhibits: Sequence[SpokenSample]) -> ValidationView:
        learnt = {name: total / number for name, (total, number) in self.learnt.items()}
        self.learnt = {}
        sounds = tuple(measure(one.name, one.audio, natural=one.natural) for one in exhibits)
        return ValidationView(self.step, self.plan.steps, self.score, scores, learnt, sounds)

    def _resources(self) -> Resources:
        now = time.monotonic()
        passed, self._looked = now - self._looked, now
        waiting, self._waited = self._waited / max(passed, 1e-9), 0.0
        self.hours += passed / 3600
        free, needed = self.checkpoints.room()
        return Resources(self.step, self.hours, free, needed, waiting)

    def _is_best(self) -> bool:
        return self.best is not None and self.best["step"] == self.step

    def _training_mode(self) -> None:
        self.module.eval()
        for live in self.live.values():
            live.part.module.train(live.moves(self.step))

    def _sick(self, named: Any) -> tuple[str, ...]:
        found = tuple(name for name, t in named if t.is_floating_point() and not bool(torch.isfinite(t).all()))
        well = self.ranks.agree(not found, self.device)
        return found if found or well else ("a tensor of another process",)

    # ------------------------------------------------------------ saving and going back

    def snapshot(self) -> Checkpoint:
        return taken(self)

    def restore(self, checkpoint: Checkpoint, *, weights_only: bool = False) -> None:
        """Take up a checkpoint. `weights_only` leaves the place in the data, the guards and the counters alone."""
        put_back(self, checkpoint, weights_only=weights_only)

    def resume(self) -> list[str]:
        """Go on from the newest whole checkpoint; returns a sentence for each damaged one passed over."""
        passed = self._take_up(until=None)[1]
        self.best = held_as(self.best, by=self.plan.choose)
        if self.ranks.leads:
            self.checkpoints.tidy(damaged=passed, best=self._best_step(), extra=self.extra)
        return list(passed.values())

    def _take_up(self, *, until: int | None, weights_only: bool = False) -> tuple[int, dict[int, str]]:
        """The newest whole checkpoint by the first process' reading, in every process; its step, and those passed."""
        but = self.extra if weights_only else None
        found = self.checkpoints.newest(until, but=but) if self.ranks.leads else None
        step = self.ranks.from_first(found[1] if found else 0)
        self.restore(found[0] if found else self.checkpoints.load(step), weights_only=weights_only)
        self.ranks.wait()
        return step, found[2] if found else {}

    def _save(self, *, extra: bool = False) -> None:
        assert self.fast is None or self.fast.is_settled(), "steps are in flight"
        if self.ranks.leads:
            made = taken(self, extra=extra)
            self.checkpoints.save(self.step, made, best=self._best_step(), extra=self.extra)
        self.extra = self.step if extra else None
        self.ranks.wait()

    def _best_step(self) -> int | None:
        return None if self.best is None else int(self.best["step"])

    def _rewind(self, clips: tuple[str, ...], why: str = "", to: Mapping[str, Any] | None = None) -> GuardEvent:
        """Go back to the last whole checkpoint, with a lower rate; the clips that hurt are quarantined."""
        at = self.step
        if self.rewinds >= self.limits.rewind_limit:
            message = (
                f"{why}still unstable after {self.rewinds} rewinds: look at these clips, and train with a lower rate"
            )
            return GuardEvent(at, "rewind", Verdict.STOP, message, clips)
        step, passed = self._take_up(until=int(to["step"]) if to else None, weights_only=True)
        if self.ranks.leads:
            self.checkpoints.drop_after(step, damaged=passed)
        self.extra = None
        self.step, self.rewinds, self.since = step, self.rewinds + 1, 0
        self.rate = self.limits.rewind_factor**self.rewinds
        if self.rewinds >= 2:
            self.precision = "fp32"
            self.scale.off()
        aside = self.batches.put_aside(clips)
        message = "; ".join(
            [
                f"{why}back to step {step}, rate x {self.rate:g}, {many(aside, 'clip')} put in quarantine",
                *passed.values(),
            ]
        )
        return GuardEvent(at, "rewind", Verdict.NOTE, message, clips)
