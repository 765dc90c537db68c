"""Turbo and Nano as bases: read, told of, trained on, spoken, written for the public program and read again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.helpers.chatterbox_release import byte_vocabulary, turbo_config, write_release, write_turbo

from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.families.chatterbox.base import read_base
from olu.families.chatterbox.config import TEXT_IDS, ChatterboxConfig
from olu.families.chatterbox.foreign.read import read_release
from olu.families.chatterbox.foreign.to_upstream import T3_NAMES, kind_of, lost_of, use_of
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.families.chatterbox.model import T3
from olu.families.chatterbox.plan import moved, weights
from olu.families.runs import learner_of
from olu.speak.voice import Voice
from olu.stages.bases import check_base
from olu.stages.export import export
from olu.stages.plan import plan
from olu.stages.train import train
from olu.text.pieces import BytePieceVocabulary, vocabulary_from
from olu.train.part import LivePart
from olu.train.run import Run

from ..helpers import aligned_workspaces

TEXTS = ("ọ̀rọ̀ tó dára púpọ̀", "ẹ̀kọ́ ọ̀la ṣe pàtàkì", "a fẹ́ ẹ gan", "ilé wa tóbi", "omi tútù ni", "ojú ọjọ́ dára")
SHORT = ("plan.steps=2", "plan.batch_clips=3", "plan.validate_every=2", "plan.save_every=2", "view.tensorboard=false")


@pytest.fixture(scope="module")
def turbo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_turbo(tmp_path_factory.mktemp("turbo") / "release")


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory, turbo: Path) -> Workspace:
    root = tmp_path_factory.mktemp("chatterbox")
    aligned_workspaces.workspace(root, TEXTS, language="yor")
    found = Workspace.open(root / "ws")
    finish(train(found, overrides=list(SHORT), base=turbo, new=True))
    return found


def test_a_released_folder_is_read_whole_and_told_of(turbo: Path, tmp_path: Path) -> None:
    release = read_release(turbo)
    assert release.config.backbone == "gpt2" and isinstance(release.vocabulary, BytePieceVocabulary)
    base = read_base(turbo)
    assert not base.lower and base.languages == ("en",) and base.settings["unconditional"] == 0.0
    learner = ChatterboxLearner(ChatterboxConfig(**base.settings), vocab_size=len(base.symbols), num_speakers=1)
    base.load(learner)
    assert torch.equal(learner.t3.text_emb.weight, release.t3["text_emb.weight"])
    told = check_base(str(turbo), language="amh")
    said = "; ".join(told.said)
    assert told.good and "GPT-2 of 2 blocks of 64" in said and "of bytes as GPT-2 has them" in said
    assert "2 tags ([clear throat], [laugh])" in said and "the multilingual Chatterbox is the better base" in said
    nano = write_turbo(tmp_path / "nano", name="t3_nano_v1")
    assert check_base(str(nano)).good and "t3_nano_v1.safetensors" in "; ".join(check_base(str(nano)).said)


def test_a_plan_says_what_they_are_for(ws: Workspace, turbo: Path) -> None:
    made = finish(plan(ws, base=turbo, device="cpu", write=False))
    assert any("the multilingual Chatterbox is the better base" in one for one in made.notes)


def test_no_table_grows_and_every_letter_is_read(ws: Workspace) -> None:
    run = Run.all(ws.runs_folder)[-1]
    vocabulary = vocabulary_from(run.document("vocabulary.json"))
    assert isinstance(vocabulary, BytePieceVocabulary) and vocabulary.symbols == byte_vocabulary().symbols
    assert {"ọ", "ẹ", "ṣ", "\u0300"} <= set(vocabulary.met)
    assert set("ọẹṣ abz?") <= set(run.document("frontend.json")["inventory"])
    assert len(learner_of(run, 2).t3.text_emb.weight) == vocabulary.size


def test_it_becomes_a_voice_and_a_folder_of_the_public_program(ws: Workspace, tmp_path: Path) -> None:
    voice = Voice.open(finish(export(ws.root, output=tmp_path / "t.voice")).voice, threads=1)
    assert len(voice.speak(TEXTS[0]).samples) > 0 and "guidance" not in voice.facts["knobs"]
    folder = tmp_path / "upstream"
    finish(export(ws.root, to="upstream", output=folder))
    names = {"t3_turbo_v1", "s3gen_meanflow", "ve"}
    assert {path.stem for path in folder.glob("*.safetensors")} == names
    assert "tokenizer.window" in load_file(folder / "s3gen_meanflow.safetensors"), "its loader is strict"
    assert "ChatterboxTurboTTS" in (folder / "README.md").read_text(encoding="utf-8")
    learner: Any = learner_of(Run.all(ws.runs_folder)[-1], 2)
    again = read_release(folder)
    assert all(torch.equal(one, learner.t3.state_dict()[name]) for name, one in again.t3.items())
    assert again.vocabulary.encode_text(TEXTS[0]) == byte_vocabulary().encode_text(TEXTS[0])


def test_what_the_public_program_is_told_of_nano() -> None:
    nano = turbo_config().model_copy(update={"size": "nano"})
    assert T3_NAMES[kind_of(nano)] == "t3_nano_v1" and "nano=True" in use_of(nano, byte_vocabulary(), "a", spoken=True)
    assert any("Nano" in one for one in lost_of(nano, byte_vocabulary()))
    ten = turbo_config(meanflow=False)
    assert any("put s3gen_meanflow.safetensors" in one for one in lost_of(ten, byte_vocabulary()))


@pytest.mark.parametrize("size", ["english", "multilingual", "turbo", "nano"])
def test_a_plan_counts_what_is_there(size: str) -> None:
    """All numbers of T3 at full size, and those that learn with the usual settings."""
    config = ChatterboxConfig(size=size)
    with torch.device("meta"):
        t3 = T3(config, vocab_size=TEXT_IDS[config.backbone])
    sizes, count = weights(config), sum(one.numel() for one in t3.parameters())
    known = sum(value for name, value in sizes.items() if name != "frozen")
    assert known == pytest.approx(count, rel=1e-3)
    learner = ChatterboxLearner(ChatterboxConfig(size="tiny"), vocab_size=9, num_speakers=1)
    learner.t3, learner.config = t3, config
    live = LivePart(learner.parts()["t3"])
    assert moved(config) == pytest.approx(sum(one.numel() for one in live.params), rel=1e-3)


# ---------------------------------------------------------------- what is refused


def test_settings_that_a_base_decides_are_refused(ws: Workspace, turbo: Path) -> None:
    for change, said in {
        "model.layers=5": "model.layers is the base's own, which has 2",
        "model.emotion=true": "model.emotion is the base's own",
        "model.text_start=7": "model.text_start is the base's own",
        "model.guidance=0.5": "has no guidance",
        "model.size=nano": "has no effect with a base",
    }.items():
        for made in (
            train(ws, overrides=[*SHORT, change], base=turbo, new=True),
            plan(ws, base=turbo, overrides=[change], write=False),
        ):
            with pytest.raises(Exception, match=said):
                finish(made)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"merges.txt": None}, "has no merges.txt"),
        (
            {"added_tokens.json": None, "tokenizer_config.json": None},
            "267 rows, and vocab.json with what was added 265",
        ),
        ({"merges.txt": "q q"}, "which is no piece"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_one_sentence(
    turbo: Path, tmp_path: Path, change: dict[str, str | None], said: str
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(turbo, folder)
    for name, text in change.items():
        (folder / name).unlink() if text is None else (folder / name).write_text(text, encoding="utf-8")
    told = check_base(str(folder))
    assert not told.good and said in told.said[0]


def test_weights_that_are_none_are_refused(ws: Workspace, tmp_path: Path) -> None:
    folder = write_turbo(tmp_path / "sick")
    held = load_file(folder / "t3_turbo_v1.safetensors")
    held["text_emb.weight"][3] = float("nan")
    save_file(held, folder / "t3_turbo_v1.safetensors")
    with pytest.raises(TrainError, match=r"numbers in t3\.text_emb\.weight are none"):
        finish(train(ws, overrides=list(SHORT), base=folder, new=True))
    save_file(
        {**held, "text_emb.weight": held["text_emb.weight"].nan_to_num().int()}, folder / "t3_turbo_v1.safetensors"
    )
    assert "holds whole numbers" in check_base(str(folder)).said[0]
    (folder / "t3_turbo_v1.safetensors").unlink()
    (folder / "t3_turbo_v1.safetensors").mkdir()
    assert "is a folder" in check_base(str(folder)).said[0]
    (folder / "t3_turbo_v1.safetensors").rmdir()
    told = check_base(str(folder))
    assert not told.good and "put the T3 of Chatterbox into it" in told.said[0], "told as Chatterbox all the same"


@pytest.mark.parametrize("code", ["rus", "zho", "cmn", "jpn", "heb", "kor"])
def test_languages_that_the_public_program_rewrites_are_refused_by_letters(code: str, tmp_path: Path) -> None:
    base = read_base(write_release(tmp_path / "multilingual"))
    from olu.families.chatterbox import FAMILY
    from olu.train.setup.start import check_read

    config = ChatterboxConfig(**base.settings)
    with pytest.raises(TrainError, match=f"{code} by letters cannot be learnt from this base"):
        check_read(FAMILY, config, base, ["swa", code])
    check_read(FAMILY, config.model_copy(update={"reads": "phones"}), base, [code])
    check_read(FAMILY, config, base, ["swa", "amh"])


def test_names_that_nothing_has_are_not_held(ws: Workspace, turbo: Path) -> None:
    with pytest.raises(TrainError, match="nothing of T3 begins with 'foo'"):
        finish(train(ws, overrides=[*SHORT, 'model.held=["foo"]'], base=turbo, new=True))


def test_the_state_of_the_vocabulary_is_plain_data(ws: Workspace) -> None:
    state = Run.all(ws.runs_folder)[-1].document("vocabulary.json")
    assert state["kind"] == "bytes" and json.loads(json.dumps(state)) == state
