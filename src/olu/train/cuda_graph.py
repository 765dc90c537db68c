"""Steps recorded once per shape as a CUDA graph and played back: the GPU never waits for the host.

A recorded step decides on the device whether its updates are sound; the host reads its numbers a few steps later and
asks the guards then. What cannot be recorded takes the plain way through the engine, with the same batches.
"""

from __future__ import annotations

import gc
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from olu.train.batches import BatchShape, Buckets
from olu.train.family import Clock, Example, PackedLearner
from olu.train.guards import GuardEvent, Observation, Spike, Verdict
from olu.train.part import MEASURE_EVERY
from olu.train.schedule import rate_factor

if TYPE_CHECKING:
    from olu.train.engine import Engine

AHEAD = 3  # steps the host may be behind the device
MOST_GRAPHS = 24
WARM = 2  # plain steps of a shape before it is recorded: kernels are chosen and memory settles


@dataclass
class RecordedStep:
    """A recorded step. `flat` and `knobs` are what it reads, `out` what it leaves."""

    graph: Any
    flat: Tensor
    knobs: Tensor
    names: dict[str, int]  # place of each knob
    out: Tensor = field(default_factory=lambda: torch.zeros(0))
    rows: list[tuple[str, list[str], list[str]]] = field(
        default_factory=list
    )  # part, losses, limited prefixes, as in `out`


@dataclass
class Flight:
    """A step that was started and not yet read."""

    step: int
    clips: tuple[str, ...]
    numbers: Tensor
    landed: torch.cuda.Event
    graph: RecordedStep
    limits: dict[str, float]
    rates: dict[str, float]
    counts: dict[str, float]
    epoch: int
    scale: float
    held: tuple[Tensor, ...]  # pinned memory that the device still reads


