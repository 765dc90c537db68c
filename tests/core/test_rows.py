"""Rows of a workspace's files: what is read, what is refused, and that the sentence names file, line and field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from olu.align.text_match import MatchRow
from olu.audit.fix import EdgeRow
from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_jsonl, read_rows, write_jsonl
from olu.core.rows import as_row, load_rows, schema_error
from olu.core.types import Alignment, Clip, MarkRow, ReadingRow, Span
from olu.corpus import doubts
from olu.corpus.corrections import Correction, Undo
from olu.corpus.decisions import Decision
from olu.corpus.doubts import CommandRow, Standing

WORD = {"text": "a", "phones": ["a"], "tones": ["H"], "bearers": [0], "stress": None}
READING = {"id": "c", "text": "a", "normal": "a", "words": [WORD], "breaks": ["", ""], "dropped": {"x": 1}}
CLIP = {"id": "c", "audio": "s1/x.wav", "seconds": 1.5, "rate": 16000, "text": "habari", "language": "swa"}
ALIGNED = {"id": "c", "seconds": 1.0, "score": -0.1, "method": "ctc", "words": [["a", 0.0, 1.0, -0.2]], "phones": []}
GOOD: dict[Any, list[dict[str, Any]]] = {
    Clip: [CLIP, {**CLIP, "start": 1, "speaker": "ada"}],
    MarkRow: [{"id": "c", "check": "x", "severity": "warn", "value": 3, "message": "m"}],
    ReadingRow: [READING, {**READING, "of a later version": 1}],
    Alignment: [ALIGNED, {**ALIGNED, "phones": [["", 0.0, 0.5], ["a", 0.5, 1.0]], "of a later version": 1}],
    MatchRow: [{"id": "c", "score": None, "chance": [-1.0], "cer": 0.5, "first": ["a", 0.0, 1.0], "last": None}],
    EdgeRow: [{"id": "c", "seconds": 1.0, "leading": 0.1, "trailing": 0.2, "pause": 0.0, "speech": 1.0}],
    Decision: [{"id": "c", "decision": "trim", "by": "fix", "start": 0.5, "seconds": 1.0}],
    Correction | Undo: [
        {"id": "c", "text": "a", "imported": "b", "by": "ada", "at": "2026", "batch": "x"},
        {"id": "c", "undo": "x", "by": "ada", "at": "2026"},
    ],
}
DOUBT = {
    "audio": "s1/a.wav",
    "text": "it is late",
    "source": "films",
    "options": ["--film", "a.mp4"],
    "remedy": "--shift 2",
}
BAD: list[tuple[Any, Any, str]] = [
    (Clip, {**CLIP, "seconds": "long"}, "'seconds' is 'long'"),
    (Clip, {**CLIP, "rate": 16000.5}, "'rate' is 16000.5"),
    (Clip, {**CLIP, "start": None}, "'start' is None"),
    (Clip, {key: CLIP[key] for key in CLIP if key != "audio"}, "no 'audio'"),
    (Clip, {**CLIP, "colour": "red"}, "unknown key 'colour'"),
    (Clip, {**CLIP, "rate": 10**400}, "a number of more than 308 digits"),
    (Clip, [], "it holds something else"),
    (ReadingRow, {**READING, "words": [WORD, {**WORD, "phones": "a"}]}, "'words.1.phones' is 'a'"),
    (ReadingRow, {**READING, "words": [{"text": "a"}]}, "no 'words.0.phones'"),
    (Alignment, {**ALIGNED, "words": [["a", 0.0]]}, "no 'words.0.2'"),
    (Alignment, {**ALIGNED, "words": 3}, "'words' is 3"),
    (Decision, {"id": "c", "decision": "burn", "by": "fix"}, "'decision' is 'burn'"),
    (Decision, {"id": "c", "decision": "trim", "by": "fix"}, "no decision: {'id': 'c'"),
    (Correction | Undo, {"id": "c", "undo": 3, "by": "ada", "at": "2026"}, "'undo' is 3"),
    (Correction | Undo, {"id": "c", "text": "a", "imported": "b", "by": "ada", "at": "2026"}, "no 'batch'"),
    (Correction | Undo, 3, "it holds something else"),
    (Standing | CommandRow, {**DOUBT, "options": 3}, "'options' is 3"),
    (Standing | CommandRow, {"audio": "s1/a.wav"}, "no 'text'"),
    ({"id": str, "split": str | None}, {"id": "c", "split": 3}, "'split' is 3"),
    ({"id": str}, {"split": None}, "no 'id'"),
]


@pytest.mark.parametrize("kind", GOOD, ids=str)
def test_a_row_is_read_and_written_as_it_was(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, GOOD[kind])
    made = list(read_rows(path, kind))
    assert len(made) == len(GOOD[kind])
    for row, one in zip(GOOD[kind], made, strict=True):
        again = {**row, **json.loads(json.dumps(one.row("c") if isinstance(one, MatchRow) else as_row(one)))}
        if not isinstance(one, Alignment):
            assert {key: again[key] for key in row} == row


@pytest.mark.parametrize(("kind", "row", "why"), BAD, ids=str)
def test_what_is_wrong_is_named(tmp_path: Path, kind: Any, row: Any, why: str) -> None:
    path = tmp_path / "corpus" / "decisions.jsonl"
    path.parent.mkdir()
    path.write_text("\n" + json.dumps(row) + "\n", encoding="utf-8")
    told = rf"^{re.escape(str(path))} line 2 is damaged \({re.escape(why)}.*\): mend that line"
    with pytest.raises(WorkspaceError, match=told):
        list(load_rows(enumerate(path.read_bytes().splitlines(), 1), path, kind))
    lost: list[WorkspaceError] = []
    assert not list(load_rows(enumerate(path.read_bytes().splitlines(), 1), path, kind, lost=lost))
    assert len(lost) == 1


def test_a_span_is_made_of_its_list(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [ALIGNED])
    (one,) = read_rows(tmp_path / "a.jsonl", Alignment)
    assert one.words == (Span("a", 0.0, 1.0, -0.2),) and one.row() == ALIGNED


def test_a_doubt_of_a_version_before(tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    old = {"audio": "s1/b.wav", "text": "it is late", "command": "olu import ws 'my films' --shift 3"}
    write_jsonl(ws.corpus / "doubts.jsonl", [DOUBT, old])
    new, before = doubts.load(ws)
    assert as_row(new) == {**DOUBT, "options": ("--film", "a.mp4")}
    assert (before.source, before.remedy) == ("my films", "--shift 3")


def test_a_shape_leaves_other_keys_alone(tmp_path: Path) -> None:
    row = {"id": "c", "more": {"deep": [1, 2.5, None]}}
    write_jsonl(tmp_path / "a.jsonl", [row])
    assert list(read_jsonl(tmp_path / "a.jsonl", shape={"id": str})) == [row]
    assert (
        schema_error(row, {"id": str}) == "" and schema_error(row, {"more": list}) == f"'more' is {row['more']!r:.40}"
    )
