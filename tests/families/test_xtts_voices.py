"""From a run of XTTS to a voice that speaks, and what `olu doctor --base` says of a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.core.errors import ExportError, OluError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.families.runs import learner_of
from olu.families.xtts.foreign.read import read_release
from olu.families.xtts.voice import MOST_SILENCE, prompt_rows, resynthesis
from olu.speak.engines.tokens import TokensEngine
from olu.speak.voice import Voice
from olu.stages.bases import check_base
from olu.stages.export import export
from olu.stages.train import train
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
