from __future__ import annotations

import contextlib
import copy
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from olu.train.engine import Engine, LivePart, StepReport, rate_factor
from olu.train.family import Clock, Loss, Part, Update
from olu.train.guards import Finite, GuardEvent, Verdict, Wiring
from olu.train.recipe import PlanSettings
from olu.train.run import Recorder, Run

from ..helpers import toys


def events(reports: list[StepReport]) -> list[GuardEvent]:
    return [event for report in reports for event in report.events]


def rows(reports: list[StepReport]) -> list[object]:
    """Everything a run's metrics hold of these reports, but not the time."""
    return [
        (r.step, r.tried, r.rewinds, r.epoch, r.clips, r.seen, r.events, dict(r.scores), r.saves, r.rewound)
        for r in reports
    ]


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("name", toys.TOYS)
def test_every_toy_learns(name: str, accumulate: int, tmp_path: Path) -> None:
    engine = toys.engine(toys.made(name), tmp_path, steps=150, accumulate=accumulate, validate_every=50, save_every=150)
    before, _ = engine._validate()
    after = list(engine.train())[-1].scores
    assert after["match"] < 0.6 * before["match"]


# ---------------------------------------------------------------- resuming


@pytest.mark.parametrize("stop", [1, 4, 7, 10, 11])
@pytest.mark.parametrize("name", toys.TOYS)
def test_resume_is_exact_wherever_it_stopped(name: str, stop: int, tmp_path: Path) -> None:
    plan = {"steps": 12, "save_every": 3, "validate_every": 4, "accumulate": 2, "schedule": "cosine"}
    through = toys.engine(toys.made(name), tmp_path / "through", **plan)
    expected = list(through.train())

    first = toys.engine(toys.made(name), tmp_path / "broken", **plan)
    running, got = first.train(), []
    for report in running:
        got.append(report)
        if report.step == stop:
            break
    running.close()

    again = toys.engine(toys.made(name, seed=77), tmp_path / "broken", **plan)
    torch.manual_seed(4711)
    assert again.resume() == []
    assert stop - 4 < again.step <= stop
    got = got[: again.step] + list(again.train())
    assert rows(got) == rows(expected)
    one, other = through.snapshot(), again.snapshot()
    assert toys.differing(one.weights, other.weights) == set()
    assert toys.differing(one.optimiser, other.optimiser) == set()
    assert one.state == other.state
    assert any(key.startswith("average/") for key in one.weights)
    assert any(key.endswith("/exp_avg_sq") for key in one.optimiser)


def test_a_resumed_run_remembers_its_rewinds(tmp_path: Path) -> None:
    def spoilt() -> toys.Toy:
        learner = toys.made("tokens")
        learner.meddle = lambda update, clock: nan_loss(update) if "c05" in learner.heard[-1] else update
        return learner

    plan = {"steps": 20, "save_every": 2, "guards": [Finite(patience=0)]}
    through = toys.engine(spoilt(), tmp_path / "through", **plan)
    list(through.train())
    assert through.rewinds == 1

    first = toys.engine(spoilt(), tmp_path / "broken", **{**plan, "guards": [Finite(patience=0)]})
    for report in (running := first.train()):
        if first.rewinds and report.saves:
            break
    running.close()
    again = toys.engine(spoilt(), tmp_path / "broken", **{**plan, "guards": [Finite(patience=0)]})
    again.resume()
    assert (again.rewinds, again.rate, again.batches.quarantine) == (1, 0.5, first.batches.quarantine)
    list(again.train())
    assert toys.differing(through.snapshot().weights, again.snapshot().weights) == set()


def test_resume_passes_over_a_damaged_checkpoint_and_still_ends_the_same(tmp_path: Path) -> None:
    through = toys.engine(toys.made("judged"), tmp_path / "through", steps=12, save_every=4)
    list(through.train())
    running = (first := toys.engine(toys.made("judged"), tmp_path / "broken", steps=12, save_every=4)).train()
    next(report for report in running if report.step == 9)
    running.close()
    weights = first.checkpoints.path(8) / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    again = toys.engine(toys.made("judged", seed=5), tmp_path / "broken", steps=12, save_every=4)
    (sentence,) = again.resume()
    assert "step-8" in sentence and again.step == 4
    assert again.checkpoints.steps() == [0, 4]
    list(again.train())
    assert toys.differing(through.snapshot().weights, again.snapshot().weights) == set()


