"""A recording that was replaced after its import is never taken for the old one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.corpus import changed
from olu.corpus.manifest import Corpus, recordings
from olu.errors import AudioError
from olu.files import Workspace, hash_file
from olu.stages.audit import audit
from olu.stages.import_ import STAGE, ImportSummary, import_source
from olu.stages.prepare import prepare
from olu.stages.train_setup import prepare_run, set_up
from olu.train.recipe import Recipe
from olu.types import finish


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
    told = f"run 'olu import {ws.root} {source}' again"
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
    assert f"run 'olu import {ws.root} SOURCE' again" in line
    bring(ws, source, copy=True)
    assert Corpus.open(ws).changed() == [] and STAGE.state(ws) == "fresh"
    assert hash_file(inside) == hash_file(source / "wavs" / "c1.wav")


def test_a_moved_corpus_is_the_same_corpus(ws: Workspace, source: Path, tmp_path: Path) -> None:
    there = Path(shutil.copytree(source, tmp_path / "there", copy_function=shutil.copyfile))  # with dates of its own
    path = ws.corpus / "sources.json"
    path.write_text(path.read_text("utf-8").replace(str(source), str(there)), "utf-8")
    shutil.rmtree(source)
    assert STAGE.state(ws) == "fresh" and finish(prepare(ws, rate=16000)).problems == []
