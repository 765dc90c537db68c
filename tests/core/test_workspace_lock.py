"""Two commands at once on one workspace: nothing that either did is lost."""

from __future__ import annotations

import errno
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import numpy as np
import pytest
import soundfile

from olu.core import workspace_lock as claim
from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_json
from olu.core.job import finish
from olu.core.workspace_lock import LOCK, _place, is_locked, locked, try_lock, writing
from olu.corpus.decisions import Decision, load, record
from olu.corpus.manifest import Corpus
from olu.stages import read
from olu.stages.correct import correct_clip, undo_corrections
from olu.stages.cut import cut, undo_cut
from olu.stages.decide import decide, undo
from olu.stages.fix import undo_fix
from olu.stages.import_ import import_source
from olu.stages.merge import merge
from olu.stages.split import split_corpus
from olu.stages.status import status


def made(source: Path, *numbers: int) -> Path:
    (source / "wavs").mkdir(parents=True)
    for number in numbers:
        wave = np.random.default_rng(number).normal(0, 0.1, 1600)
        soundfile.write(source / "wavs" / f"c{number}.wav", wave, 16000)
    lines = "".join(f"c{number}|text {number}\n" for number in numbers)
    (source / "metadata.csv").write_text(lines, encoding="utf-8")
    return source


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    finish(import_source(ws, made(tmp_path / "first", 1, 2, 3)))
    return ws


@contextmanager
def held(ws: Workspace) -> Iterator[None]:
    """As another process holds it."""
    handle = os.open(_place(ws.root), os.O_RDONLY)
    assert try_lock(handle)
    try:
        yield
    finally:
        os.close(handle)


def texts(ws: Workspace) -> list[str]:
    return sorted(clip.text for clip in Corpus.open(ws))


@pytest.mark.parametrize("copy", [False, True])
def test_an_import_that_ends_during_another_keeps_its_clips(tmp_path: Path, copy: bool) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    slow = import_source(ws, made(tmp_path / "a", 1, 2), copy=copy)
    next(slow)
    finish(import_source(ws, made(tmp_path / "b", 3, 4), copy=copy))
    assert finish(slow).clips == 4
    corpus = Corpus.open(ws)
    assert texts(ws) == ["text 1", "text 2", "text 3", "text 4"]
    assert len(corpus.sources) == 2
    assert all(corpus.locate(clip).is_file() for clip in corpus)
    if copy:
        assert len(read_json(ws.corpus / "audio" / "origins.json")) == 2


def test_a_drop_during_an_import_holds(ws: Workspace, tmp_path: Path) -> None:
    first = Corpus.open(ws).clips[0].id
    slow = import_source(ws, made(tmp_path / "more", 4))
    next(slow)
    decide(ws, [first], decision="drop")
    finish(slow)
    assert [one.id for one in load(ws)] == [first]
    assert len(texts(ws)) == 4


def test_decisions_at_the_same_time_are_all_kept(ws: Workspace) -> None:
    together = threading.Barrier(8)

    def one(number: int) -> None:
        together.wait()
        record(ws, [Decision(id=f"clip{number}", decision="drop", by="person")])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.id for one in load(ws)} == {f"clip{number}" for number in range(8)}


WRITERS: dict[str, Callable[[Workspace, Path], object]] = {
    "split": lambda ws, at: split_corpus(ws, seed=7),
    "cut": lambda ws, at: finish(cut(ws)),
    "cut --undo": lambda ws, at: undo_cut(ws),
    "import": lambda ws, at: finish(import_source(ws, made(at / "more", 9))),
    "merge": lambda ws, at: finish(merge(ws, [_other(at)])),
}


def _other(at: Path) -> Path:
    other = Workspace.create(at / "other", language="swa")
    finish(import_source(other, made(at / "theirs", 5)))
    return other.root