def test_the_records_of_a_killed_run_with_rewinds_end_the_same(tmp_path: Path) -> None:
    def go(name: str, *, until: int | None) -> list[str]:
        """Train and record; `until` reports, then as if killed. Returns the rows that lie in the files."""
        learner = toys.made("tokens")
        learner.meddle = lambda update, clock: nan_loss(update) if "c05" in learner.heard[-1] else update
        run = Run(tmp_path / name)
        engine = toys.engine(learner, run.checkpoints_folder, guards=[Finite(patience=0)], save_every=3, steps=20)
        if engine.checkpoints.steps():
            engine.resume()
        run.rewind_records(engine.step, rewinds=engine.rewinds)
        with Recorder(run) as recorder:
            for number, report in enumerate(running := engine.train(), 1):
                recorder.record(report, best=engine.best, metric="match")
                if number == until:
                    running.throw(Kill) if not report.saves else running.close()
                    break
        lines = (run.folder / "metrics.jsonl").read_text().splitlines() + (
            run.folder / "events.jsonl"
        ).read_text().splitlines()
        return [re.sub(r'"seconds": [0-9.e-]+, ', "", line) for line in lines]

    class Kill(Exception):
        pass

    (tmp_path / "through").mkdir()
    expected = go("through", until=None)
    assert any('"REWIND"' in line for line in expected) and any('"rewinds": 1' in line for line in expected)
    for until in (1, 4, 7, 11):
        (tmp_path / f"killed-{until}").mkdir()
        for _ in range(2):
            with contextlib.suppress(Kill):
                go(f"killed-{until}", until=until)
        assert go(f"killed-{until}", until=None) == expected


def test_what_came_after_a_checkpoint_is_forgotten_and_a_cut_line_too(tmp_path: Path) -> None:
    tries = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 3), (1, 4)]  # sent back from step 5 to step 2
    lines = [json.dumps({"step": step, "rewinds": rewinds}) for rewinds, step in tries]
    for (step, rewinds), left in {(3, 1): 6, (2, 0): 2, (2, 1): 5, (9, 1): 7}.items():
        for name in ("metrics.jsonl", "events.jsonl"):
            (tmp_path / name).write_text("\n".join(lines) + '\n{"step": 1, "rewi')
        Run(tmp_path).rewind_records(step, rewinds=rewinds)
        for name in ("metrics.jsonl", "events.jsonl"):
            assert (tmp_path / name).read_text().splitlines() == lines[:left]


# ---------------------------------------------------------------- what moves and what does not


def test_what_is_in_no_part_neither_moves_nor_trains(tmp_path: Path) -> None:
    learner = toys.made("adapter")
    before = toys.weights(learner)
    modes: list[tuple[bool, bool]] = []
    learner.meddle = lambda update, clock: modes.append((learner.codec.training, learner.adapter.training)) or update
    list(toys.engine(learner, tmp_path, steps=5).train())
    moved = toys.differing(before, toys.weights(learner))
    assert moved == {name for name in before if name.startswith("adapter.")}  # its buffers too
    assert set(modes) == {(False, True)}
    assert not any(p.requires_grad for p in learner.codec.parameters())


def test_validation_runs_in_eval_mode_without_gradient(tmp_path: Path) -> None:
    learner = toys.made("adapter")
    engine = toys.engine(learner, tmp_path, steps=2)
    seen: list[tuple[bool, bool]] = []
    real = learner.validate
    learner.validate = lambda batch: seen.append((learner.adapter.training, torch.is_grad_enabled())) or real(batch)
    engine._validate()
    assert set(seen) == {(False, False)}
    engine.advance()
    assert learner.adapter.training


