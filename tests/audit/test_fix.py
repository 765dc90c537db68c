from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from olu.audit.fix import EdgeFacts, effect, lost, plan, read_edges, too_long
from olu.audit.thresholds import Thresholds
from olu.core.files import Workspace, read_jsonl
from olu.core.job import finish
from olu.core.types import Clip, Mark
from olu.corpus.decisions import Decision, load, record
from olu.corpus.manifest import Corpus
from olu.stages.audit import STAGE, audit
from olu.stages.fix import decided, fix, undo_fix
from olu.stages.status import status

from .conftest import RATE, silence, speech

Make = Callable[..., Workspace]
LIMITS = Thresholds()


def clip(id: str, seconds: float = 10.0, text: str = "Nke a bụ okwu") -> Clip:
    return Clip(id=id, audio=f"s1/{id}.wav", seconds=seconds, rate=RATE, text=text, language="ibo")


def edges(seconds: float, leading: float, trailing: float, *, pause: float = 0.3) -> EdgeFacts:
    spoken = (seconds - leading - trailing) / seconds
    return EdgeFacts(seconds=seconds, leading=leading, trailing=trailing, pause=pause, speech=spoken)


def error(check: str) -> Mark:
    return Mark(check=check, severity="error", value=1.0, message="bad")


def planned(one: Clip, *, marks: list[Mark] | None = None, facts: EdgeFacts | None = None) -> Decision | None:
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
def test_what_a_cut_does_not_cure_is_left_out(checks: list[str], facts: EdgeFacts | None) -> None:
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
            "loud": (np.clip(speech(3, seed=1) * 8, -1, 1), "O na-eti mkpu nke ukwuu"),
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
    (faulty.audit_folder / "facts.jsonl").unlink()
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
    assert (
        code == 0
        and re.search(r"Before: 4 clips, [0-9.]+ seconds", out)
        and re.search(r"After: 3 clips, [0-9.]+ seconds", out)
    )
    assert "Nothing was written" in out and not (faulty.corpus / "decisions.jsonl").exists()
    code, out, _ = olu("audit", root, "--fix", "--json")
    told = json.loads(out)["fix"]
    assert told["written"] and told["effect"]["clips_after"] == 3 and len(told["decisions"]) == 3
    assert {"decision": "drop", "check": "clipping", "clips": 1, "seconds": 3.0} in told["effect"]["kinds"]
    code, out, _ = olu("audit", root)
    assert "Decisions (1 cap, 1 drop, 1 trim) and the audit together leave 9.3 seconds" in out
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


@pytest.fixture
def long(make: Make) -> Workspace:
    """One clip that is speech all through and too long, one that is too long for more than that, and two good ones."""
    return make(
        {
            "good": (speech(3, seed=2), "Nke a bụ okwu ọma"),
            "long": (speech(42, seed=3), "Ogologo okwu nke na-agwụ ike " * 10),
            "both": (np.clip(speech(36, seed=1) * 40, -1, 1), "O na-eti mkpu nke ukwuu ruo ogologo oge " * 6),
            "mild": (speech(24, seed=4), "Okwu ogologo nke a na-ekwu nwayọ " * 6),
        }
    )


def cut_up(ws: Workspace, id: str) -> None:
    """As olu cut leaves it: two pieces beside the long clip, which is set aside."""
    corpus = Corpus.open(ws)
    whole = next(one for one in corpus if one.id == id)
    half = whole.seconds / 2
    pieces = [replace(whole, id=f"{id}-{at}", start=at * half, seconds=half, text=f"Nkera {at} okwu") for at in (0, 1)]
    clips = [*corpus, *pieces]
    Corpus.save(ws, clips, list(corpus.sources.values()), {one.id: "train" for one in clips})
    record(ws, [Decision(id=id, decision="drop", by="cut", reason="into 2 clips")])


def test_what_a_cut_set_aside_is_nobodys_decision_and_counts_nowhere(faulty: Workspace) -> None:
    finish(fix(faulty))  # decides on the long clip, too
    cut_up(faulty, "tail")
    summary = finish(audit(faulty))
    assert (summary.clips, summary.aside, summary.aside_seconds) == (5, 1, pytest.approx(40.0))
    assert summary.seconds == pytest.approx(3 + 3 + 5 + 40)
    assert not any(row["id"] == "tail" for row in read_jsonl(summary.marks))
    (said,) = [note for note in summary.notes if "aside" in note]
    assert said.startswith("1 long clip (0.7 minutes) lies aside: olu cut has made shorter clips of it")
    done = finish(fix(faulty))
    assert (done.overruled, done.effect.clips_before) == (0, 5)
    assert done.effect.seconds_before == pytest.approx(51.0)
    assert not any(who in ("cut", "a person") for _, who, _, _ in done.effect.kinds)
    assert {one.by for one in load(faulty) if one.id == "tail"} == {"cut"}
    found = status(faulty)
    assert (found.clips, found.aside, found.seconds) == (5, 1, pytest.approx(51.0))
    assert sum(found.decisions.values()) == sum(decided(faulty).kinds.values()) == len(done.decisions)
    _, now = undo_fix(faulty)
    assert now.clips_before == now.clips_after == 5


