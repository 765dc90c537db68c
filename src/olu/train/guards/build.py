"""The guards of a run, with the limits its recipe sets and the losses its family names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olu.train.guards import (
    FROM_SCRATCH,
    FROM_WEIGHTS,
    Balance,
    Budget,
    Drift,
    Finite,
    Guard,
    Overfit,
    Samples,
    Slow,
    Spike,
    Still,
    Wiring,
)

if TYPE_CHECKING:
    from olu.train.family import Family
    from olu.train.recipe import Recipe


def watchmen(recipe: Recipe, family: Family, *, from_weights: bool = False) -> list[Guard]:
    """`from_weights`: the run begins with what another has learnt, so that small movements are what is wanted."""
    g, figures, judge = recipe.guards, family.figures, family.figures.opponent
    least_move = FROM_WEIGHTS if from_weights else FROM_SCRATCH
    after = g.slow_after + recipe.plan.warmup_steps
    guards: list[Guard] = [
        Wiring(),
        Finite(patience=g.finite_patience),
        Spike(factor=g.spike_factor, window=g.spike_window, patience=g.spike_patience),
        Still(patience=g.still_patience),
        Slow(part=figures.learns, loss=figures.learning, after=after, least=g.slow_least, ratio=least_move),
        Drift(losses=figures.steady, factor=g.drift_factor, patience=g.drift_patience, warmup=g.drift_warmup),
        Overfit(patience=g.overfit_patience),
        Samples(warmup=g.samples_warmup),
        Budget(max_hours=recipe.plan.max_hours),
    ]
    if judge is not None:
        guards.append(
            Balance(part=judge.part, loss=judge.loss, won=judge.won, chance=judge.chance, patience=g.balance_patience)
        )
    return guards
