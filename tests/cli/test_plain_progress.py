"""Progress where no bar can be drawn: lines on stderr, few of them, and none for what ends at once."""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

from olu.cli import progress as lines
from olu.cli.progress import EVERY, QUIET, PlainProgress, follow
from olu.core.job import Tick


def told(ticks: list[tuple[float, Tick]], *, until: float) -> list[str]:
    """What is written when these come at these seconds, looked at twice a second."""
    made, found, coming = PlainProgress("aligning", began=0.0), list[str](), list(ticks)
    for half in range(round(2 * until)):
        while coming and coming[0][0] <= half / 2:
            made.tick(coming.pop(0)[1])
        found += [line] if (line := made.due(half / 2)) else []
    return found


def test_each_phase_is_told_and_a_long_one_now_and_then() -> None:
    ticks = [(n / 10, Tick(n, 40, f"clip-{n}")) for n in range(1, 41)]
    ticks += [(5.0 + n, Tick(n, 100, "training")) for n in range(1, 101)]
    ticks += [(106.0 + n, Tick(n, 40, "hearing")) for n in range(1, 41)]
    found = told(ticks, until=150)
    assert found[0].startswith("aligning: training, ") and found[-2].startswith("aligning: hearing, 1 of 40")
    assert [line.split(",")[0] for line in found] == ["aligning: training"] * 4 + ["aligning: hearing"] * 2
    assert EVERY >= 30


def test_what_ends_soon_says_nothing_and_a_stage_that_is_silent_is_told_of() -> None:
    assert told([(n / 10, Tick(n, 50, "x")) for n in range(1, 51)], until=QUIET - 1) == []
    assert told([(0.0, Tick(0, 3, "listening"))], until=EVERY + QUIET + 1) == ["aligning: listening, 0 of 3"] * 2


def test_a_phase_that_is_over_is_not_told_again() -> None:
    """The first step of a training may take minutes, and the phase before it has nothing to do with that."""
    ticks = [(9 + n / 10, Tick(n, 93, f"clip-{n}")) for n in range(1, 94)]
    assert told(ticks, until=400) == ["aligning: clip-10, 10 of 93", "aligning: clip-93, 93 of 93"]
    assert told([*ticks, (60.0, Tick(0, 0, "the first step"))], until=100)[2:] == ["aligning: the first step"] * 2


def test_a_count_whose_end_is_not_known_is_one_phase() -> None:
    ticks = [(0.1 * n, Tick(n, n, f"example {n}")) for n in range(1, 400)]
    assert len(told(ticks, until=39)) == 1


def test_a_count_without_a_name_has_no_comma_before_it() -> None:
    made = PlainProgress("", began=0.0)
    made.tick(Tick(20, 28))
    assert made.due(QUIET + 1) == "20 of 28"


def test_they_go_to_stderr_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(lines, "QUIET", 0.0)
    monkeypatch.setattr(lines, "APART", 0.0)
    monkeypatch.setattr(lines, "LOOK", 0.01)

    def stage() -> Generator[Tick, None, int]:
        yield Tick(1, 2, "training the recogniser")
        time.sleep(0.1)
        return 7

    assert follow(stage(), label="aligning") == 7
    out, err = capsys.readouterr()
    assert out == "" and err == "aligning: training the recogniser, 1 of 2\n"
