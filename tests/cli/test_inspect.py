"""`olu inspect`: what a file is, what is wrong with it and what to do; pickles are read, never run."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.audio import io
from olu.core.errors import ConfigError, OluError, TrainError
from olu.core.files import Workspace, embedded_voice
from olu.core.types import Audio
from olu.features.mel import MelSpec
from olu.stages.inspect import run
from olu.stages.verbs.machine import InspectOptions
from olu.train.kokoro import find_checkpoints, read_kokoro, read_processor

from ..helpers import igbo_project as project
from .conftest import fine, olu

NAN = "postnet.convolutions.2.1.running_mean"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return project.make_checkpoints(tmp_path / "output_models_igbo")


def test_a_checkpoint_of_the_igbo_project_is_read_without_its_code(models: Path):
    told = " ".join(fine("inspect", models / "checkpoint_epoch_10.pth").out.split())
    assert "a checkpoint of kokoro_training" in told
    assert "igbo_tts.config.IgboTrainingConfig, epoch 10, loss 0.5" in told
    assert "65 tensors: width 16, 2 encoder and 2 decoder layers" in told
    assert "50 symbols: 36 sounds, 3 tones, 7 marks, 4 others" in told
    assert "33 of its sounds by the same name, 3 by another (dʒ is d͡ʒ, tʃ is t͡ʃ, r is ɹ)" in told
    assert "mel: 80 bins, 0 to 8000 Hz, of sound at 22050 Hz" in told
    assert f"1 tensor with numbers that are none: {NAN} (8 of 8)" in told
    assert "usable without its PostNet" in told
    assert "olu align WS --from" in told and "olu train WS --set family=acoustic" in told


def test_of_a_folder_the_file_that_its_own_program_takes(models: Path):
    row = fine("inspect", models, "--json").json()
    assert row["path"].endswith("kokoro_igbo_final.pth") and row["kind"] == "a checkpoint of kokoro_training"
    assert any("beside it: checkpoint_epoch_10.pth" in fact for fact in row["facts"])
    assert [one["verb"] for one in row["next"]] == ["new", "import", "align", "train"]
    (models / "kokoro_igbo_final.pth").unlink()
    (models / "checkpoint_epoch_10.pth").rename(models / "checkpoint_epoch_9.pth")
    (models / "checkpoint_epoch_20.pth").write_bytes((models / "checkpoint_epoch_9.pth").read_bytes())
    assert [one.name for one in find_checkpoints(models)] == ["checkpoint_epoch_20.pth", "checkpoint_epoch_9.pth"]


def test_what_else_is_hurt_is_not_called_usable(tmp_path: Path):
    hurt = (NAN, "decoder.layers.1.linear1.weight")
    folder = project.make_checkpoints(tmp_path / "lost", hurt=hurt)
    sound = project.make_checkpoints(tmp_path / "sound", hurt=())
    one = read_kokoro(folder / "kokoro_igbo_final.pth")
    assert sorted(one.not_finite) == sorted(hurt) and not one.only_postnet
    told = " ".join(run(InspectOptions(path=folder)).faults)
    assert "more than its PostNet is hurt" in told and "usable" not in told
    assert not read_kokoro(sound / "kokoro_igbo_final.pth").not_finite
    assert not any("PostNet" in fault for fault in run(InspectOptions(path=sound)).faults)


class Planted:
    """Unpickled, it would make a file."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.place),)


def test_planted_pickles_are_refused_and_nothing_runs(models: Path, tmp_path: Path):
    place = tmp_path / "planted"
    weights = dict(project.tensors())
    bad = models / "checkpoint_best.pth"
    for held in (
        {"model_state_dict": weights, "config": Planted(place)},
        {"model_state_dict": weights, "config": project.IgboTrainingConfig(note=Planted(place))},
    ):
        project.save(held, bad)
        done = olu("inspect", bad)
        assert done.code == 2 and "mkdir" in done.err and "nothing of it was run" in done.err
        assert done.err.count("\n") == 1 and not place.exists()
        with pytest.raises(TrainError, match="nothing"):
            read_kokoro(bad)
    bad.unlink()
    table = models / "phoneme_processor.pkl"
    for thing in (Planted(place), {"phoneme_to_id": Planted(place)}, {"phoneme_to_id": {"a": Path("x")}}):
        table.write_bytes(pickle.dumps(thing))
        with pytest.raises(TrainError, match="not opened, and nothing of it was run"):
            read_processor(table)
        assert olu("inspect", table).code == 2 == olu("inspect", models).code  # beside a checkpoint too
        assert not place.exists()