def test_a_generators_loss_leaves_no_gradient_in_the_judge(tmp_path: Path) -> None:
    learner = toys.Judged(start=2)
    engine = toys.engine(learner, tmp_path, steps=4)
    left: list[bool] = []
    backward = engine._backward

    def watched(update: Update, live: LivePart, share: float, totals: dict[str, float]) -> None:
        backward(update, live, share, totals)
        if update.part == "gen":
            left.append(any(p.grad is not None for p in learner.disc.parameters()))
            assert all(p.grad is not None for p in learner.gen.parameters())

    engine._backward = watched
    list(engine.train())
    assert left == [False] * 4
    assert all(p.grad is None for p in learner.parameters())


@pytest.mark.parametrize(("start", "until", "moving"), [(0, None, range(6)), (2, None, range(2, 6)), (1, 3, (1, 2))])
def test_a_part_moves_from_its_start_until_its_end(start: int, until: int | None, moving, tmp_path: Path) -> None:
    learner = toys.Tokens(start=start, until=until)
    engine = toys.engine(learner, tmp_path, steps=7)
    for step in range(6):
        before = toys.weights(learner)
        report = engine.advance()
        assert bool(toys.differing(before, toys.weights(learner))) == (step in moving)
        assert bool(report.seen) == (step in moving)
        assert learner.body.training == (step in moving)


def test_a_prefix_scales_the_rate_and_zero_freezes(tmp_path: Path) -> None:
    scaled = toys.Tokens(lr_scale={"extra": 0.25}, weight_decay=0.1)
    engine = toys.engine(scaled, tmp_path / "scaled", steps=3)
    report = engine.advance()
    used = {group["scale"]: group["lr"] for group in engine.live["body"].optimiser.param_groups}
    assert used == {1.0: report.seen[0].lr, 0.25: 0.25 * report.seen[0].lr}

    frozen = toys.Tokens(lr_scale={"extra": 0.0}, weight_decay=0.5, ema=0.5)
    before = toys.weights(frozen)
    list(toys.engine(frozen, tmp_path / "frozen", steps=5).train())
    assert toys.differing(before, toys.weights(frozen)) == {"body.net.weight", "body.net.bias"}
    assert not any(p.requires_grad for p in frozen.body["extra"].parameters())


def test_wiring_names_what_no_loss_reaches_and_stops(tmp_path: Path) -> None:
    class Loose(toys.Tokens):
        def losses(self, x_NC: Tensor, batch: toys.ToyBatch) -> dict[str, Loss]:
            return {"match": super().losses(x_NC, batch)["match"]}

    learner = Loose()
    before = toys.weights(learner)
    reports = list(toys.engine(learner, tmp_path).train())
    (event,) = events(reports)
    assert (len(reports), event.guard, event.verdict) == (1, "wiring", Verdict.STOP)
    assert "extra.weight" in event.message and "net.weight" not in event.message
    assert toys.differing(before, toys.weights(learner)) == set()


# ---------------------------------------------------------------- what is not a number


def nan_loss(update: Update) -> Update:
    name, loss = next(iter(update.losses.items()))
    return Update(update.part, {**update.losses, name: replace(loss, sum=loss.sum * math.nan)})


class NanGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        return grad * math.nan


def nan_gradient(update: Update) -> Update:
    name, loss = next(iter(update.losses.items()))
    return Update(update.part, {**update.losses, name: replace(loss, sum=NanGradient.apply(loss.sum))})


def poisoned(name: str, poison, *, part: str, turns) -> toys.Toy:
    """A toy whose updates of one part are poisoned at these turns (counted over everything, rewinds too)."""
    learner, count = toys.made(name), iter(range(10**6))

    def meddle(update: Update, clock: Clock) -> Update:
        return poison(update) if update.part == part and next(count) in turns else update

    learner.meddle = meddle
    return learner


