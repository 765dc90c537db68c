"""From a run of XTTS to a voice that speaks, and what `olu doctor --base` says of a folder."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.audio.io import resample, write
from olu.core.errors import ExportError, OluError, VoiceError
from olu.core.files import Workspace
from olu.core.job import Note, finish
from olu.core.types import Audio
from olu.families.runs import learner_of
from olu.families.xtts.config import XttsConfig
from olu.families.xtts.foreign.read import read_release
from olu.families.xtts.hear import write_hearing
from olu.families.xtts.learn import XttsLearner
from olu.families.xtts.voice import MOST_SILENCE, merged, prompt_rows, resynthesis, speaker_vector
from olu.speak.engines.tokens import TokensEngine
from olu.speak.voice import Voice
from olu.stages.bases import check_base
from olu.stages.export import export
from olu.stages.speak import run as speak
from olu.stages.train import train
from olu.stages.verbs.voices import SpeakOptions
from olu.train.base_facts import Licence, licence_of
from olu.train.run import Run

from ..helpers import aligned_workspaces
from ..helpers.xtts_release import write_json, write_release

TEXTS = ("ọ̀rọ̀ tó dára púpọ̀", "ẹ̀kọ́ ọ̀la ṣe pàtàkì", "a fẹ́ ẹ gan", "ilé wa tóbi", "omi tútù ni", "ojú ọjọ́ dára")
SHORT = ("plan.steps=2", "plan.batch_clips=3", "plan.validate_every=2", "plan.save_every=2", "view.tensorboard=false")


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("xtts")
    base = write_release(root / "base")
    aligned_workspaces.workspace(root, TEXTS, language="yor")
    found = Workspace.open(root / "ws")
    finish(train(found, overrides=["family=xtts", *SHORT, "model.lora_rank=8"], base=base, new=True))
    return found


@pytest.fixture(scope="module")
def exported(ws: Workspace) -> Voice:
    return Voice.open(finish(export(ws.root)).voice, threads=1)


def test_a_run_becomes_a_voice_with_its_speakers_and_its_tag(ws: Workspace, exported: Voice) -> None:
    facts, engine = exported.facts, exported.engine
    assert isinstance(engine, TokensEngine)
    assert (facts["engine"], facts["bits"], facts["rate"]) == ("tokens", 8, 24000)
    assert set(exported.knobs) == {"temperature", "top_k", "top_p", "repetition_penalty", "guards"}
    tag = exported.vocabulary.symbols.index("[yo]")
    assert exported.vocabulary.encode(exported.frontend.read(TEXTS[0]))[0] == tag
    made = exported.speak(TEXTS[0])
    assert made.rate == 24000 and np.isfinite(made.samples).all() and len(made.samples) > 0
    card = (ws.voices / "ws.voice" / "README.md").read_text(encoding="utf-8")
    assert "Coqui Public Model License" in card and "CPML" in json.dumps(facts["rights"]), (
        "the base's licence goes along"
    )
    rules = facts["stop_rules"]
    observed = Run.named(ws.runs_folder, facts["facts"]["run"]).document("observed.json")
    assert rules["most"] == pytest.approx(1.5 * observed["codes_per_token"], abs=1e-3)
    assert (rules["extra"], rules["tries"], rules["repeat"], rules["silent"]) == (10, 3, 3, 15)
    assert len(facts["silence_codes"]) <= MOST_SILENCE
    run = Run.named(ws.runs_folder, facts["facts"]["run"])
    learner: Any = learner_of(run, facts["facts"]["step"])
    wanted = prompt_rows(learner, learner.references[0]).detach().numpy()
    np.testing.assert_allclose(np.asarray(engine.writer.prompt[0], np.float32), wanted, atol=2e-2)


def test_a_recording_goes_through_its_own_codes_and_decoder(ws: Workspace) -> None:
    run = Run.all(ws.runs_folder)[-1]
    learner: Any = learner_of(run, run.best_step() or 0).eval()
    wave = (0.1 * np.sin(np.arange(22050) / 20)).astype(np.float32)
    made = resynthesis(learner, Audio(wave, 22050), speaker=0)
    codes = -(-len(wave) // 1024)
    assert made.rate == 24000 and len(made.samples) == 256 * (4 * codes * 160 // 147)
    assert np.isfinite(made.samples).all() and made.samples.std() > 0


def test_bits_act_and_are_refused_where_there_is_one_precision(ws: Workspace, tmp_path: Path) -> None:
    sizes = {}
    for bits in (8, 32):
        made = finish(export(ws.root, bits=bits, output=tmp_path / f"{bits}.voice"))
        sizes[bits] = (Path(made.voice) / "step.onnx").stat().st_size
        assert Voice.open(made.voice).facts["bits"] == bits
    assert sizes[32] > 2 * sizes[8]
    with pytest.raises(ExportError, match="--bits is for '--to voice'"):
        finish(export(ws.root, to="coqui", bits=8, output=tmp_path / "coqui"))


def test_another_size_is_no_folder_for_coqui(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="coqui-tts has one size of this network"):
        finish(export(ws.root, to="coqui", output=tmp_path / "coqui"))
    assert not (tmp_path / "coqui").exists()


# ---------------------------------------------------------------- doctor


@pytest.fixture
def base(ws: Workspace, tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    for file in (ws.root.parent / "base").iterdir():
        os.link(file, folder / file.name)
    return folder


def test_doctor_tells_what_a_folder_is(base: Path) -> None:
    found = check_base(str(base))
    said = " | ".join(found.said)
    assert found.good and found.family == "xtts"
    held = read_release(base)
    tensors = len(held.weights)
    for part in (
        f"{tensors} tensors",
        "parameters with the DVAE",
        "vocabulary: 300 tokens, 6 merges",
        "es, sw, en",
        "DVAE: dvae.pth, 64 codes",
        "mel statistics: mel_stats.pth, 80 numbers from 1 to 2",
        "of memory with one clip",
        "of disk for a checkpoint",
        "NON-COMMERCIAL",
    ):
        assert part in said, part
    (base / "dvae.pth").unlink()
    assert "no DVAE: put dvae.pth into the folder" in " | ".join(check_base(str(base)).said)


def test_doctor_finds_numbers_that_are_none(base: Path) -> None:
    stats = torch.linspace(1.0, 2.0, 80)
    stats[3] = torch.nan
    (base / "mel_stats.pth").unlink()
    torch.save(stats, base / "mel_stats.pth")
    assert not check_base(str(base)).good


def test_a_released_folder_is_no_voice_by_itself(base: Path) -> None:
    with pytest.raises(OluError, match="is a base of the family 'xtts', which becomes a voice by a run"):
        finish(export(base))


@pytest.mark.parametrize("name", ["cpml", "coqui-public-model-license", "CPML", "Coqui Public Model License 1.0"])
def test_the_licence_of_the_released_weights_is_known_by_every_name(name: str, tmp_path: Path) -> None:
    assert Licence(name).non_commercial
    (tmp_path / "README.md").write_text(f"---\nlicense: other\nlicense_name: {name}\n---\n", encoding="utf-8")
    assert licence_of(tmp_path).non_commercial


def test_a_silent_folder_with_the_tokens_of_xtts_is_non_commercial(tmp_path: Path) -> None:
    table = {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "[en]": 259, "[START]": 261}
    table |= {f"t{id}": id for id in range(6153) if id not in table.values()}
    write_json(tmp_path / "vocab.json", {"model": {"vocab": table}})
    found = licence_of(tmp_path)
    assert found.non_commercial and found.where == "vocab.json"
    (tmp_path / "README.md").write_text("---\nlicense: apache-2.0\n---\n", encoding="utf-8")
    assert licence_of(tmp_path).name == "apache-2.0", "a folder that speaks for itself is believed"
    few = {token: id for token, id in table.items() if id < 3000}
    (tmp_path / "README.md").unlink()
    write_json(tmp_path / "vocab.json", {"model": {"vocab": few}})
    assert not licence_of(tmp_path).name
    assert json.loads((tmp_path / "vocab.json").read_text())


# ---------------------------------------------------------------- speaking like a recording

AGREED = "Ada agreed on 18 November 2026 to these tests"


def recording(seconds: float = 5.0, *, rate: int = 44_100) -> Audio:
    """Something that sounds: a buzz whose pitch and loudness go up and down."""
    at = np.arange(round(seconds * rate)) / rate
    phase = 2 * np.pi * np.cumsum(140 + 30 * np.sin(2 * np.pi * at)) / rate
    made = sum(np.sin(number * phase) / number for number in range(1, 9)) * (0.2 + 0.1 * np.sin(7 * at))
    return Audio((0.5 * made + 0.001 * np.random.default_rng(2).standard_normal(len(at))).astype(np.float32), rate)


@pytest.fixture(scope="module")
def cloning_at(ws: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cloning") / "c.voice"
    finish(export(ws.root, cloning=True, bits=32, output=place))
    assert "with the consent of whose voice that is" in (place / "README.md").read_text(encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def cloning(cloning_at: Path) -> Voice:
    return Voice.open(cloning_at, threads=1)


def test_a_voice_hears_a_recording_as_the_run_does(ws: Workspace, cloning: Voice) -> None:
    run = Run.named(ws.runs_folder, cloning.facts["facts"]["run"])
    learner = merged(learner_of(run, cloning.facts["facts"]["step"]))
    given = [recording(), recording(2.5, rate=24_000)]
    waves = [resample(one, 22_050).samples for one in given]
    with torch.no_grad():
        rows, vector = prompt_rows(learner, waves).numpy(), speaker_vector(learner, 0, waves).numpy()
    assert isinstance(cloning.engine, TokensEngine) and cloning.engine.hearing is not None
    found = cloning.engine.hearing.heard(given)
    np.testing.assert_allclose(found[0], rows, atol=2e-4 * np.abs(rows).max())
    assert float(found[1] @ vector / np.linalg.norm(found[1]) / np.linalg.norm(vector)) > 0.9999


def test_a_voice_speaks_like_a_recording_and_stays_itself(cloning: Voice, exported: Voice) -> None:
    before = cloning.speak(TEXTS[0], seed=4)
    other = cloning.like([recording()], consent=AGREED)
    assert other.speakers == [*cloning.speakers, "like"]
    said = other.speak(TEXTS[0], seed=4)
    assert np.isfinite(said.samples).all() and not np.array_equal(said.samples, before.samples)
    np.testing.assert_array_equal(other.speak(TEXTS[0], seed=4, speaker=cloning.speakers[0]).samples, before.samples)
    np.testing.assert_array_equal(cloning.speak(TEXTS[0], seed=4).samples, before.samples)
    pieces = [one.audio.samples for one in other.stream(TEXTS[0], seed=4)]
    assert len(np.concatenate(pieces)) == len(said.samples)
    assert "hearing" not in exported.facts  # off unless it was asked for


def test_nobody_is_heard_without_consent_or_with_too_little(cloning: Voice, exported: Voice) -> None:
    with pytest.raises(VoiceError, match="was not exported to hear others"):
        exported.like([recording()], consent=AGREED)
    for consent in ("", "yes", "  she did "):
        with pytest.raises(VoiceError, match="takes their consent"):
            cloning.like([recording()], consent=consent)
    with pytest.raises(VoiceError, match=r"2.0 s of a voice say too little"):
        cloning.like([recording(2.0)], consent=AGREED)
    silent = Audio(np.zeros(22_050 * 4, np.float32), 22_050)
    with pytest.raises(VoiceError, match="silent or damaged"):
        cloning.like([silent], consent=AGREED)


def test_cloning_is_refused_where_nothing_can_hear(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="--cloning is for '--to voice'"):
        finish(export(ws.root, to="coqui", cloning=True, output=tmp_path / "coqui"))
    with pytest.raises(ExportError, match="voices of the family vits cannot hear others"):
        finish(export(Path("embedded"), cloning=True, output=tmp_path / "x.voice"))
    small = XttsLearner(XttsConfig(size="tiny"), vocab_size=12, num_speakers=1)
    with pytest.raises(ExportError, match="knows its speakers by a table"):
        write_hearing(
            small.gpt, small.hifigan_decoder, small.mel_stats, tmp_path, speakers_SG=torch.zeros(1, 16), seconds={}
        )


def test_the_command_tells_the_consent_and_takes_no_half(cloning: Voice, cloning_at: Path, tmp_path: Path) -> None:
    heard = tmp_path / "ada.wav"
    write(heard, recording())
    asked = SpeakOptions(text=TEXTS[0], voice=cloning_at, output=tmp_path / "out.wav", like=(heard,), consent=AGREED)
    notes: list[str] = []
    job = speak(asked)
    while True:
        try:
            event = next(job)
        except StopIteration as end:
            row = end.value.row(asked)
            break
        notes += [event.text] if isinstance(event, Note) else []
    assert any("said like ada.wav" in note and AGREED in note for note in notes)
    assert (row["like"], row["consent"]) == ([str(heard)], AGREED) and (tmp_path / "out.wav").stat().st_size > 100
    for change, why in (
        ({"consent": ""}, "takes their consent"),
        ({"like": ()}, "--consent is of whom --like"),
        ({"speaker": cloning.speakers[0]}, "choose one of them"),
    ):
        with pytest.raises(VoiceError, match=why):
            finish(speak(replace(asked, **change)))  # type: ignore[arg-type]
