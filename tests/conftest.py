"""Counts for all tests: `make test` tries a few hundred made inputs, `make soak` thousands."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SOAK = os.environ.get("OLU_SOAK") == "1"

settings.register_profile(
    "olu",
    max_examples=2000 if SOAK else 100,
    deadline=None,  # shared machines stall
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("olu")
