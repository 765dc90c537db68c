"""From a run of Chatterbox to a voice: through the export verb, spoken, streamed, served, marked and found again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.audio.io import write
from olu.core.errors import ExportError, NetworkError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.families.chatterbox.voice import resynthesis
from olu.families.runs import learner_of
from olu.networks import perth
from olu.networks.session import read_network
from olu.speak.engines.flow import FlowEngine
from olu.speak.engines.watermark import WatermarkStream
from olu.speak.graphs import OnnxGraph
from olu.speak.voice import Voice
from olu.stages import distil, doctor
from olu.stages.export import export
from olu.stages.train import train
from olu.stages.verbs.machine import DoctorOptions
from olu.stages.verbs.voices import DistilOptions
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


@pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="a large export: make soak")
@pytest.mark.skipif(perth.weights_file() is None, reason="the watermark's network is not installed")
def test_a_marked_voice_of_four_bits_says_so(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from olu.families.chatterbox import voice as family_voice

    kept = family_voice.export
    monkeypatch.setattr(
        family_voice, "export", lambda learner, **more: kept(learner, **{"watermark": True, **_told(more)})
    )
    marked = Voice.open(finish(export(ws.root, bits=4, output=tmp_path / "marked.voice")).voice, threads=1)
    assert (marked.facts["watermark"], marked.facts["bits"]) == ("perth", 4)
    assert "carries a watermark" in (tmp_path / "marked.voice" / "README.md").read_text(encoding="utf-8")
    monkeypatch.setattr("olu.networks.perth.weights_file", lambda: None)
    with pytest.raises(ExportError, match="or export with --no-watermark"):
        finish(export(ws.root, output=tmp_path / "other.voice"))
    text = ". ".join(TEXTS)
    whole = marked.speak(text).samples
    pieces = [piece.audio.samples for piece in marked.stream(text)]
    assert sum(map(len, pieces)) == len(whole) and set(marked.facts["graphs"]) >= {"watermark", "flow_step"}


def _told(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if value is not None}


def test_what_a_family_has_no_use_for_is_refused(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="--no-watermark is for '--to voice'"):
        finish(export(ws.root, to="upstream", no_watermark=True, output=tmp_path / "x"))


def test_it_teaches_another_voice(exported: Voice, ws: Workspace, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(f"{one} {other}." for one in TEXTS[:2] for other in TEXTS[2:4]), encoding="utf-8")
    voice = ws.voices / "ws.voice"
    done = finish(distil.run(DistilOptions(voice=voice, texts=texts, to=tmp_path / "taught", threads=1)))
    assert done.spoken == 4 and done.kept + sum(done.left_out.values()) == 4


@pytest.mark.skipif(perth.weights_file() is None, reason="the watermark's network is not installed")
def test_doctor_finds_the_mark(tmp_path: Path) -> None:
    wave = sentence_like(3.0)
    perth.write_graph(tmp_path / "watermark.onnx")
    network = read_network(tmp_path / "watermark.onnx")
    graph = OnnxGraph(network, name="watermark", inputs=("magnitude",), outputs=1, where="", threads=1)
    stream, whole = WatermarkStream(graph, 24000), WatermarkStream(graph, 24000).push(wave, last=True)
    pieces = [stream.push(wave[at : at + 7001], last=at + 7001 >= len(wave)) for at in range(0, len(wave), 7001)]
    joined = np.concatenate(pieces)
    assert len(joined) == len(wave) == len(whole) and np.abs(joined - whole).max() < 1e-6
    for name, samples, said in (("plain", wave, "not found"), ("marked", whole, "found (Perth")):
        write(tmp_path / f"{name}.wav", Audio(samples, 24000))
        (finding,) = finish(doctor.run(DoctorOptions(watermark=tmp_path / f"{name}.wav"))).findings
        assert finding.good and finding.said.startswith(said), finding
    write(tmp_path / "short.wav", Audio(wave[:2000], 24000))
    with pytest.raises(NetworkError, match=r"0.08 s are too short to find a watermark in"):
        finish(doctor.run(DoctorOptions(watermark=tmp_path / "short.wav")))


def sentence_like(seconds: float) -> Any:
    """Harmonics of a pitch that moves, in syllables."""
    at = np.arange(round(seconds * 24000)) / 24000
    phase = 2 * np.pi * np.cumsum(130 + 25 * np.sin(2 * np.pi * 0.7 * at)) / 24000
    tones = sum((np.sin(phase * k + k) / k for k in range(1, 25)), start=np.zeros_like(at))
    noise = np.random.default_rng(0).standard_normal(len(at))
    return (0.1 * (0.55 + 0.45 * np.sin(2 * np.pi * 3.5 * at)) * tones + 0.003 * noise).astype(np.float32)