def files(ws: Workspace) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(ws.root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", WRITERS)
def test_a_command_that_has_waited_enough_says_so_and_changes_nothing(
    ws: Workspace, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "PATIENCE", 0.1)
    before = files(ws)
    with held(ws):
        with pytest.raises(WorkspaceError) as raised:
            WRITERS[name](ws, tmp_path)
        assert str(raised.value).startswith(f"{ws.root} is being changed by another olu command: wait until it is done")
        assert status(ws).clips == 3  # whoever only reads is not kept waiting
        assert files(ws) == before


EDITORS: dict[str, Callable[[Workspace, str], object]] = {
    "drop": lambda ws, id: decide(ws, [id], decision="drop"),
    "drop --undo": lambda ws, id: undo(ws, [id], decision="drop"),
    "audit --undo": lambda ws, id: undo_fix(ws),
    "correct": lambda ws, id: correct_clip(ws, id, "another text", by="amina"),
    "correct --undo": lambda ws, id: undo_corrections(ws),
}


@pytest.mark.parametrize("name", EDITORS)
def test_decisions_and_corrections_do_not_wait_for_a_command_at_work(
    ws: Workspace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import of films holds its claim for hours; they have a lock of their own, held for a moment."""
    monkeypatch.setattr(claim, "PATIENCE", 0.1)
    id = Corpus.open(ws).clips[0].id
    with held(ws):
        EDITORS[name](ws, id)
    with locked(ws.corpus), pytest.raises(WorkspaceError, match="is being changed by another olu command"):
        record(ws, [Decision(id=id, decision="drop", by="fix")])


def test_it_waits_for_a_command_that_is_soon_done(ws: Workspace) -> None:
    order: list[str] = []
    inside = threading.Event()

    def other() -> None:
        with writing(ws):
            inside.set()
            time.sleep(0.2)
            order.append("other")

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    split_corpus(ws)
    order.append("split")
    thread.join()
    assert order == ["other", "split"]


def test_stages_call_each_other_without_waiting_for_themselves(ws: Workspace) -> None:
    before = files(ws)
    with writing(ws, patience=0), writing(Workspace.open(ws.root.resolve()), patience=0):
        decide(ws, [Corpus.open(ws).clips[0].id], decision="drop")
    with held(ws):
        pass  # it was let go
    assert set(files(ws)) - set(before) == {str(ws.corpus / "decisions.jsonl")}  # and nothing stays of it


def test_a_process_that_dies_holds_nothing(ws: Workspace) -> None:
    code = (
        "import sys, time; from pathlib import Path; from olu.core.files import Workspace\n"
        "from olu.core.workspace_lock import writing\n"
        "with writing(Workspace.open(Path(sys.argv[1]))):\n    print('in', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(ws.root)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "in\n"
        who = rf"another olu command: .* \(a program, process {other.pid} on {re.escape(socket.gethostname())}\)$"
        with pytest.raises(WorkspaceError, match=who), writing(ws, patience=0.1):
            pass
        assert is_locked(ws.root)
        other.kill()
    assert not is_locked(ws.root)
    decide(ws, [Corpus.open(ws).clips[0].id], decision="drop")


def test_where_there_are_no_claims_everybody_goes_on(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> bool:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(filelock, "lock_descriptor", none)
    with locked(ws.root), locked(ws.root):
        pass
    decide(ws, [Corpus.open(ws).clips[0].id], decision="drop")
    assert len(load(ws)) == 1


def test_what_was_read_before_clips_came_is_not_taken_for_done(ws: Workspace, tmp_path: Path) -> None:
    reading = read.read_corpus(ws)
    next(reading)
    finish(import_source(ws, made(tmp_path / "more", 4)))
    finish(reading)
    assert read.STAGE.state(ws) == "stale"
    finish(read.read_corpus(ws))
    assert read.STAGE.state(ws) == "fresh"


@pytest.mark.parametrize("content", [b"", b" {", b" 3", b"\xff\xff", b' {"pid": 3}'])
def test_a_lock_that_does_not_say_whose_it_is(ws: Workspace, content: bytes) -> None:
    with held(ws):
        (ws.root / LOCK).write_bytes(content)
        with pytest.raises(WorkspaceError, match=r"then run this one again$"), writing(ws, patience=0):
            pass


def test_a_workspace_that_can_only_be_read_is_read(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(claim.os, "open", refused)
    with writing(ws):
        assert status(ws).clips == 3
    assert not is_locked(ws.root)
