from __future__ import annotations

import ast
import json
import math
import random
from pathlib import Path

import pytest

import olu.train.guards as module
from olu.train.guards import MIN_HISTORY, Event, Finite, Guard, Observation, Spike, Verdict, Wiring


def seen(step: int = 0, part: str = "gen", *, loss: float = 1.0, norm: float = 1.0, **more: object) -> Observation:
    return Observation(step=step, part=part, losses={"mel": loss}, grad_norm=norm, lr=1e-3, clips=("a", "b"), **more)


def verdict(event: Event | None) -> Verdict | None:
    return None if event is None else event.verdict


def test_verdicts_are_ordered_by_gravity() -> None:
    assert Verdict.NOTE < Verdict.SKIP < Verdict.REWIND < Verdict.STOP


def test_guards_are_free_of_torch() -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
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
