"""The best step by what is heard, early stopping by it, and that both survive a kill."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.core.files import read_json
from olu.core.types import Audio
from olu.train.engine import Engine
from olu.train.family import SpokenSample
from olu.train.recipe import PlanSettings
from olu.train.run import Recorder, Run
from olu.train.validation import candidate, heard, is_better, why

from ..helpers import toys

RATE = 16000


def speech(seconds: float = 1.0, *, level: float = 0.3) -> Audio:
    random = np.random.default_rng(3)
    pitch = 120 + 40 * np.sin(np.arange(round(seconds * RATE)) * 0.0007)
    samples = level * np.sin(np.cumsum(pitch) * 2 * np.pi / RATE) + 0.07 * level * random.normal(size=len(pitch))
    return Audio(samples.astype(np.float32), RATE)


class Fading(toys.Tokens):
    """Its loss falls all along; its voice is gone from the third validation on."""

    def __init__(self) -> None:
        super().__init__()
        self.validations = 0

    def validate(self, batch: toys.ToyBatch) -> Mapping[str, Any]:
        self.validations += 1
        return super().validate(batch)

    def demo(self, batch: toys.ToyBatch) -> Iterator[SpokenSample]:
        silent = self.validations > 6  # three batches in each validation
        for clip in batch.clips:
            yield SpokenSample(clip, speech(level=0.0005 if silent else 0.3), natural=1.0)


def test_figures_of_samples_say_what_is_wrong() -> None:
    good = heard([SpokenSample("a", speech(1.0), natural=1.0), SpokenSample("b", speech(1.05), natural=1.0)])
    assert good == {"heard_faults": 0.0, "heard_duration": 0.0, "heard": 0.0}
    slow = heard([SpokenSample("a", speech(1.5), natural=1.0)])
    assert slow["heard_duration"] == pytest.approx(math.log(1.5) - math.log(1.1)) and slow["heard_faults"] == 0
    gone = heard([SpokenSample("a", speech(level=1e-4), natural=1.0), SpokenSample("b", speech(), natural=1.0)])
    assert gone["heard_faults"] == 0.5
    assert heard([]) == {}
    with_ear = heard([SpokenSample("a", speech(), natural=1.0)], lambda exhibits: {"cer": 0.25})
    assert with_ear["heard_cer"] == 0.25 and with_ear["heard"] == 0.25


def test_between_equal_sounds_the_loss_decides() -> None:
    first = candidate(1, {"mel": 0.5, "heard": 0.101, "heard_cer": 0.101}, by="heard", loss="mel")
    lower = candidate(2, {"mel": 0.4, "heard": 0.105}, by="heard", loss="mel")
    better = candidate(3, {"mel": 0.9, "heard": 0.01}, by="heard", loss="mel")
    assert first and lower and better
    assert is_better(lower, first) and not is_better(first, lower)
    assert is_better(better, lower)
    assert candidate(4, {"mel": math.nan, "heard": 0.0}, by="heard", loss="mel") is None
    assert candidate(4, {"mel": 0.1}, by="heard", loss="mel") is None
    assert candidate(4, {"mel": 0.1}, by="loss", loss="mel") == {"step": 4, "score": 0.1}
    assert "cer 0.101" in why(first, metric="heard") and "mel" in why({"step": 4, "score": 0.1}, metric="mel")


def train(engine: Engine, run: Run, metric: str) -> list[Any]:
    run.checkpoints_folder.mkdir(parents=True, exist_ok=True)
    with Recorder(run) as recorder:
        reports = []
        for report in engine.train():
            recorder.record(report, best=engine.best, metric=metric)
            reports.append(report)
    return reports


def test_the_step_that_still_speaks_is_chosen(tmp_path: Path) -> None:
    chosen = {}
    for by in ("loss", "heard"):
        run = Run(tmp_path / by)
        engine = toys.engine(Fading(), run.checkpoints_folder, steps=50, choose=by)
        train(engine, run, "match" if by == "loss" else "heard")
        chosen[by] = read_json(run.folder / "best.json")
        assert chosen[by]["step"] in engine.checkpoints.steps()
    assert chosen["loss"]["step"] == 50 and chosen["heard"]["step"] == 20
    assert chosen["heard"]["metric"] == "heard" and chosen["heard"]["heard_faults"] == 0.0
    assert "heard" in chosen["heard"]["why"] and "match" in chosen["loss"]["why"]


def test_training_ends_when_nothing_better_comes_and_the_end_survives_a_kill(tmp_path: Path) -> None:
    settings = {"steps": 200, "choose": "heard", "stop_patience": 3}
    whole = toys.engine(Fading(), tmp_path / "whole", **settings)
    reports = list(whole.train())
    assert whole.step == 50 and reports[-1].enough and whole.best and whole.best["step"] == 20
    assert [event.guard for event in reports[-1].events] == ["enough"]
    cut = toys.engine(Fading(), tmp_path / "cut", **settings)
    for report in cut.train():
        if report.step == 40:
            break
    again = Fading()
    again.validations = 12
    resumed = toys.engine(again, tmp_path / "cut", **settings)
    resumed.resume()
    assert resumed.since == 2
    assert [report.step for report in resumed.train()][-1] == 50
    assert resumed.best == whole.best
    assert not toys.differing(toys.weights(whole.module), toys.weights(resumed.module))
    after = toys.engine(Fading(), tmp_path / "cut", **settings)  # killed after the last checkpoint
    after.resume()
    assert after.enough and list(after.train()) == []


def test_a_healthy_run_is_not_ended(tmp_path: Path) -> None:
    engine = toys.engine(toys.Tokens(), tmp_path, steps=60, stop_patience=2)
    assert list(engine.train())[-1].step == 60


def test_hearing_changes_no_weight(tmp_path: Path) -> None:
    def ear(exhibits: Sequence[SpokenSample]) -> Mapping[str, float]:
        import torch

        torch.rand(3)  # an ear that draws random numbers
        return {"cer": 0.5}

    plain, heard_too = toys.made("tokens"), toys.made("tokens")
    list(toys.engine(plain, tmp_path / "a").train())
    engine = toys.engine(heard_too, tmp_path / "b", choose="heard")
    engine.ear = ear
    reports = list(engine.train())
    assert not toys.differing(toys.weights(plain), toys.weights(heard_too))
    assert [report.scores["heard_cer"] for report in reports if report.scores] == [0.5] * 4


def test_choosing_by_ear_needs_samples() -> None:
    with pytest.raises(ValueError, match="has no effect without samples"):
        PlanSettings(choose="heard", demo_clips=0)
    assert PlanSettings(choose="heard", demo_clips=0, sentences=["a"]).choose == "heard"
