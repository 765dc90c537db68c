"""Every guard on the recorded path: a fault on the device or in the numbers it leaves. Needs a GPU: pytest -m gpu."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.families import family
from olu.train.batches import Batches, make_buckets
from olu.train.checkpoint import Checkpoints
from olu.train.cuda_graph import AHEAD, FastSteps, Flight, Resident
from olu.train.engine import Engine
from olu.train.family import Example
from olu.train.guards import GuardEvent, Verdict, watchmen
from olu.train.recipe import Recipe

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available() or find_spec("triton") is None, reason="no CUDA device"),
]
RATE = 16000


def examples(number: int = 8) -> dict[str, Example]:
    random = np.random.default_rng(0)
    found = {}
    for at in range(number):
        samples = (random.standard_normal(RATE + 800 * (at % 3)) * 2000).astype(np.int16)
        ids = tuple(map(int, random.integers(1, 12, 20 + at % 3)))
        found[f"c{at}"] = Example(f"c{at}", ids, samples, 0)
    return found


def recorded(folder: Path, *, limits: dict[str, Any] | None = None, record: bool = True, **plan: Any) -> Engine:
    vits = family("vits")
    torch.manual_seed(0)
    learner = vits.learner(vits.config(size="tiny", segment_size=4096), vocab_size=12, num_speakers=1)
    asked = {"steps": 200, "batch_clips": 4, "validate_every": 10**6, "save_every": 10, "demo_clips": 0, **plan}
    recipe = Recipe.model_validate({"plan": asked, "guards": limits or {}})
    made = examples()
    length = {clip: len(one.samples) for clip, one in made.items()}
    tokens = {clip: len(one.ids) for clip, one in made.items()}
    buckets = make_buckets(length, tokens, rate=RATE, batch_clips=4, batch_seconds=1e6, most=2)
    batches = Batches(
        list(made),
        [count / RATE for count in length.values()],
        example=made.__getitem__,
        collate=learner.collate,
        seed=1,
        batch_clips=4,
        batch_seconds=1e6,
        buckets=buckets,
    )
    learner.to("cuda")
    resident = Resident(learner, list(made), example=made.__getitem__, buckets=buckets, device="cuda")
    engine = Engine(
        learner,
        batches,
        validation=list,
        score="mel",
        plan=recipe.plan,
        rewinds=recipe.guards,
        guards=watchmen(recipe, vits),
        checkpoints=Checkpoints(folder, keep=2),
        seed=1,
        device="cuda",
        resident=resident,
    )
    if not record:
        assert engine.fast is not None
        engine.fast.off = "said: not wanted"
    return engine


def run(engine: Engine, *, faults: dict[int, Callable[[], None]] | None = None) -> list[GuardEvent]:
    """Faults are set after these steps, each once."""
    events: list[GuardEvent] = []
    waiting = dict(faults or {})
    for report in engine.train():
        events += report.events
        if fault := waiting.pop(report.step, None):
            fault()
    return events


def played(engine: Engine) -> int:
    assert engine.fast is not None
    return engine.fast.played


def weights_are_finite(engine: Engine) -> bool:
    return all(bool(torch.isfinite(p).all()) for p in engine.module.parameters())


def test_a_healthy_recorded_run_is_left_alone(tmp_path: Path) -> None:
    engine = recorded(tmp_path, steps=60)
    assert [event for event in run(engine) if event.verdict > Verdict.NOTE] == []
    assert played(engine) > 40 and engine.step == 60


def test_finite_goes_back_from_a_weight_that_is_no_number(tmp_path: Path) -> None:
    engine = recorded(tmp_path, steps=60)

    def break_it() -> None:
        with torch.no_grad():
            engine.module.gen.decoder.conv_pre.weight[0, 0, 0] = math.nan  # type: ignore[union-attr]

    events = run(engine, faults={35: break_it})
    assert {event.guard for event in events} >= {"finite"} and engine.rewinds >= 1
    assert engine.step == 60 and weights_are_finite(engine)
    for step in engine.checkpoints.steps():
        assert all(bool(torch.isfinite(t).all()) for t in engine.checkpoints.load(step).weights.values())


def test_a_spike_is_not_followed_and_many_go_back(tmp_path: Path) -> None:
    engine = recorded(tmp_path, steps=90, save_every=20)  # none is saved before the guard has seen enough
    held: list[torch.Tensor] = []

    def leap() -> None:
        with torch.no_grad():
            held.append(engine.module.gen.text_encoder.project.weight.clone())  # type: ignore[union-attr]
            engine.module.gen.text_encoder.project.weight.mul_(-6)  # type: ignore[union-attr]

    events = run(engine, faults={65: leap})
    assert "spike" in {event.guard for event in events} and engine.rewinds >= 1
    assert engine.step == 90 and weights_are_finite(engine)


def numbers(monkeypatch: pytest.MonkeyPatch, change: Callable[[Flight, list[float]], None]) -> None:
    """Change what the device left, before the host reads it."""
    land = FastSteps._land

    def meddled(self: FastSteps) -> Any:
        flight = self.pending[0]
        flight.landed.synchronize()
        values = flight.numbers.tolist()
        change(flight, values)
        flight.numbers.copy_(torch.tensor(values))
        return land(self)

    monkeypatch.setattr(FastSteps, "_land", meddled)


def place(flight: Flight, part: str, loss: str | None) -> int:
    """Where a loss of a part stands, or its gradient's norm."""
    at = 0
    for name, losses, *_ in flight.graph.rows:
        if name == part:
            return at + (len(losses) if loss is None else losses.index(loss))
        at += len(losses) + 1
    raise KeyError(part)


