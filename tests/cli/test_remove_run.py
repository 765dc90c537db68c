"""Runs that are removed, and those that stay because something was made from them; runs that are being trained."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from olu.core.files import Workspace
from olu.train.run import Run

from .conftest import TINY, begin_training, fine, olu


def names(ws: Path) -> list[str]:
    return [row["run"] for row in fine("runs", ws, "--json").json()["runs"]]


def test_a_run_is_removed_after_a_question_only(voiced: Path) -> None:
    begin_training(voiced)
    done = olu("runs", voiced, "--remove", "vits-002")
    assert done.code == 2 and "add --yes" in done.err and names(voiced) == ["vits-001", "vits-002"]
    assert olu("runs", voiced, "--yes").code == 2
    assert "no run 'vits-009'" in olu("runs", voiced, "--remove", "vits-009", "--yes").err
    told = fine("runs", voiced, "--remove", "vits-002", "--yes").out
    assert "vits-002 was removed" in told and names(voiced) == ["vits-001"]
    assert not list(voiced.rglob("*.partial"))
    assert "no run 'vits-002'" in olu("runs", voiced, "vits-002").err
    begin_training(voiced)
    assert names(voiced) == ["vits-001", "vits-003"], "a number is never given twice: reports name runs by it"
    fine("status", voiced)


@pytest.mark.parametrize("answer", ["n", "", "y"])
def test_the_question_on_a_terminal(voiced: Path, answer: str) -> None:
    begin_training(voiced)
    mine, theirs = pty.openpty()
    words = [sys.executable, "-m", "olu", "runs", str(voiced), "--remove", "vits-002"]
    with subprocess.Popen(words, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.write(mine, f"{answer}\n".encode())
        out, err = process.communicate()
    os.close(mine)
    os.close(theirs)
    assert b"Remove vits-002? [y/N]" in err and process.returncode == 0
    assert names(voiced) == (["vits-001"] if answer == "y" else ["vits-001", "vits-002"]), out


def test_what_a_voice_was_made_from_stays(voiced: Path) -> None:
    done = olu("runs", voiced, "--remove", "vits-001", "--yes")
    assert done.code == 2 and "vits-001 stays: voices/ws.voice was made with it" in done.err
    voice = next((voiced / "voices").glob("*.voice"))
    for file in sorted(voice.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    voice.rmdir()
    fine("export", voiced, "--to", "hf")
    done = olu("runs", voiced, "--remove", "vits-001", "--yes")
    assert done.code == 2 and "voices/ws-hf was made with it" in done.err


@pytest.mark.parametrize("how", ["--from-run", "--base", "heard_by"])
def test_what_a_run_was_made_from_stays(ws: Path, how: str) -> None:
    fine("train", ws, *TINY)
    begin_training(ws)
    other = ws / "runs" / "vits-002"
    if how == "--base":
        path = other / "recipe.toml"
        base = ws / "runs" / "vits-001" / "checkpoints" / "step-2"
        path.write_text(f"base = {json.dumps(str(base))}\n" + path.read_text("utf-8"), "utf-8")
    else:
        facts = json.loads((other / "facts.json").read_text("utf-8"))
        facts["from" if how == "--from-run" else "heard_by"] = "vits-001@2" if how == "--from-run" else "vits-001"
        (other / "facts.json").write_text(json.dumps(facts), "utf-8")
    done = olu("runs", ws, "--remove", "vits-001", "--yes")
    assert done.code == 2 and "vits-001 stays: vits-002 was made with it" in done.err
    fine("runs", ws, "--remove", "vits-002", "--yes")
    fine("runs", ws, "--remove", "vits-001", "--yes")


def test_a_recogniser_that_judged_or_aligned_stays(ws: Path) -> None:
    fine("train", ws, "--set", "family=recogniser", "--set", "plan.steps=1", "--set", "plan.batch_clips=2")
    space = Workspace.open(ws)
    name = Run.all(space.runs_folder)[0].name
    space.stamp("align", inputs="x", options={}, summary={"made_by": f"{name}, step 1"})
    evaluation = space.evaluations / "ws-vits-001"
    evaluation.mkdir(parents=True)
    (evaluation / "evaluation.json").write_text(json.dumps({"facts": {"judge": f"{name} step 1"}}), "utf-8")
    done = olu("runs", ws, "--remove", name, "--yes")
    assert done.code == 2 and f"{name} stays: evaluations/ws-vits-001, alignment were made with it" in done.err


def test_a_run_that_is_being_trained(ws: Path) -> None:
    """The same words in every verb, for as long as its process lives."""
    begin_training(ws, steps=30)
    run = Run(ws / "runs" / "vits-001")
    with (run.folder / "metrics.jsonl").open("a", encoding="utf-8") as log:  # steps since its last save
        log.write(json.dumps({**json.loads((run.folder / "metrics.jsonl").read_text("utf-8")), "step": 7}) + "\n")
    saved = max(run.checkpoints().steps())
    with run.locked():
        for words in (["status", ws], ["runs", ws, "vits-001"]):
            assert f"vits-001: running at step 7 of 30, saved at step {saved}" in fine(*words).out
        shown = fine("status", ws, "--json").json()
        assert shown["next"] == f"olu runs {ws} vits-001"
        assert {stage["name"]: stage["state"] for stage in shown["stages"]}["train"] == "running"
        (row,) = fine("runs", ws, "--json").json()["runs"]
        assert [row[key] for key in ("state", "step", "steps", "saved")] == ["running", 7, 30, saved]
        assert [shown["runs"][0][key] for key in ("state", "step", "steps", "saved")] == ["running", 7, 30, saved]
        for more in ([*TINY], ["--resume"]):
            done = olu("train", ws, *more)
            assert done.code == 2 and "vits-001 is being trained by another process (step 7 of 30)" in done.err
        done = olu("runs", ws, "--remove", "vits-001", "--yes")
        assert done.code == 2 and "being trained now" in done.err
    assert f"vits-001: unfinished at step 7 of 30, saved at step {saved}" in fine("status", ws).out
    assert "7 of 30" in fine("runs", ws).out
