"""Guards: pure, torch-free, each one suspicion. Their memory is plain data, saved with the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olu.train.guards.numbers import MIN_HISTORY, Finite, Spike, Still, Wiring
from olu.train.guards.progress import FROM_SCRATCH, FROM_WEIGHTS, Balance, Budget, Doubts, Drift, Overfit, Samples, Slow
from olu.train.guards.seen import (
    Guard,
    GuardEvent,
    Observation,
    Resources,
    SampleFigures,
    Seen,
    ValidationView,
    Verdict,
)

if TYPE_CHECKING:
    from olu.train.family import Family
    from olu.train.recipe import Recipe

__all__ = [
    "FROM_SCRATCH",
    "FROM_WEIGHTS",
    "MIN_HISTORY",
    "Balance",
    "Budget",
    "Doubts",
    "Drift",
    "Finite",
    "Guard",
    "GuardEvent",
    "Observation",
    "Overfit",
    "Resources",
    "SampleFigures",
    "Samples",
    "Seen",
    "Slow",
    "Spike",
    "Still",
    "ValidationView",
    "Verdict",
    "Wiring",
    "watchmen",
]


def watchmen(recipe: Recipe, family: Family, *, from_weights: bool = False) -> list[Guard]:
    """The guards of a run, with the limits its recipe sets and the losses its family names.

    `from_weights`: the run begins with what another has learnt, so that small movements are what is wanted.
    """
    g, figures, discriminator = recipe.guards, family.figures, family.figures.opponent
    least_move = FROM_WEIGHTS if from_weights else FROM_SCRATCH
    after = g.slow_after + recipe.plan.warmup_steps
    guards: list[Guard] = [
        Wiring(),
        Finite(patience=g.finite_patience),
        Spike(factor=g.spike_factor, window=g.spike_window, patience=g.spike_patience),
        Still(patience=g.still_patience),
        Slow(part=figures.learns, loss=figures.learning, after=after, least=g.slow_least, ratio=least_move),
        Drift(losses=figures.steady, factor=g.drift_factor, patience=g.drift_patience, warmup=g.drift_warmup),
        Overfit(patience=g.overfit_patience, loss=figures.learning),
        Samples(warmup=g.samples_warmup),
        Budget(max_hours=recipe.plan.max_hours),
    ]
    if figures.doubts is not None:
        guards.append(Doubts(figures.doubts, warmup=g.samples_warmup))
    if discriminator is not None:
        guards.append(
            Balance(
                part=discriminator.part,
                loss=discriminator.loss,
                won=discriminator.won,
                chance=discriminator.chance,
                patience=g.balance_patience,
            )
        )
    return guards
