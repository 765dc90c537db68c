"""Counts for all tests: `make test` tries a few hundred made inputs, `make soak` thousands."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SOAK = os.environ.get("OLU_SOAK") == "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")  # else a busy machine would choose, and other numbers round differently

settings.register_profile(
    "olu",
    max_examples=2000 if SOAK else 60,
    deadline=None,  # shared machines stall
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("olu")
