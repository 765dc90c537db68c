"""The planner: pure rules, each number with a reason."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.core.machine import Machine
from olu.families import family
from olu.families.vits.plan import OTHER_LANGUAGE_RATE, SCRATCH_RATE, TUNING_MOST, TUNING_RATE, tuning_rate
from olu.train.base_facts import Licence, licence_of
from olu.train.family import Family
from olu.train.plan.facts import Case, Foundation, Material, Plan, PlanClip
from olu.train.plan.planner import make_plan, plan_toml, recipe_of
from olu.train.recipe import Recipe, read_recipe

CPU = Machine(device="cpu", name="a CPU", memory=16e9, cores=4)
GPU = Machine(device="cuda", name="a GPU", memory=24e9, cores=8, bf16=True)
VITS = family("vits")
SMALL = VITS.config.model_validate({"size": "small"}).model_dump(mode="json")
BASE = Foundation(
    folder="/some/base",
    settings=VITS.config.model_validate({"size": "mms"}).model_dump(mode="json"),
    speakers=1,
    licence=Licence("cc-by-nc-4.0", "README.md"),
    has_discriminator=True,
)


def material(clips: int = 800, *, seconds: float = 4.5, **more: Any) -> Material:
    """Lengths from 0.6 to 1.4 times the given one, always the same."""
    lengths = [seconds * (0.6 + 0.8 * (number * 37 % 100) / 100) for number in range(clips)]
    pieces = tuple(PlanClip(seconds=length, tokens=int(25 * length) + 1) for length in lengths)
    return Material(pieces=pieces, language="swa", **{"rates": {22050: clips}, "valid": 20, **more})


def planned(
    clips: int = 800, *, machine: Machine = GPU, base: Foundation | None = None, aligned: bool = False, **given: Any
) -> Plan:
    learnt = replace(material(clips), aligned=aligned)
    return make_plan(Case(material=learnt, machine=machine, base=base, given=given), VITS)


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        inside = isinstance(value, dict) and prefix + key != "plan.rates"
        found |= flat(value, f"{prefix}{key}.") if inside else {prefix + key: value}
    return found


CASES = {
    "cpu": {"machine": CPU},
    "gpu": {"machine": GPU},
    "old gpu": {"machine": replace(GPU, bf16=False, memory=6e9)},
    "base": {"base": BASE},
    "few": {"clips": 9, "machine": CPU},
    "set by hand": {"plan": {"steps": 7, "schedule": "cosine"}, "model": {"size": "tiny"}},
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_same_facts_give_the_same_plan(case: dict[str, Any]) -> None:
    assert planned(**case) == planned(**case)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_every_setting_of_the_written_recipe_has_a_reason(case: dict[str, Any], tmp_path: Path) -> None:
    plan = planned(**case)
    path = tmp_path / "recipe.toml"
    path.write_text(plan_toml(plan, head=["What it is for."]), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").splitlines()
    set_at = [at for at, line in enumerate(lines) if " = " in line and not line.startswith("#")]
    assert len(set_at) == len(plan.settings) > 20
    assert all(lines[at - 1].startswith("# ") and len(lines[at - 1]) > 2 for at in set_at)
    assert all(one.reason.endswith(".") for one in plan.settings)
    read = read_recipe(path, [])
    assert flat(read.model_dump(mode="json", exclude_unset=True)).keys() == {one.key for one in plan.settings}
    assert read == recipe_of(plan)


def test_the_wish_list_of_a_plan_is_met() -> None:
    keys = {one.key for one in planned(base=BASE).settings}
    wanted = "family base seed data.max_seconds model.learning_rate plan.rates plan.batch_clips plan.batch_seconds"
    wanted += " plan.accumulate plan.steps plan.warmup_steps model.hidden_dropout plan.validate_every plan.save_every"
    wanted += " plan.keep plan.precision guards.overfit_patience"
    assert keys >= set(wanted.split())
    assert planned().hours > 0 and planned().bytes_needed > 0


# ---------------------------------------------------------------- rates


@given(st.floats(0.001, 1000), st.floats(0.001, 1000))
def test_more_hours_never_lower_the_rate(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert TUNING_RATE <= tuning_rate(low) <= tuning_rate(high) <= TUNING_MOST


def test_the_rates_of_the_published_recipes() -> None:
    assert planned()["model.learning_rate"] == 2e-4
    assert planned(100, base=BASE)["model.learning_rate"] == 2e-5
    assert 2e-5 < planned(8000, base=BASE)["model.learning_rate"] < 1e-4


def test_a_base_of_another_language_learns_faster_and_the_reason_is_true() -> None:
    """material() is Swahili."""
    own = planned(100, base=replace(BASE, language="swa", language_name="Swahili"))
    other = planned(100, base=replace(BASE, language="amh", language_name="Amharic", settings=SMALL))
    large = planned(100, base=replace(BASE, language="amh", language_name="Amharic"))
    unknown = planned(100, base=BASE)
    assert own["model.learning_rate"] == unknown["model.learning_rate"] == 2e-5
    assert other["model.learning_rate"] == other["model.discriminator_learning_rate"] == OTHER_LANGUAGE_RATE
    assert OTHER_LANGUAGE_RATE > SCRATCH_RATE == large["model.learning_rate"] > TUNING_MOST
    assert "only `small` was measured" in _why(large)
    assert "Fine-tuning within one language" in _why(own) and "does not tell its language" in _why(unknown)
    assert "The base speaks Amharic (amh) and the corpus swa" in _why(other) and "100 clips" not in _why(other)


def _why(plan: Plan) -> str:
    return next(one.reason for one in plan.settings if one.key == "model.learning_rate")


def test_a_base_without_a_judge_gets_one_that_learns_from_scratch() -> None:
    assert planned(100, base=BASE)["model.discriminator_learning_rate"] == 2e-5
    assert planned(100, base=replace(BASE, has_discriminator=False))["model.discriminator_learning_rate"] == 2e-4


def test_levels_are_made_even_unless_a_person_says_otherwise() -> None:
    assert planned(100)["data.loudness"] == -23.0
    assert planned(100, data={"loudness": 0.0})["data.loudness"] == 0.0


def test_pauses_are_marked_where_they_are_known() -> None:
    assert "data.pauses" not in planned(100)
    assert planned(100, aligned=True)["data.pauses"] == 0.15
    assert planned(100, aligned=True, data={"pauses": 0.0})["data.pauses"] == 0.0


def test_little_data_gets_more_dropout_and_a_small_network() -> None:
    assert planned(100)["model.hidden_dropout"] > planned(800)["model.hidden_dropout"]
    assert (planned(100)["model.size"], planned(800)["model.size"]) == ("small", "mms")
    assert planned(800, machine=CPU)["model.size"] == "small"


# ---------------------------------------------------------------- batches


def test_more_memory_gives_larger_batches_and_the_same_update() -> None:
    plans = [planned(machine=replace(GPU, memory=size), model={"size": "mms"}) for size in (6e9, 12e9, 24e9, 80e9)]
    clips = [plan["plan.batch_clips"] for plan in plans]
    assert clips == sorted(clips) and clips[0] < clips[-1] == 48
    for plan in plans:
        assert 48 <= plan["plan.batch_clips"] * plan["plan.accumulate"] <= 48 + plan["plan.accumulate"]


@given(st.floats(4e9, 200e9), st.integers(1, 3000), st.floats(1.0, 12.0))
def test_the_heaviest_batch_fits(size: float, clips: int, seconds: float) -> None:
    machine = replace(GPU, memory=size)
    case = Case(material=material(clips, seconds=seconds), machine=machine)
    plan = make_plan(case, VITS)
    assert plan.bytes_needed <= machine.memory or any("too small" in note for note in plan.notes)
    assert 1 <= plan["plan.batch_clips"] <= max(4, clips)
    assert plan["plan.warmup_steps"] < plan["plan.steps"]
    assert 1 <= plan["plan.save_every"] <= plan["plan.validate_every"]
    assert recipe_of(plan)


def test_a_machine_that_is_too_small_is_named() -> None:
    plan = planned(machine=replace(CPU, memory=3e8))
    assert any("too small" in note for note in plan.notes)


def test_few_clips_make_small_batches() -> None:
    assert planned(40)["plan.batch_clips"] == 5  # eight steps in an epoch
    assert planned(3)["plan.batch_clips"] == 3


def test_nothing_that_matters_is_left_out() -> None:
    long = material(100, seconds=20)
    assert max(piece.seconds for piece in long.pieces) > 27
    plan = make_plan(Case(material=long, machine=GPU), VITS)
    kept = [piece for piece in long.pieces if piece.seconds <= plan["data.max_seconds"]]
    assert sum(p.seconds for p in kept) >= 0.99 * sum(p.seconds for p in long.pieces)


def test_what_is_left_out_is_said() -> None:
    pieces = (*material(100).pieces, *(PlanClip(seconds=300.0, tokens=3000) for _ in range(4)))
    plan = make_plan(Case(material=replace(material(), pieces=pieces), machine=GPU), VITS)
    share = 1200 / sum(piece.seconds for piece in pieces)
    reason = next(one.reason for one in plan.settings if one.key == "data.max_seconds")
    assert f"4 clips with {share:.1%} of the sound" in reason
    assert any(note.startswith(f"{share:.0%} of the sound") for note in plan.notes)


# ---------------------------------------------------------------- what people set


def test_what_a_person_set_stays_and_the_rest_follows_from_it() -> None:
    plan = planned(plan={"steps": 500, "batch_clips": 3})
    assert (plan["plan.steps"], plan["plan.batch_clips"], plan["plan.accumulate"]) == (500, 3, 1)
    assert plan["plan.warmup_steps"] == 5
    assert "plan.decay" not in planned(plan={"schedule": "linear"})
    assert planned(model={"size": "tiny"})["model.learning_rate"] == 2e-3


@pytest.mark.parametrize("key", ["plan.keep", "plan.precision", "data.min_seconds", "model.learning_rate", "seed"])
def test_set_by_you_is_the_reason(key: str) -> None:
    value: Any = {"plan.precision": "fp32", "data.min_seconds": 16.0}.get(key, 4)
    section, _, name = key.partition(".")
    plan = planned(**({section: {name: value}} if name else {section: value}))
    assert plan[key] == value
    assert next(one.reason for one in plan.settings if one.key == key) == "You set it."
    assert recipe_of(plan)


def test_precision_is_what_the_machine_can_do() -> None:
    t4, old = (replace(GPU, bf16=False, fp16=fp16) for fp16 in (True, False))
    assert [planned(machine=one)["plan.precision"] for one in (CPU, GPU, t4, old)] == ["fp32", "bf16", "fp16", "fp32"]
    assert planned(machine=t4, model={"decoder": "source"})["plan.precision"] == "fp32"  # never trained in fp16
    assert planned(machine=t4, plan={"precision": "fp32"})["plan.precision"] == "fp32"


def test_an_acoustic_model_is_planned_for_what_a_cpu_can() -> None:
    """The refiner is half of a step, and bf16, which no plan takes on a CPU by itself, half of the rest."""

    def acoustic(machine: Machine, **given: Any) -> Plan:
        return make_plan(Case(material=material(800), machine=machine, given=given), family("acoustic"))

    plain, whole = acoustic(CPU), acoustic(GPU)
    quick = acoustic(CPU, plan={"precision": "bf16"})
    keys = ("plan.precision", "model.refiner_layers", "plan.steps", "plan.stop_patience", "plan.validate_every")
    assert [plain[key] for key in keys] == ["fp32", 0, 500, 3, 50]
    assert [quick[key] for key in keys] == ["bf16", 0, 500, 3, 50]
    assert "model.refiner_layers" not in {one.key for one in whole.settings} and whole["plan.steps"] == 500
    slow = acoustic(CPU, model={"refiner_layers": 6})
    assert slow.seconds_per_step > 3 * quick.seconds_per_step


def test_accumulation_takes_its_time_on_a_gpu() -> None:
    """Launches take the time there, and every micro-batch launches all of them."""
    roomy, tight = (planned(machine=replace(GPU, memory=size), model={"size": "mms"}) for size in (80e9, 8e9))
    assert (roomy["plan.accumulate"], tight["plan.accumulate"]) == (1, 5)
    assert math.isclose(tight.seconds_per_step, 5 * roomy.seconds_per_step)


def test_a_measured_pace_sets_the_saves() -> None:
    case = Case(material=material(), machine=CPU)
    slow, fast = (make_plan(case, VITS, pace=pace) for pace in (30.0, 0.1))
    assert slow["plan.save_every"] * 30 <= 900 < fast["plan.validate_every"] * 30
    assert math.isclose(slow.hours, 300 * fast.hours)


# ---------------------------------------------------------------- licences

UNLICENSE = "This is free software released into the public domain.\n\nAnyone is free to copy, sell or use it"


@pytest.mark.parametrize(
    ("file", "text", "strict"),
    [
        ("README.md", "---\nlicense: cc-by-nc-4.0\n---\n", True),
        ("README.md", "---\nlicense: apache-2.0\n---\n", False),
        ("config.json", json.dumps({"license": "CC BY-NC-SA 4.0"}), True),
        ("config.json", json.dumps({"_name_or_path": "facebook/mms-tts-swh"}), True),
        ("LICENSE", "Attribution-NonCommercial 4.0 International\n...", True),
        ("LICENSE.txt", "My licence\n\nOnly for non-commercial research.", True),
        ("LICENSE", f"{UNLICENSE} for any purpose, commercial or non-commercial, and by any means.", False),
        ("LICENSE", f"{UNLICENSE} for non-commercial\nand commercial purposes alike.", False),
        ("LICENSE", f"{UNLICENSE} for any use. Commercial use is not allowed.", True),
        ("LICENSE", "MIT License\n\nPermission is hereby granted", False),
    ],
)
def test_a_licence_is_read_from_the_folder(tmp_path: Path, file: str, text: str, strict: bool) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    found = licence_of(tmp_path)
    assert found.name and found.where == file
    assert found.non_commercial is strict
    assert ("NON-COMMERCIAL" in found.sentence()) is strict


def test_the_strictest_licence_counts_and_none_is_said(tmp_path: Path) -> None:
    assert "names no licence" in licence_of(tmp_path).sentence()
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n", encoding="utf-8")
    (tmp_path / "config.json").write_text('{"license": "cc-by-nc-4.0"}', encoding="utf-8")
    assert licence_of(tmp_path).non_commercial
    (tmp_path / "config.json").write_text("{damaged", encoding="utf-8")
    assert licence_of(tmp_path).name == "mit"


def test_words_that_only_look_like_it_are_no_licence() -> None:
    assert not Licence("ncsa-once", "x").non_commercial or Licence("nc", "x").non_commercial
    assert not Licence("Incorporated", "x").non_commercial


def test_a_non_commercial_base_is_named_in_the_plan() -> None:
    plan = planned(100, base=BASE)
    reason = next(one.reason for one in plan.settings if one.key == "base")
    assert "NON-COMMERCIAL" in reason and "cc-by-nc-4.0" in reason
    assert "base" not in planned(100)  # none is ever chosen unasked


# ---------------------------------------------------------------- families


@pytest.mark.parametrize("name", ["vits"])
def test_families_that_plan_know_their_memory(name: str) -> None:
    chosen: Family = family(name)
    assert chosen.advice is not None
    assert isinstance(recipe_of(planned()), Recipe)
