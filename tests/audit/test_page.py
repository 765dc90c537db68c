"""docs/audit.md says what the checks say."""

from __future__ import annotations

from pathlib import Path

import pytest

from olu.audit.check import Check
from olu.audit.checks import CHECKS
from olu.audit.thresholds import Thresholds

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_stands_on_the_page_with_its_limits(check: Check):
    if not PAGE.exists():
        pytest.skip("the documentation is not here")
    words = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"### {check.title} (`{check.name}`)" in words
    for said in (check.rule(Thresholds()), check.fix):  # why it matters stands in the report
        assert " ".join(said.split()) in words
