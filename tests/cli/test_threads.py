"""How many threads torch uses: as many as cores are free, what a person says, or what the run began with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from olu.core import machine, threads

from .conftest import TINY, begin_training, fine, olu


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine of four cores on which nobody says how many threads there are."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "cores_here", lambda: 4)
    monkeypatch.setattr(threads, "_first_number", lambda: 4)
    monkeypatch.setattr(threads, "free_cores", lambda cores: 4.0)
    threads.ask_for(None)
    before = torch.get_num_threads()
    yield monkeypatch
    torch.set_num_threads(before)
    threads.ask_for(None)


@pytest.mark.parametrize(
    ("cores", "measured", "wanted"),
    [(2, 1.97, 2), (2, 1.75, 2), (2, 1.33, 1), (2, 0.4, 1), (16, 15.6, 16), (16, 15.06, 15), (16, 3.2, 3), (1, 1.0, 1)],
)
def test_as_many_as_are_free(free: pytest.MonkeyPatch, cores: int, measured: float, wanted: int) -> None:
    free.setattr(threads, "cores_here", lambda: cores)
    free.setattr(threads, "_first_number", lambda: cores)
    free.setattr(threads, "free_cores", lambda _: measured)
    chosen = threads.choose()
    assert chosen.number == wanted and chosen.fewer == (wanted < cores)
    assert bool(threads.said_of(chosen)) == chosen.fewer


def test_who_decides(free: pytest.MonkeyPatch) -> None:
    """A person by the option, then by the variable; then the run; then the machine."""
    free.setattr(threads, "free_cores", lambda _: 1.2)
    assert threads.choose().number == 1
    assert threads.choose(3).number == 3
    assert threads.choose(9).number == 1  # there are no nine cores here
    for value, number in (("2", 2), ("2,1", 2), ("none", 3)):
        free.setenv("OMP_NUM_THREADS", value)
        assert threads.choose(3).number == number
    threads.ask_for(4)
    assert threads.choose(3).number == 4


def test_free_cores_are_measured() -> None:
    found = threads._looked(2)
    assert 0 < found <= 2


def test_a_container_may_allow_fewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "OLD_QUOTA", (str(tmp_path / "quota"), str(tmp_path / "period")))
    monkeypatch.setattr(machine, "QUOTA", str(tmp_path / "max"))
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: range(8), raising=False)
    assert machine.cores_here() == 8
    for said, cores in (("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1)):
        (tmp_path / "max").write_text(said)
        assert machine.cores_here() == cores
    (tmp_path / "max").unlink()
    for quota, cores in (("-1", 8), ("300000", 3)):
        (tmp_path / "quota").write_text(quota)
        (tmp_path / "period").write_text("100000")
        assert machine.cores_here() == cores


def test_doctor_says_how_many_and_why(free: pytest.MonkeyPatch) -> None:
    free.setattr(threads, "free_cores", lambda _: 1.2)
    said = fine("doctor", "--json").json()["threads"]["said"]
    assert said == "1 on 4 cores: other programs take the rest, 1.2 are free"


def test_a_busy_machine_gets_fewer_threads_and_the_run_keeps_its_number(ws: Path, free: pytest.MonkeyPatch) -> None:
    free.setattr(threads, "free_cores", lambda _: 2.3)
    done = fine("train", ws, *TINY, "--set", "plan.steps=1", "--from-scratch")
    assert "torch uses 2 threads on 4 cores: other programs take the rest, 2.3 are free; --threads" in done.err
    facts = json.loads((ws / "runs/vits-001/facts.json").read_text(encoding="utf-8"))
    assert facts["threads"] == torch.get_num_threads() == 2

    begin_training(ws)  # with two again
    free.setattr(threads, "free_cores", lambda _: 1.1)
    done = fine("train", ws, "--resume")
    assert torch.get_num_threads() == 2
    assert "vits-002 goes on with 2 threads, as it began, though only 1.1 cores are free" in done.err
    assert "bit for bit as if it had never stopped" not in done.err

    begin_training(ws)
    torch.set_num_threads(4)
    done = fine("train", ws, "--resume", "--threads", "3")
    assert torch.get_num_threads() == 3
    (said,) = [line for line in done.err.splitlines() if "began under other conditions" in line]
    assert said.startswith("vits-003 began under other conditions (threads 1 -> 3): it goes on, but not bit for bit")


def test_a_run_that_goes_on_elsewhere_says_so(ws: Path) -> None:
    begin_training(ws)
    path = ws / "runs/vits-001/facts.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**facts, "torch": "1.0", "machine": "Plan9 mips"}), encoding="utf-8")
    (said,) = [line for line in fine("train", ws, "--resume").err.splitlines() if "other conditions" in line]
    assert "torch 1.0 -> " in said and "machine Plan9 mips -> " in said and "threads" not in said


@pytest.mark.parametrize("verb", ["train", "make", "evaluate", "align", "compare"])
def test_threads_must_be_one_at_least(verb: str, tmp_path: Path) -> None:
    more = [tmp_path, "-l", "sw"] if verb == "make" else []
    done = olu(verb, tmp_path, *more, "--threads", "0")
    assert done.code == 2 and "--threads" in done.err
