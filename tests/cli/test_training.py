"""What must not be lost or mixed up around a training: recordings, runs, bases, the place to go on from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile
import torch

from olu.core.files import Workspace
from olu.core.job import Tick
from olu.stages import train as training
from olu.train.run import Run

from .conftest import TINY, begin_training, fine, next_command, olu, states


@pytest.fixture
def own(recordings: Path, tmp_path: Path) -> Path:
    """A workspace over a copy of the recordings, which a test may move."""
    shutil.copytree(recordings, tmp_path / "recordings")
    fine("new", tmp_path / "ws", "--language", "sw")
    fine("import", tmp_path / "ws", tmp_path / "recordings")
    return tmp_path / "ws"


def test_recordings_that_are_away_for_a_while_are_not_held_against_them(own: Path) -> None:
    away = own.parent / "away"
    (own.parent / "recordings").rename(away)
    for verb in ("prepare", "audit"):
        done = olu(verb, own)
        assert done.code == 2 and "recordings of s1 are not at" in done.err
    away.rename(own.parent / "recordings")
    fine("train", own, *TINY)


def test_one_file_that_was_away_comes_back(own: Path) -> None:
    one = next((own.parent / "recordings" / "wavs").iterdir())
    held = one.rename(own.parent / one.name)
    fine("audit", own)
    assert fine("prepare", own, "--json").json()["problems"]
    held.rename(one)
    assert states(own)["audit"] == states(own)["prepare"] == "stale"
    assert fine("prepare", own, "--json").json()["problems"] == []


def test_resume_refuses_other_clips(own: Path) -> None:
    begin_training(own)
    splits = own / "corpus" / "splits.jsonl"
    splits.write_text(splits.read_text(encoding="utf-8").replace('"train"', '"test"', 1), encoding="utf-8")
    done = olu("train", own, "--resume")
    assert done.code == 2 and "--from-run vits-001 --new" in done.err


def test_from_run_with_other_shapes_or_averages(own: Path) -> None:
    fine("train", own, *TINY, "--set", "model.average=0")
    done = olu("train", own, "--from-run", "vits-001", "--set", "model.hidden_size=32")
    assert done.code == 2 and "vits-001 has shape" in done.err and "Traceback" not in done.err
    done = olu("train", own, "--from-run", "vits-001", "--set", "model.size=small")
    assert done.code == 2 and "model.size has no effect" in done.err
    assert [run.name for run in Run.all(own / "runs")] == ["vits-001"]
    fine("train", own, "--from-run", "vits-001", "--set", "model.average=0.9")


def test_two_processes_never_train_one_run(own: Path) -> None:
    begin_training(own)
    with Run(own / "runs" / "vits-001").locked():
        done = olu("train", own, "--resume")
    assert done.code == 2 and "another process" in done.err
    fine("train", own, "--resume")


def test_a_typo_in_the_model_is_said_before_hours_of_listening(own: Path) -> None:
    done = olu("train", own, "--set", "model.hiden_size=32")
    assert done.code == 2 and "did you mean 'hidden_size'" in done.err
    assert states(own)["audit"] == "missing"


def test_an_unfinished_run_is_told_before_any_work(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_training(ws)

    def never(*args: object, **more: object) -> None:
        raise AssertionError("it planned first")

    monkeypatch.setattr(training, "choose_recipe", never)
    refused = olu("train", ws, "--base", "embedded")
    assert refused.code == 2 and "vits-001 is unfinished: go on with" in refused.err
    assert olu("train", ws, "--set", "plan.stepz=1").code == 2


def test_every_tick_before_the_first_step_names_its_phase(ws: Path) -> None:
    told = set[str]()
    changes = [word for word in TINY if word != "--set"]
    for event in training.train(Workspace.open(ws), overrides=changes):
        if not isinstance(event, Tick):
            continue
        if event.what == "the first step":
            break
        told.add(event.what.partition(":")[0])
    assert told == {"listening", "reading", "preparing"}


def test_status_names_an_unfinished_second_run(own: Path) -> None:
    fine("train", own, *TINY)
    fine("export", own)
    begin_training(own)
    assert next_command(own) == f"olu train {own} --resume"
    fine("train", own, "--resume")
    shutil.rmtree(own / "runs" / "vits-002")
    assert states(own)["train"] == "missing"


def test_prepare_keeps_the_rate_of_the_run(own: Path) -> None:
    fine("train", own, *TINY, "--set", "model.sampling_rate=24000")
    assert fine("prepare", own, "--json").json()["rate"] == 24000


def test_commands_can_be_pasted(recordings: Path, tmp_path: Path) -> None:
    ws = tmp_path / "my [bold]ws"
    assert f"olu import '{ws}' SOURCE" in fine("new", ws, "--language", "sw").out
    assert "[bold]" in fine("status", ws).out


def test_another_encoding_of_the_terminal_is_no_bug() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([sys.executable, "-m", "olu", "languages"], capture_output=True, env=env)
    assert done.returncode == 0 and "አማርኛ".encode() in done.stdout


def test_a_name_that_leads_elsewhere(own: Path) -> None:
    path = own / "olu.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('name = "ws"', 'name = "a/../../b"'), encoding="utf-8")
    done = olu("status", own)
    assert done.code == 2 and "without slashes" in done.err
    with pytest.raises(ValueError, match="slashes"):
        Workspace.open(own)


@pytest.mark.parametrize(
    "wrong",
    [
        "wavenet_kernel_size=4",
        "duration_predictor_kernel_size=4",
        "resblock_kernel_sizes=[4]",
        "spectrogram_bins=100",
        "discriminator_scale_channels=[14,20]",
        "discriminator_scale_channels=[2,2]",
        "discriminator_periods=[0]",
        "discriminator_period_channels=[0]",
        "upsample_rates=[0,8,4]",
        "resblock_dilation_sizes=[[0,3]]",
        "adam_betas=[1.0,2.0]",
        "mel_bins=600",
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: str) -> None:
    from olu.core.config import check, with_overrides
    from olu.core.errors import ConfigError
    from olu.families.vits.config import VitsConfig

    with pytest.raises(ConfigError, match=wrong.partition("=")[0].split("_")[0]):
        check(VitsConfig, with_overrides({"size": "tiny"}, [wrong]), where="recipe")


def test_from_run_takes_new_speakers(recordings: Path, tmp_path: Path) -> None:
    """First beside one voice, with which all begin; then beside two, near their mean. Nobody's row moves."""
    ws = tmp_path / "ws"
    fine("new", ws, "--language", "sw")
    plan = ("--set", "plan.steps=2", "--set", "plan.save_every=1", "--set", "plan.validate_every=2")

    def meet(name: str) -> None:
        folder = shutil.copytree(recordings, tmp_path / name)
        for path in (folder / "wavs").iterdir():  # else they are the clips that are there already
            sound, rate = soundfile.read(path, dtype="int16")
            soundfile.write(path, sound[::-1] if name == "obi" else sound[1::2], rate)
        fine("import", ws, folder, "--speaker", name)

    fine("import", ws, recordings, "--speaker", "ana")
    fine("train", ws, *TINY, *plan)
    meet("obi")
    done = fine("train", ws, "--from-run", "vits-001@2", "--new", *plan)
    assert "vits-001 has one speaker: more are added (obi), who all begin with its voice" in done.err
    meet("eze")
    done = fine("train", ws, "--from-run", "vits-002@2", "--new", *plan)
    assert "vits-002 has 2 speakers, and not eze: they begin near the mean of its own" in done.err
    runs = [Run(ws / "runs" / f"vits-00{number}") for number in (1, 2, 3)]
    assert [run.document("speakers.json") for run in runs] == [["ana"], ["ana", "obi"], ["ana", "obi", "eze"]]
    first, second, third = ([run.checkpoints().load(step).weights for step in (0, 2)] for run in runs)
    assert all(torch.equal(second[0][name], tensor) for name, tensor in first[1].items() if name.startswith("learner"))
    table = "learner/gen.embed_speaker.weight"
    assert torch.equal(third[0][table][:2], second[1][table]) and third[0][table].shape[0] == 3
    assert not torch.equal(third[0][table], third[1][table])
    fine("export", ws, "--to", "voice")


def test_choosing_by_ear_without_an_ear_is_said_and_the_loss_chooses(ws: Path) -> None:
    plan = ("--set", "plan.choose=heard", "--set", "plan.validate_every=1", "--set", "plan.steps=2")
    done = fine("train", ws, *TINY, *plan, "--json")
    assert "has no recogniser that fits its corpus: the validation loss chooses the best step" in done.err
    best = done.json()["best"]
    assert best["metric"] == "mel" and "loss" not in best
    begin_training(ws)
    path = Workspace.open(ws).runs_folder / "vits-002" / "recipe.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('choose = "loss"', 'choose = "heard"'), encoding="utf-8")
    fine("train", ws, "--resume")
    assert (Run(path.parent).best or {})["metric"] == "mel"
