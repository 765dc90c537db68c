from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.align.state import alignment_path
from olu.audio import io
from olu.core.config import check
from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace, write_jsonl
from olu.core.job import finish
from olu.core.types import Audio, Clip, Split
from olu.corpus.manifest import Corpus
from olu.corpus.sources import Source
from olu.families import family
from olu.stages.prepare import prepare, sound_of
from olu.stages.read import read_corpus
from olu.stages.train_setup import prepare_run, set_up
from olu.train.family import Clock, Figures, Loss, OpponentLoss, Update
from olu.train.recipe import AUGMENT, DataSettings, GuardSettings, PlanSettings, Recipe, read_recipe, recipe_toml
from olu.train.run import Run
from olu.train.setup.job import TrainingJob

from ..helpers import toys

# ---------------------------------------------------------------- what people write


def written(folder: Path, text: str) -> Path:
    path = folder / "r.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[plan]\nstpes = 5\n", "unknown key 'plan.stpes'; did you mean 'steps'?"),
        ("[guards]\nspike_patiance = 5\n", "unknown key 'guards.spike_patiance'; did you mean 'spike_patience'?"),
        ("[data]\nmin_second = 5\n", "unknown key 'data.min_second'; did you mean 'min_seconds'?"),
        ("famly = 'vits'\n", "unknown key 'famly'; did you mean 'family'?"),
        ("[plans]\nsteps = 5\n", "unknown key 'plans'; did you mean 'plan'?"),
        ("[plan]\nzzz = 5\n", "unknown key 'plan.zzz'; known here: accumulate, batch_clips"),
        ("[plan]\nsteps = 'many'\n", "plan.steps: "),
        ("[plan]\nsteps = -1\n", "plan.steps: "),
        ("[plan]\nbatch_seconds = nan\n", "plan.batch_seconds: "),
        ("[plan]\nschedule = 'sine'\n", "plan.schedule: "),
        ("plan = 3\n", "plan: "),
        ("[plan]\nsteps = true\n", "plan.steps: true and false are no numbers: write a number"),
        ("[plan]\nmilestones = [5, true]\n", "plan.milestones: true and false are no numbers"),
        ("[plan.rates]\ngenerator = false\n", "plan.rates: true and false are no numbers"),
        ("[data]\nedges = true\n", "data.edges: true and false are no numbers"),
        ("[plan]\naccumulate = 1000000\n", "plan.accumulate: Input should be less than or equal to 1024"),
        ("[plan\n", "not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_its_file(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_recipe(written(tmp_path, text), [])
    assert says in str(caught.value) and "r.toml" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml is not there"):
        read_recipe(tmp_path / "none.toml", [])


@pytest.mark.parametrize("section", ["data", "plan", "guards"])
def test_every_field_of_every_section_can_be_set_from_the_shell(section: str) -> None:
    defaults = getattr(Recipe(), section)
    for name in type(defaults).model_fields:
        value = getattr(defaults, name)
        raw = str(value).lower() if isinstance(value, bool) else str(value)
        assert read_recipe(None, [f"{section}.{name}={raw}"]) == Recipe()


def test_set_takes_toml_values_and_bare_words(tmp_path: Path) -> None:
    path = written(tmp_path, "seed = 3\n[plan]\nsteps = 7\nkeep = 9\n")
    given = ["plan.steps=500", "plan.schedule=cosine", "base=/some/where", "data.leave_out_errors=false"]
    recipe = read_recipe(path, [*given, "model.upsample_rates=[8, 8, 4]", 'model.size="tiny"', "plan.final_rate=1e-3"])
    assert (recipe.seed, recipe.plan.keep, recipe.plan.steps) == (3, 9, 500)
    assert (recipe.plan.schedule, recipe.plan.final_rate) == ("cosine", 0.001)
    assert recipe.base == "/some/where" and recipe.data.leave_out_errors is False
    assert recipe.model == {"upsample_rates": [8, 8, 4], "size": "tiny"}
    assert read_recipe(None, ["plan.steps=1", "plan.steps=2"]).plan.steps == 2


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("plan.steps", "is not key=value"),
        ("=5", "is not key=value"),
        ("", "is not key=value"),
        ("plan.stpes=5", "did you mean 'steps'?"),
        ("seeed=5", "did you mean 'seed'?"),
        ("seed.x=5", "seed"),
        ("plan.steps=", "plan.steps"),
        ("plan.steps=true", "true and false are no numbers"),
        ("seed=18446744073709551616", "seed: Input should be less than or equal to 9223372036854775807"),
        ("plan=5", "plan"),
        ("plan.steps.more=5", "plan.steps"),
    ],
)
def test_a_bad_set_is_refused(item: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_recipe(None, [item])
    assert says in str(caught.value)


def test_set_cannot_open_a_value_as_a_section(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'seed' is a value, not a section"):
        read_recipe(written(tmp_path, "seed = 3\n"), ["seed.x=5"])


@pytest.mark.parametrize(
    "settings",
    [
        {"schedule": "constant", "final_rate": 0.5},
        {"schedule": "exponential", "final_rate": 0.5},
        {"schedule": "constant", "decay": 0.5},
        {"schedule": "cosine", "decay": 0.5},
        {"schedule": "linear", "decay": 0.5},
    ],
)
def test_a_setting_that_would_be_ignored_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"has no effect with the {settings['schedule']} schedule"):
        PlanSettings(**settings)


def test_impossible_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match="min_seconds must be below max_seconds"):
        read_recipe(None, ["data.min_seconds=9", "data.max_seconds=9"])