PARTS = [("tokens", "body"), ("judged", "gen"), ("judged", "disc"), ("adapter", "adapter")]


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("poison", [nan_loss, nan_gradient])
@pytest.mark.parametrize(("name", "part"), PARTS)
def test_nan_is_skipped_then_sent_back_then_stopped(name, part, poison, accumulate, tmp_path: Path) -> None:
    turns = [range(12 * accumulate, 13 * accumulate), range(12 * accumulate, 16 * accumulate), range(12, 10**6)]
    expected = [[Verdict.SKIP], [Verdict.SKIP] * 3 + [Verdict.REWIND, Verdict.NOTE], None]
    clips = toys.examples(80)
    for number, (bad, verdicts) in enumerate(zip(turns, expected, strict=True)):
        learner = poisoned(name, poison, part=part, turns=bad)
        plan = {"steps": 24, "accumulate": accumulate, "save_every": 5, "validate_every": 24}
        engine = toys.engine(learner, tmp_path / str(number), guards=[Finite()], clips=clips, **plan)
        reports = []
        for report in engine.train():
            reports.append(report)
            assert all(bool(torch.isfinite(t).all()) for t in engine.snapshot().weights.values())
            assert all(bool(torch.isfinite(t).all()) for t in engine.snapshot().optimiser.values())
            assert len(reports) < 100
        said = events(reports)
        if verdicts is not None:
            assert [event.verdict for event in said] == verdicts
            assert engine.step == 24
        else:
            assert engine.rewinds == 3 and said[-1].verdict is Verdict.STOP
            assert "still unstable after 3 rewinds" in said[-1].message and "lower rate" in said[-1].message
            assert engine.step < 24 and sum(e.verdict is Verdict.REWIND for e in said) == 4


def test_a_skipped_update_changes_nothing(tmp_path: Path) -> None:
    learner = poisoned("tokens", nan_loss, part="body", turns={2})
    engine = toys.engine(learner, tmp_path)
    engine.advance()
    engine.advance()
    before = copy.deepcopy(engine.snapshot())
    report = engine.advance()
    after = copy.deepcopy(engine.snapshot())
    assert [event.verdict for event in report.events] == [Verdict.SKIP] and report.step == 3
    assert toys.differing(before.weights, after.weights) == set()
    assert toys.differing(before.optimiser, after.optimiser) == set()
    assert all(p.grad is None for p in learner.parameters())
    engine.advance()
    assert toys.differing(after.weights, engine.snapshot().weights)


@pytest.mark.parametrize("when", ["update", "save"])
def test_a_sick_buffer_sends_the_run_back_before_it_is_saved(when: str, tmp_path: Path) -> None:
    learner = toys.made("adapter")
    engine = toys.engine(learner, tmp_path, steps=12, save_every=4, validate_every=100)
    running = engine.train()
    while engine.step < (5 if when == "update" else 7):
        next(running)
    done = iter([True])
    if when == "update":
        learner.meddle = lambda update, clock: spoil(learner) or update if next(done, False) else update
    else:  # after the guards have looked, as a save falls due
        apply = engine.live["adapter"].apply
        engine.live["adapter"].apply = lambda rate: (apply(rate), next(done, False) and spoil(learner))
    report = next(running)
    assert report.rewound and report.step == 4 and not report.saves
    assert any("adapter.1.running_mean" in event.message for event in report.events)
    assert engine.rewinds == 1 and engine.checkpoints.steps() == [0, 4]
    assert bool(torch.isfinite(learner.adapter[1].running_mean).all())
    list(running)
    assert engine.step == 12
    for step in engine.checkpoints.steps():
        assert all(bool(torch.isfinite(t).all()) for t in engine.checkpoints.load(step).weights.values())


def test_a_step_that_was_not_sound_is_not_the_best(tmp_path: Path) -> None:
    learner = toys.made("tokens")
    learner.register_buffer("spare", torch.zeros(2))  # no loss reads it, so the scores stay finite
    engine = toys.engine(learner, tmp_path, steps=12, save_every=4, validate_every=4)
    for report in engine.train():
        if report.step == 7 and not engine.rewinds:
            learner.meddle = lambda update, clock: update
            apply = engine.live["body"].apply
            engine.live["body"].apply = lambda rate, apply=apply: (apply(rate), learner.spare.fill_(math.nan))
        if report.rewound:
            assert (report.tried, report.step) == (8, 4)
            assert engine.best["step"] == 4
            engine.live["body"].apply = apply
    assert engine.rewinds == 1 and engine.best["step"] in engine.checkpoints.steps()