def test_a_cut_clip_that_a_person_takes_whole_is_heard_again(faulty: Workspace) -> None:
    cut_up(faulty, "tail")
    finish(audit(faulty))
    record(faulty, [Decision(id="tail", decision="drop", by="person")])  # it lay aside before
    assert STAGE.state(faulty) == "fresh" and status(faulty).clips == 5
    record(faulty, [Decision(id="tail", decision="keep", by="person")])
    assert STAGE.state(faulty) == "stale"
    assert finish(audit(faulty)).clips == status(faulty).clips == 6
    assert finish(fix(faulty)).overruled == 1


def test_the_commands_say_once_that_long_clips_lie_aside(faulty: Workspace) -> None:
    cut_up(faulty, "tail")
    _, out, _ = olu("audit", faulty.root, "--fix")
    assert out.count("aside") == 1 and re.search(r"5 clips, \d+\.\d seconds", out) and "Before: 5 clips" in out
    assert "as a person decided" not in out
    _, out, _ = olu("status", faulty.root)
    assert "5 clips, " in out and "1 long clip lies aside, cut into shorter ones" in out


def test_clips_that_only_their_length_keeps_out_are_known() -> None:
    clips = [
        clip("a", 40),
        clip("b", 40),
        clip("c", 22),
        clip("d", 22),
        clip("e", 40),
        clip("f", 40, text=""),
        clip("g"),
    ]
    marks = {id: [error("duration")] for id in "abefg"} | {"b": [error("duration"), error("noise")]}
    decisions = [
        Decision(id="a", decision="drop", by="fix", reason="duration: bad"),
        Decision(id="b", decision="drop", by="fix", reason="duration: bad"),
        Decision(id="d", decision="trim", by="fix", start=1.0, seconds=19.0),
        Decision(id="e", decision="drop", by="person"),
    ]
    assert [one.id for one in too_long(clips, marks, decisions, most=20)] == ["a", "c"]
    assert [one.id for one in lost(clips, marks, decisions, most=20)] == ["a"]
    assert [one.id for one in too_long(clips, {}, [], most=20)] == ["a", "b", "c", "d", "e"]


def test_audit_and_fix_say_what_a_cut_would_save(long: Workspace) -> None:
    root = long.root
    steps = " && ".join(f"olu {verb} {root}" for verb in ("read", "align", "cut", "read", "audit"))
    _, out, _ = olu("audit", root)
    assert "2 clips (1.1 minutes) are longer than 20 s" in out and f"Cut before you fix: {steps} --fix" in out
    page = (long.audit_folder / "report.html").read_text(encoding="utf-8")
    assert f"olu cut {root}</code>" in page and page.index(f"olu cut {root}<") < page.index(f"olu audit {root} --fix")
    _, out, _ = olu("audit", root, "--fix", "--dry-run")
    assert "1 clip (0.7 minutes) is left out only because it is too long" in out
    assert f"Cut before you fix: {steps} --fix" in out
    _, out, _ = olu("audit", root, "--fix", "--json")
    told = json.loads(out)
    assert (told["long"], told["long_seconds"]) == (2, pytest.approx(66.0))
    assert (told["fix"]["lost"], told["fix"]["lost_seconds"]) == (1, pytest.approx(42.0))
    for words in (["--fix"], []):
        _, out, _ = olu("audit", root, *words)
        assert f"To cut instead: olu audit {root} --undo && {steps} --fix" in out
    cut_up(long, "long")
    _, out, _ = olu("audit", root)
    assert "are still longer than 20 s" in out and "olu cut --dry-run says" in out and "To cut instead" not in out


def test_short_clips_ask_for_no_cut(faulty: Workspace) -> None:
    _, out, _ = olu("audit", faulty.root)
    assert "olu cut" not in out
    assert "olu cut " not in (faulty.audit_folder / "report.html").read_text(encoding="utf-8").replace(
        "then olu cut do it", ""
    )


def test_one_is_said_as_one(make: Make) -> None:
    ws = make({"mute": (silence(2), "Okwu ọzọ")})
    _, out, _ = olu("audit", ws.root)
    assert "1 clip, 2.0 seconds, 1 speaker; 1 clip with errors" in out and "would decide on 1 clip;" in out
    _, _, err = olu("audit", ws.root, "--strict")
    assert "1 of 1 clip has errors" in err
    _, out, _ = olu("audit", ws.root, "--fix")
    assert "Before: 1 clip, " in out and "After: 0 clips, " in out
    _, out, _ = olu("status", ws.root)
    assert "1 clip, " in out
    _, out, _ = olu("audit", ws.root, "--undo")
    assert "1 decision taken back" in out and "1 of 1 clip, " in out
    record(ws, [Decision(id="mute", decision="keep", by="person")])
    _, out, _ = olu("audit", ws.root, "--fix")
    assert "1 clip stays as a person decided" in out
    assert "1 clips" not in (ws.audit_folder / "report.html").read_text(encoding="utf-8")