def test_the_written_recipe_reads_back_the_same(tmp_path: Path) -> None:
    model = family("vits").config(size="tiny", hidden_size=24, clip=2.5, mel_high_hz=7000.0).model_dump(mode="json")
    changes = ["plan.schedule=cosine", "plan.final_rate=0.3", "seed=7", "guards.spike_window=33", "base=/a \"b\" 'c' ɓ"]
    for recipe in (Recipe(), read_recipe(None, changes).model_copy(update={"model": model})):
        text = recipe_toml(recipe)
        back = read_recipe(written(tmp_path, text), [])
        again = family("vits").config.model_validate(back.model)
        assert again == family("vits").config.model_validate(recipe.model)
        assert back.model_copy(update={"model": {}}) == recipe.model_copy(update={"model": {}})
        values = tomllib.loads(text)
        for section in (
            "data",
            "plan",
            "guards",
        ):  # every default is written out, but for augmentation that is not asked
            fields = type(getattr(recipe, section)).model_fields
            assert values[section].keys() == {name for name in fields if not name.startswith(AUGMENT)}


# ---------------------------------------------------------------- every setting acts


ALWAYS_WINS = OpponentLoss(part="body", loss="match", won=1e9, chance=1e12)


def toy_setup(recipe: Recipe, learner: toys.Toy) -> TrainingJob:
    clips = toys.examples(24)
    held = {f"v{id}": replace(example, id=f"v{id}") for id, example in toys.examples(8, seed=99).items()}
    both = {**clips, **held}
    return TrainingJob(
        recipe=recipe,
        family=replace(
            family("vits"), figures=Figures(score="match", learns="body", steady=("match",), opponent=ALWAYS_WINS)
        ),
        config=None,
        learner=learner,
        vocabulary=None,  # type: ignore[arg-type]
        frontend_state={},
        speakers=["default"],
        store={id: example.samples for id, example in both.items()},  # type: ignore[arg-type]
        rate=16000,
        train=list(clips),
        seconds={id: len(example.ids) / 10 for id, example in both.items()},
        valid=list(held),
        ids={id: example.ids for id, example in both.items()},
        speaker_of=dict.fromkeys(both, 0),
        device="cpu",
        facts={"from": None},
        documents={},
        ear=lambda exhibits: {"cer": 0.5},
    )