def test_two_unknown_classes_are_one_too_many(models: Path):
    """The stand-in takes the fields of the config alone."""
    bad = models / "checkpoint_best.pth"
    configs = {"config": project.IgboTrainingConfig(a=1), "more": project.OtherTrainingConfig(a=2)}
    project.save({"model_state_dict": dict(project.tensors()), **configs}, bad)
    with pytest.raises(TrainError, match="asks for"):
        read_kokoro(bad)


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x02}", b"no pickle", pickle.dumps([1]), pickle.dumps({"phoneme_to_id": {}})]
)
def test_a_broken_table_of_symbols(data: bytes, models: Path):
    (models / "phoneme_processor.pkl").write_bytes(data)
    with pytest.raises(TrainError):
        read_processor(models / "phoneme_processor.pkl")


def test_a_broken_checkpoint(models: Path):
    good = models / "kokoro_igbo_final.pth"
    data = good.read_bytes()
    (models / "cut.pth").write_bytes(data[: len(data) // 2])
    assert not find_checkpoints(models / "cut.pth")
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(models / "other.pth", "w") as new:
        for name in old.namelist():
            if not name.endswith("/data/0"):
                new.writestr(name, old.read(name))
    with pytest.raises(TrainError, match="damaged"):
        read_kokoro(models / "other.pth")


@pytest.mark.parametrize("family", ["vits", "recogniser", "acoustic", "vocoder"])
def test_as_a_base_it_is_refused_with_the_way_to_look_at_it(family: str, models: Path, tmp_path: Path):
    from olu.families import family as named
    from olu.stages.bases import check_base
    from olu.train.recipe import Recipe
    from olu.train.setup.start import read_base

    for place in (models, models / "checkpoint_epoch_10.pth"):
        with pytest.raises(TrainError, match=r"olu inspect .* says what is in it"):
            read_base(named(family), Recipe(family=family, base=str(place)))
        assert "olu inspect" in check_base(str(place)).said[0]


def test_every_other_kind_says_what_it_is_and_what_to_do(tmp_path: Path):
    def told(path: Path) -> tuple[str, list[str]]:
        found = run(InspectOptions(path=path))
        return found.kind, [str(one).split()[1] for one in found.next]

    made = project.make_project(tmp_path / "igbotts", project.TEXTS[:2])
    assert told(made / "textgrids.tar.gz") == ("TextGrids", ["align"])
    assert told(made / "data" / "waxal_igbo") == ("recordings, layout ljspeech", ["import"])
    assert told(made / "data" / "waxal_igbo" / "wavs" / "igbo_000000.wav") == ("a sound", ["import"])
    ws = Workspace.create(tmp_path / "ws", language="ibo")
    assert told(ws.root)[0] == "a workspace"
    voice = embedded_voice()
    if voice is not None:
        assert told(voice) == ("a voice package", ["speak"]) == told(Path("embedded"))
    io.write(tmp_path / "alone.wav", Audio(np.zeros(1600, np.float32), 16000))
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as packed:
        packed.write(tmp_path / "alone.wav", "alone.wav")
    assert told(tmp_path / "some.zip") == ("an archive", ["import"])
    torch.save({"weight": torch.zeros(2)}, tmp_path / "some.pth")
    assert told(tmp_path / "some.pth")[0] == "a checkpoint that cannot be used"
    (tmp_path / "x.vocoder").mkdir()
    for mel, faults in ((MelSpec().facts, 0), (replace(MelSpec(), power=2.0).facts, 1)):
        (tmp_path / "x.vocoder" / "vocoder.json").write_text(json.dumps({"mel": mel, "settings": {"size": "tiny"}}))
        found = run(InspectOptions(path=tmp_path / "x.vocoder"))
        assert found.kind == "a vocoder" and len(found.faults) == faults == 1 - len(found.next)
    (tmp_path / "notes.xyz").write_text("nothing")
    for path, why in ((tmp_path / "notes.xyz", "nothing that Olu knows"), (tmp_path / "gone", "is not there")):
        with pytest.raises(ConfigError, match=why):
            run(InspectOptions(path=path))
    (tmp_path / "bad.zip").write_bytes(b"PK no zip")
    with pytest.raises(OluError, match="copy it again"):
        run(InspectOptions(path=tmp_path / "bad.zip"))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_a_vits_checkpoint_of_another_program(tmp_path: Path):
    from ..helpers import foreign_checkpoints as foreign

    model = foreign.made(**foreign.SMALL)
    found = run(InspectOptions(path=foreign.saved(model, tmp_path / "vits")))
    assert found.kind == "a VITS checkpoint" and str(found.next[0]).startswith("olu train WS --base")
    with torch.no_grad():
        model.decoder.conv_post.weight.fill_(float("nan"))
    found = run(InspectOptions(path=foreign.saved(model, tmp_path / "vits")))
    assert found.kind == "a checkpoint that cannot be used" and "conv_post" in found.faults[0]
