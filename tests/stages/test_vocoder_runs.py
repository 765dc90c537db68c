"""Runs of a vocoder: from recordings without a text, gone on with, judged by copies, matched to an acoustic model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.audio import io
from olu.core.errors import ConfigError, ExportError, TrainError, VoiceError
from olu.core.files import Workspace, hash_file, read_json, write_json
from olu.core.job import finish
from olu.core.parse import load_json
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.families.runs import MATCHED
from olu.families.vocoder.base import must_fit, read_base
from olu.families.vocoder.packaged import PackagedVocoder
from olu.features.mel import MelSpec
from olu.speak.source import pulses
from olu.speak.voice import Voice
from olu.stages.align import align
from olu.stages.evaluate import run as evaluate_run
from olu.stages.export import export
from olu.stages.import_ import import_source
from olu.stages.status import status
from olu.stages.train import train
from olu.stages.train_setup import set_up
from olu.stages.verbs.machine import StatusOptions
from olu.stages.verbs.voices import EvaluateOptions
from olu.train.run import Run

from ..helpers import igbo_project as project

RATE = 16000
TINY = ("family=vocoder", "model.size=tiny", "view.tensorboard=false", "data.loudness=0")
PLAN = ("plan.steps=6", "plan.batch_clips=4", "plan.validate_every=6", "plan.save_every=3", "plan.demo_clips=1")


def recordings(folder: Path, count: int = 12) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        frames = 90 + 5 * number
        line = np.log2(100 + 12 * number) + 0.1 * np.sin(np.arange(frames) / 15)
        wave = pulses(line, np.ones(frames), hop=256, rate=RATE)
        wave = np.convolve(wave, 0.9 ** np.arange(60), "same")
        wave = wave + 0.01 * np.random.default_rng(number).normal(size=len(wave))
        io.write(folder / f"r{number}.wav", Audio((0.3 * wave / np.abs(wave).max()).astype(np.float32), RATE))
    return folder


@pytest.fixture(scope="module")
def mute(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace whose clips have no text, and one run."""
    root = tmp_path_factory.mktemp("mute")
    ws = Workspace.create(root / "ws", language="swa")
    finish(import_source(ws, recordings(root / "wavs")))
    done = finish(train(ws, overrides=[*TINY, *PLAN]))
    assert (done.run, done.steps) == ("vocoder-001", 6)
    return ws


def run_of(ws: Workspace, name: str = "vocoder-001") -> Run:
    return Run.named(ws.runs_folder, name)


def test_recordings_without_a_text_train_on_sides_of_their_own(mute: Workspace):
    corpus = Corpus.open(mute)
    assert all(corpus.split(clip) is None for clip in corpus)
    sides = [corpus.split(clip, texts=False) for clip in corpus]
    assert sides.count("train") >= 8 and "valid" in sides
    facts = run_of(mute).document("facts.json")
    assert facts["trained"]["clips"] == sides.count("train") and facts["mel"]["hash"] == MelSpec().hash
    told = " ".join(map(str, status(mute).sentences(StatusOptions(ws=mute.root))))
    assert "vocoder-001: finished at step 6 of 6" in told


def test_a_clip_comes_as_often_as_it_has_segments(mute: Workspace):
    run = run_of(mute)
    job = set_up(mute, run.recipe, device="cpu", run=run)
    size = job.family.data.segment(job.config)
    turns = {clip: job.drawn.count(clip) for clip in job.train}
    assert turns == {clip: max(1, round(job.store.length(clip) / size)) for clip in job.train}
    assert {len(batch) for batch in job.batches().plan(0)} <= {4, len(job.drawn) % 4}


def test_it_can_be_tried_without_training(mute: Workspace):
    tried = finish(train(mute, overrides=[*TINY, *PLAN], dry=True))
    assert tried.dry["clips"] >= 8 and tried.dry["losses"] and len(Run.all(mute.runs_folder)) == 1


def test_a_run_goes_on_exactly(mute: Workspace, tmp_path: Path):
    run = run_of(mute)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text((run.folder / "recipe.toml").read_text(encoding="utf-8"), encoding="utf-8")
    work = train(mute, recipe=recipe, new=True)
    while getattr(next(work), "step", 0) < 5:
        pass
    work.close()  # as a kill: step 3 is kept
    again = Run.all(mute.runs_folder)[-1]
    assert again.checkpoints().steps()[-1] == 3
    done = finish(train(mute, resume=True))
    assert done.run == again.name and done.steps == 6
    one, two = (each.checkpoints().load(6).weights for each in (run, again))
    assert all(bool((one[name] == two[name]).all()) for name in one)


