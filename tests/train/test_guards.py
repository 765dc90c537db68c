from __future__ import annotations

import ast
import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import olu.train.guards as module
from olu.train.family import Figures
from olu.train.guards import (
    MIN_HISTORY,
    Balance,
    Budget,
    Drift,
    Finite,
    Guard,
    GuardEvent,
    Observation,
    Overfit,
    Resources,
    SampleFigures,
    Samples,
    Seen,
    Slow,
    Spike,
    Still,
    ValidationView,
    Verdict,
    Wiring,
    watchmen,
)
from olu.train.guards.progress import FROM_WEIGHTS
from olu.train.recipe import Recipe


def seen(step: int = 0, part: str = "gen", *, loss: float = 1.0, norm: float = 1.0, **more: object) -> Observation:
    return Observation(step=step, part=part, losses={"mel": loss}, grad_norm=norm, lr=1e-3, clips=("a", "b"), **more)


def verdict(event: GuardEvent | None) -> Verdict | None:
    return None if event is None else event.verdict


def test_verdicts_are_ordered_by_gravity() -> None:
    assert Verdict.NOTE < Verdict.SKIP < Verdict.REWIND < Verdict.STOP


def test_guards_are_free_of_torch() -> None:
    named = set()
    for path in Path(module.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        named |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert len(named) > 5
    assert not any(name.split(".")[0] in ("torch", "numpy") for name in named)


class TestWiring:
    def test_names_what_is_loose_and_shortens_the_list(self) -> None:
        event = Wiring().watch(seen(untouched=tuple(f"layer{n}.weight" for n in range(7))))
        assert event is not None and event.verdict is Verdict.STOP
        assert "layer4.weight ..." in event.message and "layer5" not in event.message

    def test_looks_once_at_each_part(self) -> None:
        guard = Wiring()
        assert guard.watch(seen(part="disc")) is None
        assert guard.watch(seen(part="disc", untouched=("late",))) is None
        assert verdict(guard.watch(seen(part="gen", untouched=("x",)))) is Verdict.STOP


class TestFinite:
    @pytest.mark.parametrize("bad", [{"loss": math.nan}, {"loss": math.inf}, {"norm": math.nan}, {"norm": -math.inf}])
    @pytest.mark.parametrize("patience", [0, 1, 3])
    def test_skips_then_sends_back_and_begins_again(self, bad: dict[str, float], patience: int) -> None:
        guard = Finite(patience=patience)
        got = [verdict(guard.watch(seen(step, **bad))) for step in range(2 * (patience + 1))]
        assert got == ([Verdict.SKIP] * patience + [Verdict.REWIND]) * 2

    def test_one_good_update_forgives(self) -> None:
        guard = Finite(patience=2)
        for _ in range(5):
            assert verdict(guard.watch(seen(loss=math.nan))) is Verdict.SKIP
            assert verdict(guard.watch(seen(loss=math.nan))) is Verdict.SKIP
            assert guard.watch(seen()) is None

    def test_a_healthy_judge_does_not_excuse_a_sick_generator(self) -> None:
        guard = Finite(patience=3)
        got = []
        for step in range(4):
            assert guard.watch(seen(step, "disc")) is None
            got.append(verdict(guard.watch(seen(step, "gen", loss=math.nan))))
        assert got == [Verdict.SKIP] * 3 + [Verdict.REWIND]

    def test_says_what_and_in_which_clips(self) -> None:
        event = Finite().watch(seen(loss=math.nan, norm=math.nan))
        assert event is not None and "mel, gradient not a number" in event.message and event.clips == ("a", "b")

    def test_names_the_clips_that_were_in_every_bad_batch(self) -> None:
        guard, said = Finite(), []
        for step, clips in enumerate([("a", "b", "c"), ("d",), ("b", "c", "e"), ("c", "f")]):
            event = guard.watch(replace(seen(step, loss=1.0 if clips == ("d",) else math.nan), clips=clips))
            said.append(
                (event.message.rpartition("look at ")[2].rpartition("now on, ")[2], event.aside) if event else None
            )
        assert said == [("a, b, c", ()), None, ("b, c", ()), ("c", ("c",))]

    def test_sick_weights_or_buffers_send_back_at_once(self) -> None:
        event = Finite().watch(seen(sick=("norm.running_mean",)))
        assert event is not None and event.verdict is Verdict.REWIND and "norm.running_mean" in event.message


class TestSpike:
    def run(self, guard: Spike, norms: list[float]) -> list[Verdict | None]:
        return [verdict(guard.watch(seen(step, norm=norm))) for step, norm in enumerate(norms)]

    def test_needs_a_history_first(self) -> None:
        assert self.run(Spike(), [1.0, 1e6] * (MIN_HISTORY // 2 - 1)) == [None] * (MIN_HISTORY - 2)

    @pytest.mark.parametrize("factor", [5.0, 20.0])
    def test_skips_beyond_the_factor_only(self, factor: float) -> None:
        usual = [2.0] * MIN_HISTORY
        assert self.run(Spike(factor=factor), [*usual, 2 * factor])[-1] is None
        assert self.run(Spike(factor=factor), [*usual, 2.001 * factor])[-1] is Verdict.SKIP

    @pytest.mark.parametrize("patience", [1, 2, 5])
    def test_many_in_one_window_send_back(self, patience: int) -> None:
        got = self.run(Spike(patience=patience), [1.0] * MIN_HISTORY + [100.0, 1.0] * (patience + 1))
        last = Verdict.REWIND if patience == 1 else Verdict.SKIP  # the count begins again after a rewind
        assert got[MIN_HISTORY::2] == [Verdict.SKIP] * (patience - 1) + [Verdict.REWIND, last]

    def test_a_gradient_that_stays_high_has_a_new_level(self) -> None:
        got = self.run(Spike(), [1.0] * 50 + [30.0, 25.0, 35.0] + [30.0] * 200)
        assert got[50:53] == [Verdict.SKIP, Verdict.SKIP, Verdict.NOTE]
        assert set(got[53:]) == {None}

    def test_a_level_out_of_all_proportion_sends_back(self) -> None:
        got = self.run(Spike(factor=20), [1.0] * 50 + [500.0] * 3)
        assert got[50:] == [Verdict.SKIP, Verdict.SKIP, Verdict.REWIND]

    def test_spikes_further_apart_than_the_window_never_send_back(self) -> None:
        got = self.run(Spike(window=30, patience=2), ([1.0] * 30 + [100.0]) * 5)
        assert got.count(Verdict.SKIP) == 5 and Verdict.REWIND not in got
        closer = self.run(Spike(window=40, patience=2), ([1.0] * 30 + [100.0]) * 5)
        assert Verdict.REWIND in closer

    def test_the_window_follows_a_slow_rise(self) -> None:
        assert set(self.run(Spike(window=20), [1.05**n for n in range(200)])) == {None}

    def test_a_spike_does_not_become_usual(self) -> None:
        guard = Spike(patience=1000)
        self.run(guard, [1.0] * MIN_HISTORY + [100.0, 100.0, 1.0] * 30)
        assert max(guard.history["gen"]) == 1.0

    def test_a_gradient_that_is_not_a_number_is_not_its_matter(self) -> None:
        assert set(self.run(Spike(), [1.0] * 30 + [math.nan, math.inf])) == {None}

    def test_parts_have_their_own_history(self) -> None:
        guard = Spike()
        for step in range(30):
            assert guard.watch(seen(step, "gen", norm=1.0)) is None
            assert guard.watch(seen(step, "disc", norm=500.0)) is None
        assert verdict(guard.watch(seen(30, "gen", norm=500.0))) is Verdict.SKIP

    def test_zero_gradients_do_not_make_everything_a_spike(self) -> None:
        got = self.run(Spike(), [0.0] * 30 + [1e-8])
        assert got[-1] is None

    @pytest.mark.parametrize("seed", range(5))
    def test_a_healthy_noisy_gradient_passes(self, seed: int) -> None:
        draw = random.Random(seed)
        assert set(self.run(Spike(), [math.exp(draw.gauss(0, 0.6)) for _ in range(2000)])) == {None}


@pytest.mark.parametrize("make", [Wiring, Finite, lambda: Spike(window=20, patience=3)])
def test_a_guard_goes_on_from_its_saved_state(make: type[Guard]) -> None:
    draw = random.Random(4)
    watched = [
        seen(
            step,
            draw.choice(["gen", "disc"]),
            loss=draw.choice([1.0, 1.0, math.nan]),
            norm=draw.choice([1.0, 1.1, 0.9, 1.0, 400.0]),
            untouched=("x",) if step > 60 else (),
        )
        for step in range(120)
    ]
    for cut in (0, 1, 30, 61, 119):
        through, first, second = make(), make(), make()
        expected = [through.watch(o) for o in watched]
        got = [first.watch(o) for o in watched[:cut]]
        second.load(json.loads(json.dumps(first.state())))
        assert got + [second.watch(o) for o in watched[cut:]] == expected


class TestStill:
    def test_stops_a_part_whose_gradient_is_exactly_zero(self) -> None:
        guard = Still(patience=5)
        assert [verdict(guard.watch(seen(step, norm=0.0))) for step in range(5)] == [None] * 4 + [Verdict.STOP]

    def test_one_movement_forgives_and_parts_are_told_apart(self) -> None:
        guard = Still(patience=3)
        norms = [0.0, 0.0, 1e-12, 0.0, 0.0]
        assert [guard.watch(seen(step, norm=norm)) for step, norm in enumerate(norms)] == [None] * 5
        assert guard.watch(seen(part="disc", norm=0.0)) is None


class TestBalance:
    def guard(self) -> Balance:
        return Balance(part="disc", loss="mel", won=0.06, chance=3.0, patience=50)

    @pytest.mark.parametrize(("value", "says"), [(0.01, "every time"), (3.01, "only guesses")])
    def test_notes_then_stops(self, value: float, says: str) -> None:
        guard = self.guard()
        got = [guard.watch(seen(step, "disc", loss=value)) for step in range(100)]
        assert [step for step, event in enumerate(got) if event] == [49, 99]
        assert (verdict(got[49]), verdict(got[99])) == (Verdict.NOTE, Verdict.STOP)
        assert got[49] is not None and says in got[49].message

    def test_a_judge_that_works_is_left_alone(self) -> None:
        guard, random_ = self.guard(), random.Random(1)
        assert all(guard.watch(seen(s, "disc", loss=random_.gauss(2.4, 0.4))) is None for s in range(2000))
        assert all(guard.watch(seen(s, "gen", loss=0.01)) is None for s in range(200))


class TestSlow:
    def run(self, losses: list[float], *, ratio: float | None = 4e-3) -> list[GuardEvent]:
        guard = Slow(part="gen", loss="mel", after=120)
        got = [guard.watch(seen(step, loss=loss, ratio=ratio)) for step, loss in enumerate(losses)]
        return [event for event in got if event]

    def test_a_loss_that_stands_is_noted_once_with_a_rate_to_try(self) -> None:
        random_ = random.Random(2)
        (event,) = self.run([4 + random_.gauss(0, 0.1) for _ in range(500)])
        assert event.verdict is Verdict.NOTE and "try 0.01" in event.message

    @pytest.mark.parametrize(("ratio", "told"), [(2e-3, False), (1e-4, True)])
    def test_a_voice_that_has_learnt_before_may_stand_while_it_moves(self, ratio: float, told: bool) -> None:
        guard = Slow(part="gen", loss="mel", after=120, ratio=FROM_WEIGHTS)
        got = [guard.watch(seen(step, loss=0.46, ratio=ratio)) for step in range(300)]
        assert any(got) == told

    def test_weights_that_hardly_move_are_noted(self) -> None:
        (event,) = self.run([4 / (1 + step / 50) for step in range(200)], ratio=1e-7)
        assert "1.0e-07 of themselves" in event.message

    @pytest.mark.parametrize(("ratio", "told"), [(1.2e-3, False), (6e-4, True)])
    def test_a_rate_that_a_schedule_lowers_is_judged_as_it_was_highest(self, ratio: float, told: bool) -> None:
        guard, said = Slow(part="gen", loss="mel", after=120), []
        for step in range(130):
            share = 1 - 0.7 * step / 130
            now = replace(seen(step, loss=4 / (1 + step / 50), ratio=ratio * share), lr=1e-3 * share)
            said += [event] if (event := guard.watch(now)) else []
        assert bool(said) == told and all("the rate 0.001 is probably too low; try 0.01" in e.message for e in said)

    def test_a_rate_far_too_high_is_noted_once_with_a_fair_one(self) -> None:
        (event,) = self.run([4 / (1 + step / 50) for step in range(200)], ratio=0.4)
        assert event.guard == "fast" and "moves the weights by 40 %" in event.message and "try 1e-05" in event.message

    def test_a_loss_that_falls_is_fine(self) -> None:
        assert self.run([4 / (1 + step / 50) for step in range(500)]) == []

    @pytest.mark.parametrize(
        ("ratio", "scratch", "weights"), [(3.7e-3, 0, 0), (1.2e-3, 0, 0), (4.9e-4, 1, 0), (1e-5, 1, 1)]
    )
    def test_what_is_little_from_scratch_is_right_for_learnt_weights(
        self, ratio: float, scratch: int, weights: int
    ) -> None:
        """Measured on the sample corpus: 3.7e-3 (tiny) and 1.2e-3 (small) at the usual rate, 4.9e-4 at a tenth."""
        family = SimpleNamespace(figures=Figures(score="mel", learns="gen", steady=()))
        for from_weights, expected in ((False, scratch), (True, weights)):
            guards = watchmen(Recipe(), family, from_weights=from_weights)  # type: ignore[arg-type]
            said = []
            for step in range(400):
                now = seen(step, loss=4 / (1 + step / 50), ratio=3 * ratio if step < 50 else ratio)
                said += [event for guard in guards if (event := guard.watch(now))]
            assert [event.guard for event in said] == ["slow"] * expected, (from_weights, said)


class TestDrift:
    def test_notes_a_loss_that_stays_far_above_its_best(self) -> None:
        guard = Drift(losses=("mel",), patience=50, warmup=100)
        losses = [1.0] * 300 + [3.0] * 300
        got = [event for step, loss in enumerate(losses) if (event := guard.watch(seen(step, loss=loss)))]
        assert [event.verdict for event in got] == [Verdict.NOTE] and "times its best" in got[0].message

    def test_goes_back_only_when_the_voice_is_worse_too(self) -> None:
        for value, expected in ((2.0, Verdict.REWIND), (1.05, None)):
            guard = Drift(losses=("mel",), patience=50, warmup=100)
            assert guard.watch(look(10, 1.0)) is None
            for step, loss in enumerate([1.0] * 300 + [3.0] * 300):
                guard.watch(seen(step, loss=loss))
            assert verdict(guard.watch(look(600, value))) is expected

    def test_an_opponents_loss_may_rise(self) -> None:
        guard = Drift(losses=("kl",), patience=5, warmup=5)
        assert all(guard.watch(seen(step, loss=float(step))) is None for step in range(1000))


class TestOverfit:
    def test_a_score_of_several_losses_is_held_against_one_of_them(self) -> None:
        guard = Overfit(patience=2, loss="mean")
        rows = [(1, 1.0, 0.5), (2, 1.1, 0.4), (3, 1.2, 0.3)]
        told = [guard.watch(ValidationView(step, 9, "weighed", {"weighed": v}, {"mean": t})) for step, v, t in rows]
        assert told[:2] == [None, None] and told[2] is not None and "best at step 1" in told[2].message

    def test_names_the_step_to_export_once(self) -> None:
        guard = Overfit(patience=3)
        scores = [3.0, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5]
        got = [guard.watch(look(100 * n, score, learnt=3.0 - 0.3 * n)) for n, score in enumerate(scores)]
        assert [n for n, event in enumerate(got) if event] == [4]
        assert got[4] is not None and "step 100 is the one to export" in got[4].message

    def test_a_run_that_no_longer_learns_is_not_overfitting(self) -> None:
        guard = Overfit(patience=2)
        assert all(guard.watch(look(n, 2.0 + (n > 0), learnt=1.0)) is None for n in range(10))


class TestSamples:
    def test_silence_after_the_warm_up(self) -> None:
        guard = Samples(warmup=0.5)
        assert guard.watch(look(100, 1.0, sounds=(sound(peak=0.0, level=-120.0),))) is None
        event = guard.watch(look(600, 1.0, sounds=(sound(peak=0.0, level=-120.0),)))
        assert event is not None and event.verdict is Verdict.NOTE and "silent" in event.message
        assert guard.watch(look(700, 1.0, sounds=(sound(peak=0.0, level=-120.0),))) is None, "told once"

    @pytest.mark.parametrize("fault", [{"clipped": 0.2}, {"seconds": 30.0}, {"repeats": 0.99}])
    def test_other_faults_only_where_earlier_samples_were_well(self, fault: dict[str, float]) -> None:
        always = Samples(warmup=0.0)
        assert [always.watch(look(step, 1.0, sounds=(sound(**fault),))) for step in (1, 2, 3)] == [None] * 3
        turned = Samples(warmup=0.0)
        assert turned.watch(look(1, 1.0, sounds=(sound(),))) is None
        assert verdict(turned.watch(look(2, 1.0, sounds=(sound(**fault),)))) is Verdict.NOTE

    def test_one_bad_sample_of_several_is_no_matter(self) -> None:
        guard = Samples(warmup=0.0)
        assert guard.watch(look(5, 1.0, sounds=(sound(), sound(peak=0.0)))) is None


class TestBudget:
    def have(self, **change: float) -> Resources:
        usual = {"step": 40, "hours": 0.1, "free_bytes": 100, "checkpoint_bytes": 10, "waiting": 0.0}
        return Resources(**{**usual, **change})  # type: ignore[arg-type]

    def test_stops_when_time_or_disk_is_used_up(self) -> None:
        assert verdict(Budget(max_hours=1).watch(self.have(hours=1.01))) is Verdict.STOP
        event = Budget().watch(self.have(free_bytes=11))
        assert verdict(event) is Verdict.STOP and event is not None and "--resume" in event.message

    @pytest.mark.parametrize("change", [{"hours": 0.95}, {"free_bytes": 25}, {"waiting": 0.7}])
    def test_says_early_and_once_what_runs_out(self, change: dict[str, float]) -> None:
        guard = Budget(max_hours=1)
        got = [verdict(guard.watch(self.have(**change))) for _ in range(3)]
        assert got == [Verdict.NOTE, None, None]

    def test_no_limit_is_no_limit(self) -> None:
        assert Budget().watch(self.have(hours=1e6)) is None


def look(step: int, score: float, *, learnt: float = 1.0, sounds: tuple[SampleFigures, ...] = ()) -> ValidationView:
    return ValidationView(step, 1000, "mel", {"mel": score}, {"mel": learnt}, sounds)


def sound(**change: float) -> SampleFigures:
    usual = {"seconds": 3.0, "peak": 0.5, "level": -20.0, "clipped": 0.0, "repeats": 0.5, "natural": 3.0}
    return SampleFigures(name="clip", **{**usual, **change})  # type: ignore[arg-type]


GUARDS: list[Callable[[], Guard]] = [
    Wiring,
    Finite,
    Spike,
    Still,
    lambda: Balance(part="disc", loss="mel", won=0.06, chance=3.0),
    lambda: Slow(part="gen", loss="mel"),
    lambda: Drift(losses=("mel",), warmup=30, patience=10),
    lambda: Overfit(patience=2),
    lambda: Samples(warmup=0.0),
    lambda: Budget(max_hours=2.0),
]


@pytest.mark.parametrize("make", GUARDS)
def test_a_guard_taken_up_again_goes_on_the_same(make: Callable[[], Guard]) -> None:
    random_ = random.Random(5)
    feed: list[Seen] = []
    for step in range(200):
        feed.append(seen(step, loss=random_.choice([0.5, 1.0, 5.0]), norm=random_.choice([0.0, 1.0, 50.0])))
        if step % 10 == 0:
            feed.append(look(step, random_.random(), learnt=random_.random(), sounds=(sound(peak=random_.random()),)))
            feed.append(Resources(step, step / 100, 50, 10, random_.random()))
    through, first, second = make(), make(), make()
    expected = [through.watch(one) for one in feed]
    got = [first.watch(one) for one in feed[:90]]
    second.load(json.loads(json.dumps(first.state())))
    assert got + [second.watch(one) for one in feed[90:]] == expected


def test_no_guard_stops_a_healthy_noisy_run() -> None:
    """A GAN as it is: losses rise and fall, the judge's gradient leaps, early samples are noise."""
    for seed in range(20):
        random_ = random.Random(seed)
        guards = [make() for make in GUARDS[:-1]]
        worst = Verdict.NOTE
        for step in range(1500):
            mel = 0.5 + 3.5 / (1 + step / 60) + random_.gauss(0, 0.08)
            kl = 1.5 + 0.8 * math.sin(step / 90) + random_.gauss(0, 0.1)
            judge = 2.5 + 0.4 * math.sin(step / 37) + random_.gauss(0, 0.25)
            leap = 6.0 if random_.random() < 0.01 else 1.0
            for part, losses, norm in (
                ("disc", {"mel": judge}, leap * random_.lognormvariate(0.5, 0.5)),
                ("gen", {"mel": mel, "kl": kl, "adversarial": 2 + step / 500}, leap * random_.lognormvariate(3, 0.5)),
            ):
                observed = Observation(step=step, part=part, losses=losses, grad_norm=norm, lr=2e-4, ratio=1e-3)
                for guard in guards:
                    event = guard.watch(observed)
                    worst = max(worst, event.verdict) if event else worst
            if step % 100 == 99:
                noisy = sound(peak=0.9, clipped=0.01 if step < 300 else 0.0, seconds=9.0 if step < 300 else 3.2)
                for guard in guards:
                    event = guard.watch(look(step, mel + random_.gauss(0, 0.05), learnt=mel, sounds=(noisy,)))
                    worst = max(worst, event.verdict) if event else worst
        assert worst < Verdict.REWIND, seed  # a lone leap may be passed over
