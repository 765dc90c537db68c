"""Damaged files of a run from the command line, and clips that go while a run trains."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import TINY, Done, fine, olu, states


def refused(done: Done, *, said: str) -> None:
    assert done.code == 2 and "Traceback" not in done.err, done
    assert said in done.err.splitlines()[-1], done.err


WRONG = {
    b"": "is damaged (no 'family')",
    b"family = vits\n": "is damaged (is not valid TOML",
    b'family = "vits"\nseed = 1\n[data]\nodd = 1\n[model]\n[plan]\n[guards]\n': "is damaged (unknown key 'data.odd'",
}
REMEDY = "put it back from a copy, or move the folder"


@pytest.mark.parametrize("wrong", WRONG, ids=["empty", "no-toml", "odd-key"])
def test_a_damaged_recipe_is_said_where_it_is_asked_for(voiced: Path, tmp_path: Path, wrong: bytes) -> None:
    (voiced / "runs" / "vits-001" / "recipe.toml").write_bytes(wrong)
    for words in (
        ("export", voiced, "-o", tmp_path / "z.voice"),  # there is no other
        ("export", voiced, "--run", "vits-001", "-o", tmp_path / "z.voice"),
        ("evaluate", voiced, "--run", "vits-001"),
        ("train", voiced, "--resume"),
        ("train", voiced, "--from-run", "vits-001", "--new"),
        ("runs", voiced, "vits-001"),
    ):
        done = olu(*words)
        refused(done, said=WRONG[wrong])
        assert REMEDY in done.err.splitlines()[-1]
    for verb in ("status", "runs"):
        done = fine(verb, voiced)
        said = [line for line in (done.out + done.err).splitlines() if WRONG[wrong] in line]
        assert len(said) == 1 and said[0].startswith("vits-001") and REMEDY in said[0], done
    found = fine("status", voiced, "--json").json()
    (row,) = found["runs"]
    assert row["state"] == "damaged" and WRONG[wrong] in row["fault"]
    assert (
        found["next"] == f"mend vits-001 as said above, or olu train {voiced} --new"
        and states(voiced)["train"] == "missing"
    )
    assert fine("runs", voiced, "--json").json()["runs"][0]["fault"] == row["fault"]
    fine("audit", voiced)  # it says what comes next, as every verb does
    shutil.move(voiced / "runs" / "vits-001", tmp_path / "away")
    assert fine("status", voiced, "--json").json()["runs"] == []


@pytest.fixture
def two(voiced: Path) -> Path:
    """Two runs, of which the newer has no recipe that can be read."""
    shutil.copytree(voiced / "runs" / "vits-001", voiced / "runs" / "vits-002")
    (voiced / "runs" / "vits-002" / "recipe.toml").write_bytes(b"")
    return voiced


def test_the_other_runs_are_used_and_shown_beside_a_damaged_one(two: Path, tmp_path: Path) -> None:
    rows = {row["run"]: row for row in fine("status", two, "--json").json()["runs"]}
    assert rows["vits-001"]["state"] == "finished" and rows["vits-002"]["state"] == "damaged"
    assert "vits-001: finished at step 2" in fine("status", two).out
    assert [row["state"] for row in fine("runs", two, "--json").json()["runs"]] == ["finished", "damaged"]
    assert "vits-001: finished at step 2" in fine("runs", two, "vits-001").out
    made = fine("export", two, "-o", tmp_path / "z.voice", "--json").json()
    assert made["run"] == "vits-001" and any("vits-002 was passed over" in note for note in made["notes"])
    packed = fine("pack", two, "-o", tmp_path / "last.tar", "--json").json()
    assert packed["runs"] == ["vits-001"] and any("vits-002 was passed over" in note for note in packed["notes"])
    named = fine("export", two, "--run", "vits-001", "-o", tmp_path / "y.voice", "--json").json()
    assert not any("passed over" in note for note in named["notes"])


def test_resuming_passes_a_damaged_run_over_and_says_so(two: Path) -> None:
    (two / "runs" / "vits-001" / "result.json").unlink()
    done = fine("train", two, "--resume")
    assert "vits-002 was passed over" in done.out + done.err
    assert (two / "runs" / "vits-001" / "result.json").exists()


@pytest.mark.parametrize("file", ["recipe.toml", "result.json", "best.json"])
def test_nothing_is_trained_from_the_start_beside_a_damaged_run_unless_asked(voiced: Path, file: str) -> None:
    assert fine("train", voiced, *TINY, "--json").json()["fresh"]
    (voiced / "runs" / "vits-001" / file).write_bytes(b"{}" if file.endswith("json") else b"")
    refused(olu("train", voiced, *TINY), said="add --new to train another")
    assert not (voiced / "runs" / "vits-002").exists()
    assert fine("status", voiced, "--json").json()["next"].startswith("mend vits-001 as said above, or olu train ")
    done = fine("train", voiced, *TINY, "--new", "--json").json()
    assert done["run"] == "vits-002" and not done["fresh"]


def test_a_pack_takes_a_damaged_run_as_it_is_and_never_over_a_whole_one(two: Path, tmp_path: Path) -> None:
    packed = tmp_path / "all.tar"
    done = fine("pack", two, "-o", packed, "--runs", "all", "--json").json()
    assert done["runs"] == ["vits-001", "vits-002"]
    assert any("vits-002 is packed as it is, damaged" in note for note in done["notes"])
    (two / "runs" / "vits-001" / "recipe.toml").write_bytes(b"")  # the copy in the pack is whole
    back = fine("unpack", packed, two, "--json").json()
    assert back["runs"] == ["vits-003"], back
    assert any("vits-002 is damaged in the pack" in note for note in back["notes"])


def test_a_result_that_was_overwritten_is_written_again(voiced: Path) -> None:
    path = voiced / "runs" / "vits-001" / "result.json"
    whole = path.read_bytes()
    path.write_text("{}", encoding="utf-8")
    for verb in ("status", "runs"):
        done = fine(verb, voiced)
        assert "--resume' writes it again" in done.out + done.err
    refused(olu("runs", voiced, "vits-001"), said="--resume' writes it again")
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
    from olu.core.files import Workspace
    from olu.core.job import Note, finish
    from olu.stages.train import train

    assert states(voiced)["train"] == "fresh"
    (voiced / "runs" / "vits-001" / "result.json").unlink()
    work = train(Workspace.open(voiced), resume=True)
    while not (isinstance(said := next(work), Note) and "from step" in said.text):
        pass
    fine("drop", voiced, fine("clips", voiced, "--ids").out.split()[0])
    finish(work)  # type: ignore[arg-type]
    assert states(voiced)["train"] == "stale"
