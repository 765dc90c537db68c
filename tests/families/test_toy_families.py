"""Two toy families go from recordings to a voice by touching their own folder and the list of families alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.core.errors import CorpusError, TrainError
from olu.core.files import Workspace
from olu.core.job import Note, finish
from olu.core.types import Alignment
from olu.features.store import Store
from olu.speak.voice import Voice
from olu.stages.export import export
from olu.stages.plan import plan
from olu.stages.train import train
from olu.stages.train_setup import set_up
from olu.train.engine_state import Report
from olu.train.recipe import read_recipe
from olu.train.run import Run

from ..cli.conftest import fine
from ..helpers import aligned_workspaces
from ..helpers.toy_families import register

SHORT = ("plan.steps=12", "plan.batch_clips=4", "plan.validate_every=6", "plan.save_every=3", "view.tensorboard=false")
TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose phones are tones, with an alignment."""
    root = tmp_path_factory.mktemp("toys")
    ws, truth = aligned_workspaces.workspace(root)
    _align(ws, truth)
    return ws.root


def _align(ws: Workspace, truth: dict[str, Alignment]) -> None:
    ws.alignment.mkdir(exist_ok=True)
    lines = [json.dumps(one.row(), ensure_ascii=False) for one in truth.values()]
    (ws.alignment / "alignment.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def ws(made: Path, tmp_path: Path) -> Workspace:
    return Workspace.open(shutil.copytree(made, tmp_path / "ws"))


def said(work: Iterator[Any]) -> tuple[Any, list[str], list[Report]]:
    """The summary of a stage, its sentences, and its reports."""
    notes, reports = [], []
    while True:
        try:
            event = next(work)  # type: ignore[call-overload]
        except StopIteration as done:
            return done.value, notes, reports
        notes += [event.text] if isinstance(event, Note) else []
        reports += [event] if isinstance(event, Report) else []


def trained(ws: Workspace, name: str, *changes: str, **more: Any) -> tuple[Any, list[str], list[Report]]:
    return said(train(ws, overrides=[f"family={name}", *SHORT, *changes], new=True, **more))


def weights(run: Run, step: int) -> dict[str, torch.Tensor]:
    held = run.checkpoints().load(step)
    return {**held.weights, **held.optimiser}


# ---------------------------------------------------------------- a model of codes


def test_codes_are_prepared_once_and_named_by_the_weights_that_made_them(ws: Workspace) -> None:
    trained(ws, "toytokens")
    folder = next(ws.features.glob("codes-*"))
    store, wave = Store(folder), Store(next(ws.features.glob("wave-8000-*")))
    assert store.index.keys() == wave.index.keys()
    clip = next(iter(store.index))
    assert store[clip].dtype == np.int16 and len(store[clip]) == wave.length(clip) // 80
    before = (folder / "values.bin").stat().st_mtime_ns
    trained(ws, "toytokens", "model.width=16")
    assert (folder / "values.bin").stat().st_mtime_ns == before  # nothing that makes them has changed
    held = np.array(store[clip])
    (folder / "values.bin").unlink()  # a store that is open keeps its own
    (folder / "values.bin").write_bytes(b"")
    _, notes, _ = trained(ws, "toytokens")
    assert any("damaged (values.bin is cut)" in one for one in notes)
    assert np.array_equal(Store(folder)[clip], held)


def test_a_clip_hears_another_of_its_speaker_and_never_itself(ws: Workspace) -> None:
    summary, _, _ = trained(ws, "toytokens")
    run = Run.named(ws.runs_folder, summary.run)
    job = set_up(ws, run.recipe, device="cpu", run=run)
    batches = job.batches()
    beside = {(clip, epoch): batches.made(clip, epoch=epoch).beside for clip in job.train for epoch in range(6)}
    assert all(other is not None and other.id != clip for (clip, _), other in beside.items())
    again = {key: batches.made(key[0], epoch=key[1]).beside for key in beside}
    assert {key: one.id for key, one in beside.items() if one} == {key: one.id for key, one in again.items() if one}
    assert len({other.id for (clip, _), other in beside.items() if clip == job.train[0] and other}) > 1
    assert job.vocabulary.state()["kind"] == "pieces" and run.document("vocabulary.json")["kind"] == "pieces"


def test_a_run_tells_its_companions_and_how_often_a_limit_acted(ws: Workspace) -> None:
    summary, notes, reports = trained(ws, "toytokens", "model.head_clip=0.001")
    run = Run.named(ws.runs_folder, summary.run)
    assert list(run.document("facts.json")["companions"]) == ["codec"]
    assert "the gradients of net.head were cut to 0.001 in 12 of 12 updates" in notes
    assert all(report.seen[0].norms["head"] > 0.001 for report in reports)
    facts = run.folder / "facts.json"
    held = json.loads(facts.read_text(encoding="utf-8"))
    facts.write_text(json.dumps({**held, "companions": {"codec": "other"}}), encoding="utf-8")
    with pytest.raises(TrainError, match="began with other frozen modules"):
        set_up(ws, run.recipe, device="cpu", run=run)


RUN = """
import os, signal, sys
sys.path.insert(0, sys.argv.pop(1))
from tests.helpers.toy_families import register
from olu.cli.main import main
from olu.train.engine import Engine
register()
at, advance = int(sys.argv.pop(1)), Engine.advance
def killed(self):
    if self.step == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return advance(self)
Engine.advance = killed
main()
"""


def killed(*words: str, at: int) -> int:
    """How `olu WORDS` ends, killed in a process of its own before this step."""
    command = [sys.executable, "-c", RUN, str(TESTS.parent), str(at), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, check=False, env=environment, capture_output=True).returncode


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_run_ends_as_one_that_went_through(ws: Workspace) -> None:
    changes = [word for one in ("family=toytokens", *SHORT) for word in ("--set", one)]
    other = Workspace.open(shutil.copytree(ws.root, ws.root.parent / "other"))
    fine("train", ws.root, *changes)
    assert killed("train", str(other.root), *changes, at=8) == -signal.SIGKILL
    fine("train", other.root, "--resume")
    one, two = (weights(Run.named(each.runs_folder, "toytokens-001"), 12) for each in (ws, other))
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def test_a_voice_of_codes_is_planned_trained_exported_spoken_and_evaluated(ws: Workspace, tmp_path: Path) -> None:
    planned = finish(plan(ws, overrides=["family=toytokens"], device="cpu"))
    recipe = read_recipe(Path(str(planned.recipe)), [])
    assert recipe.family == "toytokens" and recipe.base is None
    changes = ["plan.steps=150", *SHORT[1:2], "plan.validate_every=150", "plan.save_every=150", SHORT[-1]]
    _, _, reports = said(train(ws, overrides=changes, new=True))
    first, last = reports[0].seen[0].losses["code"], reports[-1].seen[0].losses["code"]
    assert last < 0.6 * first and len(reports[-1].exhibits) > 0
    made = finish(export(ws.root, output=tmp_path / "x.voice"))
    voice = Voice.open(Path(made.voice))
    assert {"temperature", "top_k"} == set(voice.knobs)
    audio = voice.speak("Habari ya leo", seed=3)
    assert audio.rate == 8000 and np.isfinite(audio.samples).all() and len(audio.samples) > 800
    assert np.array_equal(audio.samples, voice.speak("Habari ya leo", seed=3).samples)
    streamed = [chunk.audio.samples for chunk in voice.stream("Habari ya leo", seed=3)]
    assert np.allclose(np.concatenate(streamed), audio.samples)
    fine("evaluate", ws.root, "--only", "sanity")
    assert list((ws.root / "evaluations").glob("toytokens-001-step-*/report.html"))


# ---------------------------------------------------------------- an acoustic model and its vocoder


def test_without_an_alignment_or_a_vocoder_it_says_what_is_missing(ws: Workspace) -> None:
    (ws.alignment / "alignment.jsonl").rename(ws.root / "kept.jsonl")
    with pytest.raises(CorpusError, match="learns from an alignment: run 'olu align"):
        trained(ws, "toyacoustic")
    (ws.root / "kept.jsonl").rename(ws.alignment / "alignment.jsonl")
    with pytest.raises(TrainError, match=r"needs a vocoder, and .* has none: train one first"):
        trained(ws, "toyacoustic")


def test_a_vocoder_learns_without_texts(ws: Workspace) -> None:
    clips = ws.corpus / "clips.jsonl"
    rows = [json.loads(line) for line in clips.read_text(encoding="utf-8").splitlines()]
    rows[0]["text"] = ""
    clips.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", encoding="utf-8")
    summary, _, reports = trained(ws, "toyvocoder")
    assert not summary.speaks and reports[-1].exhibits
    run = Run.named(ws.runs_folder, summary.run)
    assert rows[0]["id"] not in run.document("left_out.json")
    assert run.document("vocabulary.json")["symbols"] == ["_"]


def test_a_voice_of_two_runs_is_trained_resumed_exported_and_spoken(ws: Workspace, tmp_path: Path) -> None:
    trained(ws, "toyvocoder", "plan.steps=60")
    edges = ("data.edges=0.1", "data.loudness=-23")
    straight, _, reports = trained(ws, "toyacoustic", *edges)
    assert reports[-1].exhibits and reports[-1].scores["mel"] < reports[5].scores["mel"]
    run = Run.named(ws.runs_folder, straight.run)
    assert run.document("facts.json")["needs"] == {"vocoder": "toyvocoder-001@60"}
    assert run.document("vocabulary.json")["kind"] == "streams"
    job = set_up(ws, run.recipe, device="cpu", run=run)
    example = job.example(job.train[0])
    assert set(example.features) == {"mel", "pitch", "ends", "tones", "stress", "gaps"}
    assert 0 < example.features["ends"][-1] <= len(example.features["pitch"])  # in the part that is kept
    work = train(ws, overrides=["family=toyacoustic", *SHORT, *edges], new=True)
    for event in work:
        if isinstance(event, Report) and event.step == 8:
            break
    work.close()
    resumed, _, _ = said(train(ws, resume=True))
    one, two = weights(run, 12), weights(Run.named(ws.runs_folder, resumed.run), 12)
    assert all(torch.equal(one[name], two[name]) for name in one)
    made = finish(export(ws.root, output=tmp_path / "x.voice"))
    voice = Voice.open(Path(made.voice))
    audio = voice.speak("Habari ya leo", seed=3)
    assert audio.rate == 8000 and np.isfinite(audio.samples).all() and len(audio.samples) > 800
