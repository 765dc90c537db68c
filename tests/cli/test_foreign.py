"""Checkpoints of other programs on the command line: out of a run, back in as a base, listed and checked."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch
import transformers

import olu.families.vits as vits
from olu.families.vits.foreign.detect import read_foreign

from ..families.test_vits_foreign import loaded, ours
from .conftest import fine, olu

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


def test_a_run_goes_out_to_transformers_and_comes_back_as_a_base(walked: Path, voiced: Path, tmp_path: Path) -> None:
    out = tmp_path / "hf"
    summary = fine("export", walked, "--to", "hf", "-o", out, "--json").json()
    assert (summary["to"], summary["voice"], summary["language"]) == ("hf", str(out), "swa")
    model = transformers.VitsModel.from_pretrained(out).eval()
    model.noise_scale = model.noise_scale_duration = 0.0
    found = read_foreign(out)
    ids = torch.arange(1, 9)[None]
    with torch.no_grad():
        torch.testing.assert_close(ours(loaded(found), ids), model(input_ids=ids).waveform[0], atol=1e-5, rtol=0)
    run = json.loads((walked / "runs" / summary["run"] / "vocabulary.json").read_text())
    assert list(found.symbols) == run["symbols"]
    done = fine("train", voiced, "--base", out, "--set", "plan.batch_clips=2", "--dry-run")
    assert "a fresh one starts" in done.err and "(model.discriminator_warmup)" in done.err


def test_the_default_place_and_what_does_not_fit(voiced: Path, tmp_path: Path) -> None:
    done = fine("export", voiced, "--to", "hf")
    assert "ws-hf" in done.out and "Next" not in done.out
    assert (voiced / "voices" / "ws-hf" / "model.safetensors").is_file()
    fine("export", voiced, "--to", "hf")
    for to, said in (("vits", "built in, and this model others"), ("hf-training", "discriminator_scale_channels")):
        refused = olu("export", voiced, "--to", to, "-o", tmp_path / to)
        assert refused.code == 2 and said in refused.err and refused.err.count("\n") == 1
        assert not (tmp_path / to).exists()
        assert "export with '--to hf'" in refused.err, "what to do instead"


def test_bases_of_a_language() -> None:
    found = fine("bases", "--language", "gri", "--json").json()
    assert {row["id"]: row["discriminator"] for row in found["listed"]} == {
        "facebook/mms-tts/full_models/gri": "yes",
        "facebook/mms-tts-gri": "no",
    }
    assert "ylacombe/mms-tts-spa-train" in fine("bases", "--language", "es").out
    near = fine("bases", "--language", "ibo")
    assert "No checkpoint is known for ibo" in near.out and "facebook/mms-tts-izz" in near.out
    for code in ("sw", "swa", "swh"):
        same = fine("bases", "--language", code)
        assert (
            "facebook/mms-tts-swh" in same.out and "No checkpoint" not in same.out and "olu doctor --base" in same.out
        )
    assert "1107 languages" in fine("bases").out
    assert olu("bases", "--language", "nolanguage").code == 2


def test_the_table_of_bases_is_sound() -> None:
    with Path(vits.__file__).with_name("bases.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    assert len({row["id"] for row in rows}) == len(rows) > 2000
    for row in rows:
        assert {row["discriminator"], row["uroman"]} <= {"yes", "no", "unknown"}
        assert row["licence"] in ("cc-by-nc-4.0", "mit") and len(row["language"]) == 3
    known = {row["language"]: row["uroman"] for row in rows if row["id"].startswith("facebook/mms-tts-")}
    assert (known["amh"], known["spa"], known["eng"]) == ("yes", "no", "no")
    assert "ibo" not in known and {"ikk", "iqw", "izz", "eza"} <= known.keys()


def test_doctor_looks_at_a_base(walked: Path, tmp_path: Path) -> None:
    fine("export", walked, "--to", "hf", "-o", tmp_path / "hf")
    told = fine("doctor", "--base", tmp_path / "hf", "--json").json()[f"base {tmp_path / 'hf'}"]
    assert told["good"] and "16000 Hz" in told["said"] and "discriminator: no" in told["said"]
    (tmp_path / "hf" / "vocab.json").unlink()
    bad = olu("doctor", "--base", tmp_path / "hf")
    assert bad.code == 2 and "BAD base" in bad.out and "vocab.json is not there" in bad.out
