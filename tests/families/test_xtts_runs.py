"""From recordings and made weights of XTTS v2 to runs: planned, refused where it must be, trained, resumed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from olu.core.errors import OluError, TrainError
from olu.core.files import Workspace
from olu.core.job import Note, finish
from olu.families.xtts.base import read_base
from olu.families.xtts.config import XttsConfig
from olu.families.xtts.prepared import codes_feature
from olu.features.store import Store
from olu.stages.plan import plan
from olu.stages.train import train
from olu.stages.train_setup import set_up
from olu.train.base_facts import licence_of
from olu.train.engine_state import Report
from olu.train.run import Run

from ..helpers import aligned_workspaces
from ..helpers.xtts_release import SMALLEST, networks, write_release

TEXTS = (
    "ọ̀rọ̀ tó dára púpọ̀", "ẹ̀kọ́ ọ̀la ṣe pàtàkì", "a fẹ́ ẹ gan", "ilé wa tóbi", "omi tútù ni", "ojú ọjọ́ dára",
    "mo ń lọ sílé", "wọ́n ti dé", "bàbá mi", "ìyá mi dára",
)  # fmt: skip
SHORT = ("plan.steps=4", "plan.batch_clips=4", "plan.validate_every=4", "plan.save_every=2", "view.tensorboard=false")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("xtts")
    write_release(root / "base")
    aligned_workspaces.workspace(root, TEXTS, language="yor")
    return root


@pytest.fixture
def ws(made: Path, tmp_path: Path) -> Workspace:
    return Workspace.open(shutil.copytree(made / "ws", tmp_path / "ws"))


@pytest.fixture
def base(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made / "base", tmp_path / "base")


def said(work: Iterator[Any]) -> tuple[Any, list[str], list[Report]]:
    """The summary of a stage, its sentences, and its reports."""
    notes, reports = [], []
    while True:
        try:
            event = next(work)
        except StopIteration as done:
            return done.value, notes, reports
        notes += [event.text] if isinstance(event, Note) else []
        reports += [event] if isinstance(event, Report) else []


def trained(ws: Workspace, *changes: str, **more: Any) -> tuple[Any, list[str], list[Report]]:
    return said(train(ws, overrides=["family=xtts", *SHORT, *changes], new=True, **more))


def weights(ws: Workspace, name: str, step: int) -> dict[str, torch.Tensor]:
    held = Run.named(ws.runs_folder, name).checkpoints().load(step)
    return {**held.weights, **held.optimiser}


def test_a_plan_says_rates_with_their_source_and_non_commercial_before_anything_is_trained(
    ws: Workspace, base: Path
) -> None:
    planned = finish(plan(ws, base=base, device="cpu"))  # the folder tells of which family it is
    assert any("NON-COMMERCIAL" in note for note in planned.notes)
    assert "NON-COMMERCIAL" in planned.text and "untested" in planned.text
    assert any("of disk; three have to fit" in note for note in planned.notes)
    values = {one["key"]: one["value"] for one in planned.settings}
    assert values["model.learning_rate"] == 5e-6 and values["data.max_seconds"] == 11.6
    assert values["plan.rates"] == {"gpt.text_embedding": 10.0, "gpt.text_head": 10.0}
    assert values["plan.late"]["gpt.gpt"] == 300 and values["plan.schedule"] == "constant"
    known = write_release(base.parent / "known", tags=("en", "es", "yo"))
    other = finish(plan(ws, base=known, overrides=["family=xtts"], device="cpu", write=False))
    assert {one["key"]: one["value"] for one in other.settings}["plan.rates"] == {}
    assert not any(one["key"] == "plan.late" for one in other.settings)


def test_a_language_is_added_trained_and_gone_on_with_exactly(ws: Workspace, base: Path) -> None:
    again = Workspace.open(shutil.copytree(ws.root, ws.root.parent / "again"))
    held = 'plan.late={"gpt.gpt"=2}'
    summary, notes, _ = trained(ws, held, base=base)
    assert any("NON-COMMERCIAL" in note for note in notes[:3])  # before the first step
    assert any("come back whole" in note for note in notes) and any("new symbols" in note for note in notes)
    run = Run.named(ws.runs_folder, summary.run)
    rows = {row["symbol"]: row for row in run.document("new_symbols.json")}
    assert rows["[yo]"]["times"] == len(TEXTS) and rows["[yo]"]["from"] == "[es] + [sw] + [en]"
    assert rows["ọ̀"]["times"] >= 4 and rows["ọ̀"]["from"] == "o"
    first = weights(ws, run.name, 0)
    second, last = weights(ws, run.name, 2), weights(ws, run.name, 4)
    body = "learner/gpt.gpt.h.0.mlp.c_fc.weight"
    assert torch.equal(first[body], second[body]) and not torch.equal(second[body], last[body])  # held at first
    text = "learner/gpt.text_embedding.weight"
    assert not torch.equal(first[text], second[text]) and len(first[text]) == 300 + len(rows)
    assert not any(name.startswith("learner/dvae.encoder") for name in torch_files(run, 4))  # frozen weights lie once
    store = Store(next(ws.features.glob("codes-*")))
    assert store[next(iter(store.index))].dtype.str == "<i2"
    work = train(again, overrides=["family=xtts", *SHORT, held], base=base, new=True)
    next(event for event in work if isinstance(event, Report) and event.step == 3)
    work.close()
    shutil.rmtree(base)  # a run has all it needs
    said(train(again, resume=True))
    one, two = weights(ws, run.name, 4), weights(again, run.name, 4)
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
    assert all(torch.isfinite(value).all() for value in one.values() if value.is_floating_point())


def torch_files(run: Run, step: int) -> set[str]:
    from safetensors import safe_open

    with safe_open(run.checkpoints().path(step) / "weights.safetensors", "pt") as held:
        return set(held.keys())


def test_another_dvae_is_refused_and_its_codes_never_mix(ws: Workspace, base: Path) -> None:
    summary, _, _ = trained(ws, base=base)
    run = Run.named(ws.runs_folder, summary.run)
    first = next(ws.features.glob("codes-*")).name
    model, dvae = networks(SMALLEST)
    with torch.no_grad():
        dvae.codebook.embed.add_(1.0)
    other = write_release(base.parent / "other", models=(model, dvae))
    shutil.rmtree(base)
    other.rename(base)
    with pytest.raises(TrainError, match="the DVAE of the base is another one"):
        set_up_again(ws, run)
    read = read_base(base)
    made = codes_feature(XttsConfig(**read.settings), read)
    before = codes_feature(XttsConfig.model_validate(run.recipe.model), None)
    assert made.key([]) != before.key([]) and next(ws.features.glob("codes-*")).name == first


def set_up_again(ws: Workspace, run: Run) -> None:
    from olu.stages.train_setup import prepare_run

    finish(prepare_run(ws, run.recipe, run=run))
    set_up(ws, run.recipe, device="cpu", run=run)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda base: (base / "dvae.pth").unlink(), "has no DVAE"),
        (lambda base: (base / "vocab.json").write_text("{}"), "no vocabulary of XTTS"),
        (lambda base: (base / "model.pth").unlink(), "has no model.pth"),
    ],
)
def test_a_base_that_does_not_fit_is_a_sentence_and_nothing_is_trained(
    ws: Workspace, base: Path, change: Any, sentence: str
) -> None:
    change(base)
    with pytest.raises(OluError, match=sentence):
        trained(ws, base=base)
    assert not list(ws.runs_folder.glob("xtts-*"))


def test_v2_without_its_weights_is_refused(ws: Workspace) -> None:
    with pytest.raises(OluError, match="name its folder with --base"):
        trained(ws, "model.size=v2")


def test_a_small_one_from_scratch_is_a_base_for_another_language(ws: Workspace, made: Path, tmp_path: Path) -> None:
    """The whole rehearsal at tiny size: codes, transformer, decoder; then that as a base, with new rows."""
    planned = finish(plan(ws, overrides=["family=xtts", "plan.steps=600"], device="cpu", write=False))
    values = {one["key"]: one["value"] for one in planned.settings}
    assert (values["model.codes_steps"], values["model.decoder_from"]) == (100, 400)
    parts = ("model.size=tiny", "model.codes_steps=1", "model.decoder_from=3", "model.learning_rate=1e-3")
    summary, _, reports = trained(ws, *parts)
    assert [report.seen[0].part for report in reports] == ["codes", "gpt", "gpt", "disc"]
    run = Run.named(ws.runs_folder, summary.run)
    assert run.document("vocabulary.json")["tag"] == "yo" and len(run.document("observed.json")["mel_stats"]) == 80
    read = read_base(run.folder)
    assert read.languages == ("yo",) and read.settings["codec"] and read.settings["codes_steps"] == 0
    other_root = tmp_path / "other"
    other_root.mkdir()
    other, _ = aligned_workspaces.workspace(other_root)
    again = finish(plan(other, base=run.folder, overrides=["plan.steps=60"], device="cpu", write=False))
    values = {one["key"]: one["value"] for one in again.settings}
    assert (values["model.learning_rate"], values["model.decoder_from"]) == (1e-4, 40) and "NON-COM" not in again.text
    second, notes, reports = trained(other, base=run.folder)
    assert any("[sw] from" in note or "new symbols" in note for note in notes)
    assert Run.named(other.runs_folder, second.run).document("vocabulary.json")["tag"] == "sw"
    assert all(torch.isfinite(torch.tensor(value)) for value in reports[-1].scores.values())


@pytest.mark.skipif(
    os.environ.get("OLU_SOAK") != "1", reason="the parts of it are proved in test_xtts_train: make soak"
)
def test_adapters_learn_from_a_base_and_the_checkpoint_is_small(ws: Workspace, base: Path) -> None:
    summary, _, _ = trained(ws, "model.lora_rank=8", base=base)
    run = Run.named(ws.runs_folder, summary.run)
    assert "learner/gpt.gpt.h.0.mlp.c_fc.weight" not in torch_files(run, 4)
    assert "learner/gpt.gpt.h.0.mlp.c_fc.lora_up" in torch_files(run, 4)
    assert licence_of(run.folder).non_commercial  # a run that started from it takes its licence along
    merged = read_base(run.folder)
    assert not any("lora" in name for name in merged.settings if merged.settings[name]) and merged.languages[-1] == "yo"


def test_settings_of_a_base_are_its_own(base: Path) -> None:
    read = read_base(base)
    config = XttsConfig(**read.settings)
    assert config.width == SMALLEST.width and config.stops == 4 and not config.hears_stop and config.text_start == 261
    assert json.dumps(dict(read.vocabulary or {}))  # a run keeps it as JSON
