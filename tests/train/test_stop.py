"""A stop that saves: it ends after the step in hand, and the run that goes on is bit by bit the one never stopped."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from olu.core.halt import STOP_FILE, Halt, announce_to, heeded, why
from olu.train.cuda_graph import AHEAD, FastSteps
from olu.train.engine import Engine
from olu.train.engine_state import StepReport
from olu.train.family import Clock, Update
from olu.train.guards import Finite, GuardEvent, Resources, Verdict, Wiring

from ..helpers import toys
from .test_engine import nan_loss, rows

TERM = int(signal.SIGTERM)


def kept(reports: list[StepReport]) -> list[StepReport]:
    """As they are recorded: one whose validation was broken off is told again."""
    return [report for report in reports if not report.cut]


def stopped_at(engine: Engine, *steps: int) -> list[StepReport]:
    """Train until the step after which an end is asked for."""
    engine.asked = lambda: TERM if engine.step in steps else 0
    reports = list(engine.train())
    assert reports[-1].ends and reports[-1].halted == TERM and reports[-1].saves
    assert engine.checkpoints.steps()[-1] == engine.step
    return reports


def same(one: Engine, other: Engine) -> None:
    mine, theirs = one.snapshot(), other.snapshot()
    assert toys.differing(mine.weights, theirs.weights) == set()
    assert toys.differing(mine.optimiser, theirs.optimiser) == set()
    for state in (mine.state, theirs.state):
        state.pop("hours")
    assert mine.state == theirs.state
    assert one.checkpoints.steps() == other.checkpoints.steps()


PLAN = {"steps": 14, "save_every": 5, "validate_every": 4, "accumulate": 2, "schedule": "cosine", "keep": 2}


@pytest.mark.parametrize("name", toys.TOYS)
def test_stopped_again_and_again_it_ends_as_if_never_stopped(name: str, tmp_path: Path) -> None:
    """Between saves, at a save, at a validation (which is broken off), twice in a row, and at its last step but one."""
    through = toys.engine(toys.made(name), tmp_path / "through", **PLAN)
    expected = list(through.train())
    got: list[StepReport] = []
    for at in (1, 4, 5, 7, 8, 13):
        engine = toys.engine(toys.made(name, seed=at), tmp_path / "stopped", **PLAN)
        if engine.checkpoints.steps():
            assert engine.resume() == []
        got += stopped_at(engine, at)
        assert engine.step == at
    last = toys.engine(toys.made(name, seed=77), tmp_path / "stopped", **PLAN)
    last.resume()
    got += list(last.train())
    told = [row[:8] for row in rows(kept(got))]  # type: ignore[index]
    assert told == [row[:8] for row in rows(expected)]  # type: ignore[index]
    same(through, last)


def test_the_last_step_ends_by_itself(tmp_path: Path) -> None:
    engine = toys.engine(toys.made("tokens"), tmp_path, steps=6)
    asked = iter([0] * 5 + [TERM])
    engine.asked, engine._validated = lambda: next(asked), lambda: ({"match": 1.0}, ())  # type: ignore[method-assign]
    last = list(engine.train())[-1]
    assert engine.step == 6 and last.halted == TERM and last.saves and not (last.ends or last.extra or last.cut)


def test_a_rewind_goes_where_a_run_never_stopped_would_go(tmp_path: Path) -> None:
    """Not to the checkpoint that a stop left in between."""

    def made(folder: str) -> Engine:
        """A loss that is no number, once."""
        learner, struck = toys.made("tokens"), list[int]()

        def meddle(update: Update, clock: Clock) -> Update:
            if clock.step != 13 or struck:
                return update
            struck.append(13)
            return nan_loss(update)

        learner.meddle = meddle
        plan = {"steps": 25, "save_every": 10, "validate_every": 100, "guards": [Finite(patience=0)], "keep": 1}
        return toys.engine(learner, tmp_path / folder, **plan)

    through = made("through")
    list(through.train())
    assert through.rewinds == 1
    stopped_at(made("stopped"), 12)
    again = made("stopped")
    again.resume()
    assert again.step == 12
    told = [event.message for report in again.train() for event in report.events if event.guard == "rewind"]
    assert again.rewinds == 1 and told[0].startswith("back to step 10")
    same(through, again)


def test_a_stop_during_a_validation_does_not_wait_for_it(tmp_path: Path) -> None:
    through = toys.engine(toys.made("judged"), tmp_path / "through", steps=12, save_every=100, validate_every=4)
    expected = list(through.train())
    engine = toys.engine(toys.made("judged"), tmp_path / "stopped", steps=12, save_every=100, validate_every=4)
    heard: list[int] = []
    validate = engine.learner.validate

    def listens(batch: Any) -> Any:
        heard.append(engine.step)
        return validate(batch)

    engine.learner.validate = listens  # type: ignore[method-assign]
    engine.asked = lambda: TERM if heard.count(8) == 2 else 0
    first = list(engine.train())
    assert heard == [4, 4, 4, 8, 8] and first[-1].cut and engine.step == 8  # of three batches two were looked at
    again = toys.engine(toys.made("judged", seed=3), tmp_path / "stopped", steps=12, save_every=100, validate_every=4)
    again.resume()
    second = list(again.train())
    assert (second[0].step, second[0].scores) == (8, expected[7].scores)
    assert [row[:8] for row in rows(kept(first) + second)] == [row[:8] for row in rows(expected)]  # type: ignore[index]
    same(through, again)


# ---------------------------------------------------------------- steps in flight


class Ahead(FastSteps):
    """Recorded steps without a GPU: a step that is started moves the weights at once, and is read later."""

    def __init__(self, engine: Engine, *, plain: Callable[[int], bool] = lambda step: False) -> None:
        resident: Any = SimpleNamespace(batch=lambda clips: engine.batches.make(clips))
        super().__init__(engine, resident)
        self.plain, self.pending, self.most = plain, deque(), 0

    def forget(self) -> None:
        self.pending.clear()
        self.waiting = []

    def _launch(self) -> bool:
        clips, engine, step = self._clips(), self.engine, self._next()
        if self.plain(step):
            return False
        at, engine.step = engine.step, step
        self.pending.append((tuple(clips), *engine._step([clips])))  # type: ignore[arg-type]
        engine.step, self.waiting = at, []
        self.most = max(self.most, len(self.pending))
        return True

    def _land(self) -> Any:
        return self.pending.popleft()

    def _plain(self) -> Any:
        clips, self.waiting = self._clips(), []
        return (tuple(clips), *self.engine._step([clips]))


class UsedUp:
    """A budget that is used up at the first look."""

    def watch(self, seen: object) -> GuardEvent | None:
        return GuardEvent(seen.step, "budget", Verdict.STOP, "used up") if isinstance(seen, Resources) else None

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        pass


FLOWN = {"steps": 40, "save_every": 100, "validate_every": 100}


def plain_to(folder: Path, step: int) -> Engine:
    engine = toys.engine(toys.made("judged"), folder, **FLOWN)
    for report in engine.train():
        if report.step == step:
            break
    return engine


@pytest.mark.parametrize("why", ["budget", "signal", "signal before a plain step"])
def test_what_is_in_flight_lands_before_it_is_saved(why: str, tmp_path: Path) -> None:
    guards = [Wiring(), *([UsedUp()] if why == "budget" else [])]
    engine = toys.engine(toys.made("judged"), tmp_path / "ahead", guards=guards, **FLOWN)
    engine.fast = ahead = Ahead(engine, plain=lambda step: why.endswith("plain step") and step == 22)
    engine.asked = lambda: TERM if why != "budget" and engine.step >= 20 else 0
    reports = list(engine.train())
    assert ahead.most == AHEAD + 1 and 20 < engine.step <= 20 + AHEAD + 1
    assert reports[-1].ends and [event.guard for event in reports[-1].events] == ["budget"] * (why == "budget")
    wanted = plain_to(tmp_path / "plain", engine.step).snapshot()
    saved = engine.checkpoints.load(engine.checkpoints.steps()[-1])
    assert saved.state["step"] == engine.step and saved.state["batches"] == wanted.state["batches"]
    assert saved.state["updates"] == wanted.state["updates"]
    assert toys.differing(saved.weights, wanted.weights) == set()
    assert toys.differing(saved.optimiser, wanted.optimiser) == set()


def test_a_save_with_steps_in_flight_is_refused(tmp_path: Path) -> None:
    engine = toys.engine(toys.made("judged"), tmp_path, **FLOWN)
    engine.fast = Ahead(engine)
    next(iter(engine.train()))
    with pytest.raises(AssertionError, match="in flight"):
        engine._save()


# ---------------------------------------------------------------- signals


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_is_noted_and_what_was_there_comes_back(name: str) -> None:
    number, told = getattr(signal, name), list[str]()
    before = signal.getsignal(number)
    announce_to(told.append)
    with heeded() as asked:
        assert asked() == 0
        os.kill(os.getpid(), number)
        assert asked() == number and len(told) == 1
    assert signal.getsignal(number) is before
    assert Halt("", asked=number).code == 128 + number and why(number)


def test_a_second_ctrl_c_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olu.core.halt.TWICE", -1.0)
    with heeded() as asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert asked() == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with heeded(wait=True) as asked:  # torchrun sends it too
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        assert asked() == signal.SIGINT


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heeded() as asked:
            os.kill(os.getpid(), signal.SIGHUP)
            assert asked() == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_file_asks_and_another_thread_hears_no_signals(tmp_path: Path) -> None:
    found: list[int] = []

    def work() -> None:
        with heeded(tmp_path / "stop") as asked:
            found.append(asked())
            (tmp_path / "stop").touch()
            found.append(asked())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [0, STOP_FILE] and Halt("", asked=STOP_FILE).code == 0


def test_no_stage_takes_a_halt_for_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation goes on without a recogniser that could not be trained, but not when it was stopped."""
    from olu.stages import listener as evaluate_known

    def halted(*_: Any, **__: Any) -> Any:
        raise Halt("stopped", asked=TERM)
        yield

    monkeypatch.setattr(evaluate_known, "recogniser_for", halted)
    known: Any = SimpleNamespace()
    with pytest.raises(Halt):
        list(evaluate_known._recogniser(SimpleNamespace(), known, {}, device="cpu", groups=["cer"]))  # type: ignore[arg-type]


def test_weights_are_those_of_the_step_on_the_plain_way_too(tmp_path: Path) -> None:
    engine = toys.engine(toys.made("judged"), tmp_path / "stopped", **FLOWN)
    stopped_at(engine, 7)
    wanted = plain_to(tmp_path / "plain", 7).snapshot().weights
    assert all(torch.equal(wanted[name], t) for name, t in engine.checkpoints.load(7).weights.items())
