"""A voice package that can be trained on from: its own reading, both networks, in half precision."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import torch

from olu.errors import OluError
from olu.families import family
from olu.families.vits.base import read_base
from olu.families.vits.weights import fold
from olu.files import Workspace
from olu.stages.export import export
from olu.train.run import Run
from olu.train.speaking import load_averaged

from ..families.workspaces import trained, workspace


def test_a_run_starts_from_a_voice_by_phones(phones: Workspace, phones_voice: Path, tmp_path: Path) -> None:
    path = phones_voice
    base, old = read_base(path), Run(phones.runs / "vits-001")
    assert base.judged and base.lacks == () and list(base.symbols) == old.document("vocabulary.json")["symbols"]
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
    run = Run(ws.runs / summary.run)
    assert run.document("frontend.json")["kind"] == "phones", "it reads on as the voice did"
    symbols = run.document("vocabulary.json")["symbols"]
    assert symbols[: len(base.symbols)] == list(base.symbols)
    made = export(ws.root, out=tmp_path / "y.voice")
    assert "CC-BY-SA-4.0" in made.licence, "and the licence of the voice holds on"


def test_a_voice_of_another_language_lends_its_sound_only(phones_voice: Path, tmp_path: Path) -> None:
    ws = workspace(
        tmp_path / "new",
        [("a1", "a red fox", "z", "train"), ("a2", "an old hen", "z", "train"), ("a3", "oh", "z", "valid")],
    )
    summary, _ = trained(ws, base=phones_voice)
    assert Run(ws.runs / summary.run).document("frontend.json")["language"] == "eng"


def test_a_voice_without_it_says_so(letters_voice: Path, tmp_path: Path) -> None:
    with pytest.raises(OluError, match="export it again with --with-training"):
        read_base(letters_voice)
    with zipfile.ZipFile(tmp_path / "strange.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(OluError):
        read_base(tmp_path / "strange.zip")


def test_the_package_can_go_out_in_other_formats(letters: Workspace, tmp_path: Path) -> None:
    export(letters.root, out=tmp_path / "x.zip", with_training=True)
    made = export(tmp_path / "x.zip", to="hf", out=tmp_path / "hf")
    assert made.language == "eng" and made.speakers == ["p0", "p1"]
    assert (tmp_path / "hf" / "model.safetensors").is_file()