def test_going_on_from_a_run_keeps_the_discriminators_and_moves_the_end(mute: Workspace):
    done = finish(train(mute, from_run="vocoder-001", overrides=["plan.steps=2", "view.tensorboard=false"], new=True))
    run = run_of(mute, done.run)
    model, rates = run.recipe.model, run.recipe.plan.rates
    assert (model["discriminator_start"], model["discriminator_warmup"], model["learning_rate"]) == (0, 0, 1e-4)
    assert rates["gen.enter"] == 0 and not any(name.startswith("gen.filter") for name in rates)
    before, after = (one.checkpoints().load(one.checkpoints().steps()[-1]).weights for one in (run_of(mute), run))
    assert bool((before["learner/gen.enter.weight"] == after["learner/gen.enter.weight"]).all())
    assert not bool((before["learner/gen.filter.weight"] == after["learner/gen.filter.weight"]).all())
    apart = (before["learner/disc.periods.0.final_conv.bias"] - after["learner/disc.periods.0.final_conv.bias"]).abs()
    assert float(apart) < 1e-3


def test_a_base_of_another_contract_is_refused_by_its_field(mute: Workspace, tmp_path: Path):
    assert read_base(run_of(mute).folder).has_discriminator
    with pytest.raises(ConfigError, match="of other differs: hop is 200, here 256"):
        must_fit(MelSpec(hop=200).facts, whose="other")
    with pytest.raises(ConfigError, match="is no vocoder"):
        read_base(tmp_path)


def test_a_package_of_the_vocoder_alone_is_a_start(mute: Workspace, tmp_path: Path):
    path = tmp_path / "own.vocoder"
    made = finish(export(mute.root, run="vocoder-001", output=path, with_training=True))
    assert (made.to, made.voice) == ("vocoder", str(path))
    card = load_json(path / "vocoder.json")
    assert card["mel"]["hash"] == MelSpec().hash and set(card["files"]) == {"decoder.onnx", "training.safetensors"}
    changes = ["family=vocoder", "data.loudness=0", "view.tensorboard=false", *PLAN]
    done = finish(train(mute, base=path, overrides=changes, new=True))
    own = run_of(mute, done.run).recipe
    assert own.model["size"] == "tiny" and own.model["discriminator_start"] == 0 and own.plan.rates["gen.enter"] == 0
    with pytest.raises(ExportError, match="a package of its own"):
        finish(export(mute.root, run="vocoder-001", to="piper"))
    (path / "training.safetensors").write_bytes(b"other")
    with pytest.raises(ConfigError, match="is not what was written"):
        read_base(path)
    finish(export(mute.root, run="vocoder-001", output=path))
    with pytest.raises(ConfigError, match="export it --with-training"):
        read_base(path)


def test_copies_are_judged_beside_their_floor(mute: Workspace, tmp_path: Path):
    asked = EvaluateOptions(place=mute.root, run="vocoder-001", sentences=1, output=tmp_path / "judged")
    found: Any = finish(evaluate_run(asked))
    figures = {one.name: one for one in found.figures}
    assert {"f0_rms", "f0_median", "f0_gross", "voicing", "mel"} <= set(figures)
    assert figures["mel"].mean > figures["mel"].natural > 0
    assert figures["f0_rms"].mean < 1.0  # the source has the pitch, trained or not
    assert any("wrong letters: no clip that was copied has a text" in one for one in found.missing)
    assert len(list((tmp_path / "judged" / "wavs").glob("*.wav"))) == found.clips == 1


