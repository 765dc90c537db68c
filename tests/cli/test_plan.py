"""olu plan, and what olu train makes of it."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.machine import Machine
from olu.stages import plan as planning
from olu.stages.find_lr import RateSummary, command_with, find_lr, spark
from olu.stages.training import dry_sentences
from olu.stages.verbs.training import TrainOptions

from .conftest import TINY, contents, fine, olu

MACHINE = Machine(device="cpu", name="a small CPU", memory=2e9, cores=1)

# transformers scripts a function when its VITS module is first imported
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


@pytest.fixture(autouse=True)
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same machine wherever these tests run."""
    monkeypatch.setattr(planning, "this_machine", lambda device=None: MACHINE)


def recipe(ws: Path) -> dict[str, Any]:
    return tomllib.loads((ws / "recipe.toml").read_text(encoding="utf-8"))


def test_the_plan_is_written_with_reasons_and_trains(ws: Path):
    shown = fine("plan", ws, "--set", "model.size=tiny", "--set", "plan.steps=30")
    assert f"Next: olu train {ws}" in shown.out
    written = (ws / "recipe.toml").read_text(encoding="utf-8")
    assert (recipe(ws)["model"]["size"], recipe(ws)["plan"]["steps"]) == ("tiny", 30)
    before = contents(ws)
    done = fine("train", ws, "--dry-run", "--json")
    assert f"settings from {ws / 'recipe.toml'}" in done.err
    dry = done.json()["dry"]
    assert dry["ignored"] == [] and dry["events"] == [] and dry["frozen"] == {}
    assert dry["rates"] == {"disc": 1e-3, "gen": 2e-3}  # what the optimiser got, in the second step
    assert dry["parameters"]["gen"] > dry["parameters"]["disc"] > 0
    assert dry["memory_predicted"] > 0 and dry["memory_measured"] > dry["memory_before"] / 2 > 0
    assert {"mel", "kl", "duration"} <= dry["valid"].keys()
    assert dry["hours_expected"] == pytest.approx(30 * dry["seconds_per_step"] / 3600, rel=0.05), "not rounded away"
    assert "time expected: 1.4 seconds" in dry_sentences({**dry, "hours_expected": 0.0004})
    shown_to_people = "\n".join(dry_sentences(dry))
    for line in ("ignored: nothing", "memory measured: ", "time expected: "):
        assert line in shown_to_people
    assert (ws / "recipe.toml").read_text(encoding="utf-8") == written
    assert not (ws / "runs").exists() and before.keys() <= contents(ws).keys()


def test_a_recogniser_s_plan_says_what_validates(ws: Path):
    shown = " ".join(fine("plan", ws, "--set", "family=recogniser", "--print").out.replace("#", "").split())
    assert "10% of them are held back for validation." in shown
    assert "validation side" not in shown


def test_the_plan_says_itself_in_json(ws: Path):
    made = fine("plan", ws, "--json").json()
    assert all(one["reason"] for one in made["settings"])
    assert {"plan.steps", "base"} <= {one["key"] for one in made["settings"]}
    assert made["hours_expected"] > 0 and made["memory_bytes"] > 0
    assert made["machine"]["memory"] == 2e9
    again = fine("plan", ws, "--json").json()
    assert again == made


def test_print_writes_nothing(ws: Path):
    fine("audit", ws)
    before = contents(ws)
    printed = fine("plan", ws, "--print").out
    assert tomllib.loads(printed)["family"] == "vits"
    assert contents(ws) == before


def test_a_recipe_that_a_person_edited_is_kept(ws: Path):
    path = ws / "recipe.toml"
    fine("plan", ws)
    fine("plan", ws, "--set", "plan.steps=77")  # nobody touched it: planned anew
    assert recipe(ws)["plan"]["steps"] == 77
    path.write_text(path.read_text(encoding="utf-8").replace("steps = 77", "steps = 78"), encoding="utf-8")
    refused = olu("plan", ws)
    assert refused.code == 2
    assert "was edited by hand and is kept" in refused.err
    assert recipe(ws)["plan"]["steps"] == 78
    assert "steps = 78" not in fine("plan", ws, "--print").out
    fine("plan", ws, "--force")
    assert recipe(ws)["plan"]["steps"] != 78


def test_a_recipe_that_a_person_wrote_is_kept_too(ws: Path):
    (ws / "recipe.toml").write_text("seed = 5\n", encoding="utf-8")
    assert olu("plan", ws).code == 2
    assert recipe(ws) == {"seed": 5}


def test_training_without_a_recipe_plans_on_the_spot(ws: Path):
    done = fine("train", ws, *TINY)
    assert "no recipe: planned here (size tiny, learning rate 0.002, steps 2, batch clips 2; about " in done.err
    assert not (ws / "recipe.toml").exists()
    kept = tomllib.loads((ws / "runs" / "vits-001" / "recipe.toml").read_text(encoding="utf-8"))
    assert kept["plan"]["steps"] == 2 and kept["guards"]["overfit_patience"] == 8
    assert "nothing to do" in fine("train", ws, *TINY).out  # the same plan again


def test_what_is_named_wins_over_the_workspace_recipe(ws: Path, tmp_path: Path):
    (ws / "recipe.toml").write_text('[model]\nsize = "tiny"\n[plan]\nsteps = 3\nbatch_clips = 2\n', encoding="utf-8")
    other = tmp_path / "other.toml"
    other.write_text('[model]\nsize = "tiny"\n[plan]\nsteps = 1\nbatch_clips = 2\n', encoding="utf-8")
    assert fine("train", ws, "--recipe", other, "--json").json()["steps"] == 1
    assert fine("train", ws, "--set", "plan.steps=2", "--json").json()["steps"] == 2
    assert fine("train", ws, "--json").json()["steps"] == 3


