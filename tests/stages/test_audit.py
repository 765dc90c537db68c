from __future__ import annotations

import io as memory
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

import olu.audit.measure
from olu.audit.thresholds import Thresholds
from olu.core.errors import ConfigError, WorkspaceError
from olu.core.files import Workspace, read_jsonl
from olu.core.job import Tick, finish
from olu.corpus.manifest import Corpus
from olu.stages.audit import STAGE, audit

from ..audit.conftest import RATE, silence, speech

Make = Callable[..., Workspace]


def broken_off() -> bytes:
    """A FLAC file of one second whose second half is gone."""
    packed = memory.BytesIO()
    soundfile.write(packed, speech(1.0), RATE, format="FLAC")
    whole = packed.getvalue()
    return whole[: len(whole) // 2]


def test_made_faults_are_each_found_and_good_clips_are_not(make: Make):
    loud = np.clip(speech(3, seed=1) * 8, -1, 1)
    not_numbers = memory.BytesIO()
    soundfile.write(not_numbers, np.full(RATE, np.nan, dtype=np.float32), RATE, format="WAV", subtype="FLOAT")
    ws = make(
        {
            "good": (speech(3, seed=2), "Nke a bụ okwu ọma"),
            "tiny": (speech(0.3, lead=0, tail=0), "Mba"),
            "loud": (loud, "O na-eti mkpu nke ukwuu"),
            "mute": (silence(2.0), "Ọ dịghị ihe a nụrụ"),
            "gap": (np.concatenate([speech(1.5), silence(5), speech(1.5, seed=3)]), "Otu okwu na okwu ọzọ"),
            "edge": (np.concatenate([silence(1), speech(2, seed=4)]), "Tupu okwu amalite"),
            "copy": (speech(3, seed=2), "Okwu ọzọ kpam kpam"),
            "echo": (speech(3, seed=5), "nke a BỤ  okwu ọma"),
            "junk": (b"this is no sound", "Nke a mebiri emebi"),
            "none": (b"", "Nke a enweghị ihe"),
            "half": (broken_off(), "Nke a kwụsịrị n'etiti"),
            "nan": (not_numbers.getvalue(), "Nke a abụghị ọnụọgụ"),
            "wordless": (speech(3, seed=6), "..."),
            "broken line": (speech(3, seed=7), "Ahịrị abụọ\nn'otu"),
        }
    )
    summary = finish(audit(ws))
    corpus = Corpus.open(ws)
    marks = {clip.id: {(m.check, m.severity) for m in corpus.marks(clip)} for clip in corpus}
    assert marks == {
        "good": {("duplicate_audio", "warn")},  # of the two copies it is kept
        "tiny": {("duration", "error")},
        "loud": {("clipping", "error"), ("level", "warn"), ("noise", "warn")},  # no pause is left in it
        "mute": {("silence", "error")},
        "gap": {("silence", "error")},
        "edge": {("edges", "info")},
        "copy": {("duplicate_audio", "error")},
        "echo": {("duplicate_text", "warn")},
        "junk": {("unreadable", "error")},
        "none": {("unreadable", "error")},
        "half": {("unreadable", "error")},
        "nan": {("unreadable", "error")},
        "wordless": {("text", "error")},
        "broken line": {("text", "warn")},
    }
    assert summary.clips == 14
    assert summary.clips_with_errors == 10
    assert summary.seconds_left == pytest.approx(12.0)
    assert summary.counts["unreadable"] == {"error": 4, "warn": 0, "info": 0}
    assert json.loads(summary.summary.read_text(encoding="utf-8")) == summary.row()
    assert len(summary.worst) == 10


def test_nothing_is_decoded_twice(make: Make, monkeypatch: pytest.MonkeyPatch):
    ws = make({"a": (speech(2), "Otu okwu"), "b": (speech(2, seed=1), "Okwu abụọ")})
    ticks = list(audit(ws))
    assert ticks[:2] == [Tick(1, 2, "listening to clips"), Tick(2, 2, "listening to clips")]
    assert STAGE.state(ws) == "fresh"
    first = finish(audit(ws, force=True))
    page = first.report.read_bytes()

    def refuse(*_: object) -> None:
        raise AssertionError("decoded again")

    monkeypatch.setattr(olu.audit.measure, "hear", refuse)
    assert finish(audit(ws)) == first
    assert first.report.read_bytes() == page
    with pytest.raises(AssertionError, match="decoded again"):
        finish(audit(ws, force=True))
    with pytest.raises(AssertionError, match="decoded again"):
        finish(audit(ws, thresholds=Thresholds(edge_info=0.3)))
    first.report.unlink()
    with pytest.raises(AssertionError, match="decoded again"):
        finish(audit(ws))


def test_a_changed_text_makes_the_audit_stale(make: Make):
    ws = make({"a": (speech(2), "Otu okwu")})
    finish(audit(ws))
    path = ws.corpus / "clips.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("okwu", "..."), encoding="utf-8")
    assert STAGE.state(ws) == "stale"


def test_thresholds_in_the_workspace_act_and_make_the_audit_stale(make: Make):
    ws = make({"a": (np.concatenate([silence(1), speech(2)]), "Otu okwu ọma")})
    assert finish(audit(ws)).counts["edges"]["info"] == 1
    own = ws.root / "thresholds.toml"
    own.write_text("edge_info = 2.0\n")
    assert STAGE.state(ws) == "stale"
    assert finish(audit(ws)).counts["edges"]["info"] == 0
    assert STAGE.state(ws) == "fresh"
    own.unlink()
    assert STAGE.state(ws) == "stale"
    own.write_text("edge_wrn = 2.0\n")
    with pytest.raises(ConfigError, match="unknown key 'edge_wrn'; did you mean 'edge_warn'"):
        finish(audit(ws))


def test_marks_come_in_the_order_of_the_corpus(make: Make):
    ids = ["z", "a", "m", "b"]
    ws = make({id: (silence(0.2), "...") for id in ids})
    summary = finish(audit(ws))
    seen = [row["id"] for row in read_jsonl(summary.marks)]
    assert list(dict.fromkeys(seen)) == ids
    assert set(next(iter(read_jsonl(summary.marks)))) == {"id", "check", "severity", "value", "message"}


def test_a_file_that_shrank_after_import_is_named(make: Make, tmp_path: Path):
    ws = make({"a": (speech(2), "Otu okwu")})
    soundfile.write(str(tmp_path / "ws-sounds" / "a.wav"), speech(1), RATE)
    finish(audit(ws))
    (mark,) = Corpus.open(ws).marks(Corpus.open(ws).clips[0])
    assert mark.check == "unreadable"
    assert "1.00 s of sound where 2.00 s" in mark.message


def test_stopping_half_way_leaves_nothing_behind(make: Make):
    ws = make({f"c{n}": (speech(0.5, seed=n), "Otu okwu") for n in range(30)})
    work = audit(ws)
    next(work)
    work.close()
    assert not ws.audit_folder.exists()
    assert STAGE.state(ws) == "missing"


def test_no_clips_is_one_sentence(make: Make):
    with pytest.raises(WorkspaceError, match="olu import"):
        finish(audit(make({})))
