"""A voice package that can be trained on from: its own reading, both networks, in half precision."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from olu.core.errors import ExportError, OluError
from olu.core.files import Workspace, read_json, write_json
from olu.core.job import finish
from olu.families import family
from olu.families.vits.base import read_base
from olu.families.vits.foreign.voice import FILES
from olu.families.vits.weights import fold
from olu.speak.voice import Voice
from olu.stages.export import export
from olu.train.checkpoint import load_averaged
from olu.train.run import Run

from ..helpers.workspaces import trained, workspace


def test_a_run_starts_from_a_voice_by_phones(phones: Workspace, phones_voice: Path, tmp_path: Path) -> None:
    path = phones_voice
    base, old = read_base(path), Run(phones.runs_folder / "vits-001")
    assert (
        base.has_discriminator and base.lacks == () and list(base.symbols) == old.document("vocabulary.json")["symbols"]
    )
    fam = family("vits")
    learner = fam.learner(fam.config(**base.settings), vocab_size=len(base.symbols), num_speakers=1)
    assert not [said for said in base.load(learner) if "fresh" in said or "not used" in said]
    again = fam.learner(fam.config(**base.settings), vocab_size=len(base.symbols), num_speakers=1)
    load_averaged(again, old.checkpoints().load(2))
    theirs = fold(again.gen.state_dict())
    for name, mine in fold(learner.gen.state_dict()).items():
        torch.testing.assert_close(mine, theirs[name], atol=2e-3, rtol=2e-3)  # half precision
    rows = [
        ("n1", "Kitabu kizuri sana", "z", "train"),
        ("n2", "Maji ya mto", "z", "train"),
        ("n3", "Jua kali", "z", "valid"),
    ]
    ws = workspace(tmp_path / "new", rows, language="swa")
    summary, _ = trained(ws, base=path)
    run = Run(ws.runs_folder / summary.run)
    assert run.document("frontend.json")["kind"] == "phones", "it reads on as the voice did"
    symbols = run.document("vocabulary.json")["symbols"]
    assert symbols[: len(base.symbols)] == list(base.symbols)
    assert not finish(export(ws.root, output=tmp_path / "x2.voice")).licence, "recordings that state none leave it open"
    with (ws.root / "olu.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[rights]\nlicence = "CC0-1.0"\n')
    made = finish(export(ws.root, output=tmp_path / "y.voice"))
    assert "CC-BY-SA-4.0" in made.licence, "and the licence of the voice holds on"


def test_a_voice_of_another_language_lends_its_sound_only(phones_voice: Path, tmp_path: Path) -> None:
    ws = workspace(
        tmp_path / "new",
        [("a1", "a red fox", "z", "train"), ("a2", "an old hen", "z", "train"), ("a3", "oh", "z", "valid")],
    )
    summary, _ = trained(ws, base=phones_voice)
    assert Run(ws.runs_folder / summary.run).document("frontend.json")["language"] == "eng"


def test_a_voice_without_it_says_so(letters_voice: Path, tmp_path: Path) -> None:
    with pytest.raises(OluError, match="export it again with --with-training"):
        read_base(letters_voice)
    with zipfile.ZipFile(tmp_path / "strange.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(OluError, match="no voice package, or is damaged"):
        read_base(tmp_path / "strange.zip")


def test_the_package_can_go_out_in_other_formats(letters: Workspace, tmp_path: Path) -> None:
    finish(export(letters.root, output=tmp_path / "x.zip", with_training=True))
    made = finish(export(tmp_path / "x.zip", to="hf", output=tmp_path / "hf"))
    assert made.language == "eng" and made.speakers == ["p0", "p1"]
    assert (tmp_path / "hf" / "model.safetensors").is_file()


@pytest.mark.parametrize("name", ["weights.safetensors", "settings.json", "frontend.json"])
def test_a_damaged_part_is_not_trained_on(phones_voice: Path, tmp_path: Path, name: str) -> None:
    path = Path(shutil.copytree(phones_voice, tmp_path / "x.voice"))
    data = bytearray((path / "training" / name).read_bytes())
    data[-3] ^= 4
    (path / "training" / name).write_bytes(data)
    with pytest.raises(OluError, match=f"{name} is damaged"):
        read_base(path)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for file in sorted(one for one in path.rglob("*") if one.is_file()):
            archive.write(file, file.relative_to(path).as_posix())
    with pytest.raises(OluError, match=f"{name} is damaged"):
        read_base(tmp_path / "x.zip")


def test_a_zip_that_is_broken_or_swells_is_not_trained_on(phones_voice: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("voice.json", "check.json", "training/settings.json", "training/frontend.json"):
            archive.write(phones_voice / name, name)
        archive.writestr("training/weights.safetensors", bytes(2**24))
    with pytest.raises(OluError, match="unpacks to far more"):
        read_base(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("voice.json", "check.json", *(f"training/{one}" for one in FILES)):
            archive.write(phones_voice / name, name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(OluError, match=r"x\.zip is damaged"):
        read_base(path)
    path.write_bytes(data[: len(data) // 2] + data[-22:])  # an end without what it points to
    with pytest.raises(OluError):
        read_base(path)


def test_a_run_cannot_be_chosen_where_there_is_none(phones_voice: Path, tmp_path: Path) -> None:
    for more in ({"run": "vits-001"}, {"step": 0}):
        with pytest.raises(ExportError, match="for a workspace"):
            finish(export(phones_voice, to="hf", output=tmp_path / "hf", **more))


def test_a_card_gets_the_numbers_of_a_later_evaluation(phones: Workspace) -> None:
    first = finish(export(phones.root))
    assert finish(export(phones.root)).fresh
    page = phones.evaluations / "later" / "evaluation.json"
    figure = {"name": "cer", "median": 0.25, "n": 7, "unit": "", "low": None, "natural": None, "instrument": ""}
    write_json(page, {"run": first.run, "step": first.step, "figures": [figure, {**figure, "name": "cer_deleted"}]})
    try:
        again = finish(export(phones.root))
        assert not again.fresh
        card = (Path(again.voice) / "README.md").read_text(encoding="utf-8")
        assert "gets wrong, of all letters): 0.25 in 7 sentences" in card and "letters lost" not in card
        assert finish(export(phones.root)).fresh
    finally:
        shutil.rmtree(phones.evaluations)


def test_another_noise_is_the_voices_own_afterwards(phones: Workspace, tmp_path: Path) -> None:
    usual = finish(export(phones.root))
    assert Voice.open(usual.voice).facts["sampling"]["noise_scale"] == 0.667
    low = finish(export(phones.root, noise=0.4))
    assert not low.fresh and finish(export(phones.root, noise=0.4)).fresh
    voice = Voice.open(low.voice)
    assert voice.facts["sampling"] == {**Voice.open(usual.voice).facts["sampling"], "noise_scale": 0.4}
    card = (Path(low.voice) / "README.md").read_text(encoding="utf-8")
    assert "it speaks with noise 0.4, chosen at its export; it was trained to be used with 0.667" in card
    back = finish(export(phones.root))
    assert not back.fresh and Voice.open(back.voice).facts["sampling"]["noise_scale"] == 0.667
    made = finish(export(phones.root, output=tmp_path / "x.voice", with_training=True, noise=0.0))
    assert Voice.open(made.voice).facts["sampling"]["noise_scale"] == 0.0
    again = finish(export(Path(made.voice), output=tmp_path / "y.zip", noise=0.3))
    assert Voice.open(again.voice).facts["sampling"]["noise_scale"] == 0.3


@pytest.mark.parametrize("to", ["hf", "onnx", "piper"])
def test_other_programs_get_the_noise_too(letters: Workspace, tmp_path: Path, to: str) -> None:
    finish(export(letters.root, to=to, output=tmp_path / to, noise=0.4))
    (held,) = [
        *(tmp_path / to).glob("config.json"),
        *(tmp_path / to).glob("model.json"),
        *(tmp_path / to).glob("*.onnx.json"),
    ]
    facts = read_json(held)
    assert facts.get("inference", facts)["noise_scale"] == 0.4


def test_a_format_without_a_place_for_the_noise_says_so(letters: Workspace, tmp_path: Path) -> None:
    for to in ("mms", "sherpa"):
        with pytest.raises(ExportError, match=f"--noise: the files of '{to}' have no place for it"):
            finish(export(letters.root, to=to, output=tmp_path / to, noise=0.4))
        assert not (tmp_path / to).exists()
    with pytest.raises(OluError, match=r"noise 2\.5 is out of reach"):
        finish(export(letters.root, output=tmp_path / "x.voice", noise=2.5))


def test_the_parameters_told_are_those_written(phones: Workspace, phones_voice: Path, tmp_path: Path) -> None:
    spoken = Voice.open(phones_voice).facts["parameters"]
    assert 0.7 * spoken < finish(export(phones.root, to="onnx", output=tmp_path / "o")).parameters <= spoken
    told = finish(export(phones.root, to="hf", output=tmp_path / "h")).parameters
    held = sum(value.numel() for value in load_file(tmp_path / "h" / "model.safetensors").values())
    assert told == pytest.approx(held, rel=0.05) and told > spoken, "with the posterior encoder, without a judge"


def test_an_export_that_keeps_leaves_noise_and_training_part(phones: Workspace) -> None:
    try:
        made = finish(export(phones.root, with_training=True, noise=0.4))
        kept = finish(export(phones.root, keep=True))
        assert kept.fresh and (Path(kept.voice) / "training").is_dir()
        assert Voice.open(kept.voice).facts["sampling"]["noise_scale"] == 0.4
        plain = finish(export(phones.root))
        assert not plain.fresh and not (Path(made.voice) / "training").exists()
        assert finish(export(phones.root, keep=True)).fresh
    finally:
        finish(export(phones.root))
