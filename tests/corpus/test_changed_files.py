"""A recording that was replaced after its import is never taken for the old one."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from olu.cli.main import app
from olu.core.errors import AudioError
from olu.core.files import Workspace, hash_file
from olu.core.job import finish
from olu.corpus import changed_files as changed
from olu.corpus.decisions import Decision, record
from olu.corpus.manifest import Corpus, recordings
from olu.stages.audit import audit
from olu.stages.fix import fix
from olu.stages.import_ import STAGE, ImportSummary, import_source
from olu.stages.prepare import prepare
from olu.stages.status import status
from olu.stages.train_setup import prepare_run, set_up
from olu.train.recipe import Recipe


def sound(path: Path, *, seed: int, seconds: float = 1.0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(str(path), np.random.default_rng(seed).uniform(-0.1, 0.1, round(seconds * 16000)), 16000)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    for n in range(4):
        sound(folder / "wavs" / f"c{n}.wav", seed=n)
    (folder / "metadata.csv").write_text("".join(f"c{n}|habari ya leo {'na' * n}\n" for n in range(4)), "utf-8")
    return folder


@pytest.fixture
def ws(tmp_path: Path, source: Path) -> Workspace:
    made = Workspace.create(tmp_path / "ws", language="swa")
    bring(made, source)
    return made


def bring(ws: Workspace, source: Path, *, copy: bool = False) -> ImportSummary:
    return finish(import_source(ws, source, copy=copy))


def id_of(ws: Workspace, name: str) -> str:
    return next(clip.id for clip in Corpus.open(ws) if clip.audio.endswith(f"{name}.wav"))


RECIPE = {"model": {"size": "tiny"}, "data": {"leave_out_errors": False, "everything": True}}  # not by the audit alone


def test_a_replaced_recording_is_left_out_everywhere_by_name(ws: Workspace, source: Path) -> None:
    recipe = Recipe.model_validate(RECIPE)
    finish(prepare_run(ws, recipe))
    assert STAGE.state(ws) == "fresh" and len(set_up(ws, recipe, device="cpu").train) == 4
    changed_id = id_of(ws, "c1")
    sound(source / "wavs" / "c1.wav", seed=9, seconds=3.0)
    told = f"run 'olu import {ws.root} {source}' again, or leave it out: olu drop {ws.root} {changed_id}"
    finish(prepare_run(ws, recipe))
    assert STAGE.state(ws) == "stale"
    setup = set_up(ws, recipe, device="cpu")
    assert changed_id not in (*setup.train, *setup.valid) and len(setup.train) == 3
    assert "changed since it was imported" in setup.documents["left_out.json"][changed_id]
    line = f"1 recording changed since it was imported and is left out (c1.wav): {told}"
    assert line in setup.notes
    summary = finish(audit(ws))
    assert line in summary.notes
    marks = {mark.check: mark.message for clip in Corpus.open(ws) for mark in Corpus.open(ws).marks(clip)}
    assert marks["unreadable"] == f"{source / 'wavs' / 'c1.wav'} changed since it was imported: {told}"
    problems = finish(prepare(ws, rate=16000)).problems
    assert len(problems) == 1 and changed_id in problems[0] and told in problems[0]
    assert bring(ws, source).added == 1
    assert STAGE.state(ws) == "fresh" and Corpus.open(ws).changed() == []
    assert {clip.seconds for clip in Corpus.open(ws)} == {1.0, 3.0}


def test_another_recording_of_the_same_size_is_noticed_too(ws: Workspace, source: Path) -> None:
    sound(source / "wavs" / "c2.wav", seed=9)
    corpus = Corpus.open(ws)
    clip = next(clip for clip in corpus if clip.id == id_of(ws, "c2"))
    assert (source / "wavs" / "c2.wav").stat().st_size == (source / "wavs" / "c1.wav").stat().st_size
    with pytest.raises(AudioError, match=r"c2\.wav changed since it was imported"):
        corpus.audio(clip)


def test_many_are_summarised_in_one_line(ws: Workspace, source: Path) -> None:
    for n in range(4):
        sound(source / "wavs" / f"c{n}.wav", seed=n + 9)
    (line,) = Corpus.open(ws).changed()
    assert line.startswith(
        "4 recordings changed since they were imported and are left out (c0.wav, c1.wav, c2.wav ...)"
    )
    assert f"olu drop {ws.root} ID ..., with the ids that olu clips {ws.root} --where" in line


def test_a_changed_recording_is_never_decided_on_by_a_fix(ws: Workspace, source: Path) -> None:
    path, id = source / "wavs" / "c1.wav", id_of(ws, "c1")
    clip = next(clip for clip in Corpus.open(ws) if clip.id == id)
    kept = path.read_bytes()
    sound(path, seed=9, seconds=3.0)
    fixed = finish(fix(ws))
    assert any(mark.check == "unreadable" for mark in Corpus.open(ws).marks(clip))  # the audit names it
    assert id not in {one.id for one in fixed.decisions} and Corpus.open(ws).decision(clip) is None
    assert STAGE.state(ws) == "stale" and len(Corpus.open(ws).changed()) == 1
    path.write_bytes(kept)
    finish(fix(ws))
    corpus = Corpus.open(ws)
    assert STAGE.state(ws) == "fresh" and corpus.changed() == [] and corpus.why_not(clip) is None


def test_a_fix_names_what_changed_and_never_says_that_all_is_well(ws: Workspace, source: Path) -> None:
    sound(source / "wavs" / "c1.wav", seed=9, seconds=3.0)
    id = id_of(ws, "c1")
    remedy = f"run 'olu import {ws.root} {source}' again, or leave it out: olu drop {ws.root} {id}"
    line = f"1 recording changed since it was imported and is left out (c1.wav): {remedy}"
    fixed = finish(fix(ws))
    assert fixed.other == (line,) and fixed.effect.clips_before == 3
    for options in (["--dry-run"], []):
        done = CliRunner().invoke(app, ["audit", str(ws.root), "--fix", *options])
        assert done.exit_code == 0 and done.stdout.count(line) == 1, done.output
        assert "Nothing needs fixing" not in done.stdout and "After: 3 clips" in done.stdout, done.output
    done = CliRunner().invoke(app, ["audit", str(ws.root), "--fix", "--json"])
    assert json.loads(done.stdout)["fix"]["other"] == [line]
    bring(ws, source)
    done = CliRunner().invoke(app, ["audit", str(ws.root), "--fix"])
    assert "changed since" not in done.stdout and "Before: 4 clips" in done.stdout, done.output


def test_what_a_fix_left_out_before_is_told_and_what_a_person_did_is_not(ws: Workspace, source: Path) -> None:
    id = id_of(ws, "c1")
    sound(source / "wavs" / "c1.wav", seed=9, seconds=3.0)
    record(ws, [Decision(id=id, decision="drop", by="fix", reason="unreadable: changed")])
    assert len(Corpus.open(ws).changed()) == 1
    record(ws, [Decision(id=id, decision="drop", by="person")])
    assert Corpus.open(ws).changed() == [] and STAGE.state(ws) == "fresh"


@pytest.mark.parametrize("why", ["its row is gone", "it is broken"])
def test_what_an_import_cannot_take_is_not_asked_for_without_end(ws: Workspace, source: Path, why: str) -> None:
    path, id = source / "wavs" / "c1.wav", id_of(ws, "c1")
    if why == "it is broken":
        path.write_bytes(b"no sound")
    else:
        sound(path, seed=9, seconds=3.0)
        table = source / "metadata.csv"
        table.write_text("".join(x for x in table.read_text("utf-8").splitlines(True) if x[:2] != "c1"), "utf-8")
    assert status(ws).next == f"olu import {ws.root} {source}"
    (note,) = [one for one in bring(ws, source).notes if "changed since" in one]
    assert note.endswith(f"did not take it: put the old sound back, or leave it out: olu drop {ws.root} {id}")
    found = status(ws)
    assert found.next == f"olu audit {ws.root}" and found.stages[0].state == "stale"
    finish(audit(ws))
    assert status(ws).next == f"olu read {ws.root}"
    sound(source / "wavs" / "c2.wav", seed=9, seconds=3.0)  # that one was not met
    assert status(ws).next == f"olu import {ws.root} {source}"


def test_several_clips_to_leave_out_are_named_for_a_shell(tmp_path: Path, source: Path) -> None:
    ws = Workspace.create(tmp_path / "my ws", language="swa")
    bring(ws, source)
    ids = [id_of(ws, "c0"), id_of(ws, "c1")]
    for n in range(2):
        sound(source / "wavs" / f"c{n}.wav", seed=9 + n)
    (line,) = Corpus.open(ws).changed()
    assert line.endswith(f"or leave them out: olu drop '{ws.root}' {' '.join(ids)}")


def test_hashes_are_kept_before_the_first_audit_and_damage_to_them_is_passed_over(
    ws: Workspace, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(changed, "hash_file", lambda path: (read.append(path.name), hash_file(path))[1])
    for n in range(4):
        os.utime(source / "wavs" / f"c{n}.wav", ns=(1, 1))
    for _ in range(2):
        changed._known.clear()  # as in the next process
        status(ws)
    assert sorted(read) == [f"c{n}.wav" for n in range(4)]
    path = ws.corpus / changed.FILE
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(["{cut", *lines[1:]]), "utf-8")
    changed._known.clear()
    assert status(ws).stages[0].state == "fresh" and len(read) == 5


def test_a_recording_of_many_clips_is_looked_at_once(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.open(ws)
    pieces = tuple(replace(corpus.clips[0], id=f"p{n}") for n in range(50))
    looked: list[str] = []
    monkeypatch.setattr(changed, "state_of", lambda path: (looked.append(path), Path(path).stat())[1])
    assert Corpus(ws, pieces, corpus.sources).changed() == [] and len(looked) == 1


def test_a_touched_recording_stays_and_is_read_once(
    ws: Workspace, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(changed, "hash_file", lambda path: (read.append(path.name), hash_file(path))[1])
    recordings(ws)
    assert read == []  # dates and sizes are as they were
    os.utime(source / "wavs" / "c1.wav", ns=(1, 1))
    assert Corpus.open(ws).changed() == [] and STAGE.state(ws) == "fresh"
    recordings(ws)
    changed._known.clear()  # as in the next process
    recordings(ws)
    assert STAGE.state(ws) == "fresh" and finish(prepare(ws, rate=16000)).problems == []
    assert read == ["c1.wav"]
    sound(source / "wavs" / "c1.wav", seed=9)  # what was once known to be the same is looked at again
    assert Corpus.open(ws).changed() != []


def test_what_was_done_holds_where_only_dates_differ(ws: Workspace, source: Path) -> None:
    finish(audit(ws))
    finish(prepare(ws, rate=16000))
    for n in range(4):  # as on the machine a pack was carried to
        os.utime(source / "wavs" / f"c{n}.wav", ns=(n + 1, n + 1))
    changed._known.clear()
    assert finish(audit(ws)).fresh and finish(prepare(ws, rate=16000)).fresh
    sound(source / "wavs" / "c1.wav", seed=9)
    assert not finish(audit(ws)).fresh and not finish(prepare(ws, rate=16000)).fresh


def test_long_clips_that_lie_aside_for_their_pieces_are_not_prepared(ws: Workspace) -> None:
    aside = id_of(ws, "c0")
    record(ws, [Decision(id=aside, decision="drop", by="cut", reason="into 3 clips")])
    assert finish(prepare(ws, rate=16000)).clips == 3
    record(ws, [Decision(id=aside, decision="keep", by="person")])  # taken whole again
    assert finish(prepare(ws, rate=16000)).clips == 4


def test_a_missing_recording_is_no_changed_one(ws: Workspace, source: Path) -> None:
    (source / "wavs" / "c1.wav").unlink()
    assert STAGE.state(ws) == "fresh" and Corpus.open(ws).changed() == []
    assert "c1.wav is not there" in finish(prepare(ws, rate=16000)).problems[0]


def test_a_copy_that_was_changed_is_copied_again(tmp_path: Path, source: Path) -> None:
    ws = Workspace.create(tmp_path / "copied", language="swa")
    bring(ws, source, copy=True)
    inside = ws.corpus / "audio" / "s1" / "wavs" / "c1.wav"
    sound(inside, seed=9, seconds=2.0)
    (line,) = Corpus.open(ws).changed()
    assert f"run 'olu import {ws.root} {source} --copy' again" in line
    bring(ws, source, copy=True)
    assert Corpus.open(ws).changed() == [] and STAGE.state(ws) == "fresh"
    assert hash_file(inside) == hash_file(source / "wavs" / "c1.wav")


def test_a_moved_corpus_is_the_same_corpus(ws: Workspace, source: Path, tmp_path: Path) -> None:
    there = Path(shutil.copytree(source, tmp_path / "there", copy_function=shutil.copyfile))  # with dates of its own
    path = ws.corpus / "sources.json"
    path.write_text(path.read_text("utf-8").replace(str(source), str(there)), "utf-8")
    shutil.rmtree(source)
    assert STAGE.state(ws) == "fresh" and finish(prepare(ws, rate=16000)).problems == []
