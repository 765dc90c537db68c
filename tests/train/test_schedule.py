"""Schedules, late and frozen weights, and the fp16 scale: proven by what the optimiser used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from olu.core.errors import TrainError
from olu.train.guards import Verdict
from olu.train.recipe import PlanSettings
from olu.train.schedule import GROW_EVERY, START, Scale, plateaus, rate_factor

from ..helpers import toys


def factors(**plan: Any) -> list[float]:
    settings = PlanSettings(steps=10, **plan)
    return [round(rate_factor(step, step // 5, settings), 6) for step in range(10)]


def test_each_schedule_by_its_numbers() -> None:
    assert factors(schedule="constant") == [1.0] * 10
    assert factors(schedule="linear", final_rate=0.0) == [round(1 - step / 10, 6) for step in range(10)]
    assert factors(schedule="exponential", decay=0.5) == [1.0] * 5 + [0.5] * 5
    assert factors(schedule="milestones", milestones=[3, 7], drop=0.1) == [1.0] * 3 + [0.1] * 4 + [0.01] * 3
    assert factors(schedule="constant", warmup_steps=4)[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    cosine = factors(schedule="cosine", final_rate=0.0)
    assert cosine[0] == 1.0 and cosine[5] == pytest.approx(0.5) and sorted(cosine, reverse=True) == cosine


def test_plateau_counts_validations_without_a_better_one() -> None:
    assert plateaus([3, 2, 1], patience=2) == 0
    assert plateaus([3, 3, 3], patience=2) == 1
    assert plateaus([3, 3, 3, 3, 3], patience=2) == 2
    assert plateaus([3, 3, 2, 2, 2, float("nan")], patience=2) == 1
    plan = PlanSettings(schedule="plateau", plateau_patience=2, drop=0.1)
    assert rate_factor(50, 1, plan, [3, 3, 3]) == pytest.approx(0.1)


def test_a_plateau_says_what_it_does_to_the_rate_and_stops_at_the_least(tmp_path: Path) -> None:
    plan = {"schedule": "plateau", "plateau_patience": 1, "drop": 0.5, "least_rate": 0.2, "validate_every": 2}
    learner = toys.made("tokens")
    engine = toys.engine(learner, tmp_path, steps=10, rates={"body.net": 0.0}, **plan)  # the score never moves
    reports = list(engine.train())
    said = [(report.step, e.message) for report in reports for e in report.events if e.guard == "plateau"]
    head = "nothing better in 1 validations (plan.plateau_patience): the rate "
    assert said == [
        (4, f"{head}falls to 0.5 of the recipe's"),
        (6, f"{head}falls to 0.25 of the recipe's"),
        (8, f"{head}falls to 0.2 of the recipe's"),
        (10, f"{head}stays at 0.2 of the recipe's (plan.least_rate)"),
    ]
    assert [report.seen[0].lr for report in reports][-1] == pytest.approx(0.2 * 0.02)
    with pytest.raises(ValueError, match="least_rate has no effect with the cosine schedule"):
        PlanSettings(schedule="cosine", least_rate=0.1)


def used_rates(engine: Any) -> list[dict[float, float]]:
    """What the optimiser really stepped with, group by group."""
    (live,) = engine.live.values()
    used: list[dict[float, float]] = []
    step = live.optimiser.step
    live.optimiser.step = lambda: (used.append({g["scale"]: g["lr"] for g in live.optimiser.param_groups}), step())
    list(engine.train())
    return used


def test_rates_by_prefix_reach_the_optimiser(tmp_path: Path) -> None:
    engine = toys.engine(toys.Tokens(), tmp_path, steps=3, rates={"body.net": 0.1})
    assert used_rates(engine) == [{0.1: pytest.approx(0.002), 1.0: pytest.approx(0.02)}] * 3


def test_a_rate_of_zero_freezes_also_against_decay(tmp_path: Path) -> None:
    learner = toys.Tokens(weight_decay=0.5)
    before = toys.weights(learner)
    list(toys.engine(learner, tmp_path, steps=5, rates={"body.net": 0.0}).train())
    after = toys.weights(learner)
    assert {name for name in before if torch.equal(before[name], after[name])} == {"body.net.weight", "body.net.bias"}


def test_late_weights_do_not_move_before_their_step(tmp_path: Path) -> None:
    learner = toys.Tokens(weight_decay=0.5)
    before = toys.weights(learner)
    engine = toys.engine(learner, tmp_path, steps=6, late={"body.net": 4})
    moved = []
    for _ in engine.train():
        moved.append(not torch.equal(learner.body["net"].weight, before["body.net.weight"]))
    assert moved == [False] * 4 + [True] * 2


@pytest.mark.parametrize("plan", [{"rates": {"body.nte": 0.1}}, {"late": {"boddy.net": 5}}])
def test_a_prefix_that_names_nothing_is_refused(plan: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(TrainError, match="names no weights"):
        toys.engine(toys.Tokens(), tmp_path, **plan)


def test_the_scale_of_fp16_falls_and_grows() -> None:
    scale = Scale(on=True)
    scale.overflowed()
    assert scale.value == START / 2
    for _ in range(GROW_EVERY):
        scale.went_well()
    assert scale.value == START
    again = Scale(on=True)
    again.load(scale.state())
    assert again.state() == scale.state()
    off = Scale(on=False)
    off.went_well()
    assert off.value == 1.0


def test_an_overflow_is_passed_over_and_its_gradients_are_unscaled(tmp_path: Path) -> None:
    """As on a GPU, but in float32: gradients are multiplied by the scale, overflow once, and come back to size."""
    plain = toys.engine(toys.made("tokens"), tmp_path / "plain", steps=4, guards=[])
    scaled = toys.engine(toys.made("tokens"), tmp_path / "scaled", steps=4, guards=[])
    scaled.scale = Scale(on=True)
    expected, got = list(plain.train()), list(scaled.train())
    for one, other in zip(expected, got, strict=True):
        assert other.seen[0].grad_norm == pytest.approx(one.seen[0].grad_norm, rel=1e-5)
    scaled.plan = scaled.plan.model_copy(update={"steps": 8})
    scaled.scale.value = float("inf")
    report = scaled.advance()
    assert [event.verdict for event in report.events] == [Verdict.SKIP] and report.events[0].guard == "scale"
