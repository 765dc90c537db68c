"""The range test: on toys whose good rate is known, and on curves that say nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from olu.train.family import Clock, Update
from olu.train.find_lr import HIGH, LOW, RatePoint, choose_rate, range_test, rate_at

from ..helpers import toys

KNOWN = 0.02  # the rate the toys of these tests learn with elsewhere
NEVER = {"steps": 9999, "validate_every": 9999, "save_every": 9999}


def points(name: str, folder: Path, *, part: str, steps: int = 120) -> list[RatePoint]:
    engine = toys.engine(toys.made(name), folder, guards=[], **NEVER)
    return list(range_test(engine, part=part, loss="match", steps=steps))


def made(losses: list[float]) -> list[RatePoint]:
    """As `range_test` smooths them."""
    total = weight = 0.0
    found = []
    for place, loss in enumerate(losses):
        total, weight = 0.9 * total + loss, 0.9 * weight + 1
        found.append(RatePoint(rate_at(place, len(losses)), loss, total / weight))
    return found


@pytest.mark.parametrize(("name", "part"), [("tokens", "body"), ("judged", "gen"), ("adapter", "adapter")])
def test_the_suggestion_is_near_a_rate_that_works(name: str, part: str, tmp_path: Path) -> None:
    found = choose_rate(points(name, tmp_path, part=part))
    assert found.rate is not None
    assert KNOWN / 10 <= found.rate <= 10 * KNOWN


def test_the_optimiser_got_the_rates_that_are_shown(tmp_path: Path) -> None:
    engine = toys.engine(toys.made("judged"), tmp_path, guards=[], **NEVER)
    used = []
    for point in range_test(engine, part="gen", loss="match", steps=12):
        rates = {name: live.optimiser.param_groups[0]["lr"] for name, live in engine.live.items()}
        assert math.isclose(rates["gen"], point.rate) and math.isclose(rates["disc"], point.rate / 2)
        used.append(rates["gen"])
    assert math.isclose(used[0], LOW) and math.isclose(used[-1], HIGH)
    ratios = np.diff(np.log(used))
    assert np.allclose(ratios, ratios[0])
    assert not list(tmp_path.iterdir())


def test_a_learner_that_learns_nothing_gives_a_flat_curve(tmp_path: Path) -> None:
    learner = toys.made("tokens")

    def numb(update: Update, clock: Clock) -> Update:
        still = {n: type(o)(o.sum.detach() + 0 * o.sum, o.over, o.weight) for n, o in update.losses.items()}
        return Update(update.part, still)

    learner.meddle = numb
    engine = toys.engine(learner, tmp_path, guards=[], **NEVER)
    found = choose_rate(list(range_test(engine, part="body", loss="match", steps=80)))
    assert found.rate is None
    assert "flat" in found.why


def test_noise_alone_is_no_fall() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        assert choose_rate(made(list(10 + random.normal(size=120)))).rate is None


def test_the_edge_of_divergence_is_found_and_kept_away_from() -> None:
    falling = [4.0] * 60 + list(np.linspace(4, 1, 30)) + [1.0 * 1.4**n for n in range(30)]
    found = choose_rate(made(falling))
    assert found.edge is not None and found.rate is not None and found.steepest is not None
    assert rate_at(85, 120) < found.edge <= rate_at(110, 120)
    assert found.rate <= found.edge / 9.9
    assert "turns up" in found.why


def test_a_loss_that_is_no_number_ends_the_test_and_is_the_edge(tmp_path: Path) -> None:
    learner = toys.made("tokens")

    def burst(update: Update, clock: Clock) -> Update:
        bad = {n: type(o)(o.sum * torch.nan, o.over, o.weight) for n, o in update.losses.items()}
        return Update(update.part, bad) if clock.step >= 100 else update

    learner.meddle = burst
    engine = toys.engine(learner, tmp_path, guards=[], **NEVER)
    seen = list(range_test(engine, part="body", loss="match", steps=120))
    assert len(seen) == 101 and math.isnan(seen[-1].loss)
    assert choose_rate(seen).edge == seen[-1].rate


def test_a_loss_through_the_roof_ends_the_test_early(tmp_path: Path) -> None:
    learner = toys.made("tokens")

    def rising(update: Update, clock: Clock) -> Update:
        more = {n: type(o)(o.sum * 10.0 ** max(0, clock.step - 50), o.over, o.weight) for n, o in update.losses.items()}
        return Update(update.part, more)

    learner.meddle = rising
    engine = toys.engine(learner, tmp_path, guards=[], **NEVER)
    assert 50 < sum(1 for _ in range_test(engine, part="body", loss="match")) < 60


def test_too_short_a_curve_says_so() -> None:
    assert choose_rate(made([1.0] * 5)).rate is None


def spikes() -> Iterator[float]:
    yield from [2.0] * 50
    yield 9.0
    yield from [2.0] * 60


def test_one_spike_is_no_fall() -> None:
    assert choose_rate(made(list(spikes()))).rate is None


def fine_tuning(seed: int, *, falls: float) -> list[float]:
    """A base that is good already: noisy batches, a first one far off, a fall around 5e-5, then the edge."""
    random = np.random.default_rng(seed)
    rates = np.log10([rate_at(place, 120) for place in range(120)])
    shape = 0.46 - falls * np.clip((rates + 5) / 1.3, 0, 1) + 0.4 * np.maximum(0, rates + 3.4) ** 2
    losses = shape + 0.025 * random.normal(size=120)
    losses[0], losses[1:3] = 0.51, losses[1:3] - 0.04
    return list(losses[:100])


def test_the_noise_of_the_first_batches_is_no_fall_of_a_base_that_is_good() -> None:
    found = [choose_rate(made(fine_tuning(seed, falls=0.05))) for seed in range(30)]
    rates = [one.rate for one in found if one.rate is not None]
    assert len(rates) >= 20
    assert min(rates) >= 1e-5 and max(rates) <= 1e-3
    flat = [choose_rate(made(fine_tuning(seed, falls=0.0))) for seed in range(30)]
    assert [one.rate for one in flat] == [None] * 30
    assert all("keep the recipe's rate" in one.why for one in flat)