def outcome(folder: Path, section: str, settings: dict[str, Any], learner: toys.Toy | None = None) -> dict[str, Any]:
    """What a short run with these settings did, aspect by aspect."""
    plan = {"steps": 12, "batch_clips": 4, "schedule": "constant", "validate_every": 4, "save_every": 4}
    values = {"seed": 1, "plan": plan}
    if section:
        values[section] = {**values.get(section, {}), **settings}
    else:
        values |= settings
    if section == "guards":
        values["plan"] = {**plan, "steps": 60, "save_every": 10, "validate_every": 6}
    recipe = Recipe.model_validate(values)
    torch.manual_seed(1)
    learner = learner or toys.Tokens(dropout=0.1)
    run = Run(folder)
    engine = toy_setup(recipe, learner).engine(run)
    reports = list(engine.train())
    return {
        "length": len(reports),
        "batches": list(learner.heard),
        "rates": [seen.lr for report in reports for seen in report.seen],
        "losses": [repr(seen.losses) for report in reports for seen in report.seen],
        "validated": [report.step for report in reports if report.scores],
        "saves": [report.step for report in reports if report.saves],
        "checkpoints": engine.checkpoints.steps(),
        "exhibits": [len(report.exhibits) for report in reports],
        "best": engine.best,
        "events": [(e.step, e.guard, e.verdict.name) for report in reports for e in report.events],
    }


STANDING = {"schedule": "plateau", "validate_every": 1, "rates": {"body.net": 0.0}}  # the score never moves
# field: the aspect it must change, what it starts from, what it becomes
PLAN_CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "steps": ("length", {}, {"steps": 9}),
    "batch_clips": ("batches", {}, {"batch_clips": 3}),
    "batch_seconds": ("batches", {}, {"batch_seconds": 1.0}),
    "accumulate": ("losses", {}, {"accumulate": 2}),
    "schedule": ("rates", {}, {"schedule": "linear"}),
    "warmup_steps": ("rates", {}, {"warmup_steps": 5}),
    "final_rate": ("rates", {"schedule": "cosine"}, {"final_rate": 0.5}),
    "decay": ("rates", {"schedule": "exponential"}, {"decay": 0.5}),
    "curriculum_epochs": ("batches", {}, {"curriculum_epochs": 1}),
    "milestones": ("rates", {"schedule": "milestones", "milestones": [8]}, {"milestones": [4, 8]}),
    "drop": ("rates", {"schedule": "milestones", "milestones": [8]}, {"drop": 0.1}),
    "plateau_patience": ("rates", STANDING, {"plateau_patience": 1}),
    "least_rate": ("rates", {**STANDING, "plateau_patience": 1}, {"least_rate": 0.3}),
    "rates": ("losses", {}, {"rates": {"body.net": 0.0}}),
    "late": ("losses", {}, {"late": {"body.net": 6}}),
    "max_hours": ("length", {"steps": 50}, {"max_hours": 1e-9}),
    "precision": ("losses", {}, {"precision": "bf16"}),
    "validate_every": ("validated", {}, {"validate_every": 3}),
    "save_every": ("saves", {"validate_every": 12}, {"save_every": 3}),
    "keep": ("checkpoints", {}, {"keep": 1}),
    "demo_clips": ("exhibits", {}, {"demo_clips": 3}),
    "choose": ("best", {}, {"choose": "heard"}),
    "stop_patience": ("length", STANDING, {"stop_patience": 2}),
}


IN_THE_SET_UP = ("sentences", "freeze_old_rows", "record")  # a text, a base, a GPU: see below and test_recorded.py


@pytest.mark.parametrize("name", [name for name in PlanSettings.model_fields if name not in IN_THE_SET_UP])
def test_every_plan_setting_acts(name: str, tmp_path: Path) -> None:
    assert name in PLAN_CASES, f"plan.{name} has no case here: add one that shows what it does"
    aspect, base, change = PLAN_CASES[name]
    before = twice(repr(base), tmp_path)
    assert outcome(tmp_path / "c", "plan", {**base, **change})[aspect] != before[aspect]


KNOWN: dict[str, dict[str, Any]] = {}


def twice(base: str, folder: Path) -> dict[str, Any]:
    """What a run with these settings did, the same in two of them: else anything would seem to act."""
    if base not in KNOWN:
        one, other = (outcome(folder / turn, "plan", ast.literal_eval(base)) for turn in "ab")
        assert one == other
        KNOWN[base] = one
    return KNOWN[base]