FAULTS: dict[str, tuple[str, str | None, Callable[[int], float], dict[str, Any]]] = {
    "still": ("gen", None, lambda step: 0.0, {"still_patience": 5}),
    "slow": ("gen", "mel", lambda step: 9.0, {"slow_after": 60}),
    "drift": ("gen", "mel", lambda step: 0.3 if step < 60 else 40.0, {"drift_patience": 30, "drift_warmup": 20}),
    "balance": ("disc", "disc", lambda step: 0.001, {"balance_patience": 30}),
}


@pytest.mark.parametrize("guard", FAULTS)
def test_a_guard_that_reads_numbers_trips(guard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part, loss, value, limits = FAULTS[guard]

    def change(flight: Flight, values: list[float]) -> None:
        values[place(flight, part, loss)] = value(flight.step)

    numbers(monkeypatch, change)
    engine = recorded(tmp_path, limits=limits, steps=180)
    assert guard in {event.guard for event in run(engine)} and played(engine)


def test_memory_that_runs_out_while_recording_takes_the_plain_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(FastSteps, "_record", full)
    engine = recorded(tmp_path / "full", steps=12)
    events = run(engine)
    assert [event.guard for event in events if event.verdict is Verdict.NOTE][:1] == ["record"]
    assert engine.step == 12 and played(engine) == 0


def test_a_recording_that_fails_midway_takes_the_plain_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = FastSteps._body

    def asks_the_device(self: FastSteps, *given: Any) -> None:
        body(self, *given)
        torch.ones(1, device="cuda").sum().item()  # not allowed while recording

    with monkeypatch.context() as patched:
        patched.setattr(FastSteps, "_body", asks_the_device)
        engine = recorded(tmp_path / "fails", steps=12)
        events = run(engine)
    assert [event.guard for event in events if event.verdict is Verdict.NOTE][:1] == ["record"]
    assert engine.step == 12 and played(engine) == 0
    after = recorded(tmp_path / "after", steps=12)
    run(after)
    assert played(after)


def test_a_clock_that_is_used_up_saves_and_stops(tmp_path: Path) -> None:
    engine = recorded(tmp_path, steps=10**5, max_hours=0.002)
    events = run(engine)
    assert "budget" in {event.guard for event in events}
    saved_as_it_stood(engine)


def saved_as_it_stood(engine: Engine) -> None:
    """The newest checkpoint has the weights of its step, not of steps that were in flight."""
    assert played(engine) and engine.fast is not None and engine.fast.is_settled()
    saved = engine.checkpoints.load(engine.checkpoints.steps()[-1])
    assert saved.state["step"] == engine.step
    made = {name: live.updates for name, live in engine.live.items()}
    assert saved.state["updates"] == made == dict.fromkeys(made, engine.step)
    torch.cuda.synchronize()
    now = engine.snapshot()
    assert saved.state["batches"] == now.state["batches"]
    assert all(torch.equal(t.cpu(), saved.weights[name]) for name, t in now.weights.items())


@pytest.mark.parametrize("at", [31, 36, 37])
def test_a_stop_lands_what_is_in_flight_and_goes_on_as_it_would_have(at: int, tmp_path: Path) -> None:
    whole = recorded(tmp_path / "whole", steps=50, save_every=1000)
    losses = {r.step: o.losses["mel"] for r in whole.train() for o in r.seen if o.part == "gen"}
    first = recorded(tmp_path / "two", steps=50, save_every=1000)
    first.asked = lambda: 15 if first.step >= at else 0
    run(first)
    assert at <= first.step <= at + AHEAD + 1
    saved_as_it_stood(first)
    second = recorded(tmp_path / "two", steps=50, save_every=1000)
    second.resume()
    again = {r.step: o.losses["mel"] for r in second.train() for o in r.seen if o.part == "gen"}
    assert list(again) == list(range(first.step + 1, 51))
    for step, loss in again.items():
        assert loss == pytest.approx(losses[step], rel=0.05)


def test_a_recorded_run_resumes_as_it_would_have_gone_on(tmp_path: Path) -> None:
    whole = recorded(tmp_path / "whole", steps=40)
    losses = {r.step: o.losses["mel"] for r in whole.train() for o in r.seen if o.part == "gen"}
    first = recorded(tmp_path / "two", steps=20)
    run(first)
    second = recorded(tmp_path / "two", steps=40)
    second.resume()
    again = {r.step: o.losses["mel"] for r in second.train() for o in r.seen if o.part == "gen"}
    assert next(iter(again)) == 21 and played(second)
    for step, loss in again.items():
        assert loss == pytest.approx(losses[step], rel=0.05)


def test_recorded_and_plain_steps_give_the_same_losses(tmp_path: Path) -> None:
    curves = []
    for record in (True, False):
        engine = recorded(tmp_path / str(record), steps=40, record=record)
        curves.append([o.losses["mel"] for r in engine.train() for o in r.seen if o.part == "gen"])
    np.testing.assert_allclose(curves[0], curves[1], rtol=0.02)
