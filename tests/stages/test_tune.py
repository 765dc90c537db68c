"""Sweeps: short runs judged sentence by sentence, left when they cannot win, gone on with after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.core.errors import OluError, TrainError, WorkspaceError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.stages import tune, tune_judge
from olu.stages.plan import plan
from olu.stages.train import train
from olu.stages.tune_grid import grid, rungs, shortened
from olu.stages.tune_judge import sentence_scores
from olu.stages.tune_results import SentenceScores, Sweep, SweepRun, is_worse, sweeps
from olu.stages.verbs.training import TuneOptions
from olu.train.recipe import Recipe, read_recipe

from ..conftest import SOAK
from ..helpers import aligned_workspaces
from ..helpers.toy_families import register

TESTS = Path(__file__).parents[1]
VOICE = ("family=toytokens", "plan.batch_clips=4")


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ws, _ = aligned_workspaces.workspace(tmp_path_factory.mktemp("tunes"))
    clips = [clip.id for clip in Corpus.open(ws)]
    sides = [{"id": id, "split": "train" if n < 8 else "valid"} for n, id in enumerate(clips)]
    (ws.corpus / "splits.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sides), encoding="utf-8")
    return ws.root


@pytest.fixture
def ws(made: Path, tmp_path: Path) -> Workspace:
    return Workspace.open(shutil.copytree(made, tmp_path / "ws"))


def asked(ws: Workspace, *over: str, **more: Any) -> TuneOptions:
    settings = {"by": "loss", "steps": 12, "changes": VOICE, "device": "cpu", "threads": 1}
    return TuneOptions(ws=ws.root, **{"over": over, **settings, **more})


def olu(*words: str, at: int = 0, where: Path) -> int:
    """The command line in a process of its own, ended by SIGKILL when so many rows of metrics are there."""
    script = (
        "import sys; from tests.helpers.toy_families import register; register(); from olu.cli.main import main; main()"
    )
    env = {**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    work = subprocess.Popen([sys.executable, "-c", script, *words], env=env, stdout=subprocess.DEVNULL)
    while work.poll() is None:
        rows = sum(len(path.read_text().splitlines()) for path in where.glob("*/metrics.jsonl")) if at else 0
        if at and rows >= at:
            work.send_signal(signal.SIGKILL)
            break
    return work.wait()


# ---- the grid


def test_several_settings_multiply_and_lists_stay_whole() -> None:
    points = grid(["model.learning_rate=1e-4, 2e-4", "data.speakers=['a', 'b'],[]"])
    assert [point.changes for point in points] == [
        ("model.learning_rate=1e-4", "data.speakers=['a', 'b']"),
        ("model.learning_rate=1e-4", "data.speakers=[]"),
        ("model.learning_rate=2e-4", "data.speakers=['a', 'b']"),
        ("model.learning_rate=2e-4", "data.speakers=[]"),
    ]
    assert points[0].values == {"model.learning_rate": 1e-4, "data.speakers": ["a", "b"]}


def test_a_short_run_is_the_recipe_with_its_steps_shrunk() -> None:
    plan_ = {
        "steps": 4000,
        "warmup_steps": 400,
        "schedule": "milestones",
        "milestones": [1000, 3000],
        "late": {"a": 800},
    }
    short = shortened(Recipe.model_validate({"plan": plan_, "model": {"size": "tiny"}}), 100).plan
    assert (short.steps, short.warmup_steps, short.milestones, short.late) == (100, 10, [25, 75], {"a": 20})
    assert short.validate_every == short.save_every == 25 and rungs(100) == [25, 50, 100]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "there is nothing to try"),
        ({"over": ("model.width=8",)}, "one value is no choice"),
        ({"over": ("model.width=8,8",)}, "one value is no choice"),
        ({"over": ("model.width",)}, "write KEY=A,B"),
        ({"over": ("model.width=8,",)}, "write KEY=A,B"),
        ({"over": ("plan.steps=1,2",)}, "--steps or --minutes"),
        ({"over": ("model.width=8,16", "model.width=4,5")}, "given twice"),
        ({"over": ("model.wdith=8,16",)}, "unknown key 'wdith'; did you mean 'width'"),
        ({"over": ("plan.batch_clip=8,16",)}, "unknown key 'plan.batch_clip'; did you mean 'batch_clips'"),
        ({"over": ("model.width=8,many",)}, "model.*width.*got 'many'"),
        ({"over": ("model.learning_rate=0.01,1e-2",)}, "are the same training"),
        ({"over": ("seed=" + ",".join(map(str, range(70))),)}, "at most 64"),
        ({"over": ("model.width=8,16"), "minutes": 1.0}, "--steps and --minutes"),
        ({"over": ("model.width=8,16",), "steps": None, "minutes": 0.0}, "above 0"),
        ({"over": ("model.width=8,16",), "steps": None, "minutes": 1e-5}, "give --minutes 1, or fewer values"),
        ({"over": ("model.width=8,16",), "by": "heard"}, "has no recogniser that fits its corpus.*--by loss"),
        ({"over": ("model.channels=8,16",), "changes": ("family=toyvocoder",), "by": "heard"}, "says no sentences"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(ws: Workspace, more: dict[str, Any], words: str) -> None:
    with pytest.raises(OluError, match=words):
        finish(tune.run(asked(ws, **more)))
    assert not list(ws.root.glob("tune/*"))


def test_without_held_out_sentences_it_is_refused(ws: Workspace) -> None:
    clips = [clip.id for clip in Corpus.open(ws)]
    rows = [{"id": id, "split": "train"} for id in clips]
    (ws.corpus / "splits.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(TrainError, match=r"has 0 held-out sentences.*'olu split"):
        finish(tune.run(asked(ws, "model.width=8,16")))


# ---- a sweep


def test_the_better_rate_wins_and_its_recipe_trains(ws: Workspace, tmp_path: Path) -> None:
    options = asked(ws, "model.learning_rate=1e-9,0.01", steps=24, output=tmp_path / "best.toml")
    done = finish(tune.run(options))
    best = done.sweep.best
    assert best is not None and best.values == {"model.learning_rate": 0.01} and not done.fresh
    lost = next(run for run in done.sweep.runs if run is not best)
    assert is_worse(lost, best, step=lost.step) and len(done.sweep.clips) == 4
    assert not list((ws.root / "tune").glob("*/checkpoints")) and len(list((ws.root / "tune").glob("toy*/"))) == 2
    assert not ws.runs_folder.exists() or not list(ws.runs_folder.glob("*"))
    recipe = read_recipe(tmp_path / "best.toml", [])
    assert recipe.model["learning_rate"] == 0.01 and recipe.plan.steps == 40  # of the toy's own plan
    trained = finish(train(ws, recipe=tmp_path / "best.toml", overrides=["plan.steps=2", "plan.validate_every=2"]))
    assert trained.steps == 2
    text = "\n".join(map(str, done.sentences(options)))
    assert "0.01 best:" in text and f"olu train {ws.root} --recipe {tmp_path / 'best.toml'}" in text
    again = finish(tune.run(options))
    assert again.fresh and again.sweep == done.sweep
    said = finish(plan(ws, overrides=list(VOICE), device="cpu")).notes
    offer = next(note for note in said if note.startswith("sweep-001"))
    assert offer.endswith("take it with --set model.learning_rate=0.01") and " to " in offer.split("best: ")[1]


def test_what_cannot_win_is_left_early_and_the_reason_is_told(ws: Workspace) -> None:
    options = asked(ws, "model.learning_rate=1e-9,0.03,0.02", steps=40, sentences=4)
    done = finish(tune.run(options))
    lost = next(run for run in done.sweep.runs if run.values["model.learning_rate"] == 1e-9)
    assert lost.step < 40 and lost.left.startswith(f"left at step {lost.step} of 40: it cannot win against")
    row = next(row for row in done.row(options)["runs"] if row["run"] == lost.run)
    assert row["behind"].startswith("+") and row["state"] == lost.left
    assert max(one["step"] for one in map(json.loads, metrics(ws, lost.run))) == lost.step


def metrics(ws: Workspace, run: str) -> list[str]:
    return (ws.root / "tune" / run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()


def test_a_sweep_that_is_left_goes_on_to_the_same_end(ws: Workspace, tmp_path: Path) -> None:
    other = Workspace.open(shutil.copytree(ws.root, tmp_path / "other"))
    whole = finish(tune.run(asked(ws, "model.width=8,16"))).sweep
    work, seen = tune.run(asked(other, "model.width=8,16")), 0
    while seen < 5:  # in the middle of the second rung of the first run
        seen += "training" in getattr(next(work), "what", "") and getattr(sweeps(other)[0].runs[0], "step", 0) == 3
    work.close()
    (half,) = sweeps(other)
    assert not half.done and half.runs[0].step == 3
    done = finish(tune.run(asked(other, "model.width=8,16"))).sweep
    assert [run.scores for run in done.runs] == [run.scores for run in whole.runs]
    assert len(list((other.root / "tune").glob("toytokens-*"))) == 2


@pytest.mark.soak
@pytest.mark.skipif(not SOAK, reason="three processes: make soak")
def test_a_killed_sweep_goes_on_to_the_same_end(ws: Workspace, tmp_path: Path) -> None:
    other = Workspace.open(shutil.copytree(ws.root, tmp_path / "other"))
    words = ["--over", "model.width=8,16", "--by", "loss", "--steps", "40", "--device", "cpu", "--threads", "1"]
    words += [word for change in VOICE for word in ("--set", change)]
    assert olu("tune", str(ws.root), *words, where=ws.root / "tune") == 0
    assert olu("tune", str(other.root), *words, at=15, where=other.root / "tune") == -signal.SIGKILL
    (half,) = sweeps(other)
    assert not half.done
    assert olu("tune", str(other.root), *words, where=other.root / "tune") == 0
    (one,), (two,) = sweeps(ws), sweeps(other)
    assert one.done and two.done and [run.scores for run in one.runs] == [run.scores for run in two.runs]
    assert len(list((other.root / "tune").glob("toytokens-*"))) == 2


def test_a_damaged_sweep_is_named(ws: Workspace) -> None:
    (ws.root / "tune").mkdir()
    (ws.root / "tune" / "sweep-001.json").write_text('{"asked": "x", "runs": []}', encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"sweep-001\.json"):
        finish(tune.run(asked(ws, "model.width=8,16")))
    assert any("sweep-001.json" in note for note in finish(plan(ws, overrides=list(VOICE), device="cpu")).notes)


def test_a_run_that_a_guard_stops_is_out(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    done = finish(tune.run(asked(ws, "model.learning_rate=0.01,1e30", steps=24)))
    assert done.sweep.best is not None and done.sweep.best.values == {"model.learning_rate": 0.01}


# ---- judged by ear


def test_a_recogniser_is_judged_by_the_letters_it_gets_wrong(ws: Workspace) -> None:
    changes = (
        "family=recogniser",
        "model.size=tiny",
        "model.subsample=2",
        "data.hold_back=0.0",
        "plan.batch_clips=4",
        "plan.warmup_steps=0",
    )
    done = finish(tune.run(asked(ws, "model.dropout=0.0,0.3", by="heard", changes=changes, steps=8)))
    assert done.sweep.judge == "wrong letters of held-out recordings"
    first = done.sweep.runs[0].scores[2]
    assert set(first.values) == set(done.sweep.clips) and all(value > 0 for value in first.values.values())
    letters = {clip.id: len(clip.text) for clip in Corpus.open(ws)}
    assert first.weights == {id: letters[id] for id in done.sweep.clips}


class Ears:
    """Hears nothing of quiet sounds, and everything of others."""

    version, natural_cer, units = "ears-001, made for a test", 0.05, "letters"

    def target(self, reading: Any) -> list[str]:
        return list(reading.normal)

    def transcribe(self, audio: Any) -> str:
        return "" if float(np.abs(audio.samples).max(initial=0.0)) < 1e-4 else "habari"


def test_a_voice_is_judged_by_what_is_heard_of_it(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    class Listener:
        name = "recogniser-001"

    monkeypatch.setattr(tune_judge, "ready", lambda ws, **asked: Listener)
    monkeypatch.setattr("olu.stages.listener.recogniser_for", _ears)
    done = finish(tune.run(asked(ws, "model.width=8,16", by="heard", steps=8, sentences=3)))
    assert done.sweep.judge.endswith("heard by recogniser-001")
    scores = [held for run in done.sweep.runs for held in run.scores.values()]
    assert scores and all(0 <= value <= 3 for held in scores for value in held.values.values())
    assert all(len(held.values) == 3 and not held.weights for held in scores)


def _ears(*asked: Any, **more: Any) -> Any:
    return Ears()
    yield


def test_a_sentence_is_scored_as_a_training_chooses_its_best_step() -> None:
    from olu.evaluate.estimates import figure

    def made(name: str, values: list[float | None]) -> Any:
        return figure(name, values, unit="", instrument="", trust="high", reason="")

    figures = [
        made("cer", [0.5, 2.0, None]),
        made("faults", [0.0, 1.0, None]),
        made("duration_ratio", [1.05, 4.0, None]),
    ]
    found = sentence_scores(["a", "b", "c"], figures)
    assert found == {"a": pytest.approx(0.5), "b": pytest.approx(3.0), "c": pytest.approx(3.0)}


def test_while_nothing_is_heard_nobody_wins() -> None:
    """A recogniser that writes a few letters by chance is no better than one that writes none."""
    scores = {"1": [0.99, 0.98, 0.99, 0.97], "2": [1.0, 1.0, 1.0, 1.0]}
    runs = tuple(
        SweepRun((f"a={name}",), name, {2: SentenceScores(dict(zip("abcd", one, strict=True)))})
        for name, one in scores.items()
    )
    sweep = Sweep("", "", "recogniser", "ears", 4, tuple("abcd"), runs, bar=0.8, path="tune/sweep-001.json")
    assert is_worse(runs[1], runs[0]) and not sweep.tells(2)
    assert finish(tune._without_beaten(sweep, 2)) == sweep
    ended = replace(sweep, steps=2)
    assert "tells nothing" in ended.sentence() and replace(ended, bar=None).tells(2)


def test_only_an_interval_above_nothing_is_worse() -> None:
    def run(name: str, values: list[float]) -> SweepRun:
        return SweepRun((f"a={name}",), name, {4: SentenceScores(dict(zip("abcdef", values, strict=True)))})

    best = run("1", [0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    worse = run("2", [0.3, 0.4, 0.5, 0.3, 0.4, 0.45])
    equal = run("3", [0.0, 0.4, 0.3, 0.0, 0.4, 0.3])
    assert is_worse(worse, best) and not is_worse(equal, best) and not is_worse(best, best)
    sweep = Sweep(
        "", "", "vits", "ears", 4, tuple("abcdef"), (best, worse, equal), done=True, path="tune/sweep-007.json"
    )
    assert sweep.best is best and sweep.equals() == [equal]
    assert sweep.sentence().endswith("not told apart from a = 3")
    alone = replace(best, scores={4: SentenceScores({"a": 0.1})})
    assert not is_worse(replace(worse, scores={4: SentenceScores({"a": 0.9})}), alone)
