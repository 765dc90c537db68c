from __future__ import annotations

from olu.align import runs
from olu.align.cut import CutPoint
from olu.align.runs import (
    SpokenRun,
    beside_holes,
    clock,
    narrowed,
    spoken_runs,
    trimmed,
    unspoken_named,
    unwritten_named,
)
from olu.core.types import Alignment, Span

WORDS = tuple(Span(name, 2.0 * at, 2.0 * at + 1.0, -0.1) for at, name in enumerate("abcdef"))


def alignment(**holes):
    return Alignment(id="x", seconds=20.0, words=WORDS, phones=(), method="flat", **holes)


def test_runs_end_at_what_is_not_written(monkeypatch):
    monkeypatch.setattr(runs, "LEAST_BREAK", 0.5)
    found = spoken_runs(alignment(unwritten=((0.0, 0.0), (5.2, 5.9), (12.0, 15.0))))
    assert found == [SpokenRun(0, 3, 0.0, 5.2), SpokenRun(3, 6, 5.9, 12.0)]


def test_runs_end_at_what_is_not_said():
    found = spoken_runs(alignment(unspoken=((2, 4),)))
    assert found == [SpokenRun(0, 2, 0.0, 8.0), SpokenRun(4, 6, 3.0, 20.0)]


def test_all_is_one_run_without_holes_and_nothing_where_nothing_is_said():
    assert spoken_runs(alignment()) == [SpokenRun(0, 6, 0.0, 20.0)]
    assert spoken_runs(alignment(unspoken=((0, 6),))) == []


def test_a_run_loses_words_without_a_pause_a_sure_place_or_a_good_score():
    found = {at: CutPoint(2 * at, False) for at in range(1, 6)}
    run = SpokenRun(2, 5, 3.98, 10.0)
    assert narrowed(run, WORDS, found, frozenset(), 0.1) == SpokenRun(3, 5, 5.0, 10.0)
    assert narrowed(run, WORDS, found, frozenset({3}), 0.1) == SpokenRun(4, 5, 7.0, 10.0)
    less = {at: place for at, place in found.items() if at != 5}
    assert narrowed(run, WORDS, less, frozenset(), 0.1) == SpokenRun(3, 4, 5.0, 8.0)
    assert narrowed(SpokenRun(2, 3, 3.98, 5.0), WORDS, found, frozenset(), 0.1) is None


def test_what_is_left_out_at_the_ends_of_a_run_is_told_with_its_seconds():
    run = SpokenRun(1, 6, 1.0, 20.0)
    assert trimmed(run, SpokenRun(2, 4, 3.0, 8.0), WORDS) == [(2.0, 1.0), (8.0, 3.0)]
    assert trimmed(run, SpokenRun(1, 6, 1.0, 20.0), WORDS) == []
    assert trimmed(run, None, WORDS) == [(2.0, 9.0)]


def test_words_beside_holes_ones():
    assert beside_holes(alignment(unspoken=((1, 3), (5, 6)))) == {0, 3, 4, 6}
    assert beside_holes(alignment(otherwise=((2, 3),))) == {1, 3}
    assert beside_holes(alignment()) == frozenset()


def test_holes_are_told_with_times_and_words():
    one = alignment(unwritten=((5.2, 5.9), (12.0, 75.4)), unspoken=((3, 5),))
    assert unwritten_named(one) == [
        "0:05.2 to 0:05.9: 0.7 s that are not in the text, between 'c' and 'f'",
        "0:12.0 to 1:15.4: 63.4 s that are not in the text, after 'f'",
    ]
    assert unspoken_named(one) == ["0:06.0: 2 words that nobody says: d e"]
    assert clock(3723.44) == "1:02:03.4"