def hurt(
    *,
    nan: range | tuple[int, ...] = (),
    spikes: tuple[int, ...] = (),
    zeros: range = range(0),
    higher: range = range(0),
    lr: float = 0.02,
) -> toys.Toy:
    torch.manual_seed(1)
    learner, count = toys.Tokens(lr=lr), iter(range(10**6))

    def meddle(update: Update, clock: Clock) -> Update:
        turn = next(count)
        factor = float("nan") if turn in nan else 200.0 if turn in spikes else 1.0
        factor *= 0.0 if turn in zeros else 15.0 if turn in higher else 1.0
        return Update(update.part, {n: replace(loss, sum=loss.sum * factor) for n, loss in update.losses.items()})

    learner.meddle = meddle
    return learner


def by_heart() -> toys.Toy:
    """Trains well; its validation only gets worse."""
    torch.manual_seed(1)
    learner, count = toys.Tokens(), iter(range(10**6))
    learner.validate = lambda batch: {"match": Loss(torch.tensor(1.0 + next(count)), "items")}  # type: ignore[method-assign]
    return learner


DRIFT = {"drift_warmup": 20, "drift_patience": 3}
GUARD_CASES: dict[str, tuple[str, Callable[[], toys.Toy], dict[str, Any], dict[str, Any]]] = {
    "finite_patience": ("events", lambda: hurt(nan=range(30, 34)), {}, {"finite_patience": 1}),
    "spike_factor": ("events", lambda: hurt(spikes=(30,)), {}, {"spike_factor": 1e6}),
    "spike_window": ("events", lambda: hurt(spikes=(25, 55)), {"spike_patience": 2}, {"spike_window": 20}),
    "spike_patience": ("events", lambda: hurt(spikes=(30, 33)), {}, {"spike_patience": 2}),
    "still_patience": ("events", lambda: hurt(zeros=range(10, 60)), {}, {"still_patience": 5}),
    "balance_patience": ("events", hurt, {}, {"balance_patience": 15}),
    "slow_after": ("events", lambda: hurt(lr=1e-7), {}, {"slow_after": 50}),
    "slow_least": ("events", hurt, {"slow_after": 50}, {"slow_least": 0.999}),
    "drift_factor": ("events", lambda: hurt(higher=range(30, 60)), DRIFT, {"drift_factor": 50.0}),
    "drift_patience": ("events", lambda: hurt(higher=range(30, 60)), DRIFT, {"drift_patience": 8}),
    "drift_warmup": ("events", lambda: hurt(higher=range(30, 60)), DRIFT, {"drift_warmup": 58}),
    "overfit_patience": ("events", by_heart, {}, {"overfit_patience": 2}),
    "samples_warmup": ("events", hurt, {}, {"samples_warmup": 0.9}),
    "rewind_limit": ("events", lambda: hurt(nan=(30, 31)), {"finite_patience": 0}, {"rewind_limit": 1}),
    "rewind_factor": ("rates", lambda: hurt(nan=(30,)), {"finite_patience": 0}, {"rewind_factor": 0.25}),
}


