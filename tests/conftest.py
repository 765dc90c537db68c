"""Counts for all tests (`make test` tries hundreds of made inputs, `make soak` thousands), and which files go first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
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


# Files of many seconds: begun last, one of them would keep a worker busy while the others are done.
LONG = {
    f"{name}.py"
    for name in (
        *("families/test_conformance", "families/test_vits_foreign", "families/test_chatterbox_speaking"),
        *("families/test_toy_families", "families/test_vits_complete", "families/test_vits_export"),
        *("families/test_xtts_foreign", "families/test_xtts_runs", "stages/test_recogniser", "export/test_cards"),
        *("train/test_kill", "train/test_ranks", "train/test_recipe", "train/test_faults", "test_docs", "test_site"),
    )
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    home = Path(__file__).parent
    items.sort(key=lambda item: os.path.relpath(item.path, home).replace(os.sep, "/") not in LONG)
