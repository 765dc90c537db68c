"""Files of a workspace that were cut or overwritten: one sentence each, and what the sentence says mends it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_jsonl
from olu.core.job import finish
from olu.corpus.decisions import load
from olu.corpus.manifest import Corpus
from olu.stages.audit import audit
from olu.stages.clips import clips as list_clips
from olu.stages.decide import decide
from olu.stages.import_ import STAGE, import_source
from olu.stages.read import read_corpus
from olu.stages.split import split_corpus
from olu.stages.status import status


def made(source: Path, *numbers: int) -> Path:
    (source / "wavs").mkdir(parents=True)
    for number in numbers:
        wave = np.random.default_rng(number).normal(0, 0.1, 8000)
        soundfile.write(source / "wavs" / f"c{number}.wav", wave, 16000)
    lines = "".join(f"c{number}|habari ya {number}\n" for number in numbers)
    (source / "metadata.csv").write_text(lines, encoding="utf-8")
    return source


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return made(tmp_path / "in", *range(4))


@pytest.fixture
def ws(tmp_path: Path, source: Path) -> Workspace:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    finish(import_source(ws, source))
    return ws


def used(ws: Workspace) -> None:
    """What most commands read of a corpus."""
    status(ws)
    corpus = Corpus.open(ws)
    for clip in corpus:
        corpus.why_not(clip), corpus.split(clip), corpus.locate(clip)
    split_corpus(ws)
    list(list_clips(ws).rows)


def cut(path: Path) -> None:
    """Lose the second half, in the middle of a line."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 + 7])


WRONG = {"no object": b"3\n", "no keys": b"{}\n", "a list": b"[]\n", "not UTF-8": b'{"id": "\xff"}\n'}


@pytest.mark.parametrize("name", ["clips.jsonl", "files.jsonl", "splits.jsonl", "decisions.jsonl", "sources.json"])
@pytest.mark.parametrize("how", WRONG)
def test_a_file_that_holds_something_else_is_named(ws: Workspace, name: str, how: str) -> None:
    path = ws.corpus / name
    path.write_bytes((path.read_bytes() if path.exists() and name.endswith("l") else b"") + WRONG[how])
    line = f" line {path.read_bytes().count(10)}" if name.endswith("l") else ""
    if name == "sources.json" and how == "a list":
        return  # no source at all: each clip then says so
    with pytest.raises(WorkspaceError, match=rf"^{re.escape(str(path) + line)} is damaged \(.+\): .+"):
        used(ws)


@pytest.mark.parametrize("name", ["clips.jsonl", "files.jsonl", "sources.json"])
@pytest.mark.parametrize("copy", [False, True])
def test_an_import_makes_what_was_cut_again(tmp_path: Path, source: Path, name: str, copy: bool) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    finish(import_source(ws, source, copy=copy))
    decide(ws, [Corpus.open(ws).clips[-1].id], decision="drop")
    path, before = ws.corpus / name, {clip.id: clip.text for clip in Corpus.open(ws)}
    hashes = list(read_jsonl(ws.corpus / "files.jsonl"))
    cut(path)
    damaged = path.read_bytes()
    with pytest.raises(WorkspaceError, match=re.escape(f"run 'olu import {ws.root} SOURCE' again")):
        used(ws)
    summary = finish(import_source(ws, source, copy=copy))
    assert any(f"{name} was damaged and is written anew" in note for note in summary.notes)
    assert path.with_name(f"{name}.damaged").read_bytes() == damaged
    assert {clip.id: clip.text for clip in Corpus.open(ws)} == before
    assert [row["sha256"] for row in read_jsonl(ws.corpus / "files.jsonl")] == [row["sha256"] for row in hashes]
    assert STAGE.state(ws) == "fresh"
    used(ws)
    assert len(load(ws)) == 1
    assert not finish(import_source(ws, source, copy=copy)).notes


