"""The README's figures of reading, for whoever has only this repository: rows of public lists, in tests/text/gold.

The bounds are what these rows give, rounded up; the figures of the whole lists come from benchmarks/reading.py.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest

from olu.languages.ibo.dots import TOKEN, make_restorer
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load

GOLD = Path(__file__).parent / "gold"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BOUNDS = {  # language -> (rows or tones, percent wrong) of each score, as benchmarks/reading.py orders them
    "amh": [(181, 6), (181, 31), (181, 6), (181, 24)],
    "spa": [(200, 1.5), (200, 1.5)],
    "swa": [(110, 0.5)],
    "yor": [(200, 2.5), (550, 0), (550, 8)],
}


@pytest.mark.parametrize("code", BOUNDS)
def test_the_public_lists_agree(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import reading

    scores = reading.LANGUAGES[code](GOLD)
    sys.modules.pop("reading")
    assert [score.rows for score in scores] == [rows for rows, _ in BOUNDS[code]]
    for score, (_, most) in zip(scores, BOUNDS[code], strict=True):
        assert score.value <= most, score


def test_igbo_dots_come_back() -> None:
    """Lines the restorer has not learnt from, with their dots taken off."""
    restore = make_restorer(Pack.of(load("ibo").files()))
    total = right = 0
    for line in (GOLD / "igbo_text_newtestament.txt").read_text(encoding="utf-8").splitlines():
        flat = "".join(char for char in unicodedata.normalize("NFD", line) if char not in "\u0323\u0307")
        after = restore(unicodedata.normalize("NFC", flat), ReadingTrace())
        for true, read in zip(TOKEN.findall(line), TOKEN.findall(after), strict=True):
            if true[0].isalpha():
                total, right = total + 1, right + (true == read)
    assert total > 4_000
    assert right / total >= 0.992
