"""From a run of Chatterbox to a voice: through the export verb, spoken, streamed, served, marked and found again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.core.errors import ExportError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.families.chatterbox.voice import resynthesis
from olu.families.runs import learner_of
from olu.networks import perth
from olu.speak.engines.flow import FlowEngine
from olu.speak.voice import Voice
from olu.stages.export import export
from olu.stages.train import train
from olu.train.run import Run

from ..helpers import aligned_workspaces

TEXTS = ("ọ̀rọ̀ tó dára púpọ̀", "ẹ̀kọ́ ọ̀la ṣe pàtàkì", "a fẹ́ ẹ gan", "ilé wa tóbi", "omi tútù ni", "ojú ọjọ́ dára")
SHORT = ("plan.steps=2", "plan.batch_clips=3", "plan.validate_every=2", "plan.save_every=2", "view.tensorboard=false")


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("chatterbox")
    aligned_workspaces.workspace(root, TEXTS, language="yor")
    found = Workspace.open(root / "ws")
    finish(train(found, overrides=["family=chatterbox", "model.size=tiny", *SHORT], new=True))
    return found


@pytest.fixture(scope="module")
def exported(ws: Workspace) -> Voice:
    return Voice.open(finish(export(ws.root)).voice, threads=1)


def test_a_run_becomes_a_voice(ws: Workspace, exported: Voice) -> None:
    facts, engine = exported.facts, exported.engine
    assert isinstance(engine, FlowEngine)
    assert (facts["engine"], facts["bits"], facts["rate"]) == ("flow", 8, 24000)
    made = exported.speak(TEXTS[0])
    assert made.rate == 24000 and np.isfinite(made.samples).all() and len(made.samples) > 0
    pieces = [one.audio.samples for one in exported.stream(TEXTS[0])]
    assert sum(map(len, pieces)) == len(made.samples)
    learner: Any = learner_of(Run.named(ws.runs_folder, facts["facts"]["run"]), facts["facts"]["step"])
    wanted = learner.heard(learner.references[0])[0].numpy()
    np.testing.assert_allclose(np.asarray(engine.writer.prompt[0], np.float32), wanted, atol=2e-2)
    assert len(engine._references[0].codes) * 2 == engine._references[0].mel.shape[1] <= 200
    assert facts["watermark"] is None, "a tiny one holds none of the published weights"


def test_a_recording_goes_through_its_own_codes_and_decoder(ws: Workspace) -> None:
    run = Run.all(ws.runs_folder)[-1]
    learner: Any = learner_of(run, run.best_step() or 0).eval()
    wave = (0.1 * np.sin(np.arange(16000) / 20)).astype(np.float32)
    made = resynthesis(learner, Audio(wave, 16000), speaker=0)
    assert made.rate == 24000 and len(made.samples) == 25 * 960


@pytest.mark.skipif(perth.weights_file() is None, reason="the watermark's network is not installed")
def test_a_marked_voice_says_so_and_is_found(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from olu.families.chatterbox import voice as family_voice

    kept = family_voice.export
    monkeypatch.setattr(
        family_voice, "export", lambda learner, **more: kept(learner, **{"watermark": True, **_told(more)})
    )
    marked = Voice.open(finish(export(ws.root, output=tmp_path / "marked.voice")).voice, threads=1)
    bare = Voice.open(finish(export(ws.root, output=tmp_path / "bare.voice", no_watermark=True)).voice, threads=1)
    assert marked.facts["watermark"] == "perth" and bare.facts["watermark"] is None
    assert "carries a watermark" in (tmp_path / "marked.voice" / "README.md").read_text(encoding="utf-8")
    assert "without a watermark" in (tmp_path / "bare.voice" / "README.md").read_text(encoding="utf-8")
    text = ". ".join(TEXTS)
    one, other = marked.speak(text), bare.speak(text)
    assert len(one.samples) == len(other.samples) and not np.array_equal(one.samples, other.samples)
    pieces = [piece.audio.samples for piece in marked.stream(text)]
    assert sum(map(len, pieces)) == len(one.samples)


def _told(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if value is not None}


def test_what_a_family_has_no_use_for_is_refused(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="--no-watermark is for '--to voice'"):
        finish(export(ws.root, to="upstream", no_watermark=True, output=tmp_path / "x"))
    small = Voice.open(finish(export(ws.root, bits=4, output=tmp_path / "small.voice")).voice, threads=1)
    assert small.facts["bits"] == 4 and len(small.speak(TEXTS[1]).samples) > 0
    held = json.loads((tmp_path / "small.voice" / "voice.json").read_text(encoding="utf-8"))
    assert set(held["graphs"]) == {"step", "flow_encoder", "flow_step", "pitch", "vocoder"}