def spoil(learner: toys.Toy) -> None:
    learner.adapter[1].running_mean.data[0] = math.nan


def test_a_rewind_slows_down_goes_on_past_the_batch_and_leaves_its_clips_out(tmp_path: Path) -> None:
    learner = toys.made("tokens")
    clips = toys.examples(40)
    bad = {"c07", "c21"}
    learner.meddle = lambda update, clock: nan_loss(update) if bad & set(learner.heard[-1]) else update
    engine = toys.engine(
        learner, tmp_path, guards=[Finite(patience=0)], clips=clips, steps=60, save_every=5, validate_every=60
    )
    engine.precision = "bf16"  # as on a GPU, where a second rewind takes it back
    engine._half = lambda: None
    rates, precisions, back = [], [], []
    for report in engine.train():
        rates += [seen.lr for seen in report.seen]
        if report.rewound:
            back.append(report)
            precisions.append(engine.precision)
            assert report.step == engine.step == max(s for s in engine.checkpoints.steps())
    assert len(back) == 2 and engine.step == 60
    assert sorted(set(rates), reverse=True) == [0.02, 0.01, 0.005]
    assert precisions == ["bf16", "fp32"]
    quarantine = set(engine.batches.quarantine)
    assert bad <= quarantine
    named = {clip for report in back for event in report.events for clip in event.clips}
    assert named == quarantine
    hurt = [at for at, batch in enumerate(learner.heard) if bad & set(batch)]
    assert len(hurt) == 2
    for at in hurt:
        assert not any(set(learner.heard[at]) & set(later) for later in learner.heard[at + 1 :])
    assert len({clip for batch in learner.heard[hurt[1] + 1 :] for clip in batch}) == len(clips) - len(quarantine)


def test_a_small_corpus_is_not_lost_to_quarantine(tmp_path: Path) -> None:
    """When one batch is most of the corpus its clips stay: the run stops with a reason instead of for want of clips."""
    learner = poisoned("tokens", nan_loss, part="body", turns=range(10**6))
    engine = toys.engine(learner, tmp_path, guards=[Finite(patience=0)], clips=toys.examples(3))
    reports = list(engine.train())
    assert engine.batches.quarantine == []
    assert reports[-1].events[-1].verdict is Verdict.STOP and "still unstable" in reports[-1].events[-1].message


def test_a_healthy_noisy_run_is_not_stopped(tmp_path: Path) -> None:
    torch.manual_seed(1)
    learner = toys.Judged(noise=1.0)
    random = torch.Generator().manual_seed(3)

    def noisy(update: Update, clock: Clock) -> Update:
        wild = float(torch.exp(0.8 * torch.randn((), generator=random)))  # one step in a hundred is six times another
        return Update(update.part, {n: replace(loss, weight=loss.weight * wild) for n, loss in update.losses.items()})

    learner.meddle = noisy
    reports = list(toys.engine(learner, tmp_path, steps=300, validate_every=300, save_every=300).train())
    assert events(reports) == [] and len(reports) == 300


# ---------------------------------------------------------------- accumulation


class Given:
    """These batches, in this order, for ever."""

    def __init__(self, batches: list[toys.ToyBatch]) -> None:
        self.batches, self.epoch, self.at, self.quarantine = batches, 0, -1, []

    def take(self) -> list[str]:
        self.at += 1
        return list(self.batches[self.at % len(self.batches)].clips)

    def make(self, clips: list[str]) -> toys.ToyBatch:
        return next(batch for batch in self.batches if batch.clips == tuple(clips))

    def state(self) -> dict[str, object]:
        return {}


