from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from olu.audit.fix import Edges, effect, plan, read_edges
from olu.audit.thresholds import Thresholds
from olu.corpus.decisions import Decision, load, record
from olu.corpus.manifest import Corpus
from olu.files import Workspace
from olu.stages.audit import STAGE, audit
from olu.stages.fix import decided, fix, undo_fix
from olu.types import Clip, Mark, finish

from .conftest import RATE, silence, speech

Make = Callable[..., Workspace]
LIMITS = Thresholds()


def clip(id: str, seconds: float = 10.0, text: str = "Nke a bụ okwu") -> Clip:
    return Clip(id=id, audio=f"s1/{id}.wav", seconds=seconds, rate=RATE, text=text, language="ibo")


def edges(seconds: float, leading: float, trailing: float, *, pause: float = 0.3) -> Edges:
    spoken = (seconds - leading - trailing) / seconds
    return Edges(seconds=seconds, leading=leading, trailing=trailing, pause=pause, speech=spoken)


def error(check: str) -> Mark:
    return Mark(check=check, severity="error", value=1.0, message="bad")


def planned(one: Clip, *, marks: list[Mark] | None = None, facts: Edges | None = None) -> Decision | None:
    found = plan([one], {one.id: marks or []}, {one.id: facts} if facts else {}, LIMITS)
    return found[0] if found else None


def test_a_good_clip_is_left_alone() -> None:
    assert planned(clip("a"), facts=edges(10, 0.4, 0.5)) is None
    warned = Mark(check="noise", severity="warn", value=1.0, message="hiss")
    assert planned(clip("a"), marks=[warned], facts=edges(10, 0.1, 0.1)) is None


def test_long_silent_ends_are_trimmed_and_each_keeps_a_little() -> None:
    both = planned(clip("a"), facts=edges(10, 1.0, 2.0))
    assert both is not None and (both.decision, both.by) == ("trim", "fix")
    assert (both.start, both.seconds) == (pytest.approx(0.8), pytest.approx(10 - 0.8 - 1.8))
    last = planned(clip("a"), facts=edges(10, 0.3, 2.0))
    assert last is not None and (last.start, last.seconds) == (0.0, pytest.approx(8.2))


def test_an_error_leaves_the_clip_out_also_when_it_could_be_trimmed() -> None:
    found = planned(clip("a"), marks=[error("clipping")], facts=edges(10, 1.0, 2.0))
    assert found is not None and (found.decision, found.reason, found.seconds) == ("drop", "clipping: bad", None)
    assert planned(clip("a"), marks=[error("unreadable")]) is not None


def test_over_long_by_silence_is_capped_to_the_speech() -> None:
    found = planned(clip("a", 40), marks=[error("duration"), error("silence")], facts=edges(40, 0.2, 34.8))
    assert found is not None and found.decision == "cap"
    assert (found.start, found.seconds) == (0.0, pytest.approx(40 - 34.6))


@pytest.mark.parametrize(
    ("checks", "facts"),
    [
        (["duration"], edges(40, 0.2, 0.2)),  # speech all through: its text would not fit a part of it
        (["duration"], edges(60, 2.0, 10.0)),  # still too long without its ends
        (["duration", "silence"], edges(40, 0.2, 34.8, pause=4.5)),
        (["duration", "clipping"], edges(40, 0.2, 34.8)),
        (["duration"], None),
    ],
)
def test_what_a_cut_does_not_cure_is_left_out(checks: list[str], facts: Edges | None) -> None:
    found = planned(clip("a", 40), marks=[error(check) for check in checks], facts=facts)
    assert found is not None and found.decision == "drop"


def test_a_clip_without_a_text_needs_no_decision() -> None:
    assert planned(clip("a", 2000, text=""), marks=[error("duration"), error("text")]) is None


def test_the_numbers_come_from_the_thresholds() -> None:
    one, facts = clip("a"), {"a": edges(10, 1.0, 0.2)}
    assert plan([one], {}, facts, Thresholds(edge_info=1.5)) == []
    (found,) = plan([one], {}, facts, Thresholds(trim_keep=0.1))
    assert found.start == pytest.approx(0.9)
    (found,) = plan([one], {}, facts, Thresholds(edge_info=0.1))  # no more than is allowed anyway
    assert found.start == pytest.approx(0.9)


def test_effect_counts_hours_and_kinds() -> None:
    clips = [clip("a", 3600), clip("b", 3600), clip("c", 3600), clip("d", 3600, text="")]
    decisions = [
        Decision(id="a", decision="drop", by="fix", reason="noise: hiss: loud"),
        Decision(id="b", decision="trim", by="fix", reason="edges: long", start=0.0, seconds=1800.0),
        Decision(id="c", decision="drop", by="fix", reason="noise: hiss"),
        Decision(id="c", decision="keep", by="person"),
        Decision(id="gone", decision="drop", by="person"),
    ]
    found = effect(clips, decisions)
    assert (found.hours_before, found.hours_after) == (3.0, 1.5)
    assert (found.clips_before, found.clips_after) == (3, 2)
    kinds = (("drop", "noise", 1, 3600.0), ("keep", "a person", 1, 0.0), ("trim", "edges", 1, 1800.0))
    assert found.kinds == kinds
    assert effect(clips, []).hours_after == 3.0


