from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace
from olu.core.types import Clip, Mark
from olu.corpus.decisions import (
    Decision,
    hash_chosen,
    hash_dropped,
    hash_stretches,
    in_force,
    load,
    path,
    record,
    replace_all,
    save,
    set_aside,
    stretch,
    take_back,
    take_back_batch,
    why_left_out,
)

CLIP = Clip(id="a", audio="s1/a.wav", seconds=5.0, rate=16000, text="Habari", language="swa", start=10.0)
DROP = Decision(id="a", decision="drop", by="person", reason="noise")
KEEP = Decision(id="a", decision="keep", by="person")
TRIM = Decision(id="a", decision="trim", by="fix", start=1.0, seconds=3.0)
CAP = Decision(id="b", decision="cap", by="fix", start=0.5, seconds=4.0)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def error(check: str) -> Mark:
    return Mark(check=check, severity="error", value=1.0, message=f"{check} is wrong")


def test_what_is_saved_is_loaded_and_nothing_is_written_for_nothing(ws: Workspace) -> None:
    assert load(ws) == ()
    save(ws, [])
    assert not path(ws).exists()
    save(ws, [DROP, TRIM, CAP])
    assert load(ws) == (DROP, TRIM, CAP)


def test_each_side_decides_once_and_the_last_word_counts(ws: Workspace) -> None:
    record(ws, [DROP, TRIM])
    record(ws, [KEEP])
    assert set(load(ws)) == {KEEP, TRIM}
    assert in_force(load(ws)) == {"a": KEEP}
    assert in_force([KEEP, TRIM]) == in_force([TRIM, KEEP]) == {"a": KEEP}
    assert take_back(ws, by="person", ids=["b"]) == ()
    assert take_back(ws, by="person", ids=["a"]) == (KEEP,)
    assert in_force(load(ws)) == {"a": TRIM}
    assert take_back(ws, by="fix") == (TRIM,)
    assert load(ws) == ()


def by(who: str, id: str, decision: Literal["drop", "keep"], batch: str) -> Decision:
    return Decision(id=id, decision=decision, by="person", who=who, at="2026-11-18T10:00:00Z", batch=batch)


def test_a_batch_is_taken_back_whole_and_what_was_decided_before_holds_again(ws: Workspace) -> None:
    first, second = by("amina", "a", "keep", "b1"), by("obi", "a", "drop", "b2")
    record(ws, [first, TRIM])
    record(ws, [second, by("obi", "b", "drop", "b2")])
    assert in_force(load(ws))["a"] == second
    gone = take_back_batch(ws, "b2", who="obi", at="2026-11-18T10:01:00Z")
    assert [one.id for one in gone] == ["a", "b"]
    assert in_force(load(ws)) == {"a": first}
    assert take_back_batch(ws, "b2", who="obi", at="x") == () == take_back_batch(ws, "none", who="obi", at="x")
    replace_all(ws, [CAP], by="fix")  # writes the file anew, and keeps what each person decided
    record(ws, [second])
    take_back_batch(ws, "b2", who="obi", at="x")
    assert in_force(load(ws)) == {"a": first, "b": CAP}
    take_back(ws, by="person")  # as 'olu drop --undo': nothing of it stays
    assert load(ws) == (CAP,)


def test_a_decision_without_a_batch_replaces_all_before_it(ws: Workspace) -> None:
    record(ws, [by("amina", "a", "keep", "b1"), DROP])
    take_back(ws, by="person", ids=["a"])
    assert load(ws) == ()


@pytest.mark.parametrize(
    "row",
    [
        '{"id": "a", "decision": "dorp", "by": "person"}',
        '{"id": "a", "decision": "trim", "by": "fix"}',
        '{"id": "a", "decision": "drop", "by": "person", "seconds": 2.0}',
        '{"id": "a", "decision": "trim", "by": "fix", "start": -1, "seconds": 2.0}',
        '{"id": "a", "decision": "drop", "by": "robot"}',
        '{"id": "a", "decision": "drop", "by": "person", "why": "x"}',
        '{"id": "a", "decision": "drop", "by": "per',
    ],
)
def test_a_row_that_is_no_decision_is_named(ws: Workspace, row: str) -> None:
    path(ws).parent.mkdir()
    path(ws).write_text(row + "\n")
    with pytest.raises(WorkspaceError, match=r"decisions\.jsonl"):
        load(ws)


def test_the_stretch_that_stays_lies_in_the_clip() -> None:
    taken = stretch(CLIP, TRIM)
    assert (taken.start, taken.seconds, taken.id) == (11.0, 3.0, "a")
    assert stretch(CLIP, None) is CLIP and stretch(CLIP, DROP) is CLIP
    beyond = Decision(id="a", decision="trim", by="fix", start=4.0, seconds=3.0)
    assert stretch(CLIP, beyond).seconds == pytest.approx(1.0)
    assert stretch(CLIP, Decision(id="a", decision="trim", by="fix", start=6.0, seconds=3.0)) is CLIP


def test_who_beats_whom() -> None:
    marks = [error("clipping")]
    assert why_left_out(CLIP, decision=None, marks=[]) is None
    assert why_left_out(CLIP, decision=None, marks=marks) == "audit: clipping is wrong"
    assert why_left_out(CLIP, decision=None, marks=marks, errors=False) is None
    assert why_left_out(CLIP, decision=KEEP, marks=marks) is None
    assert why_left_out(CLIP, decision=DROP, marks=[], errors=False) == "dropped: noise"
    assert why_left_out(CLIP, decision=TRIM, marks=marks) == "audit: clipping is wrong"


def test_a_cap_answers_for_length_and_silence_and_nothing_else() -> None:
    assert why_left_out(CLIP, decision=CAP, marks=[error("duration"), error("silence")]) is None
    assert why_left_out(CLIP, decision=CAP, marks=[error("duration"), error("clipping")]) == "audit: clipping is wrong"
    assert why_left_out(CLIP, decision=TRIM, marks=[error("duration")]) == "audit: duration is wrong"


def test_no_decision_makes_a_clip_without_a_text_train() -> None:
    mute = Clip(id="a", audio="s1/a.wav", seconds=5.0, rate=16000, text=" ", language="swa")
    assert why_left_out(mute, decision=KEEP, marks=[]) == "it has no transcript"


def test_hashes_change_with_what_they_stand_for(ws: Workspace) -> None:
    def hashes() -> tuple[str, str, str]:
        return hash_chosen(ws), hash_dropped(ws), hash_stretches(ws)

    empty = hashes()
    save(ws, [DROP])
    dropped = hashes()
    assert [a != b for a, b in zip(empty, dropped, strict=True)] == [True, True, False]
    save(ws, [Decision(id="a", decision="drop", by="fix", reason="another")])
    assert hashes() == dropped  # who, and why, trains no other voice
    save(ws, [TRIM])
    assert [a != b for a, b in zip(empty, hashes(), strict=True)] == [True, False, True]
    save(ws, [TRIM, KEEP])
    assert [a != b for a, b in zip(empty, hashes(), strict=True)] == [True, False, False]


def test_a_long_clip_that_lies_aside_is_not_prepared(ws: Workspace) -> None:
    cut = Decision(id="a", decision="drop", by="cut", reason="into 3 clips")
    empty = hash_stretches(ws)
    save(ws, [cut])
    assert hash_stretches(ws) != empty and set_aside(load(ws)) == {"a"}
    save(ws, [cut, Decision(id="a", decision="keep", by="person", reason="whole")])
    assert hash_stretches(ws) == empty and set_aside(load(ws)) == frozenset()
