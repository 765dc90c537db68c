"""One injected fault for every guard, through the real engine with all guards on, and a healthy run that none stops."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from olu.core.types import Audio
from olu.train.engine import Engine, StepReport
from olu.train.family import Clock, Figures, Loss, OpponentLoss, SpokenSample, Update
from olu.train.guards import GuardEvent, Verdict, watchmen
from olu.train.recipe import GuardSettings, PlanSettings, Recipe

from ..helpers import toys

RATE = 16000
TELLS = OpponentLoss(part="disc", loss="told", won=0.02, chance=0.5)


def speech(seed: int = 0, *, seconds: float = 2.0) -> Audio:
    """Noise that changes all the time: nothing is silent, clipped or repeated in it."""
    noise = np.random.default_rng(seed).normal(0, 0.1, round(seconds * RATE))
    moment = np.arange(len(noise)) / RATE
    return Audio((noise * (1 + np.sin(40 * moment**2))).astype(np.float32), RATE)


def guarded(learner: toys.Toy, folder: Path, *, limits: dict[str, Any] | None = None, **plan: Any) -> Engine:
    """An engine with every guard of a run, as a recipe with these limits makes them."""
    judged = isinstance(learner, toys.Judged)
    learns, opponent = ("gen", TELLS) if judged else ("body", None)
    family = SimpleNamespace(figures=Figures(score="match", learns=learns, steady=("match",), opponent=opponent))
    settings = Recipe(plan=PlanSettings(max_hours=plan.get("max_hours", 0.0)), guards=GuardSettings(**(limits or {})))
    if "demo" not in vars(learner):
        learner.demo = lambda batch: iter([SpokenSample("said", speech(), 2.0)])
    guards = watchmen(settings, family)  # type: ignore[arg-type]
    return toys.engine(learner, folder, guards=guards, limits=limits, **plan)


def ran(engine: Engine) -> tuple[list[StepReport], list[GuardEvent]]:
    """Without notes of a rate far too high: a toy's few weights begin so small that its first update moves them far."""
    reports = list(engine.train())
    return reports, [event for report in reports for event in report.events if event.guard != "fast"]


def sound_to_the_last(engine: Engine) -> None:
    """Nothing that is not a number was ever saved."""
    for step in engine.checkpoints.steps():
        held = engine.checkpoints.load(step)
        assert all(bool(torch.isfinite(t).all()) for t in (*held.weights.values(), *held.optimiser.values()))


def at(turns: range | set[int], change: Any, *, part: str = "body") -> Any:
    """Change this part's updates at these turns, counted over everything, rewinds too."""
    count = iter(range(10**9))

    def meddle(update: Update, clock: Clock) -> Update:
        return change(update) if update.part == part and next(count) in turns else update

    return meddle


