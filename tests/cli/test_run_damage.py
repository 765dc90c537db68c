"""Damaged files of a run from the command line, and clips that go while a run trains."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import Done, fine, olu, states


def refused(done: Done, *, said: str) -> None:
    assert done.code == 2 and "Traceback" not in done.err, done
    assert said in done.err.splitlines()[-1], done.err


def test_an_emptied_recipe_is_said_and_its_run_can_be_moved_away(voiced: Path, tmp_path: Path) -> None:
    (voiced / "runs" / "vits-001" / "recipe.toml").write_bytes(b"")
    said = "recipe.toml is damaged (no 'family'): put it back from a copy, or move the folder"
    for words in (
        ("export", voiced, "-o", tmp_path / "z.voice"),
        ("train", voiced, "--from-run", "vits-001", "--new"),
        ("runs", voiced),
        ("status", voiced),
    ):
        refused(olu(*words), said=said)
    shutil.move(voiced / "runs" / "vits-001", tmp_path / "away")
    fine("status", voiced)


def test_a_result_that_was_overwritten_is_written_again(voiced: Path) -> None:
    path = voiced / "runs" / "vits-001" / "result.json"
    whole = path.read_bytes()
    path.write_text("{}", encoding="utf-8")
    for verb in ("status", "runs"):
        refused(olu(verb, voiced), said="--resume' writes it again")
    path.unlink()
    fine("train", voiced, "--resume")
    assert path.read_bytes() == whole


@pytest.mark.parametrize("name", ["vocabulary.json", "frontend.json"])
def test_a_reading_that_was_overwritten_is_read_again(voiced: Path, name: str) -> None:
    path = voiced / "readings" / name
    whole = path.read_bytes()
    path.write_text("{}", encoding="utf-8")
    refused(olu("train", voiced, "--from-run", "vits-001", "--new", "--dry-run"), said="delete it and run 'olu read")
    path.unlink()
    fine("read", voiced)
    assert path.read_bytes() == whole


def test_a_clip_dropped_while_a_run_trains_makes_it_stale(voiced: Path) -> None:
    from olu.files import Workspace
    from olu.stages.train import Note, train
    from olu.types import finish

    assert states(voiced)["train"] == "fresh"
    (voiced / "runs" / "vits-001" / "result.json").unlink()
    work = train(Workspace.open(voiced), resume=True)
    while not (isinstance(said := next(work), Note) and "from step" in said.text):
        pass
    fine("drop", voiced, fine("clips", voiced, "--ids").out.split()[0])
    finish(work)  # type: ignore[arg-type]
    assert states(voiced)["train"] == "stale"
