"""Events: what jobs yield, and the file of JSON lines that --events writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from olu.core.job import EventLog, Job, Note, Report, Tick, finish, phase

from ..cli.conftest import TINY, fine, make_recordings, olu


def lines(path: Path) -> list[dict[str, Any]]:
    """Every line, parsed; the last one ends as the others do."""
    text = path.read_bytes().decode("utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def counting(to: int) -> Job[str]:
    for number in range(to):
        yield Tick(number, to, "counting")
    yield Note("counted")
    return "done"


def test_a_job_is_finished_and_a_phase_names_its_ticks() -> None:
    assert finish(counting(3)) == "done"
    events = list(phase("inner", counting(1)))
    assert events == [Tick(0, 1, "inner: counting"), Note("counted")]


def test_each_event_has_its_line_and_strange_values_are_kept_readable(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    log = EventLog(path, verb="x", options={"ws": Path("a"), "several": (1, 2)}, version="9")
    log.add(Tick(1, 2, "a\u2028b\udc80\n\x85c"))
    log.add(Note("ọ"))
    log.add(Report(step=1, tried=2, rewinds=0, steps=5, epoch=0, clips=3, scores={"mel": float("nan")}))
    log.result = Tick(1, 1)
    log.end(code=0)
    begin, tick, note, report, end = lines(path)
    assert begin["options"] == {"ws": "a", "several": [1, 2]} and begin["version"] == "9" and begin["verb"] == "x"
    assert tick["what"] == "a\u2028b\udc80\n\x85c" and (tick["done"], tick["total"]) == (1, 2)
    assert note["event"] == "note" and "ọ".encode() in path.read_bytes()
    assert report["scores"] == {"mel": "nan"} and report["parts"] == {} and report["guards"] == []
    assert end["code"] == 0 and end["result"]["done"] == 1
    assert len(path.read_text("utf-8").splitlines()) == 5, "also for readers that take other signs for line ends"


def test_a_reader_that_leaves_ends_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    log = EventLog(pipe, verb="x", options={}, version="9")
    assert os.read(reader, 9) == b'{"event":'
    os.close(reader)
    log.add(Note("nobody hears it"))
    log.end(code=0)


KILLED = """
import sys
from pathlib import Path
from olu.core.job import EventLog, Note, Tick
log = EventLog(Path(sys.argv[1]), verb="x", options={"many": ["word"] * 500}, version="9")
for number in range(10**9):
    log.add(Tick(number, 0, "w" * (number % 5000)))
"""


def test_what_a_kill_leaves_are_whole_lines(tmp_path: Path) -> None:
    for attempt in range(5):
        path = tmp_path / f"{attempt}.jsonl"
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], env=os.environ)
        while not path.exists() or path.stat().st_size < 200_000 * (attempt + 1):
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        rows = lines(path)
        assert rows[0]["event"] == "begin"
        assert [row["done"] for row in rows[1:]] == list(range(len(rows) - 1))


# ------------------------------------------------------------ on the command line


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run, and what each verb told on the way."""
    place = tmp_path_factory.mktemp("events")
    folder = make_recordings(place / "in", clips=12)
    fine("new", place / "ws", "--language", "sw")
    fine("import", place / "ws", folder, "--events", place / "import.jsonl")
    fine("train", place / "ws", *TINY, "--from-scratch", "--events", place / "train.jsonl")
    fine("export", place / "ws", "--events", place / "export.jsonl")
    return place


@pytest.mark.parametrize("verb", ["import", "train", "export"])
def test_verbs_tell_from_their_begin_to_their_end(spoken: Path, verb: str) -> None:
    begin, *between, end = lines(spoken / f"{verb}.jsonl")
    assert begin["event"] == "begin" and begin["verb"] == verb and begin["started"].endswith("+00:00")
    assert end["event"] == "end" and end["code"] == 0 and end["result"]
    assert {row["event"] for row in between} >= {"tick"}
    assert {row["event"] for row in between} <= {"tick", "note", "report"}
    assert [row["at"] for row in between] == sorted(row["at"] for row in between)


def test_a_training_tells_of_its_steps(spoken: Path) -> None:
    rows = lines(spoken / "train.jsonl")
    steps = [row for row in rows if row["event"] == "report"]
    assert [row["step"] for row in steps] == [1, 2] and steps[0]["steps"] == 2
    assert set(steps[0]["parts"]) == {"gen", "disc"} and steps[0]["parts"]["gen"]["lr"] > 0
    assert "mel" in steps[-1]["scores"]
    assert rows[0]["options"]["changes"] and rows[-1]["result"]["run"] == "vits-001"


def test_an_export_can_be_left_between_two_events(spoken: Path, tmp_path: Path) -> None:
    from olu.stages.export import export

    job = export(spoken / "ws", output=tmp_path / "x.voice")
    seen = [next(job) for _ in range(3)]
    assert all(isinstance(event, Tick) for event in seen)
    job.close()
    assert not list(tmp_path.iterdir()), "nothing half-written stays"


def test_a_refusal_is_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    done = olu("audit", tmp_path / "nowhere", "--events", path)
    begin, end = lines(path)
    assert done.code == end["code"] == 2
    assert done.err == f"olu: {end['error']}\n" and "result" not in end and begin["verb"] == "audit"


def test_a_doctor_tells_too_and_a_dash_is_no_file(tmp_path: Path) -> None:
    fine("doctor", "--events", tmp_path / "d.jsonl")
    told = lines(tmp_path / "d.jsonl")
    assert len(told) > 8 and told[1]["event"] == "tick"
    done = olu("doctor", "--events", "-")
    assert done.code == 2 and "--events" in done.err and not Path("-").exists()
    assert olu("doctor", "--events", tmp_path / "no" / "folder").code == 2


def test_work_that_came_to_its_end_and_failed_has_a_result_and_an_error(tmp_path: Path) -> None:
    """As a training that a guard stopped: what it came to is known, and the exit code is 2."""
    path = tmp_path / "e.jsonl"
    log = EventLog(path, verb="train", options={}, version="9")
    log.result = {"run": "vits-001"}
    log.end(code=2, error="vits-001 stopped at step 3: the loss is not a number")
    end = lines(path)[-1]
    assert end["code"] == 2 and end["result"] == {"run": "vits-001"} and end["error"].startswith("vits-001 stopped")


def test_the_result_is_what_json_prints(spoken: Path, tmp_path: Path) -> None:
    done = fine("status", spoken / "ws", "--json").json()
    assert done["clips"] == 12
    packed = fine("pack", spoken / "ws", "-o", tmp_path / "x.tar", "--json", "--events", tmp_path / "e.jsonl").json()
    begin, *_, end = lines(tmp_path / "e.jsonl")
    assert end["result"] == packed and begin["options"]["output"] == str(tmp_path / "x.tar")
