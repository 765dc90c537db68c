"""Too little speech leads to a base, in every verb that is asked, and not to hours from scratch."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from olu.audit.thresholds import Thresholds
from olu.core.machine import Machine
from olu.stages import bases, plan

from .conftest import TINY, fine, make_recordings, next_command, olu

SLOW = Machine(device="cpu", name="a slow CPU", memory=8e9, cores=1)
OFFER = "--base embedded is the Amharic voice that comes with Olu (MIT)"


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "this_machine", lambda device=None: SLOW)


def test_audit_read_and_status_name_the_base(ws: Path):
    heard = fine("audit", ws).out
    assert "too little to train from scratch (about 60 minutes)" in heard and OFFER in heard
    read = fine("read", ws).out
    assert OFFER in read
    assert read.splitlines()[-1] == f"Next: olu train {ws} --base embedded"
    assert next_command(ws) == f"olu train {ws} --base embedded"
    shown = fine("status", ws).out
    assert OFFER in shown and "Nearer is --base facebook/mms-tts/full_models/swh" in shown
    assert "cc-by-nc-4.0: non-commercial, fetched from the hub" in shown


def test_enough_speech_is_not_led_away(ws: Path):
    (ws / "thresholds.toml").write_text("enough_tune = 0.0\nenough_scratch = 0.1\n", encoding="utf-8")
    assert "--base" not in fine("audit", ws).out
    assert fine("read", ws).out.splitlines()[-1] == f"Next: olu train {ws}"
    assert "--base" not in fine("plan", ws).out


def test_a_plan_for_too_little_speech_begins_with_the_base(ws: Path, slow: None):
    """What 'olu plan; olu train' trains is what was advised, and not hours from scratch that nobody chose."""
    made = fine("plan", ws, "--json").json()
    reasons = {one["key"]: one["reason"] for one in made["settings"]}
    assert "too little to train from scratch (about 60 minutes), so the plan begins with the Amharic" in reasons["base"]
    assert "--from-scratch plans without a base" in reasons["base"] and "You gave it" not in reasons["base"]
    assert "Nearer is --base facebook/mms-tts/full_models/swh" in reasons["base"] and "MIT" in reasons["base"]
    assert tomllib.loads((ws / "recipe.toml").read_text(encoding="utf-8"))["base"] == "embedded"
    assert made["advice"] == "" and made["next"] == f"olu train {ws}"
    read = fine("read", ws).out
    assert "too little" not in read and read.splitlines()[-1] == f"Next: olu train {ws}"
    assert next_command(ws) == f"olu train {ws}"


def test_a_plan_from_scratch_is_asked_for(ws: Path, slow: None):
    refused = olu("plan", ws, "--set", "model.size=small")
    assert refused.code == 2 and "--from-scratch to train about" in refused.err
    assert not (ws / "recipe.toml").exists()
    shown = fine("plan", ws, "--from-scratch").out
    assert OFFER in shown and shown.splitlines()[-1] == f"Next: olu train {ws}"
    assert "base" not in tomllib.loads((ws / "recipe.toml").read_text(encoding="utf-8"))
    fine("read", ws)
    assert next_command(ws) == f"olu train {ws}"
    both = olu("plan", ws, "--from-scratch", "--base", "embedded")
    assert both.code == 2 and "exclude each other" in both.err


def test_hours_from_scratch_want_consent(ws: Path, slow: None):
    refused = olu("train", ws)
    assert refused.code == 2 and not (ws / "runs").exists()
    assert OFFER in refused.err
    assert "Add --base embedded, or --from-scratch to train about" in refused.err
    made = fine("train", ws, *TINY)  # no hours: it says so and trains
    assert OFFER in made.err


def test_a_recipe_or_the_option_is_consent(ws: Path, slow: None, monkeypatch: pytest.MonkeyPatch):
    """As far as a dry run, which nobody has to agree to, and beyond the refusal."""
    monkeypatch.setattr(plan, "HOURS_UNASKED", 0.0)
    assert olu("train", ws, *TINY).code == 2
    fine("train", ws, *TINY, "--dry-run")
    assert fine("train", ws, *TINY, "--from-scratch", "--json").json()["steps"] == 2
    fine("plan", ws, *TINY, "--from-scratch")
    planned = fine("train", ws, "--new", "--json")
    assert planned.json()["steps"] == 2 and OFFER in planned.err, "a recipe is taken as it is, but not in silence"
    assert OFFER not in fine("train", ws, "--from-run", "vits-001", "--new", "--dry-run").err, "it has weights"
    both = olu("train", ws, "--from-scratch", "--base", "embedded")
    assert both.code == 2 and "--from-scratch is a start without weights" in both.err


def test_a_later_run_begins_where_the_first_one_did(ws: Path, tmp_path: Path):
    """Whatever the minutes: without its base the next voice would be another one."""
    (ws / "thresholds.toml").write_text("enough_tune = 0.0\nenough_scratch = 0.1\n", encoding="utf-8")
    few = ("--set", "plan.steps=1", "--set", "plan.batch_clips=2", "--set", "plan.validate_every=1")
    fine("train", ws, "--base", "embedded", *few)
    fine("import", ws, make_recordings(tmp_path / "more", clips=11))
    fine("audit", ws)
    fine("read", ws)
    assert next_command(ws) == f"olu train {ws} --base embedded"


def test_make_takes_a_base(recordings: Path, tmp_path: Path, slow: None):
    few = ("--set", "plan.steps=1", "--set", "plan.batch_clips=2", "--set", "plan.validate_every=1")
    refused = olu("make", tmp_path / "a", recordings, "--language", "sw")
    assert refused.code == 2 and "Add --base embedded" in refused.err
    made = fine("make", tmp_path / "a", recordings, "--language", "sw", "--base", "embedded", *few, "--json").json()
    recipe = (tmp_path / "a" / "runs" / made["run"] / "recipe.toml").read_text(encoding="utf-8")
    assert 'base = "embedded"' in recipe


def test_bases_names_the_one_that_is_always_there():
    none = fine("bases", "--language", "wol").out
    assert "No checkpoint is known for wol." in none
    assert "--base embedded, the Amharic voice that comes with Olu (MIT)" in none
    assert "17 instead of 29 % wrong letters" in none
    assert none.splitlines()[-1] == "Next: olu train WS --base embedded"
    assert "--base embedded" in fine("bases", "--language", "hau").out


def test_one_place_decides():
    limits = Thresholds()
    assert bases.advise(3600.0, language="wol", limits=limits) is None
    little = bases.advise(720.0, language="wol", limits=limits)
    assert little is not None and little.option == "--base embedded" and "12 minutes" in little.sentence()
    seconds = bases.advise(24.0, language="wol", limits=limits)
    assert seconds is not None and seconds.sentence().startswith("24.0 seconds of speech: too little to train from")
    assert [one.base for one in bases.offers("amh")] == ["embedded"]  # its own language: nothing is nearer
    assert [one.base for one in bases.offers("hau")] == ["embedded", "facebook/mms-tts/full_models/hau"]