@pytest.fixture
def faulty(make: Make) -> Workspace:
    return make(
        {
            "good": (speech(3, seed=2), "Nke a bụ okwu ọma"),
            "loud": (np.clip(speech(3, seed=1) * 40, -1, 1), "O na-eti mkpu nke ukwuu"),
            "edge": (np.concatenate([silence(1), speech(2, seed=4), silence(2)]), "Tupu okwu amalite"),
            "tail": (np.concatenate([speech(4, seed=5), silence(36)]), "Okwu dị mkpirikpi ebe a"),
        }
    )


def test_fix_writes_decisions_and_undo_takes_them_back(faulty: Workspace) -> None:
    sounds = {p: p.read_bytes() for p in faulty.root.parent.rglob("*.wav")}
    clips = (faulty.corpus / "clips.jsonl").read_bytes()
    shown = finish(fix(faulty, dry=True))
    assert shown.changed and not shown.written and load(faulty) == ()
    done = finish(fix(faulty))
    assert done.written and done.decisions == shown.decisions == load(faulty)
    assert {one.id: one.decision for one in load(faulty)} == {"loud": "drop", "edge": "trim", "tail": "cap"}
    assert done.effect.seconds_before == pytest.approx(51.0)
    assert done.effect.seconds_after == pytest.approx(3 + 2.2 + 4.1, abs=0.3)
    corpus = Corpus.open(faulty)
    assert [clip.id for clip in corpus if corpus.why_not(clip) is None] == ["good", "edge", "tail"]
    by_id = {clip.id: clip for clip in corpus}
    taken = corpus.taken(by_id["edge"])
    heard = corpus.audio(taken).samples
    assert len(heard) == round(taken.seconds * RATE) and 0.6 < taken.start < 0.95
    assert np.abs(heard[: RATE // 20]).max() < 0.01 < np.abs(heard).max()
    assert STAGE.state(faulty) == "fresh" and not finish(fix(faulty)).changed
    assert decided(faulty).kinds == {"drop": 1, "trim": 1, "cap": 1} and decided(faulty).unfixed == 0
    number, now = undo_fix(faulty)
    assert (number, load(faulty), now.seconds_after) == (3, (), pytest.approx(51.0))
    assert decided(faulty).unfixed == 3 and undo_fix(faulty)[0] == 0
    assert {p: p.read_bytes() for p in sounds} == sounds and (faulty.corpus / "clips.jsonl").read_bytes() == clips


def test_a_person_is_never_overruled(faulty: Workspace) -> None:
    own = [Decision(id="loud", decision="keep", by="person"), Decision(id="good", decision="drop", by="person")]
    record(faulty, own)
    done = finish(fix(faulty))
    assert done.overruled == 1
    corpus = Corpus.open(faulty)
    assert [clip.id for clip in corpus if corpus.why_not(clip) is None] == ["loud", "edge", "tail"]
    undo_fix(faulty)
    assert load(faulty) == tuple(own)


def test_a_new_fix_replaces_the_old_one(faulty: Workspace) -> None:
    finish(fix(faulty))
    (faulty.root / "thresholds.toml").write_text(
        "edge_info = 50.0\nedge_warn = 50.0\nclipped_error = 1.0\nclipped_warn = 0.9\n"
    )
    done = finish(fix(faulty))
    assert done.written and {one.id: one.decision for one in load(faulty)} == {"tail": "drop"}


def test_the_facts_of_an_audit_are_kept_and_made_again_when_lost(faulty: Workspace) -> None:
    finish(audit(faulty))
    kept = read_edges(faulty)
    assert set(kept) == {"good", "loud", "edge", "tail"}
    assert kept["edge"].leading == pytest.approx(1.1, abs=0.15) and kept["edge"].trailing == pytest.approx(
        2.1, abs=0.15
    )
    (faulty.audit / "facts.jsonl").unlink()
    finish(audit(faulty))
    assert read_edges(faulty) == kept


def olu(*words: str | Path) -> tuple[int, str, str]:
    import contextlib
    import io
    import sys

    from olu.cli.main import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["olu", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as left:
        return int(left.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("main always leaves")


def test_the_command_shows_hours_before_and_after(faulty: Workspace) -> None:
    root = faulty.root
    code, out, _ = olu("audit", root, "--fix", "--dry-run")
    assert code == 0 and "Before: 4 clips, 0.8 minutes" in out and "After: 3 clips, 0.2 minutes" in out
    assert "Nothing was written" in out and not (faulty.corpus / "decisions.jsonl").exists()
    code, out, _ = olu("audit", root, "--fix", "--json")
    told = json.loads(out)["fix"]
    assert told["written"] and told["effect"]["clips_after"] == 3 and len(told["decisions"]) == 3
    assert {"decision": "drop", "check": "clipping", "clips": 1, "seconds": 3.0} in told["effect"]["kinds"]
    code, out, _ = olu("audit", root)
    assert "Decisions (1 cap, 1 drop, 1 trim) and the audit together leave 0.2 minutes" in out
    code, out, _ = olu("audit", root, "--undo")
    assert code == 0 and "3 decisions taken back" in out
    code, out, _ = olu("audit", root)
    assert "--fix' would decide on 3 clips" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--dry-run"], "add --fix"),
        (["--fix", "--undo"], "--undo only takes decisions back"),
        (["--undo", "--force"], "--undo only takes decisions back"),
    ],
)
def test_options_that_do_not_go_together(faulty: Workspace, words: list[str], told: str) -> None:
    code, _, err = olu("audit", faulty.root, *words)
    assert code == 2 and told in err and err.count("\n") == 1