class FastSteps:
    def __init__(self, engine: Engine, resident: Resident) -> None:
        self.engine, self.resident = engine, resident
        self.graphs: dict[tuple[Any, ...], RecordedStep] = {}
        self.seen: dict[tuple[Any, ...], int] = {}
        self.pending: deque[Flight] = deque()
        self.waiting: list[str] = []  # clips of the next step, when it takes the plain way
        self.landing = False  # no step is started any more: those in flight are read, then the run is saved
        self.off = ""  # why nothing is recorded any more
        self.pool: Any = None
        self.played = 0
        self.tune = True  # cuDNN tries its kernels for a shape before that is recorded
        self._read = time.monotonic()

    def ready(self) -> bool:
        e = self.engine
        plain = e.pieces > 1 or e.plan.accumulate > 1 or e.ranks.size > 1
        return not (plain or any(live.held or live.late for live in e.live.values()))

    def forget(self) -> None:
        """Drop all recordings: weights or moments were replaced, and they read the old ones."""
        torch.cuda.synchronize()
        self.pending.clear()
        self.graphs.clear()
        self.waiting = []

    def advance(self) -> tuple[tuple[str, ...], list[Observation], list[GuardEvent], float]:
        """The next step that is finished: its clips, what was seen, what guards said, seconds spent on batches."""
        while not self.landing and len(self.pending) <= AHEAD and self._next() < self._boundary() and self._launch():
            pass
        if self.pending:
            return self._land()
        return self._plain()

    @contextmanager
    def _tuned(self) -> Iterator[None]:
        """Let cuDNN choose kernels by trial, but not while samples of any length are spoken."""
        before = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = self.tune
        try:
            yield
        finally:
            torch.backends.cudnn.benchmark = before

    def is_settled(self) -> bool:
        """Whether the weights are those of the engine's step, and no clips were taken beyond it."""
        return not self.pending and not self.waiting

    def settle(self) -> bool:
        """Start no step any more; whether all that were started are read."""
        self.landing = True
        return self.is_settled()

    def _next(self) -> int:
        return self.engine.step + len(self.pending)

    def _boundary(self) -> int:
        """The step past which none is started: after it something is saved, validated or ended."""
        e, at = self.engine, self.engine.step
        due = [e.plan.steps, *((at // every + 1) * every for every in (e.plan.validate_every, e.plan.save_every))]
        return min(due)

    def _clips(self) -> list[str]:
        if not self.waiting:
            self.waiting = self.engine._next_clips()[0]
        return self.waiting

    def _key(self, shape: BatchShape) -> tuple[Any, ...]:
        e = self.engine
        moves = tuple(live.moves(self._next()) for live in e.live.values())
        return (shape, moves, e.precision)

    # ------------------------------------------------------------ starting a step

    def _launch(self) -> bool:
        """Start the next step if it is recorded, or can be now."""
        clips = self._clips()
        flat, shape, counts = self.resident.pack(clips)
        key = self._key(shape)
        if key not in self.graphs:
            if self.off or self.pending or self.seen.get(key, 0) < WARM or len(self.graphs) >= MOST_GRAPHS:
                return False
            try:
                with self._tuned():
                    self.graphs[key] = self._record(shape, flat, counts)
            except RuntimeError as bad:  # memory too: torch.OutOfMemoryError is one
                self.off = str(bad).strip().splitlines()[0][:160] or type(bad).__name__
                self._after_failure()
                return False
        self._play(self.graphs[key], clips, flat, counts)
        self.waiting = []
        return True

    def _after_failure(self) -> None:
        self.graphs.clear()
        _let_go_of_chance()
        for live in self.engine.live.values():
            live.clear()
            live.use_numbers()
        torch.cuda.empty_cache()

    def _play(self, graph: RecordedStep, clips: list[str], flat: Tensor, counts: dict[str, float]) -> None:
        e, step = self.engine, self._next()
        values, limits, rates = self._knob_values(graph.names, step, counts)
        held = (flat.pin_memory(), torch.tensor(values, dtype=torch.float32).pin_memory())
        graph.flat.copy_(held[0], non_blocking=True)
        graph.knobs.copy_(held[1], non_blocking=True)
        e.seed_step(step)
        moving = [live for live in e.live.values() if live.moves(step)]
        measured = [live for live in moving if live.updates % MEASURE_EVERY == 0]
        before = [[p.detach().clone() for p in live.params] for live in measured]
        graph.graph.replay()
        for live, old in zip(measured, before, strict=True):
            live.measure_later(old)
        for live in moving:
            live.updates += 1
        numbers = torch.empty(graph.out.shape, dtype=torch.float32, pin_memory=True)
        numbers.copy_(graph.out, non_blocking=True)
        landed = torch.cuda.Event()  # type: ignore[no-untyped-call]
        landed.record()
        self.played += 1
        epoch, scale = e.batches.epoch, e.scale.value
        self.pending.append(
            Flight(step, tuple(clips), numbers, landed, graph, limits, rates, counts, epoch, scale, held)
        )

    def _knob_values(
        self, names: Mapping[str, int], step: int, counts: Mapping[str, float]
    ) -> tuple[list[float], dict[str, float], dict[str, float]]:
        e = self.engine
        factor = rate_factor(step, e.batches.epoch, e.plan, e.history) * e.rate
        spike = next((guard for guard in e.guards if isinstance(guard, Spike)), None)
        limits = {name: spike.limit(name) if spike else math.inf for name in e.live}
        rates = {name: live.part.lr * factor for name, live in e.live.items()}
        values: dict[str, float] = {"scale": e.scale.value}
        values |= {f"count/{over}": count for over, count in counts.items()}
        values |= {f"knob/{name}": value for name, value in self.resident.learner.knobs(step).items()}
        for name, live in e.live.items():
            values |= {f"limit/{name}": limits[name], f"follow/{name}": live.follow(live.updates + 1)}
            values |= {f"rate/{name}/{at}": rates[name] * scale for at, scale in enumerate(live.scales())}
        return [values[name] for name in names], limits, rates

    # ------------------------------------------------------------ recording

    def _record(self, shape: BatchShape, flat: Tensor, counts: dict[str, float]) -> RecordedStep:
        e, device = self.engine, self.engine.device
        names = self._knob_names(counts)
        graph = RecordedStep(torch.cuda.CUDAGraph(), flat.to(device), torch.zeros(len(names), device=device), names)
        values, _, _ = self._knob_values(names, self._next(), counts)
        graph.knobs.copy_(torch.tensor(values))
        for live in e.live.values():
            live.clear()
        e._training_mode()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()  # what plain steps of this shape have left in the cache
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        parts: list[Tensor] = []
        try:
            with _nothing_collected(), torch.cuda.graph(graph.graph, pool=self.pool):
                self._body(graph, shape, parts)
                graph.out = torch.stack(parts)
        finally:
            for live in e.live.values():
                live.clear()
                live.use_numbers()
        return graph

    def _knob_names(self, counts: Mapping[str, float]) -> dict[str, int]:
        e = self.engine
        names = ["scale", *(f"count/{over}" for over in counts)]
        names += [f"knob/{name}" for name in self.resident.learner.knobs(0)]
        for name, live in e.live.items():
            names += [f"limit/{name}", f"follow/{name}", *(f"rate/{name}/{at}" for at, _ in enumerate(live.scales()))]
        return {name: place for place, name in enumerate(names)}

    def _body(self, graph: RecordedStep, shape: BatchShape, parts: list[Tensor]) -> None:
        """What the engine does in a plain step, on the device alone."""
        e, step = self.engine, self._next()
        knob = {name: graph.knobs[place] for name, place in graph.names.items()}
        learner_knobs = {name.removeprefix("knob/"): value for name, value in knob.items() if name.startswith("knob/")}
        batch = self.resident.learner.unpack(graph.flat, self.resident.held, shape)
        updates = self.resident.learner.step(batch, Clock(step, e.plan.steps, learner_knobs))
        half = e._half()
        bad = torch.zeros((), device=e.device)
        while True:
            with torch.autocast("cuda", dtype=half, enabled=half is not None):
                update = next(updates, None)
            if update is None:
                return
            live = e.live[update.part]
            if not live.moves(step):
                continue
            sums = torch.stack([loss.sum.detach().float() for loss in update.losses.values()])
            total = torch.zeros((), device=e.device)
            for loss in update.losses.values():
                total = total + loss.sum * (loss.weight / knob[f"count/{loss.over}"])
            (total * knob["scale"]).backward(inputs=live.params)  # type: ignore[no-untyped-call]
            grads = live.grads()
            if e.scale.on:
                torch._foreach_mul_(grads, 1.0 / knob["scale"])
            norm = nn.utils.get_total_norm(grads)
            well = torch.isfinite(norm) & torch.isfinite(sums).all() & (norm <= knob[f"limit/{update.part}"])
            bad = torch.maximum(bad, 1.0 - well.float())
            norms = live.norms()
            live.clip(norm, norms)
            rates = [knob[f"rate/{update.part}/{at}"] for at, _ in enumerate(live.scales())]
            live.apply_recorded(rates, knob[f"follow/{update.part}"], bad)
            over = torch.stack([knob[f"count/{loss.over}"] for loss in update.losses.values()])
            parts += [*(sums / over), norm, *norms.values()]
            graph.rows.append((update.part, list(update.losses), list(norms)))
            for parameter in live.params:
                parameter.grad = None

    # ------------------------------------------------------------ reading a step

    def _land(self) -> tuple[tuple[str, ...], list[Observation], list[GuardEvent], float]:
        e, flight = self.engine, self.pending.popleft()
        flight.landed.synchronize()
        numbers, at = flight.numbers.tolist(), 0
        seen: list[Observation] = []
        events: list[GuardEvent] = []
        for part, names, limited in flight.graph.rows:
            losses = dict(zip(names, numbers[at : at + len(names)], strict=True))
            norm, at = numbers[at + len(names)], at + len(names) + 1
            norms, at = dict(zip(limited, numbers[at:], strict=False)), at + len(limited)
            one = Observation(
                step=flight.step,
                part=part,
                losses=losses,
                grad_norm=norm,
                lr=flight.rates[part],
                clips=flight.clips,
                epoch=flight.epoch,
                ratio=e.live[part].ratio_now(),
                limit=flight.limits[part],
                norms=norms,
            )
            seen.append(one)
            if not self._accepted(one, flight, events):
                break
        return flight.clips, seen, events, 0.0

    def _accepted(self, one: Observation, flight: Flight, events: list[GuardEvent]) -> bool:
        """Settle a recorded update after the fact; whether it was made on the device."""
        e = self.engine
        if flight.scale > 1.0 and not math.isfinite(one.grad_norm):
            if flight.scale <= e.scale.value:  # else it was heard of already
                e.scale.overflowed()
            raised = [GuardEvent(one.step, "scale", Verdict.SKIP, f"fp16 overflowed: loss scale {e.scale.value:g}")]
        else:
            raised = e._ask(one)
        events += raised
        made = (
            all(map(math.isfinite, (one.grad_norm, *one.losses.values()))) and one.grad_norm <= flight.limits[one.part]
        )
        if made and not any(event.verdict >= Verdict.SKIP for event in raised):
            e.scale.went_well()
            e.note_losses(one)
            return True
        e.batches.put_aside([clip for event in raised for clip in event.aside])
        rest = [part for part, *_ in flight.graph.rows]
        for part in () if made else rest[rest.index(one.part) :]:
            e.live[part].updates -= 1  # the device made none of them
        return False

    def _plain(self) -> tuple[tuple[str, ...], list[Observation], list[GuardEvent], float]:
        """A step of a shape that is new, or that cannot be recorded."""
        clips = self._clips()
        self.waiting = []
        key = self._key(self.resident.buckets.shape_of(clips))
        self.seen[key] = self.seen.get(key, 0) + 1
        with self._tuned():
            seen, events, waited = self.engine._step([clips])
        if self.off and not self.off.startswith("said: "):
            message = f"steps are not recorded ({self.off}): training goes on in the plain way, with the same results"
            events.append(GuardEvent(self.engine.step, "record", Verdict.NOTE, message))
            self.off = f"said: {self.off}"
        return tuple(clips), seen, events, waited


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keep the garbage collector from freeing old recordings while a new one is made."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _let_go_of_chance() -> None:
    """Free the random generator from a recording that failed midway; every step is seeded anew."""
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    generator.graphsafe_set_state(torch.Generator("cuda").graphsafe_get_state())


SHARE = 0.25  # of the device's memory that sound may take


class Resident:
    """What of all clips lies on the device, by name, where each clip begins in it, and batches made of it."""

    def __init__(
        self, learner: object, clips: Sequence[str], *, example: Callable[[str], Example], buckets: Buckets, device: str
    ) -> None:
        self.learner, self.example, self.buckets = cast(PackedLearner, learner), example, buckets
        kept = [self.learner.resident(example(clip)) for clip in clips]
        self.held: dict[str, Tensor] = {}
        self.first: dict[str, dict[str, int]] = {}
        for name in kept[0]:
            rows = [one[name] for one in kept]
            ends = np.cumsum([len(values) for values in rows])
            self.first[name] = {clip: int(end) - len(one) for clip, end, one in zip(clips, ends, rows, strict=True)}
            self.held[name] = torch.from_numpy(np.concatenate(rows)).to(device)

    @staticmethod
    def fits(taken: int, device: str) -> bool:
        """Whether so many bytes are a small part of the device's memory."""
        return taken < SHARE * torch.cuda.get_device_properties(device).total_memory

    def pack(self, clips: Sequence[str]) -> tuple[Tensor, BatchShape, dict[str, float]]:
        examples = [self.example(clip) for clip in clips]
        shape = self.buckets.shape_of(clips)
        firsts = {name: [first[clip] for clip in clips] for name, first in self.first.items()}
        flat = self.learner.pack(examples, firsts, shape)
        return torch.from_numpy(flat), shape, self.learner.counts(examples)

    def batch(self, clips: Sequence[str]) -> Any:
        """For a plain step: the same padded shape that a recorded one has."""
        flat, shape, counts = self.pack(clips)
        device = next(iter(self.held.values())).device
        return replace(self.learner.unpack(flat.to(device), self.held, shape), counts=counts, clips=tuple(clips))
