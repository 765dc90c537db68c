"""What hears the samples of a training: which recogniser, and that a resumed run keeps its own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from olu.core.errors import TrainError
from olu.core.files import Workspace, write_json, write_text
from olu.stages.train_setup import ear_of, listener_of
from olu.train.family import SpokenSample
from olu.train.recipe import Recipe
from olu.train.run import HEARD_BY, Run

from ..helpers.judged import Ears, reading, voice


def heard_recipe() -> Recipe:
    return Recipe.model_validate({"plan": {"choose": "heard"}})


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def run_with(ws: Workspace, heard_by: str | None) -> Run:
    run = Run(ws.runs_folder / "vits-001")
    write_json(run.folder / "facts.json", {"recipe": "", "clips": "", "corpus": "", "from": None, HEARD_BY: heard_by})
    return run


def test_wrong_letters_are_the_mean_of_the_samples_whose_text_is_known(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Any] = []

    def load(run: Run, **given: Any) -> Ears:
        loaded.append(run.name)
        return Ears(lambda audio: "mama" if audio.seconds < 1 else "")

    monkeypatch.setattr("olu.families.recogniser.recognise.load", load)
    write_text(ws.runs_folder / "recogniser-002" / "recipe.toml", "")
    ear = ear_of(ws, "recogniser-002", {"a": reading("mama"), "b": reading("baba")}, device="cpu")
    assert loaded == []  # not before it is asked
    samples = [SpokenSample("a", voice(0.5)), SpokenSample("b", voice(1.5)), SpokenSample("unknown", voice())]
    assert ear(samples) == {"cer": 0.5}  # all right in one, nothing heard in the other
    assert ear(samples[2:]) == {} and ear(samples[:1]) == {"cer": 0.0}
    assert loaded == ["recogniser-002"]


def test_a_run_hears_with_the_recogniser_it_began_with(ws: Workspace) -> None:
    name = Run.create(ws.runs_folder, Recipe(family="recogniser"), facts={"recipe": ""}, documents={}).name
    assert listener_of(ws, heard_recipe(), run=run_with(ws, name)) == name
    assert listener_of(ws, heard_recipe(), run=run_with(ws, None)) is None


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_a_recogniser_that_is_gone_or_damaged_stops_only_who_depends_on_it(ws: Workspace, how: str) -> None:
    run = run_with(ws, "recogniser-009")
    if how == "damaged":
        write_text(ws.runs_folder / "recogniser-009" / "recipe.toml", "")
    assert listener_of(ws, Recipe(), run=run) is None
    with pytest.raises(TrainError, match="recogniser-009 is gone or damaged"):
        listener_of(ws, heard_recipe(), run=run)


def test_a_new_run_takes_the_newest_that_fits(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def ready(ws: Workspace, **given: Any) -> Any:
        asked.append(given)
        return SimpleNamespace(name="recogniser-003")

    monkeypatch.setattr("olu.stages.train_setup.ready", ready)
    assert listener_of(ws, Recipe(), run=None) == "recogniser-003"
    assert asked == [{"units": "letters", "everything": False}]  # never one that has heard the validation clips


def test_a_workspace_that_was_never_read_has_none(ws: Workspace) -> None:
    from olu.families.runs import ready

    assert ready(ws, units="letters", everything=False) is None