@pytest.mark.parametrize("name", GuardSettings.model_fields)
def test_every_guard_setting_acts(name: str, tmp_path: Path) -> None:
    assert name in GUARD_CASES, f"guards.{name} has no case here: add one that shows what it does"
    aspect, learner, base, change = GUARD_CASES[name]
    before = outcome(tmp_path / "a", "guards", base, learner())
    if name in (
        "finite_patience",
        "drift_patience",
        "overfit_patience",
        "rewind_factor",
    ):  # one of each kind of learner
        assert outcome(tmp_path / "b", "guards", base, learner()) == before
    assert outcome(tmp_path / "c", "guards", {**base, **change}, learner())[aspect] != before[aspect]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Four clips, ready to train on: short, two in the middle of which one is marked, long and by somebody else."""
    root = tmp_path_factory.mktemp("data")
    ws = Workspace.create(root / "ws", language="ibo")
    clips = []
    for id, seconds in {"short": 0.4, "good": 1.0, "marked": 1.0, "long": 3.0}.items():
        time = np.arange(round(seconds * 16000)) / 16000
        io.write(root / f"{id}.wav", Audio((0.3 * np.sin(2 * np.pi * 220 * time)).astype(np.float32), 16000))
        sound = {"audio": f"s1/{id}.wav", "seconds": seconds, "rate": 16000}
        who, text = ("ana", "ab a ab") if id == "long" else ("obi", "ab a")
        clips.append(Clip(id=id, **sound, text=text, language="ibo", speaker=who))
    Corpus.save(ws, clips, [Source(name="s1", root=str(root), layout="folder")], {clip.id: "train" for clip in clips})
    finish(read_corpus(ws))
    finish(prepare(ws, rate=16000, jobs=1))
    mark = {"id": "marked", "check": "silent", "severity": "error", "value": 1.0, "message": "it is silent"}
    write_jsonl(ws.audit_folder / "audit.jsonl", [mark, {**mark, "id": "good", "severity": "warn"}])
    return ws


DATA_CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "min_seconds": ({"min_seconds": 0.2}, ["short", "good", "long"]),
    "max_seconds": ({"max_seconds": 2.0}, ["good"]),
    "leave_out_errors": ({"leave_out_errors": False}, ["good", "marked", "long"]),
    "speakers": ({"speakers": ["ana"]}, ["long"]),
    "max_tokens": ({"max_tokens": 13}, ["good"]),
    "train_clips": ({"train_clips": 1}, ["good"]),
    "valid_clips": ({"valid_clips": 1}, ["good", "long"]),  # see the next test
    "hold_back": ({"hold_back": 0.47}, ["long"]),
    "everything": ({"everything": True}, ["good", "long"]),  # see test_everything_is_every_side
    "resample": ({"resample": 0.8, "max_seconds": 3.5}, ["good"]),  # its 3 s become 3.75
    "edges": ({"edges": 0.1}, ["good", "long"]),  # these two: tests/features/test_sound.py
    "loudness": ({"loudness": -20.0}, ["good", "long"]),
    "pauses": ({"pauses": 0.2}, ["good", "long"]),  # tests/align/test_pauses.py
    # these change the sound, and no choice: tests/train/test_augment.py
    "augment_speed": ({"augment_speed": 0.1}, ["good", "long"]),
    "augment_pitch": ({"augment_pitch": 1.0}, ["good", "long"]),
    "augment_formants": ({"augment_formants": 1.0}, ["good", "long"]),
    "augment_room": ({"augment_room": 1.0}, ["good", "long"]),
    "augment_noise": ({"augment_noise": 1.0}, ["good", "long"]),
    "augment_noise_db": ({"augment_noise": 1.0, "augment_noise_db": 3.0}, ["good", "long"]),
    "augment_codec": ({"augment_codec": 1.0}, ["good", "long"]),
}


@pytest.mark.parametrize("name", DataSettings.model_fields)
def test_every_data_setting_acts(name: str, workspace: Workspace) -> None:
    assert name in DATA_CASES, f"data.{name} has no case here: add one that shows what it does"
    change, expected = DATA_CASES[name]
    assert set_up(workspace, recipe_for({}), device="cpu").train == ["good", "long"]
    workspace.alignment.mkdir(exist_ok=True)
    alignment_path(workspace).touch()  # of no clip
    try:
        finish(prepare(workspace, rate=16000, **sound_of(recipe_for(change)), jobs=1))
        assert set_up(workspace, recipe_for(change), device="cpu").train == expected
    finally:
        alignment_path(workspace).unlink()
        finish(prepare(workspace, rate=16000, jobs=1))


def test_valid_clips_limits_the_validation(workspace: Workspace) -> None:
    assert set_up(workspace, recipe_for({}), device="cpu").valid == ["good", "long"]
    assert set_up(workspace, recipe_for({"valid_clips": 1}), device="cpu").valid == ["good"]


def test_what_is_held_back_is_validated_with(workspace: Workspace) -> None:
    setup = set_up(workspace, recipe_for({"hold_back": 0.47, "min_seconds": 0.2}), device="cpu")
    assert (setup.train, setup.valid) == (["short", "long"], ["good"])  # by a hash of the ids: 0.465 is good's


def test_everything_is_every_side(workspace: Workspace) -> None:
    corpus = Corpus.open(workspace)
    sides: dict[str, Split | None] = {"short": "train", "good": "valid", "marked": "train", "long": "train"}
    Corpus.save_splits(workspace, corpus.clips, sides)
    try:
        asked = {"speakers": ["ana", "obi"]}
        assert set_up(workspace, recipe_for({**asked, "min_seconds": 0.2}), device="cpu").train == ["short", "long"]
        setup = set_up(workspace, recipe_for({**asked, "everything": True}), device="cpu")
        assert (setup.train, setup.valid) == (["good", "long"], ["good"])
    finally:
        Corpus.save_splits(workspace, corpus.clips, dict.fromkeys(sides, "train"))
    with pytest.raises(ConfigError, match="hold_back and everything exclude each other"):
        check(DataSettings, {"hold_back": 0.1, "everything": True}, where="recipe")


def test_plan_settings_that_the_set_up_reads(workspace: Workspace, tmp_path: Path) -> None:
    recipe = recipe_for({}, plan={"sentences": ["ab", "b a a"], "demo_clips": 0, "steps": 1})
    reports = list(set_up(workspace, recipe, device="cpu").engine(Run(tmp_path)).train())
    assert [exhibit.name for exhibit in reports[-1].exhibits] == ["sentence-1", "sentence-2"]
    with pytest.raises(TrainError, match="'!!' holds nothing this voice can say"):
        set_up(workspace, recipe_for({}, plan={"sentences": ["!!"]}), device="cpu")
    with pytest.raises(TrainError, match="freeze_old_rows has no effect without --base or --from-run"):
        set_up(workspace, recipe_for({}, plan={"freeze_old_rows": True}), device="cpu")


def recipe_for(data: dict[str, Any], **more: Any) -> Recipe:
    return Recipe.model_validate({"model": {"size": "tiny"}, "data": data, **more})


def test_what_is_left_out_is_named_with_its_reason(workspace: Workspace) -> None:
    setup = set_up(workspace, recipe_for({"max_seconds": 2.0}), device="cpu")
    left_out = setup.documents["left_out.json"]
    assert left_out["marked"] == "audit: it is silent"
    assert "0.4 s" in left_out["short"] and "data.min_seconds" in left_out["short"]
    assert "3 of 4 clips left out" in setup.notes[0] and "short (" in setup.notes[0]
    with pytest.raises(TrainError, match=r"no clip is left to train on; the first left out is short: 0\.4 s"):
        set_up(workspace, recipe_for({"min_seconds": 5.0}), device="cpu")


def test_every_setting_of_the_recipe_itself_acts(workspace: Workspace, tmp_path: Path) -> None:
    def other_seed() -> None:
        one, two = (outcome(tmp_path / str(seed), "", {"seed": seed}) for seed in (1, 2))
        assert one["batches"] != two["batches"] and one["losses"] != two["losses"]
        first, second = (set_up(workspace, recipe_for({}, seed=seed), device="cpu").learner for seed in (1, 2))
        assert toys.differing(first.state_dict(), second.state_dict())
        assert not toys.differing(
            first.state_dict(), set_up(workspace, recipe_for({}, seed=1), device="cpu").learner.state_dict()
        )

    def other_family() -> None:
        with pytest.raises(ConfigError, match="unknown family 'vitz'; did you mean 'vits'"):
            set_up(workspace, recipe_for({}, family="vitz"), device="cpu")

    def other_base() -> None:
        with pytest.raises(TrainError, match="'/no/where' is not there"):
            finish(prepare_run(workspace, recipe_for({}, base="/no/where")))

    def other_model() -> None:
        shapes = [
            {name: tuple(t.shape) for name, t in set_up(workspace, recipe, device="cpu").learner.state_dict().items()}
            for recipe in (recipe_for({}), recipe_for({}, model={"size": "tiny", "hidden_size": 24}))
        ]
        assert shapes[0] != shapes[1]
        with pytest.raises(ConfigError, match="unknown key 'hiden_size'; did you mean 'hidden_size'"):
            set_up(workspace, recipe_for({}, model={"hiden_size": 24}), device="cpu")

    def other_voice() -> None:
        with pytest.raises(TrainError, match=r"voice\.vocoder has no effect: the family 'vits' needs none"):
            set_up(workspace, recipe_for({}, voice={"vocoder": "vocoder-001"}), device="cpu")

    def other_match() -> None:
        with pytest.raises(TrainError, match="match has no effect: the family 'vits' is no vocoder"):
            set_up(workspace, recipe_for({}, match="acoustic-001@10"), device="cpu")

    cases = {"seed": other_seed, "family": other_family, "base": other_base, "model": other_model}
    cases |= {"voice": other_voice, "match": other_match}
    sections = {"data", "plan", "guards"}  # field by field above
    assert cases.keys() | sections == Recipe.model_fields.keys()
    for case in cases.values():
        case()


def test_bf16_on_a_cpu_without_it_is_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olu.train.setup.start.cpu_has_bf16", lambda: False)
    with pytest.raises(TrainError, match="bf16 is for GPUs"):
        set_up(workspace, recipe_for({}, plan={"precision": "bf16"}), device="cpu")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ({"discriminator_periods": [2, 60000]}, "discriminator_periods must be below segment_size, 4096"),
        ({"discriminator_periods": [4096]}, "discriminator_periods must be below segment_size, 4096"),
        ({"hidden_size": 1000000}, "hidden_size: Input should be less than or equal to 16384"),
        ({"discriminator_period_channels": [1000000]}, "less than or equal to 16384"),
        ({"num_hidden_layers": 100000}, "num_hidden_layers: Input should be less than or equal to 256"),
        ({"hidden_size": True}, "hidden_size: true and false are no numbers"),
        ({"upsample_rates": [8, 8, True]}, "upsample_rates: true and false are no numbers"),
        ({"noise_scale": 5}, "noise_scale: Input should be less than or equal to 2"),
        ({"speaking_rate": 50}, "speaking_rate: Input should be less than or equal to 4"),
    ],
)
def test_a_model_that_cannot_be_is_refused_before_anything_is_made(model: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(family("vits").config, {"size": "tiny", **model}, where="recipe")
    assert says in str(caught.value)


def test_a_voice_is_made_with_what_speaking_allows() -> None:
    from olu.families.vits import config
    from olu.speak import stream

    assert stream.MOST_NOISE == config.MOST_NOISE and (stream.SLOWEST, stream.FASTEST) == config.SPEAKING_RATE


def test_the_longest_period_of_a_judge_still_folds() -> None:
    from olu.nn.discriminators import PeriodDiscriminator

    config = check(family("vits").config, {"size": "tiny", "discriminator_periods": [4095]}, where="recipe")
    judge = PeriodDiscriminator(4095, config.discriminator_period_channels)  # type: ignore[attr-defined]
    assert judge.folded(torch.zeros(1, 1, 4096)).shape == (1, 1, 2, 4095)


def test_the_largest_seed_trains(workspace: Workspace) -> None:
    setup = set_up(workspace, recipe_for({}, seed=2**63 - 1), device="cpu")
    assert setup.batches().plan(0)


def test_a_model_larger_than_the_memory_is_one_sentence() -> None:
    from olu.stages.train import _room

    with pytest.raises(TrainError, match="does not fit into the memory"), _room():
        torch.empty(2**60)
    with pytest.raises(RuntimeError, match="something else"), _room():
        raise RuntimeError("something else")


def test_a_dry_run_rehearses_a_part_of_many_micro_batches(workspace: Workspace) -> None:
    from olu.train.dry_run import REHEARSED, dry_run

    plain = recipe_for({}, plan={"accumulate": 1024, "batch_clips": 1})
    setup = set_up(workspace, plain, device="cpu")
    taken: list[int] = []
    make = setup.learner.collate
    setup.learner.collate = lambda clips: (taken.append(len(clips)), make(clips))[1]  # type: ignore[assignment, operator]
    assert dry_run(setup)["seconds_per_step"] > 0
    assert 3 * REHEARSED <= len(taken) < 6 * REHEARSED