def one_step(learner: toys.Toy, sizes: list[int], folder: Path) -> tuple[Engine, StepReport, dict[str, Tensor]]:
    """One step over eight fixed clips cut into micro-batches of these sizes; also the gradients it used."""
    held, at, batches = list(toys.examples(8, seed=5).values()), 0, []
    for size in sizes:
        batches.append(learner.collate(held[at : at + size]))
        at += size
    assert at == 8
    engine = toys.engine(learner, folder, accumulate=len(sizes), steps=1)
    engine.batches = Given(batches)
    used: dict[str, Tensor] = {}
    for part, live in engine.live.items():
        catch(part, live, used)
    return engine, engine.advance(), used


def catch(part: str, live: LivePart, used: dict[str, Tensor]) -> None:
    apply = live.apply

    def wrapped(rate: float) -> None:
        used.update({f"{part}/{name}": p.grad.clone() for name, p in live.named.items()})
        apply(rate)

    live.apply = wrapped


@pytest.mark.parametrize("sizes", [[2, 2, 2, 2], [1, 7], [5, 1, 2], [1] * 8])
def test_accumulation_equals_one_big_batch(sizes: list[int], tmp_path: Path) -> None:
    torch.manual_seed(1)
    learner = toys.Tokens()
    other = copy.deepcopy(learner)
    whole, big, expected = one_step(learner, [8], tmp_path / "one")
    parts, small, got = one_step(other, sizes, tmp_path / "many")
    for name in expected:
        torch.testing.assert_close(got[name], expected[name], rtol=1e-5, atol=1e-6)
    assert small.seen[0].losses == pytest.approx(dict(big.seen[0].losses), rel=1e-5)
    assert small.seen[0].grad_norm == pytest.approx(big.seen[0].grad_norm, rel=1e-5)
    for name, weight in whole.module.state_dict().items():
        torch.testing.assert_close(parts.module.state_dict()[name], weight, rtol=1e-5, atol=1e-5)


def test_the_gradient_is_the_mean_over_tokens_and_over_clips(tmp_path: Path) -> None:
    torch.manual_seed(1)
    learner = toys.Tokens()
    alone = copy.deepcopy(learner)
    _, report, used = one_step(learner, [3, 5], tmp_path)
    batch = alone.collate(list(toys.examples(8, seed=5).values()))
    x, y = batch.x_NC, batch.y_NC
    match = (alone.body["net"](x) - y).square().sum() / len(x)
    length = (alone.body["extra"](x[batch.first_B]) - 1).square().mean()
    (match + 0.5 * length).backward()
    match, length = match.detach(), length.detach()
    for name, p in alone.body.named_parameters():
        torch.testing.assert_close(used[f"body/{name}"], p.grad, rtol=1e-5, atol=1e-6)
    assert report.seen[0].losses == pytest.approx({"match": float(match), "length": float(length)}, rel=1e-5)


def test_at_once_the_generator_sees_the_judge_after_its_step(tmp_path: Path) -> None:
    learner = toys.made("judged")
    start = learner.disc[0].weight.detach().clone()
    one_step(learner, [8], tmp_path)
    (_, for_judge), (_, for_generator) = learner.seen
    assert torch.equal(for_judge, start)
    assert not torch.equal(for_generator, start)
    assert torch.equal(for_generator, learner.disc[0].weight)


def test_accumulating_every_micro_batch_sees_the_judge_before_its_step(tmp_path: Path) -> None:
    learner = toys.made("judged")
    start = learner.disc[0].weight.detach().clone()
    one_step(learner, [3, 3, 2], tmp_path)
    assert [part for part, _ in learner.seen] == ["disc", "gen"] * 3
    assert all(torch.equal(weight, start) for _, weight in learner.seen)
    assert not torch.equal(learner.disc[0].weight, start)


