"""What must not be lost or mixed up around a training: recordings, runs, bases, the place to go on from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from olu.files import Workspace
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
    with Run(own / "runs" / "vits-001").claimed():
        done = olu("train", own, "--resume")
    assert done.code == 2 and "another process" in done.err
    fine("train", own, "--resume")


def test_a_typo_in_the_model_is_said_before_hours_of_listening(own: Path) -> None:
    done = olu("train", own, "--set", "model.hiden_size=32")
    assert done.code == 2 and "did you mean 'hidden_size'" in done.err
    assert states(own)["audit"] == "missing"


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
    from olu.config import check, with_overrides
    from olu.errors import ConfigError
    from olu.families.vits.config import VitsConfig

    with pytest.raises(ConfigError, match=wrong.partition("=")[0].split("_")[0]):
        check(VitsConfig, with_overrides({"size": "tiny"}, [wrong]), where="recipe")
