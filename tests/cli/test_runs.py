"""`olu runs`, and a training watched from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

from olu.core.config import check
from olu.families.vits.config import VitsConfig
from olu.train.recipe import Recipe
from olu.train.run import Run

from .conftest import TINY, begin_training, fine, olu


def test_no_runs_yet(ws: Path) -> None:
    assert "No runs yet. Next: olu train" in fine("runs", ws).out
    assert fine("runs", ws, "--json").json() == {"runs": []}


def test_runs_side_by_side_and_one_alone(voiced: Path) -> None:
    begin_training(voiced, steps=3)
    first, second = fine("runs", voiced, "--json").json()["runs"]
    assert (first["run"], first["state"], first["step"], first["steps"]) == ("vits-001", "finished", 2, 2)
    assert (second["run"], second["state"], second["step"], second["steps"]) == ("vits-002", "unfinished", 1, 3)
    assert first["differs"].items() >= {"plan.steps": 2}.items()
    assert second["differs"].items() >= {"plan.save_every": 1, "plan.steps": 3}.items()
    assert "plan.batch_clips" not in first["differs"]
    assert first["best"]["metric"] == "mel" and first["best"]["step"] == 2 and second["best"] is None
    assert first["hours"] >= 0 and first["started_from"] is None
    text = fine("runs", voiced).out
    assert "2 of 2" in text and "unfinished" in text and "plan.save_every" in text and "none yet" in text
    with Run(voiced / "runs" / "vits-002").locked():
        assert fine("runs", voiced, "--json").json()["runs"][1]["state"] == "running"
    one = fine("runs", voiced, "vits-001", "--json").json()
    assert one["row"] == first and one["settings"]["plan.steps"] == 2 and one["samples"] == [2]
    assert [held["step"] for held in one["validations"]] == [2.0]
    assert one["checkpoints"] and one["bytes"] > 1000 and Path(one["page"]).name == "run.html"
    text = fine("runs", voiced, "vits-001").out
    assert "vits-001: finished at step 2 of 2" in text and "Page: " in text and "Unlike other runs: " in text


def test_a_run_that_is_not_there(voiced: Path) -> None:
    done = olu("runs", voiced, "vits-009")
    assert done.code == 2 and "no run 'vits-009'" in done.err and "vits-001" in done.err


def test_a_stopped_run_says_why(voiced: Path) -> None:
    Run(voiced / "runs" / "vits-001").finish(steps=2, stopped="the judge has won")
    with (voiced / "runs" / "vits-001" / "events.jsonl").open("a", encoding="utf-8") as file:
        event = {"step": 2, "rewinds": 0, "guard": "balance", "verdict": "STOP", "message": "it won [x]", "clips": []}
        file.write(json.dumps(event) + '\n{"step": 2, "cut')
    assert "It stopped: the judge has won" in (text := fine("runs", voiced, "vits-001").out)
    assert "step 2: balance: it won [x]" in text
    (row,) = fine("runs", voiced, "--json").json()["runs"]
    assert row["state"] == "stopped" and row["events"]["STOP"] == 1 and row["differs"] == {}
    assert "1 stop" in fine("runs", voiced).out


def test_a_training_says_where_it_can_be_watched_and_profiles(ws: Path) -> None:
    settings = (*TINY, "--set", "plan.steps=3", "--set", "view.tensorboard=false")
    done = fine("train", ws, *settings, "--profile", "1")
    run = ws / "runs" / "vits-001"
    assert f"watch it in a browser: {run / 'run.html'}" in done.err and "no TensorBoard files" in done.err
    assert "profile of steps 2 to 2" in done.err and (run / "profile-step-2" / "trace.json").exists()
    assert re.search(r"step 1  disc [\d.]+  mel .*\|  rate disc .*\|  norm disc .*clips/s, \d+% waiting", done.err)
    assert not list(run.glob("events.out.*"))
    page = (run / "run.html").read_text(encoding="utf-8")
    assert 'alt="alignment"' in page and "All 3 steps are done." in page
    again = fine("train", ws, *settings[:-2], "--set", "view.tensorboard=true")
    assert "nothing to do" in again.out, "how a run is watched does not make it another run"
    done = olu("train", ws, *TINY, "--new", "--set", "view.tensorbord=true")
    assert done.code == 2 and "did you mean 'tensorboard'" in done.err


def test_what_comes_with_a_size_is_not_told_beside_it(ws: Path) -> None:
    for settings in ({"size": "tiny"}, {"size": "small", "segment_size": 2048}):
        config = check(VitsConfig, settings, where="test")
        recipe = Recipe(model=config.model_dump(mode="json"))
        Run.create(
            ws / "runs", recipe, facts={**dict.fromkeys(("recipe", "clips", "corpus"), ""), "from": None}, documents={}
        )
    first, second = fine("runs", ws, "--json").json()["runs"]
    assert first["differs"].keys() == {"model.size", "model.segment_size"}
    assert second["differs"] == {"model.size": "small", "model.segment_size": 2048}
    assert (second["state"], second["step"], second["hours"]) == ("unfinished", 0, 0.0)


def test_others_may_read_what_the_umask_lets_them(walked: Path, tmp_path: Path) -> None:
    """The weights of checkpoints and exports are as open as everything else."""
    fine("export", walked, "--to", "hf", "-o", tmp_path / "hf")
    files = [path for folder in (walked, tmp_path / "hf") for path in folder.rglob("*") if path.is_file()]
    plain = (walked / "olu.toml").stat().st_mode & 0o666
    assert {path.name: path.stat().st_mode & 0o666 for path in files if path.stat().st_mode & 0o666 != plain} == {}