def test_a_judges_accumulated_gradient_equals_one_big_batch(tmp_path: Path) -> None:
    learner = toys.Judged()
    other = copy.deepcopy(learner)
    _, _, expected = one_step(learner, [8], tmp_path / "one")
    _, _, got = one_step(other, [2, 5, 1], tmp_path / "many")
    judge = [name for name in expected if name.startswith("disc/")]
    assert judge
    for name in judge:
        torch.testing.assert_close(got[name], expected[name], rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------- the rate, the clip, the average


SCHEDULES = {
    "constant": {"schedule": "constant"},
    "linear": {"schedule": "linear", "final_rate": 0.2},
    "cosine": {"schedule": "cosine", "final_rate": 0.3},
    "exponential": {"schedule": "exponential", "decay": 0.8},
}


@pytest.mark.parametrize("warmup", [0, 5])
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_rate_used_is_the_rate_reported_is_the_schedule(name: str, warmup: int, tmp_path: Path) -> None:
    learner = toys.Tokens(lr_scale={"extra": 0.5})
    plan = {"steps": 20, "warmup_steps": warmup, **SCHEDULES[name]}
    engine = toys.engine(learner, tmp_path, **plan)
    used: list[dict[float, float]] = []
    optimiser = engine.live["body"].optimiser
    step = optimiser.step
    optimiser.step = lambda: (used.append({g["scale"]: g["lr"] for g in optimiser.param_groups}), step())
    factors = []
    for at, report in enumerate(engine.train()):
        factor = rate_factor(at, report.epoch, engine.plan)
        factors.append(factor)
        assert report.seen[0].lr == 0.02 * factor
        assert used[-1] == {1.0: report.seen[0].lr, 0.5: 0.5 * report.seen[0].lr}
    assert len(used) == 20
    assert factors[:warmup] == [(at + 1) / 5 for at in range(warmup)]
    ends = {"constant": 1.0, "linear": 0.2, "cosine": 0.3, "exponential": 0.8**3}
    assert factors[-1] == pytest.approx(ends[name], abs=0.06 if name in ("linear", "cosine") else 1e-12)
    assert max(factors) == 1.0


def test_the_schedules_by_hand() -> None:
    linear = PlanSettings(steps=110, warmup_steps=10, schedule="linear", final_rate=0.2)
    assert [rate_factor(at, 0, linear) for at in (0, 9, 10, 60, 110, 500)] == pytest.approx([0.1, 1, 1, 0.6, 0.2, 0.2])
    cosine = PlanSettings(steps=100, schedule="cosine", final_rate=0.0)
    assert [rate_factor(at, 0, cosine) for at in (0, 25, 50, 100)] == pytest.approx([1, 0.5 + 0.5**1.5, 0.5, 0])
    exponential = PlanSettings(steps=100, schedule="exponential", decay=0.5)
    assert [rate_factor(at, epoch, exponential) for at, epoch in ((0, 0), (9, 1), (99, 3))] == [1, 0.5, 0.125]


def test_the_optimiser_moves_by_the_rate(tmp_path: Path) -> None:
    """Adam's first step is the rate in every weight: what was used, not what was logged."""
    learner = toys.Tokens(lr_scale={"extra": 0.5}, eps=1e-12)
    before = toys.weights(learner)
    toys.engine(learner, tmp_path, warmup_steps=4).advance()
    moved = {name: (before[name] - tensor).abs() for name, tensor in toys.weights(learner).items()}
    torch.testing.assert_close(moved["body.net.weight"], torch.full((8, 4), 0.02 / 4), rtol=1e-3, atol=1e-6)
    torch.testing.assert_close(moved["body.extra.weight"], torch.full((1, 4), 0.01 / 4), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("clip", [None, 0.5, 1e6])
def test_the_clip_acts_before_the_step(clip: float | None, tmp_path: Path) -> None:
    torch.manual_seed(1)
    learner = toys.Tokens(clip=clip, eps=1.0, weight_decay=0.1, betas=(0.7, 0.9))  # a large eps shows the size
    by_hand = copy.deepcopy(learner)
    _, report, used = one_step(learner, [8], tmp_path)
    loss = by_hand.losses((batch := by_hand.collate(list(toys.examples(8, seed=5).values()))).x_NC, batch)
    total = sum(x.sum * x.weight / batch.counts[x.over] for x in loss.values())
    total.backward()
    params = list(by_hand.body.parameters())
    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in params))
    assert report.seen[0].grad_norm == pytest.approx(norm, rel=1e-5)
    assert norm > 1
    factor = 1.0 if clip is None else min(1.0, clip / (norm + 1e-6))
    for name, p in by_hand.body.named_parameters():
        grad = p.grad * factor
        torch.testing.assert_close(used[f"body/{name}"], grad, rtol=1e-5, atol=1e-7)
        expected = p.detach() * (1 - 0.02 * 0.1) - 0.02 * grad / (grad.abs() + 1.0)  # AdamW, first step
        torch.testing.assert_close(dict(learner.body.named_parameters())[name].detach(), expected)


