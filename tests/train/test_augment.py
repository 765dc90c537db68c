"""Augmentation in training: each setting acts, the same for seed, epoch and clip; durations and features follow."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.stages.train import train
from olu.stages.train_setup import prepare_run, set_up
from olu.train.batches import drawn
from olu.train.recipe import DataSettings, Recipe, read_recipe, recipe_toml
from olu.train.run import Run
from olu.train.setup.augment import SHAPING, SoundChange, is_asked
from olu.train.setup.job import TrainingJob

from ..helpers import aligned_workspaces
from ..helpers.toy_families import register

TINY = {"size": "tiny"}


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ws, truth = aligned_workspaces.workspace(tmp_path_factory.mktemp("augmented"))
    ws.alignment.mkdir(exist_ok=True)
    lines = [json.dumps(one.row(), ensure_ascii=False) for one in truth.values()]
    (ws.alignment / "alignment.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ws.root


@pytest.fixture
def ws(made: Path, tmp_path: Path) -> Workspace:
    return Workspace.open(shutil.copytree(made, tmp_path / "ws"))


def job_of(ws: Workspace, family: str, *, model: Any = None, **data: Any) -> TrainingJob:
    plan = {"steps": 4, "batch_clips": 2, "validate_every": 4, "save_every": 2}
    recipe = Recipe.model_validate({"family": family, "data": data, "plan": plan, "model": model or {}})
    finish(prepare_run(ws, recipe))
    return set_up(ws, recipe, device="cpu")


def settings(**asked: float) -> DataSettings:
    return DataSettings.model_validate({f"augment_{name}": value for name, value in asked.items()})


# ---- what is drawn


@pytest.mark.parametrize("name", SHAPING)
def test_each_setting_acts_alone_and_moves_no_other(name: str) -> None:
    both = {"speed": 0.2, "pitch": 2.0, "formants": 1.0, "room": 1.0, "noise": 1.0, "codec": 1.0}
    alone, full = settings(**{name: both[name]}), settings(**both)
    field = getattr(SoundChange(), name)
    for number in range(5):
        own, among = (
            SoundChange.draw(alone, drawn("augment", 1, 0, str(number))),
            SoundChange.draw(full, drawn("augment", 1, 0, str(number))),
        )
        assert getattr(own, name) == getattr(among, name) != field
        assert {one for one in SHAPING if getattr(own, one) != getattr(SoundChange(), one)} == {name}
    assert SoundChange.draw(settings(), 7) == SoundChange() and is_asked(alone) and not is_asked(settings())


def test_what_is_drawn_fills_the_range_and_the_share_that_are_asked_for() -> None:
    data = settings(speed=0.25, pitch=3.0, noise=0.3, noise_db=5.0)
    changes = [SoundChange.draw(data, drawn("augment", 1, epoch, "a")) for epoch in range(600)]
    speeds, pitches = [one.speed for one in changes], [one.pitch for one in changes]
    assert 1 / 1.25 <= min(speeds) < 0.82 and 1.22 < max(speeds) <= 1.25
    assert -3 <= min(pitches) < -2.9 and 2.9 < max(pitches) <= 3
    loud = [one.noise[0] for one in changes if one.noise]
    assert 0.24 < len(loud) / 600 < 0.36 and 5 <= min(loud) < 7 and 23 < max(loud) <= 25


# ---- what a training is given


def test_a_clip_is_another_in_every_epoch_and_the_same_for_the_same_seed(ws: Workspace) -> None:
    job = job_of(ws, "recogniser", model={**TINY, "subsample": 2}, hold_back=0.0, augment_noise=1.0)
    batches, again = job.batches(changed=True), job.batches(changed=True)
    clip, plain = job.train[0], job.example(job.train[0]).samples
    first, second = (batches.made(clip, epoch=epoch).samples for epoch in (0, 1))
    assert not np.array_equal(first, plain) and not np.array_equal(first, second)
    assert np.array_equal(first, again.made(clip, epoch=0).samples)
    assert np.array_equal(job.batches().made(clip, epoch=0).samples, plain)
    validated = job.validation()[0]
    assert validated.clips[0] in job.valid
    own = job.learner.collate([job.batches().made(validated.clips[0], epoch=0)])  # type: ignore[operator]
    count = own.padded_BS.shape[1]
    assert torch.equal(validated.padded_BS[0, :count], own.padded_BS[0])


def test_durations_follow_the_speed(ws: Workspace) -> None:
    pytest.importorskip("swift_f0")
    job = job_of(ws, "acoustic", model=TINY, augment_speed=0.3)
    batches = job.batches(changed=True)
    for epoch in range(3):
        for clip in job.train[:3]:
            before, after = job.example(clip), batches.made(clip, epoch=epoch)
            speed = SoundChange.draw(job.recipe.data, drawn("augment", job.recipe.seed, epoch, clip)).speed
            assert len(after.samples) == round(len(before.samples) / speed)
            frames, moved = before.features["frames"], after.features["frames"]
            assert moved.sum() == len(after.samples) // 256 and len(after.features["pitch"]) == moved.sum()
            ends, expected = np.cumsum(moved), np.cumsum(frames) / speed
            assert np.abs(ends - expected).max() <= 2
            assert np.array_equal(after.ids, before.ids)


def test_prepared_features_are_those_of_the_changed_sound(ws: Workspace) -> None:
    from ..helpers.toy_families.shared import bands

    job = job_of(ws, "toyvocoder", augment_pitch=3.0)
    clip = job.train[0]
    before, after = job.example(clip), job.batches(changed=True).made(clip, epoch=0)
    assert len(after.samples) == len(before.samples)
    assert np.array_equal(after.features["mel"], bands(after.samples))
    assert not np.array_equal(after.features["mel"], before.features["mel"])


def test_a_clip_that_would_no_longer_fit_its_text_stays_as_it_is(ws: Workspace) -> None:
    job = job_of(ws, "recogniser", model={**TINY, "subsample": 2}, hold_back=0.0, augment_speed=0.5)
    assert job.augmentation is not None
    plain = job.example(job.train[0])
    most = len(plain.samples) // 160 // 2 - 1  # so many letters that a faster clip has too few frames for them
    full = replace(plain, ids=plain.ids * (1 + most // len(plain.ids)))
    changed = [job.augmentation.changed(full, epoch=epoch) for epoch in range(8)]
    lengths = [len(one.samples) for one in changed]
    assert min(lengths) == len(plain.samples) < max(lengths)


def test_steps_are_not_recorded_where_sound_changes(ws: Workspace) -> None:
    job = job_of(ws, "vits", model=TINY, augment_speed=0.1)
    assert "augmentation makes other sound in every epoch" in job.not_recorded()


def test_a_run_that_goes_on_hears_what_it_would_have_heard(ws: Workspace, tmp_path: Path) -> None:
    other = Workspace.open(shutil.copytree(ws.root, tmp_path / "other"))
    settings_ = [
        "family=recogniser",
        "model.size=tiny",
        "model.subsample=2",
        "data.hold_back=0.0",
        "plan.batch_clips=3",
    ]
    settings_ += ["plan.validate_every=4", "plan.save_every=2", "data.augment_speed=0.2", "data.augment_room=0.5"]
    whole = finish(train(ws, overrides=[*settings_, "plan.steps=4"], new=True))
    work = train(other, overrides=[*settings_, "plan.steps=4"], new=True)
    while getattr(next(work), "step", 0) < 3:
        pass
    work.close()
    finish(train(other, resume=True))
    one, two = (Run.named(each.runs_folder, whole.run).checkpoints().load(4).weights for each in (ws, other))
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


# ---- what is refused, and what a recipe says


@pytest.mark.parametrize(
    ("family", "data", "words"),
    [
        ("toytokens", {"augment_noise": 0.5}, "data.augment_noise.*learns codes that a frozen network made"),
        ("vits", {"augment_speed": 0.9}, "data.augment_speed"),
        ("vits", {"augment_noise_db": 3.0}, "no effect while augment_noise is 0"),
    ],
)
def test_what_cannot_be_is_one_sentence(ws: Workspace, family: str, data: dict[str, Any], words: str) -> None:
    with pytest.raises((TrainError, ConfigError), match=words):
        recipe = read_recipe(None, [f"family={family}", *(f"data.{name}={value}" for name, value in data.items())])
        finish(prepare_run(ws, recipe))
        set_up(ws, recipe, device="cpu")


def test_a_recipe_tells_of_augmentation_only_where_there_is_some() -> None:
    assert "augment" not in recipe_toml(Recipe())
    recipe = read_recipe(None, ["data.augment_pitch=2.0"])
    text = recipe_toml(recipe)
    assert "augment_pitch = 2.0" in text and "augment_noise" not in text
    assert Recipe.model_validate(recipe.model_dump(mode="json")) == recipe