def test_a_vocoder_learns_the_mels_of_an_acoustic_model(tmp_path: Path):
    place = project.make_project(tmp_path / "igbotts", project.TEXTS)
    ws = Workspace.create(tmp_path / "ws", language="ibo")
    finish(import_source(ws, place / "data" / "waxal_igbo"))
    finish(align(ws, source=place / "textgrids.tar.gz"))
    short = [*PLAN, "view.tensorboard=false", "data.loudness=0"]
    finish(train(ws, overrides=[*TINY, *PLAN]))
    voice = finish(train(ws, overrides=["family=acoustic", "model.size=tiny", *short]))
    with pytest.raises(TrainError, match="--match goes on from a vocoder that can speak"):
        finish(train(ws, overrides=[*TINY, *PLAN], match=voice.run, new=True))
    with pytest.raises(TrainError, match="it makes no mels"):
        finish(train(ws, from_run="vocoder-001", match="vocoder-001", new=True))
    done = finish(train(ws, from_run="vocoder-001", match=voice.run, overrides=["plan.steps=2"], new=True))
    run = run_of(ws, done.run)
    assert run.document("facts.json")[MATCHED] == f"{voice.run}@6" == run.recipe.match
    job = set_up(ws, run.recipe, device="cpu", run=run)
    one = job.example(job.train[0])
    assert one.features["matched"].shape == (len(one.samples) // 256, 80)
    assert job.learner.collate([one]).mels is not None


def test_a_voice_takes_the_vocoder_of_a_package(mute: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Trained elsewhere, named in a recipe or at the export; the voice holds its graph and its licence."""
    shared = tmp_path / "shared.vocoder"
    finish(export(mute.root, run="vocoder-001", output=shared, licence="CC-BY-NC-4.0", override_licence="a test"))
    place = project.make_project(tmp_path / "igbotts", project.TEXTS)
    ws = Workspace.create(tmp_path / "ws", language="ibo")
    finish(import_source(ws, place / "data" / "waxal_igbo"))
    finish(align(ws, source=place / "textgrids.tar.gz"))
    monkeypatch.chdir(tmp_path)
    short = [*PLAN, "view.tensorboard=false", "data.loudness=0", "family=acoustic", "model.size=tiny"]
    done = finish(train(ws, overrides=[*short, "voice.vocoder=shared.vocoder"]))
    run = run_of(ws, done.run)
    assert run.recipe.voice.vocoder == str(shared) and run.document("facts.json")["needs"] == {"vocoder": str(shared)}
    made = Path(finish(export(ws.root)).voice)
    held, card = load_json(made / "voice.json"), load_json(shared / "vocoder.json")
    assert held["vocoder"] == card["vocoder"] and held["made_for"] == held["mel"]["hash"] == MelSpec().hash
    assert any("CC-BY-NC-4.0" in str(part) for part in held["rights"]["parts"])
    assert (made / "decoder.onnx").read_bytes() == (shared / "decoder.onnx").read_bytes()
    audio = Voice.open(made).speak("Nnọọ")
    assert len(audio.samples) > 1000
    with pytest.raises(TrainError, match="is no package of a vocoder"):
        finish(export(ws.root, vocoder="nothing.vocoder", output=tmp_path / "x.voice"))
    (shared / "decoder.onnx").write_bytes(b"other")
    with pytest.raises(TrainError, match="is not what was written"):
        finish(export(ws.root, vocoder="shared.vocoder", output=tmp_path / "x.voice"))
    held["made_for"] = "another"
    write_json(made / "voice.json", held)
    check = load_json(made / "check.json")
    check["files"]["voice.json"] = hash_file(made / "voice.json")
    write_json(made / "check.json", check)
    with pytest.raises(VoiceError, match="makes another mel spectrogram"):
        Voice.open(made)


def test_the_vocoder_of_the_repository_is_whole_named_and_sounds_at_the_pitch_it_is_given() -> None:
    folder = Path(__file__).parents[2] / "vocoders" / "four-speakers.vocoder"
    if not folder.is_dir():
        pytest.skip("a source archive has no vocoders/")
    assert read_base(folder).has_discriminator  # digests and contract, and what training goes on from
    card = read_json(folder / "vocoder.json")
    assert card["licence"] == "MIT" and all(one in card["credits"] for one in ("Amharic", "Yoruba", "Swahili"))
    vocoder, frames = PackagedVocoder(folder), 80
    for hertz in (95.0, 220.0):
        torch.manual_seed(0)
        line = torch.full((1, frames), float(np.log2(hertz)))
        wave = vocoder.sounded(torch.full((1, 80, frames), -3.0), line, torch.ones(1, frames))[0].numpy()
        part = wave[4096:16384]
        likeness = np.correlate(part, part, "full")[len(part) - 1 :]
        period = 30 + int(likeness[30 : int(1.4 * 16000 / hertz)].argmax())
        assert len(wave) == frames * 256 and 12 * abs(np.log2(16000 / period / hertz)) < 0.5