def test_a_plan_older_than_the_corpus_says_so(ws: Path):
    fine("plan", ws, "--set", "model.size=tiny", "--set", "plan.steps=1")
    clip = json.loads((ws / "corpus" / "clips.jsonl").read_text(encoding="utf-8").splitlines()[0])["id"]
    fine("drop", ws, clip)
    assert "the corpus has changed since" in fine("train", ws, "--dry-run").err


@pytest.fixture
def base(tmp_path: Path) -> Path:
    import transformers

    folder = tmp_path / "base"
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "ffn_dim": 64, "flow_size": 32, "upsample_initial_channel": 64}
    letters = " abcdefghijklmnopqrstuvwxyz'"
    config = transformers.VitsConfig(vocab_size=len(letters) + 1, prior_encoder_num_flows=2, **sizes)
    transformers.VitsModel(config).save_pretrained(folder)
    light = {
        "discriminator_period_channels": [1, 4, 8],
        "discriminator_scale_channels": [1, 4, 8],
        "segment_size": 4096,
    }
    known = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**known, **light}), encoding="utf-8")
    table = {"_": 0, **{letter: number for number, letter in enumerate(letters, 1)}}
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    (folder / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\n", encoding="utf-8")
    return folder


def test_a_non_commercial_base_is_taken_only_by_name_and_never_in_silence(ws: Path, base: Path):
    fine("plan", ws)
    assert recipe(ws)["base"] == "embedded"  # which may be used for anything
    made = fine("plan", ws, "--base", base, "--json").json()
    assert recipe(ws)["base"] == str(base)
    said = {one["key"]: one for one in made["settings"]}
    assert "NON-COMMERCIAL" in said["base"]["reason"] and "must not be sold" in said["base"]["reason"]
    assert "NON-COMMERCIAL" in (ws / "recipe.toml").read_text(encoding="utf-8")
    assert said["model.learning_rate"]["value"] == 2e-5
    assert said["model.discriminator_learning_rate"]["value"] == 2e-4  # it brings no judge
    assert "model.size" not in said
    done = fine("train", ws, "--dry-run", "--set", "plan.batch_clips=1")
    assert "NON-COMMERCIAL" in done.err
    assert "rates: disc" in done.out


def test_another_base_is_planned_for_on_the_spot(ws: Path, base: Path):
    fine("plan", ws)
    done = fine("train", ws, "--base", base, "--dry-run", "--set", "plan.batch_clips=1")
    assert "is for another base and is not used" in done.err
    assert "no recipe: planned here" in done.err and "NON-COMMERCIAL" in done.err


# ---------------------------------------------------------------- find-lr


def test_looking_for_a_rate_keeps_nothing_but_its_page(ws: Path):
    fine("train", ws, *TINY, "--dry-run")
    before = contents(ws)
    work = find_lr(Workspace.open(ws), overrides=["model.size=tiny", "plan.batch_clips=2"], steps=24)
    found = finish(work)  # type: ignore[arg-type]
    assert len(found.points) == 24 and found.planned == 2e-3
    after = contents(ws)
    assert after.keys() - before.keys() == {"find-lr.html", "find-lr.json"}
    assert {name for name in before if after[name] != before[name]} == set()
    page = after["find-lr.html"].decode()
    assert "<svg" in page and "polyline" in page and "<script" not in page
    kept = json.loads(after["find-lr.json"])
    assert len(kept["points"]) == 24 and kept["finding"]["why"]
    assert "--set model.size=tiny --set plan.batch_clips=2" in kept["command"]


def test_the_command_after_looking_for_a_rate_trains_what_was_asked_about():
    asked: dict[str, Any] = {
        "ws": Path("my voices"),
        "recipe": Path("a b.toml"),
        "base": Path("embedded"),
        "overrides": ["model.learning_rate=1e-3", "plan.sentences=['a b']"],
        "device": "cpu",
    }
    words = shlex.split(command_with(5e-5, **asked))
    assert words == [
        *("olu", "train", "my voices", "--recipe", "a b.toml", "--base", "embedded"),
        *("--set", "plan.sentences=['a b']", "--set", "model.learning_rate=5e-05", "--device", "cpu"),
    ]
    assert "model.learning_rate=1e-3" in shlex.split(command_with(None, **asked))


def test_looking_for_a_rate_takes_no_run(ws: Path):
    done = olu("train", ws, "--find-lr", "--resume")
    assert done.code == 2
    assert done.err.startswith("olu: --find-lr starts from fresh weights")


def test_the_curve_is_drawn_for_people():
    from olu.train.find_lr import RatePoint, RateSearchResult

    assert spark([8.0, 4.0, 0.0]) == "█▅▁"
    points = [RatePoint(10.0**-n, float(n), float(n)) for n in range(6, 1, -1)]
    found = RateSearchResult(1e-3, 1e-3, None, "it falls")
    told = list(RateSummary(found, points, 2e-3, "mel", "x.html", "olu train x").sentences(TrainOptions()))
    assert "Suggested rate: 0.001 (the recipe has 0.002): it falls." in told and told[-1] == "Next: olu train x"
    flat = RateSearchResult(None, None, None, "the curve is flat")
    told = list(RateSummary(flat, points, 2e-3, "mel", "x.html", "olu train x").sentences(TrainOptions()))
    assert "No suggestion: the curve is flat." in told