class Turned(torch.autograd.Function):
    """The value as it is, its gradient times something."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0] * ctx.factor, None


def scaled(factor: float) -> Any:
    """Every loss times so much."""
    return lambda update: Update(
        update.part, {name: replace(loss, sum=loss.sum * factor) for name, loss in update.losses.items()}
    )


def gradient(factor: float) -> Any:
    """Every loss as it is, with a gradient times so much."""

    def change(update: Update) -> Update:
        turned = {name: replace(loss, sum=Turned.apply(loss.sum, factor)) for name, loss in update.losses.items()}
        return Update(update.part, turned)

    return change


# ---------------------------------------------------------------- numbers


def test_wiring_stops_before_anything_moved(tmp_path: Path) -> None:
    learner = toys.Tokens()
    learner.meddle = lambda update, clock: Update("body", {"match": update.losses["match"]})
    before = toys.weights(learner)
    reports, said = ran(guarded(learner, tmp_path))
    assert len(reports) == 1 and said[0].guard == "wiring" and said[0].verdict is Verdict.STOP
    assert "extra.weight" in said[0].message and toys.differing(before, toys.weights(learner)) == set()


@pytest.mark.parametrize("what", [scaled(math.nan), scaled(math.inf), gradient(math.nan), gradient(math.inf)])
def test_finite_skips_a_loss_or_gradient_that_is_no_number_and_later_goes_back(what: Any, tmp_path: Path) -> None:
    learner = toys.made("tokens")
    learner.meddle = at({5, 12, 13, 14, 15}, what)
    engine = guarded(learner, tmp_path, save_every=5, clips=toys.examples(80))
    _, said = ran(engine)
    verdicts = [event.verdict.name for event in said]
    assert verdicts == ["SKIP", "SKIP", "SKIP", "SKIP", "REWIND", "NOTE"] and engine.step == 40
    assert said[-1].message.startswith("back to step 15, rate x 0.5, 4 clips put in quarantine")
    sound_to_the_last(engine)


@pytest.mark.parametrize("what", ["weight", "buffer"])
def test_finite_goes_back_from_a_weight_or_buffer_that_is_no_number(what: str, tmp_path: Path) -> None:
    learner = toys.made("adapter")
    engine = guarded(learner, tmp_path, save_every=5, clips=toys.examples(80))
    engine.live["body"] = engine.live.pop("adapter")  # the name the guards are told to watch
    real = learner.updates
    learner.updates = lambda batch, clock: (replace(update, part="body") for update in real(batch, clock))
    spoilt = iter([learner.adapter[0].weight if what == "weight" else learner.adapter[1].running_mean])
    said: list[GuardEvent] = []
    for report in engine.train():
        said += report.events
        if report.step == 12 and (tensor := next(spoilt, None)) is not None:
            tensor.data.view(-1)[0] = math.nan
    assert engine.step == 40 and engine.rewinds == 1, said
    assert any(event.verdict is Verdict.REWIND or "not a number" in event.message for event in said)
    sound_to_the_last(engine)


def test_spike_skips_one_leap_and_goes_back_from_many(tmp_path: Path) -> None:
    learner = toys.Tokens(clip=1.0)
    learner.meddle = at({25, 90, 92, 94, 96, 98}, gradient(1e4))
    engine = guarded(learner, tmp_path, steps=120, clips=toys.examples(80))
    _, said = ran(engine)
    assert [e.verdict.name for e in said if e.guard == "spike"] == ["SKIP"] * 5 + ["REWIND"]
    assert said[0].clips and "the update was not made" in said[0].message
    assert engine.step == 120 and engine.rewinds == 1 and set(said[-2].clips) <= set(engine.batches.quarantine)


def test_memory_halves_the_pieces_and_goes_on(tmp_path: Path) -> None:
    learner = toys.Tokens()

    def full(update: Update, clock: Clock) -> Update:
        if len(learner.heard[-1]) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return update

    learner.meddle = full
    engine = guarded(learner, tmp_path, batch_clips=8)
    reports, said = ran(engine)
    assert {event.guard for event in said} == {"memory"} and engine.step == 40 and engine.pieces == 4
    assert max(report.clips for report in reports) == 8


def test_still_stops_with_what_to_look_at(tmp_path: Path) -> None:
    learner = toys.Tokens()
    learner.meddle = at(range(10, 10**6), gradient(0.0))
    engine = guarded(learner, tmp_path)
    reports, said = ran(engine)
    (event,) = said
    assert (event.guard, event.verdict, len(reports)) == ("still", Verdict.STOP, 30)
    assert "weight of 0" in event.message and "frozen" in event.message


# ---------------------------------------------------------------- getting anywhere


def test_slow_names_a_rate_to_try_and_a_good_rate_is_left_alone(tmp_path: Path) -> None:
    limits = {"slow_after": 100}
    for lr, told in ((2e-6, True), (0.02, False)):
        torch.manual_seed(1)
        engine = guarded(toys.Tokens(lr=lr), tmp_path / str(lr), limits=limits, steps=120)
        _, said = ran(engine)
        assert [event.guard for event in said] == ["slow"] * told, said
        assert not told or "try 2e-05" in said[0].message
        assert engine.step == 120


def test_a_rate_far_too_high_is_noted_with_a_fair_one(tmp_path: Path) -> None:
    """Clipped, such a run shows nothing that is not a number: only how far its weights move tells."""
    engine = guarded(toys.Tokens(lr=2.0, clip=1.0), tmp_path)
    said = [event for report in engine.train() for event in report.events if event.guard == "fast"]
    assert len(said) == 1 and said[0].verdict is Verdict.NOTE and "the rate 2 is far too high" in said[0].message


@pytest.mark.parametrize("fault", ["won", "blind"])
def test_balance_notes_then_stops(fault: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    learner = toys.Judged(lr=1e-9 if fault == "won" else 0.02)
    if fault == "won":  # the generator stands still, far off, so that the judge soon knows all
        learner.gen.bias.data += 20.0
    else:  # the judge says the same of everything, and hardly learns
        learner.disc[2].weight.data.zero_()
        learner.disc[2].bias.data.fill_(0.5)
        real = learner.parts
        learner.parts = lambda: {**real(), "disc": replace(real()["disc"], lr=1e-12)}
    engine = guarded(learner, tmp_path, limits={"balance_patience": 50}, steps=250, validate_every=250)
    reports, said = ran(engine)
    assert [(event.guard, event.verdict) for event in said] == [("balance", Verdict.NOTE), ("balance", Verdict.STOP)]
    assert ("tells real from made every time" if fault == "won" else "only guesses") in said[0].message
    assert said[1].step - said[0].step == 50 and len(reports) < 250


def test_drift_notes_a_loss_that_left_its_best_but_not_the_voice(tmp_path: Path) -> None:
    learner = toys.Tokens()
    more = lambda update: Update("body", {n: replace(x, sum=x.sum + 1000.0) for n, x in update.losses.items()})  # noqa: E731
    learner.meddle = at(range(120, 10**6), more)
    engine = guarded(learner, tmp_path, limits={"drift_warmup": 60, "drift_patience": 40}, steps=260)
    _, said = ran(engine)
    assert [(event.guard, event.verdict) for event in said] == [("drift", Verdict.NOTE)]
    assert "times its best" in said[0].message and engine.step == 260


def test_drift_goes_back_when_the_voice_is_worse_too(tmp_path: Path) -> None:
    learner = toys.Tokens()
    learner.meddle = at(range(150, 250), gradient(-1.0))  # uphill for a while
    limits = {"drift_warmup": 60, "drift_patience": 40}
    engine = guarded(learner, tmp_path, limits=limits, steps=300, save_every=100, validate_every=50)
    _, said = ran(engine)
    assert ("drift", Verdict.REWIND) in {(event.guard, event.verdict) for event in said}, said
    back = [event for event in said if event.guard == "rewind"]
    assert [event.message.split(",")[0] for event in back] == ["back to step 150"], "the best, not the newest"
    assert engine.step == 300 and engine.best["step"] > 150
    assert engine.batches.quarantine == []  # no single clip is to blame


def test_overfit_names_the_step_to_export(tmp_path: Path) -> None:
    torch.manual_seed(1)
    learner = toys.Tokens(lr=0.005)
    there = learner.body["net"].weight.detach().T + 0.4 * (toys.TRUTH - learner.body["net"].weight.detach().T)

    def validate(batch: toys.ToyBatch) -> dict[str, Loss]:
        """What is validated lies on the way to what is trained: first nearer, then further and further."""
        return {"match": Loss((learner.body["net"](batch.x_NC) - batch.x_NC @ there).square().sum(), "tokens")}

    learner.validate = validate
    engine = guarded(learner, tmp_path, steps=400, validate_every=20)
    _, said = ran(engine)
    (event,) = said
    assert event.guard == "overfit" and event.verdict is Verdict.NOTE and engine.step == 400
    best = int(engine.best["step"])
    assert f"step {best} is the one to export" in event.message and 0 < best < 300
    assert best in engine.checkpoints.steps()


# ---------------------------------------------------------------- samples


@pytest.mark.parametrize("fault", ["silent", "repetitive", "clipped", "endless"])
def test_samples_are_noted_once_after_the_warm_up(fault: str, tmp_path: Path) -> None:
    loop = np.tile(speech(3, seconds=0.5).samples, 6)
    bad = {
        "silent": Audio(np.zeros(2 * RATE, np.float32), RATE),
        "repetitive": Audio(loop, RATE),
        "clipped": Audio(np.sign(speech(1).samples), RATE),
        "endless": speech(2, seconds=9.0),
    }[fault]
    learner = toys.made("tokens")

    def demo(batch: toys.ToyBatch) -> Iterator[SpokenSample]:
        yield SpokenSample("said", speech() if engine.step == 20 else bad, 2.0)

    learner.demo = demo
    engine = guarded(learner, tmp_path, steps=60)
    _, said = ran(engine)
    (event,) = said
    assert (event.guard, event.verdict, event.step) == ("samples", Verdict.NOTE, 30)
    assert fault in event.message and engine.step == 60


# ---------------------------------------------------------------- budgets


def test_a_used_up_clock_saves_stops_and_can_go_on(tmp_path: Path) -> None:
    engine = guarded(toys.made("tokens"), tmp_path, max_hours=1e-6)
    reports, said = ran(engine)
    assert said[-1].verdict is Verdict.STOP and reports[-1].ends and engine.step == 20
    assert engine.checkpoints.steps()[-1] == 20 and "go on with --resume" in said[-1].message
    again = guarded(toys.made("tokens", seed=9), tmp_path)
    again.resume()
    assert list(again.train())[-1].step == 40


def test_a_disk_that_fills_is_noted_early_and_stops_in_time(tmp_path: Path) -> None:
    engine = guarded(toys.made("tokens"), tmp_path, steps=100)
    left = iter([10.0, 2.0, 2.0, 1.1])
    engine.checkpoints.room = lambda: (int(1e6 * next(left)), 10**6)
    reports, said = ran(engine)
    assert [event.verdict for event in said] == [Verdict.NOTE, Verdict.STOP] and engine.step == 80
    assert "fewer than three more checkpoints" in said[0].message and "free some" in said[1].message
    assert reports[-1].ends and engine.checkpoints.steps()[-1] == 80


def test_a_starving_loader_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock of our own: a batch takes 0.6 s to come, its update 0.4 s."""
    now = [0.0]
    monkeypatch.setattr("olu.train.engine.time", SimpleNamespace(monotonic=lambda: now[0]))

    def passes(seconds: float) -> None:
        now[0] += seconds

    learner = toys.made("tokens")
    learner.meddle = lambda update, clock: passes(0.4) or update
    engine = guarded(learner, tmp_path, steps=60)
    make = engine.batches.make
    engine.batches.make = lambda clips: passes(0.6) or make(clips)
    _, said = ran(engine)
    assert [(event.guard, event.verdict) for event in said] == [("budget", Verdict.NOTE)]
    assert said[0].message.startswith("60 % of the time went into waiting for batches")


# ---------------------------------------------------------------- health


@pytest.mark.parametrize("seed", [1, 2] if os.environ.get("OLU_SOAK") == "1" else [1])
def test_a_healthy_noisy_gan_is_left_alone_by_all_of_them(seed: int, tmp_path: Path) -> None:
    """Noise in what the generator hears, and losses that are six times another in one step of a hundred."""
    torch.manual_seed(seed)
    learner = toys.Judged(noise=1.0)
    draw = torch.Generator().manual_seed(seed)

    def noisy(update: Update, clock: Clock) -> Update:
        wild = float(torch.exp(0.8 * torch.randn((), generator=draw)))
        return Update(update.part, {n: replace(loss, weight=loss.weight * wild) for n, loss in update.losses.items()})

    learner.meddle = noisy
    engine = guarded(learner, tmp_path, seed=seed, steps=600, validate_every=100, save_every=100)
    assert len(engine.guards) == 10
    reports, said = ran(engine)
    assert len(reports) == 600 and engine.rewinds == 0
    assert all(event.verdict <= Verdict.SKIP for event in said), said
    assert len(said) <= 3, said
