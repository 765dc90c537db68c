"""Guards: pure, torch-free, each one suspicion. Their memory is plain data, saved with the run."""

from olu.train.guards.balance import Balance
from olu.train.guards.budget import Budget
from olu.train.guards.numbers import MIN_HISTORY, Finite, Spike, Still, Wiring
from olu.train.guards.progress import FROM_SCRATCH, FROM_WEIGHTS, Drift, Overfit, Slow
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
from olu.train.guards.sounds import Samples

__all__ = [
    "FROM_SCRATCH",
    "FROM_WEIGHTS",
    "MIN_HISTORY",
    "Balance",
    "Budget",
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
]
