"""Decisions and corrections are appended: nothing is lost by a kill, by two at once, or by writing the file anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from olu.core import files
from olu.core.files import Workspace
from olu.corpus import corrections, decisions, journal
from olu.corpus.corrections import Correction
from olu.corpus.decisions import Decision


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def drop(id: str) -> Decision:
    return Decision(id=id, decision="drop", by="person")


def text(id: str, said: str, batch: str = "b1") -> Correction:
    return Correction(id=id, text=said, imported="", by="amina", at="2026-11-16T10:00:00Z", batch=batch)


def test_a_decision_is_written_behind_the_others(ws: Workspace) -> None:
    decisions.record(ws, [drop(f"c{number}") for number in range(20)])
    before = decisions.path(ws).read_bytes()
    inode = decisions.path(ws).stat().st_ino
    decisions.record(ws, [drop("new")])
    decisions.take_back(ws, by="person", ids=["c3"])
    after = decisions.path(ws).read_bytes()
    assert after.startswith(before) and len(after.splitlines()) == 22 and decisions.path(ws).stat().st_ino == inode
    assert {one.id for one in decisions.load(ws)} == {f"c{number}" for number in range(20)} - {"c3"} | {"new"}
    assert [one.id for one in decisions.of_clips(ws, {"c3", "c4"})] == ["c4"]


@pytest.mark.parametrize("at", range(1, 60, 4))
def test_a_cut_last_line_does_not_count_and_is_mended_by_the_next(ws: Workspace, at: int) -> None:
    decisions.record(ws, [drop("a"), drop("b")])
    whole = decisions.path(ws).read_bytes()
    decisions.path(ws).write_bytes(whole[:-at])
    kept = ("a", "b") if at == 1 else ("a",)  # only the newline is missing: the line itself is whole
    assert tuple(one.id for one in decisions.load(ws)) == kept
    assert bool(decisions.journal(ws).cut_off()) == (at > 1)
    told = decisions.record(ws, [drop("c")])
    assert len(told) == (at > 1) and all("breaks off" in one and "was removed" in one for one in told)
    assert tuple(one.id for one in decisions.load(ws)) == (*kept, "c")
    assert not decisions.journal(ws).cut_off() and decisions.record(ws, [drop("d")]) == []


@pytest.mark.parametrize("block", [1, 7, 64, 2**20])
def test_lines_are_found_in_a_file_read_by_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(files, "BLOCK", block)
    path = tmp_path / "rows.jsonl"
    rows = [{"id": name, "text": f"sọ́rọ̀ {at}"} for at, name in enumerate("abcabd")]
    lines = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    path.write_bytes(b"\n".join(lines) + b"\n" + lines[0][:9])
    assert sorted(journal.lines_with(path, ["a", "d"])) == sorted([lines[0], lines[3], lines[5]])
    assert list(journal.lines_with(path, ["b"])) == [lines[1], lines[4]]
    assert b"".join(files.line_blocks(path)) == path.read_bytes()
    assert list(journal.lines_with(tmp_path / "none", ["a"])) == []


KILLED = """
import os, sys
from pathlib import Path
from olu.corpus import journal
from olu.corpus.decisions import Decision, record
from olu.core import files
from olu.core.files import Workspace
def half(path, data, *, at):
    with path.open("ab", buffering=0) as file:
        file.write(data[: len(data) // 2])
    os.kill(os.getpid(), 9)
journal._write = half
record(Workspace.open(Path(sys.argv[1])), [Decision(id=f"k{n}", decision="drop", by="person") for n in range(3)])
"""


def test_a_kill_in_an_append_leaves_the_file_readable(ws: Workspace) -> None:
    decisions.record(ws, [drop("a")])
    assert subprocess.run([sys.executable, "-c", KILLED, str(ws.root)]).returncode == -9
    assert [one.id for one in decisions.load(ws)] == ["a", "k0"]
    assert decisions.record(ws, [drop("b")])
    assert [one.id for one in decisions.load(ws)] == ["a", "k0", "b"]


MANY = """
import sys
from pathlib import Path
from olu.corpus import corrections, journal
from olu.corpus.corrections import Correction
from olu.corpus.decisions import Decision, record, take_back
from olu.core import files
from olu.core.files import Workspace
journal.LOOKED_AT = 512  # so that the file is written anew while others append
ws, me = Workspace.open(Path(sys.argv[1])), sys.argv[2]
for number in range(25):
    record(ws, [Decision(id=f"{me}-{number}", decision="drop", by="person")])
    record(ws, [Decision(id="all", decision="keep", by="fix")])
    record(ws, [Decision(id=f"{me}-gone", decision="drop", by="person")])
    take_back(ws, by="person", ids=[f"{me}-gone"])
    corrections.add(ws, [Correction(id=f"{me}-{number}", text=me, imported="", by=me, at="", batch=f"{me}-{number}")])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no claims")
def test_processes_that_write_at_once_lose_nothing(ws: Workspace) -> None:
    others = [subprocess.Popen([sys.executable, "-c", MANY, str(ws.root), f"p{n}"]) for n in range(4)]
    assert [one.wait() for one in others] == [0] * 4
    wanted = {f"p{n}-{number}" for n in range(4) for number in range(25)}
    assert {one.id for one in decisions.load(ws)} == {*wanted, "all"}
    assert set(corrections.in_force(ws)) == wanted
    lines = decisions.path(ws).read_bytes().splitlines()
    assert len(lines) < 4 * 25 * 5 // 2, "it was never written anew"


def test_what_no_longer_counts_is_left_out_now_and_then(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LOOKED_AT", 1024)
    decisions.record(ws, [drop("stays")])
    for _ in range(200):
        decisions.record(ws, [drop("x")])
        decisions.take_back(ws, by="person", ids=["x"])
    assert len(decisions.path(ws).read_bytes().splitlines()) < 100
    assert [one.id for one in decisions.load(ws)] == ["stays"]
    corrections.add(ws, [text("a", f"text {number}", f"b{number}") for number in range(300)])
    assert len(corrections.load(ws)) == 300, "earlier texts are needed to take the later ones back"


def test_a_full_disk_leaves_the_file_as_it_was(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    decisions.record(ws, [drop("a")])
    before = decisions.path(ws).read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as failed:
        decisions.record(ws, [drop("b")])
    assert failed.value.filename == str(decisions.path(ws))
    assert decisions.path(ws).read_bytes() == before


def test_a_file_of_before_opens_and_is_added_to(ws: Workspace) -> None:
    """As they were written when every change wrote all rows."""
    rows = [
        {"id": "a", "decision": "drop", "by": "person", "reason": "noise", "start": 0.0, "seconds": None},
        {"id": "a", "decision": "trim", "by": "fix", "reason": "", "start": 0.2, "seconds": 3.0},
        {"id": "b", "decision": "cap", "by": "fix", "reason": "", "start": 0.5, "seconds": 4.0},
    ]
    decisions.path(ws).parent.mkdir()
    decisions.path(ws).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert [(one.id, one.decision) for one in decisions.load(ws)] == [("a", "drop"), ("a", "trim"), ("b", "cap")]
    decisions.take_back(ws, by="person", ids=["a"])
    assert {id: one.decision for id, one in decisions.in_force(decisions.load(ws)).items()} == {"a": "trim", "b": "cap"}


def test_a_clip_is_found_however_its_id_is_written(ws: Workspace) -> None:
    ids = ["ọ̀nà-1a2b3c4d", 'say-"x"', "a", "aa"]
    decisions.record(ws, [drop(id) for id in ids])
    for id in ids:
        assert [one.id for one in decisions.of_clips(ws, {id})] == [id]
    lines = decisions.path(ws).read_bytes().replace(b'"id": ', b'"id":')
    decisions.path(ws).write_bytes(lines)  # as somebody else writes JSON
    assert [one.id for one in decisions.of_clips(ws, {"aa"})] == ["aa"]
