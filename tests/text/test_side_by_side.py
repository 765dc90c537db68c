"""The table of single words still says what Olu says, and is not kinder to Olu than the measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
LEAST = 20


@pytest.fixture(scope="module")
def compare() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPOSITORY / "benchmarks"))
        import compare_g2p

        yield compare_g2p


def shown() -> list[list[str]]:
    page = (REPOSITORY / "benchmarks" / "results" / "side-by-side_202611.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.split("\n") if line.startswith("|")]
    return rows[2:]


def test_the_page_shows_what_olu_says_now(compare: Any) -> None:
    entries = compare.words()
    assert [row[1] for row in shown()] == [entry.word for entry in entries]
    for row, entry in zip(shown(), entries, strict=True):
        assert row[2] == entry.right
        assert row[3] == compare.cell(compare.by_olu(entry), entry)


def test_olu_is_right_where_another_is_not() -> None:
    rows = shown()
    assert all(row[3].endswith("✓") for row in rows)
    assert all(not (row[4].endswith("✓") and row[5].endswith("✓")) for row in rows)
    assert sum(row[4].endswith("✗") or row[5].endswith("✗") for row in rows) >= LEAST


def test_espeak_says_what_the_page_shows(compare: Any) -> None:
    pytest.importorskip("espeakng_loader")
    for row, entry in zip(shown(), compare.words(), strict=True):
        assert row[4] == compare.cell(compare.by_espeak(entry), entry)


def test_the_folding_is_the_same_for_all(compare: Any) -> None:
    entry = next(one for one in compare.words() if one.word == "ruejo")
    assert compare.cell(["r", "w", "e", "x", "o"], entry).endswith("✓")
    assert compare.cell(["ɾ", "w", "e", "x", "o"], entry).endswith("✗")
    assert compare.cell(None, entry) == compare.ABSENT