def test_of_several_sources_the_others_are_named(ws: Workspace, source: Path, tmp_path: Path) -> None:
    other = made(tmp_path / "other", 20, 21)
    finish(import_source(ws, other))
    cut(ws.corpus / "clips.jsonl")
    notes = finish(import_source(ws, source)).notes
    assert f"import every other source again too ({other})" in notes
    finish(import_source(ws, other))
    assert len(Corpus.open(ws)) == 6


def test_a_cut_decision_costs_that_line_alone(ws: Workspace) -> None:
    first, second, *_ = (clip.id for clip in Corpus.open(ws))
    decide(ws, [first], decision="drop", reason="noise")
    decide(ws, [second], decision="keep")
    path = ws.corpus / "decisions.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:60] + b"\n" + whole.split(b"\n")[1] + b"\n")
    with pytest.raises(WorkspaceError, match=r"decisions\.jsonl line 1 is damaged .*: mend that line, or delete it"):
        load(ws)
    path.write_bytes(whole[:-15])  # as a killed command leaves it
    assert [one.id for one in load(ws)] == [first]
    (told,) = status(ws).torn
    assert "the last line of" in told and "breaks off" in told
    (told,) = decide(ws, [second], decision="drop").notes
    assert told.endswith("and was removed") and second in told
    assert [(one.id, one.decision) for one in load(ws)] == [(first, "drop"), (second, "drop")]
    path.write_bytes(path.read_bytes() + b"\n")  # an editor may leave an empty line
    decide(ws, [second], decision="keep")
    assert not status(ws).torn
    assert [(one.id, one.decision) for one in load(ws)] == [(first, "drop"), (second, "keep")]


@pytest.mark.parametrize("how", ["cut", *WRONG])
def test_a_split_is_made_anew_whatever_its_file_holds(ws: Workspace, how: str) -> None:
    path = ws.corpus / "splits.jsonl"
    whole = path.read_bytes()
    cut(path) if how == "cut" else path.write_bytes(WRONG[how])
    with pytest.raises(WorkspaceError, match=f"run 'olu split {re.escape(str(ws.root))}'"):
        list(list_clips(ws).rows)
    split_corpus(ws)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("name", ["readings.jsonl", "vocabulary.json", "frontend.json"])
def test_a_reading_that_was_deleted_is_read_again(ws: Workspace, name: str) -> None:
    finish(read_corpus(ws))
    path = ws.readings / name
    whole = path.read_bytes()
    path.unlink()
    finish(read_corpus(ws))
    assert path.read_bytes() == whole


@pytest.mark.parametrize("name", ["audit.jsonl", "facts.jsonl"])
def test_a_forced_audit_writes_what_was_cut(ws: Workspace, name: str) -> None:
    finish(audit(ws))
    path = ws.audit_folder / name
    whole = path.read_bytes()
    cut(path)
    finish(audit(ws, force=True))
    assert path.read_bytes() == whole


@pytest.mark.parametrize("stamp", ["{}", "[]", '{"inputs": 3, "options": {}, "summary": {}}', '{"inputs": "x"}'])
def test_a_stamp_of_something_else_means_not_done(ws: Workspace, stamp: str) -> None:
    finish(read_corpus(ws))
    for path in (ws.stamp_path("read"), ws.stamp_path("import")):
        path.write_text(stamp, encoding="utf-8")
    found = {stage.name: stage.state for stage in status(ws).stages}
    assert (found["import"], found["read"]) == ("missing", "missing")
    finish(read_corpus(ws))
    assert ws.stamped("read") is not None


def test_a_damaged_guest_is_named_in_a_merge(ws: Workspace, tmp_path: Path) -> None:
    from olu.stages.merge import merge

    other = Workspace.open(Path(shutil.copytree(ws.root, tmp_path / "other")))
    (other.corpus / "files.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(
        WorkspaceError, match=re.escape(f"{other.corpus / 'files.jsonl'} line 1 is damaged (no 'audio')")
    ):
        finish(merge(ws, [other.root]))
