"""Figures and their intervals, against what theory says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from olu.evaluate import metrics
from olu.evaluate.estimates import Estimate, differences, figure, interval, lowest, mean, nearer, paired


def made(values: list[float | None], **more: object) -> Estimate:
    given = {"unit": "dB", "instrument": "ruler 1", "trust": "high", "reason": "counted"} | more
    return figure("mcd", values, **given)  # type: ignore[arg-type]


def test_the_interval_of_a_mean_is_that_of_theory():
    values = list(np.random.default_rng(3).normal(5.0, 2.0, 400))
    found = interval(values)
    assert found.middle == pytest.approx(np.mean(values)) and found.n == 400
    assert found.low is not None and found.high is not None
    half = 1.96 * np.std(values) / 20
    assert found.high - found.low == pytest.approx(2 * half, rel=0.1)
    assert interval(values) == found  # the same draws every time


def test_intervals_hold_the_truth_about_95_times_in_100():
    random = np.random.default_rng(5)
    held = 0
    for _ in range(200):
        found = interval(list(random.exponential(1.0, 60)))
        assert found.low is not None and found.high is not None
        held += found.low <= 1.0 <= found.high
    assert 175 <= held <= 199


def test_pairing_takes_away_what_both_share():
    random = np.random.default_rng(0)
    hard = random.normal(0, 5, 100)  # sentences differ far more than systems
    natural, spoken = list(hard), list(hard + 0.5 + random.normal(0, 0.1, 100))
    together = paired(natural, spoken)
    assert together.low is not None and together.high is not None and 0.4 < together.low < 0.5 < together.high < 0.6
    alone = interval(spoken)
    assert alone.high is not None and alone.low is not None and alone.high - alone.low > 1.5


def test_what_could_not_be_measured_is_counted_out_and_kept_in_its_place():
    one = made([1.0, None, 3.0, float("nan")])
    assert (one.n, one.mean, one.values) == (2, 2.0, (1.0, None, 3.0, None))
    assert differences([1.0, None, 2.0], [2.0, 1.0, None]) == (1.0, None, None)
    nothing = made([None, None])
    assert (nothing.n, nothing.mean, nothing.low, nothing.trust) == (0, None, None, "low")
    single = made([4.0])
    assert (single.mean, single.low, single.high, single.reason) == (4.0, None, None, "only one clip")


def test_weights_make_it_the_mean_over_what_they_count():
    assert mean([0.0, 1.0], weights=[1, 3]) == 0.75
    assert made([0.0, 1.0], weights=[1.0, 3.0]).mean == 0.75


def test_a_median_does_not_follow_one_wild_clip():
    one = made([1.0] * 30 + [100.0], middle="median")
    assert one.mean == 1.0 and one.quartiles == (1.0, 1.0) and "median" in one.row()


@pytest.mark.parametrize(("count", "trust"), [(5, "low"), (20, "medium"), (40, "high")])
def test_few_clips_lower_the_trust(count: int, trust: str):
    one = made([1.0, 2.0] * (count // 2) + [1.0] * (count % 2))
    assert one.trust == trust
    assert ("clips" in one.reason) == (trust != "high")


def test_the_least_trust_holds_with_its_reason():
    assert lowest(("high", "a"), ("low", "b"), ("medium", "c")) == ("low", "b")
    assert lowest(("low", "a"), ("low", "b")) == ("low", "a; b")


def test_a_figure_survives_its_file():
    for one in (made([1.0, None, 2.0], natural=0.5), made([1.0, 2.0], middle="median"), made([])):
        assert Estimate.from_row(json.loads(json.dumps(one.row()))) == one


def test_gates_say_pass_warn_and_fail():
    def said(name: str, value: float, natural: float | None = None) -> str | None:
        return metrics.verdict(
            figure(name, [value] * 40, natural=natural, unit="", instrument="", trust="high", reason="")
        )

    assert [said("cer_difference", value) for value in (-0.01, 0.03, 0.05, 0.2)] == ["pass", "pass", "warn", "fail"]
    assert [said("speaker_difference", value) for value in (0.0, -0.1, -0.15, -0.4)] == ["pass", "pass", "warn", "fail"]
    assert [said("tone_moves", value, 0.7) for value in (0.7, 0.66, 0.5)] == ["pass", "pass", "warn"]
    assert said("mcd", 5.0) is None and said("tone_moves", 0.7) is None


def test_every_figure_can_be_explained():
    for name in (*metrics.METRICS, "copy_mcd", "tone_HL", "fault_silent"):
        assert metrics.about(name).title and metrics.about(name).explain
    with pytest.raises(KeyError):
        metrics.about("unheard_of")
    assert set(metrics.GATES) <= set(metrics.METRICS)


def test_a_share_of_sentences_has_an_interval_even_where_none_or_all_are():
    none, all_, half = (interval(values, counted=True) for values in ([0.0] * 50, [1.0] * 50, [0.0, 1.0] * 25))
    assert none.middle == 0.0 and none.low == pytest.approx(0.0) and none.high == pytest.approx(0.0713, abs=1e-3)
    assert all_.high == pytest.approx(1.0) and all_.low == pytest.approx(1 - 0.0713, abs=1e-3)
    assert half.low is not None and half.low == pytest.approx(0.3664, abs=1e-3)
    assert interval([0.0] * 50).high == 0.0  # drawn again: a difference that is nowhere stays nowhere


def test_being_nearer_to_a_target_is_more_than_being_apart():
    random = np.random.default_rng(1)
    short, long, right = (list(middle + random.normal(0, 0.02, 60)) for middle in (0.9, 1.1, 1.0))
    apart = paired(short, long)
    assert apart.low is not None and apart.low > 0
    even = nearer(short, long, target=1.0)
    assert even.low is not None and even.high is not None and even.low < 0 < even.high
    better = nearer(long, right, target=1.0, middle="median")
    assert better.high is not None and better.high < 0 and better.n == 60
    assert nearer([1.0, None], [None, 1.0], target=1.0).low is None