def test_the_average_by_hand_and_that_it_is_what_validation_sees(tmp_path: Path) -> None:
    torch.manual_seed(1)
    learner = toys.Tokens(ema=0.6)
    engine = toys.engine(learner, tmp_path, steps=8, validate_every=1, save_every=8)
    average = {name: p.detach().clone() for name, p in learner.body.named_parameters()}
    validated: list[dict[str, Tensor]] = []
    real = learner.validate

    def validate(batch: toys.ToyBatch) -> dict[str, Loss]:
        validated.append({name: p.detach().clone() for name, p in learner.body.named_parameters()})
        return real(batch)

    learner.validate = validate
    for number, _ in enumerate(engine.train(), 1):
        decay = min(0.6, (1 + number) / (10 + number))
        for name, p in learner.body.named_parameters():
            average[name] = decay * average[name] + (1 - decay) * p.detach()
            torch.testing.assert_close(engine.live["body"].average[name], average[name])
            assert torch.equal(validated[-1][name], engine.live["body"].average[name])
            assert not torch.equal(validated[-1][name], p)  # and the live weights came back
    assert number == 8


def test_validation_is_weighted_by_counts_and_the_best_step_is_kept(tmp_path: Path) -> None:
    learner = toys.made("tokens")
    engine = toys.engine(learner, tmp_path, steps=10, validate_every=1, save_every=100, keep=1)
    scores = {report.step: report.scores["match"] for report in engine.train()}
    best = min(scores, key=scores.__getitem__)
    assert engine.best == {"step": best, "score": scores[best]}
    assert best in engine.checkpoints.steps() and 10 in engine.checkpoints.steps()
    held = learner.collate(list(toys.examples(8, seed=99).values()))
    with engine.averaged():
        whole = learner.validate(held)["match"]
    assert float(whole.sum) / held.counts["tokens"] == pytest.approx(scores[10], rel=1e-5)


def test_a_score_that_is_not_a_number_is_never_the_best(tmp_path: Path) -> None:
    learner = toys.made("tokens")
    learner.validate = lambda batch: {"match": Loss(torch.tensor(math.nan), "tokens")}
    engine = toys.engine(learner, tmp_path, steps=3, validate_every=1)
    assert all(math.isnan(report.scores["match"]) for report in engine.train())
    assert engine.best is None


def test_demo_speaks_only_what_is_asked_for(tmp_path: Path) -> None:
    learner = toys.made("tokens")
    spoken: list[str] = []
    real = learner.demo

    def demo(batch: toys.ToyBatch) -> Iterator[object]:
        for exhibit in real(batch):
            spoken.append(exhibit.name)
            yield exhibit

    learner.demo = demo
    for count in (0, 1, 4):
        spoken.clear()
        engine = toys.engine(learner, tmp_path / str(count), demo_clips=count)
        _, exhibits = engine._validate()
        assert [exhibit.name for exhibit in exhibits] == spoken == [f"c{n:02d}" for n in range(count)]


def test_two_parts_of_one_learner_have_their_own_rates(tmp_path: Path) -> None:
    class Two(toys.Judged):
        def parts(self) -> dict[str, Part]:
            return {"disc": Part(self.disc, lr=1e-3), "gen": Part(self.gen, lr=3e-3)}

    report = toys.engine(Two(), tmp_path).advance()
    assert {seen.part: seen.lr for seen in report.seen} == {"disc": 1e-3, "gen": 3e-3}


def test_a_run_of_no_steps_is_saved_as_it_began(tmp_path: Path) -> None:
    engine = toys.engine(toys.made("tokens"), tmp_path, guards=[Wiring()], steps=0)
    assert list(engine.train()) == [] and engine.checkpoints.steps() == [0]
