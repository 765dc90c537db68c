"""One clip is one clip, in what the verbs print."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from olu.corpus.intake.merge import _counted
from olu.stages.train import TrainSummary
from olu.stages.training import TrainOutcome
from olu.stages.verbs.training import TrainOptions
from olu.train.setup.job import TrainingJob

from .conftest import fine, make_recordings


def test_one_clip_is_imported_and_read(tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    fine("new", ws, "--language", "swa")
    told = fine("import", ws, make_recordings(tmp_path / "in", clips=1)).out
    assert "Added 1 clip." in told
    assert "The corpus has 1 clip, " in told
    again = fine("import", ws, tmp_path / "in").out
    assert "Added 0 clips, 1 was there already." in again
    assert fine("read", ws).out.startswith("1 transcript, ")


def test_one_clip_and_one_step_are_trained() -> None:
    setup = cast(Any, SimpleNamespace(train=["a"], valid=[], seconds={"a": 36.0}, device="cpu"))
    assert TrainingJob.describe(setup) == "1 clip (36.0 seconds), 0 for validation, on cpu"
    best = {"step": 1, "metric": "loss", "score": 2.0}
    told = TrainOutcome(Path("ws"), TrainSummary(run="r1", steps=1, best=best)).sentences(TrainOptions())
    assert "r1: 1 step, best at step 1" in str(next(iter(told)))


def test_notes_of_an_import_agree_in_number() -> None:
    words = ("was found", "were found")
    assert [_counted(number, *words) for number in (1, 2)] == ["1 clip was found", "2 clips were found"]
