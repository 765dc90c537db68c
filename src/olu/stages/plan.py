"""Read the corpus, its audit and the machine, and write a recipe with a reason for every line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from olu.align.state import alignment_path
from olu.core.config import check, with_overrides
from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace, hash_file, hash_value, write_text
from olu.core.job import Job, phase
from olu.core.machine import Machine, this_machine
from olu.core.places import is_here, located, named
from olu.core.stage import Stage, need_training
from olu.core.told import Caution, Remedy, TextTable, Told, Verbatim
from olu.core.words import length, lines, size
from olu.corpus.decisions import hash_chosen
from olu.corpus.doubts import in_doubt
from olu.corpus.manifest import Corpus, fingerprint, sides
from olu.corpus.speakers import hash_speakers
from olu.families import FAMILIES, family_of_base
from olu.families import family as family_named
from olu.families.runs import voices
from olu.stages.audit import audit, read_thresholds
from olu.stages.bases import BaseAdvice, advise
from olu.stages.import_ import doubts_of
from olu.stages.train_setup import first_command, prepare_run, set_up
from olu.stages.tune_results import findings
from olu.stages.verbs.training import PlanOptions
from olu.train.base_facts import licence_of
from olu.train.family import Family
from olu.train.plan.case import foundation_of, material_of, most_of_one
from olu.train.plan.facts import Case, Foundation, Plan
from olu.train.plan.planner import make_plan, plan_head, plan_toml, recipe_of
from olu.train.recipe import Recipe, read_recipe

PLAN_VERSION = 1
HOURS_UNASKED = 1.0  # of training from scratch on too little speech that nobody has asked for
MAIN = ("model.size", "model.learning_rate", "plan.steps", "plan.batch_clips")  # said in one line


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    marks = ws.audit_folder / "audit.jsonl"
    held = hash_file(marks) if marks.exists() else ""
    known = [PLAN_VERSION, fingerprint(ws), sides(ws), hash_chosen(ws), held, alignment_path(ws).exists()]
    spoken_by = hash_speakers(ws)
    return hash_value([*known, spoken_by] if spoken_by else known)


STAGE = Stage(name="plan", command="olu plan {ws}", folder=".", inputs=_inputs)


@dataclass(frozen=True)
class PlanSummary:
    recipe: str | None  # where it was written
    text: str
    settings: list[dict[str, Any]]  # key, value and reason
    machine: dict[str, Any]
    hours_of_speech: float
    hours_expected: float
    seconds_per_step: float
    pace: str  # where that figure comes from
    memory_bytes: float
    measured: dict[str, Any]  # by --measure
    notes: list[str]
    command: str
    advice: str  # what to begin with instead, where there is too little speech to train from scratch
    next: str
    first: str = ""  # a command that comes before the training

    def sentences(self, options: PlanOptions) -> Iterator[Told]:
        if options.only_print:
            yield Verbatim(lines(self.text))
            return
        if self.first:
            yield f"First: {self.first} (durations are learnt from an alignment)"
        rows = [[one["key"], str(one["value"]), one["reason"]] for one in self.settings]
        yield TextTable(["setting", "value", "why"], rows)
        yield from (Caution(f"note: {note}") for note in self.notes)
        expected = f"{length(self.hours_expected * 3600)} ({self.pace}), {size(self.memory_bytes)} of memory"
        yield f"Expected: {expected}. Written: {self.recipe}"
        yield from in_doubt(doubts_of(Workspace.open(options.ws)))
        if self.advice:
            yield self.advice
        yield f"Next: {self.next}"


def run(options: PlanOptions) -> Job[PlanSummary]:
    """`olu plan`"""
    if options.from_scratch and options.base:
        raise ConfigError("--from-scratch and --base exclude each other: leave one out")
    return plan(
        Workspace.open(options.ws),
        base=options.base,
        overrides=list(options.changes),
        device=options.device,
        measure=options.measure,
        write=not options.only_print,
        force=options.force,
        scratch=options.from_scratch,
    )


def recipe_path(ws: Workspace) -> Path:
    return ws.root / "recipe.toml"


def plan(
    ws: Workspace,
    *,
    base: Path | None = None,
    overrides: list[str] | None = None,
    device: str | None = None,
    measure: bool = False,
    write: bool = True,
    force: bool = False,
    scratch: bool = False,
) -> Job[PlanSummary]:
    """Make the recipe. One that a person wrote or edited is never written over without `force`.

    On too little speech it begins with a base, unless one is named or `scratch` says that there shall be none.
    """
    path, machine = recipe_path(ws), this_machine(device)
    if write and not force and is_edited(ws):
        raise TrainError(f"{path} was edited by hand and is kept: --print shows the plan, --force writes it over yours")
    changes = _changes(overrides, base, infer=True)
    if write and family_named(read_recipe(None, changes).family).kind != "voice":
        raise TrainError(f"{path} is the recipe of the voice, and a recogniser is none: --print shows its plan")
    made, case, family = yield from _made(ws, changes=changes, machine=machine, may_take=not scratch)
    made = replace(made, notes=(*made.notes, *findings(ws, family.name)))
    advice = _scratch_advice(ws, case, family)
    if write and not scratch:
        _refuse_unasked(advice, made)
    measured: dict[str, Any] = {}
    if measure:
        measured = yield from _measure(ws, made, changes, device=machine.device)
        pace, said = measured["seconds_per_step"], "measured here"
        made = replace(make_plan(case, family, pace=pace), pace_reason=said, notes=made.notes)
    settings = check(Recipe, with_overrides(made.values(), changes), where="recipe")
    bases = {} if case.base is None else case.base.settings
    first = first_command(ws, family, check(family.config, {**bases, **settings.model}, where="recipe [model]"))
    command = f"olu train {shlex.quote(str(ws.root))}" + (
        f" --device {machine.device}" if machine.device != "cpu" else ""
    )
    warning = advice.sentence() if advice else ""
    head = [
        *([f"First: {first}"] if first else []),
        *plan_head(ws.name, made, case, command, measured),
        *filter(None, [warning]),
    ]
    text = plan_toml(made, head=head)
    if write:
        write_text(path, text)
        STAGE.stamp(ws, {}, {"recipe": hash_file(path)})
    return PlanSummary(
        recipe=str(path) if write else None,
        text=text,
        settings=[asdict(one) for one in made.settings],
        machine=asdict(machine),
        hours_of_speech=round(case.material.hours, 3),
        hours_expected=float(f"{made.hours:.3g}"),
        seconds_per_step=round(made.seconds_per_step, 3),
        pace=made.pace_reason,
        memory_bytes=round(made.bytes_needed),
        measured=measured,
        notes=list(made.notes),
        command=command,
        advice=warning,
        next=first or command,
        first=first,
    )


def choose_recipe(
    ws: Workspace,
    *,
    recipe: Path | None,
    overrides: list[str] | None,
    base: Path | None,
    device: str,
    scratch: bool = True,
) -> Job[tuple[Recipe, list[str]]]:
    """What a training trains: the recipe that is named, the workspace's own, or a plan made on the spot.

    Without `scratch` such a plan is refused where it would take hours from scratch on too little speech.
    """
    changes, own = _changes(overrides, base, infer=recipe is None), recipe_path(ws)
    if recipe is not None:
        settings = read_recipe(recipe, changes)
        return settings, _licence(settings)
    notes = []
    asked = with_overrides({}, changes).get("family")
    if own.exists() and asked and asked != (held := read_recipe(own, []).family):
        notes = [f"{own} is for the family {held!r} and is not used"]
    elif own.exists():
        planned = read_recipe(own, [])
        if base is None or planned.base == named(base.as_posix()):
            stale = not is_edited(ws) and STAGE.state(ws) == "stale"
            notes = (
                [f"the corpus has changed since {own} was planned: 'olu plan {ws.root}' plans anew"] if stale else []
            )
            settings = read_recipe(own, changes)
            return settings, [f"settings from {own}", *notes, *_licence(settings)]
        notes = [f"{own} is for another base and is not used"]
    bare = read_recipe(None, changes)
    family = family_named(bare.family)
    if bare.base is None:
        check(family.config, bare.model, where="recipe [model]")
    if family.advice is None:
        return bare, notes
    try:
        made, case, family = yield from _made(ws, changes=changes, machine=this_machine(device.partition(":")[0]))
    except NothingToPlan:
        return bare, notes  # the training says which clips are left out, and why
    settings = check(Recipe, with_overrides(made.values(), changes), where="recipe")
    advice = _scratch_advice(ws, case, family)
    if not scratch:
        _refuse_unasked(advice, made)
    return settings, [*notes, _in_short(ws, made, scratch=advice is not None), *made.notes, *_licence(settings)]


def advice_on(ws: Workspace, recipe: Recipe) -> BaseAdvice | None:
    """For a training that begins with no weights: what it should begin with, where there is too little speech."""
    family = family_named(recipe.family)
    if recipe.base is not None or not (family.kind == "voice" and family.bases and family.bases.table):
        return None
    return advise(most_of_one(Corpus.open(ws)), language=ws.language, limits=read_thresholds(ws))


def forecast(ws: Workspace, *, overrides: list[str], device: str) -> Job[tuple[int, float | None]]:
    """How many steps a training with these changes has, and about how many hours they take."""
    settings, _ = yield from choose_recipe(ws, recipe=None, overrides=overrides, base=None, device=device)
    steps, size = settings.plan.steps, settings.model.get("size")
    decided = [f"plan.steps={steps}", f"plan.batch_clips={settings.plan.batch_clips}"]
    decided += [f"model.size={size}"] if size else []
    try:
        made, _, _ = yield from _made(ws, changes=[*overrides, *decided], machine=this_machine(device))
    except NothingToPlan:
        return steps, None
    return steps, made.hours


def _scratch_advice(ws: Workspace, case: Case, family: Family) -> BaseAdvice | None:
    """For a voice that would be trained without a base, of a family that has published ones."""
    if case.base or not (family.kind == "voice" and family.bases and family.bases.table):
        return None
    return advise(case.material.most_seconds, language=ws.language, limits=read_thresholds(ws))


def _refuse_unasked(advice: BaseAdvice | None, made: Plan) -> None:
    if advice and made.hours > HOURS_UNASKED:
        raise TrainError(
            f"{advice.sentence()} Add {advice.option}, or --from-scratch to train about {length(3600 * made.hours)}"
            " without"
        )


class NothingToPlan(TrainError):
    pass


def _changes(overrides: list[str] | None, base: Path | None, *, infer: bool) -> list[str]:
    """What was asked for. `infer`: a base that is surely of one family brings that with it, where none is named."""
    changes = [*(overrides or []), *([f"base={named(base.as_posix())}"] if base else [])]
    if base is None or not infer or "family" in with_overrides({}, changes):
        return changes
    found = family_of_base(base)
    return [f"family={found}", *changes] if found else changes


def _licence(recipe: Recipe) -> list[str]:
    """What may be done with a voice from its base; nothing where the base is not here, as with weights of a run."""
    bases = family_named(recipe.family).bases
    if recipe.base is None or not is_here(recipe.base) or not (bases and bases.licensed):
        return []
    return [f"base {recipe.base}: {licence_of(located(recipe.base), origin=recipe.base).sentence()}"]


def is_edited(ws: Workspace) -> bool:
    path, stamp = recipe_path(ws), ws.stamped(STAGE.name)
    return path.exists() and (stamp is None or stamp["summary"].get("recipe") != hash_file(path))


def _made(
    ws: Workspace, *, changes: list[str], machine: Machine, may_take: bool = False
) -> Job[tuple[Plan, Case, Family]]:
    """The plan, what it is made from, and its family. `may_take`: a base that nobody named, if it is needed."""
    given, bare, why, notes = with_overrides({}, changes), read_recipe(None, changes), "", tuple[str, ...]()
    family = family_named(bare.family)
    if "family" not in given and bare.base is None and "model" not in given:
        family, why, notes = yield from preferred(ws, bare, device=machine.device)
    if family.advice is None:
        raise TrainError(f"the family {family.name!r} has no plan of its own: write a recipe")
    base = foundation_of(family, bare, language=ws.language) if bare.base else None
    if base is None:
        check(family.config, bare.model, where="recipe [model]")
    heard = yield from phase("listening", audit(ws))
    material = material_of(Corpus.open(ws), bare.data, family, verdict=heard.verdict)
    if not material.pieces:
        raise NothingToPlan(f"no clip is left to train on: 'olu audit {ws.root}' says why")
    case = Case(material=material, machine=machine, base=base, given=given, why=why)
    if may_take and case.asked("model.size") is None and (advice := _scratch_advice(ws, case, family)):
        case = replace(case, base=_taken(ws, family, bare, advice))
    made = make_plan(case, family)
    return replace(made, notes=(*made.notes, *notes)), case, family


def preferred(
    ws: Workspace, recipe: Recipe, *, device: str, aligned: bool = False
) -> Job[tuple[Family, str, tuple[str, ...]]]:
    """The family that a plan takes where nobody names one, why, and what is said of others that suit the corpus.

    One that needs a vocoder is taken on a GPU only, where that is trained in minutes. `aligned`: the corpus will be,
    before the training.
    """
    usual = family_named(recipe.family)
    heard = yield from phase("listening", audit(ws))
    said = list[str]()
    for name in FAMILIES:
        other = family_named(name)
        if other.kind != "voice" or other.advice is None or other.advice.suits is None:
            continue
        material = material_of(Corpus.open(ws), recipe.data, other, verdict=heard.verdict)
        offer = other.advice.suits(material) if material.pieces else None
        taken = offer is not None and offer.taken and device != "cpu"
        if offer and taken and (aligned or material.aligned):
            with_it = f"'olu make {ws.root}' trains its vocoder too, matches and exports; by hand that begins with"
            return other, offer.why, (f"{with_it} 'olu train {ws.root} --set family=vocoder'",)
        if offer and material.aligned:
            said.append(f"{offer.why} 'olu plan {ws.root} --set family={name}' plans that")
        elif offer and taken:
            said.append(f"'olu align {ws.root}' first, and the plan would take {name}: {offer.why}")
    return usual, "", tuple(said)


def _taken(ws: Workspace, family: Family, recipe: Recipe, advice: BaseAdvice) -> Foundation | None:
    if not advice.to_take:
        return None
    base = foundation_of(family, recipe.model_copy(update={"base": advice.to_take}), language=ws.language)
    return replace(base, why=advice.sentence_of_taking())


def _measure(ws: Workspace, made: Plan, changes: list[str], *, device: str) -> Job[dict[str, Any]]:
    need_training("olu plan --measure")
    from olu.train.dry_run import dry_run

    settings = check(Recipe, with_overrides(recipe_of(made).model_dump(), changes), where="recipe")
    yield from prepare_run(ws, settings)
    dry = dry_run(set_up(ws, settings, device=device))
    return {key: dry[key] for key in ("seconds_per_step", "memory_measured", "memory_predicted")}


def _in_short(ws: Workspace, made: Plan, *, scratch: bool) -> str:
    option = " --from-scratch" if scratch else ""
    named = ", ".join(f"{key.partition('.')[2].replace('_', ' ')} {made[key]}" for key in MAIN if key in made)
    return (
        f"no recipe: planned here ({named}; about {length(3600 * made.hours)}, {size(made.bytes_needed)});"
        f" 'olu plan {shlex.quote(str(ws.root))}{option}' writes it down with its reasons"
    )


def training_advice(ws: Workspace) -> BaseAdvice | None:
    """Bases to begin with where there is too little speech; None without a corpus."""
    if not (ws.corpus / "clips.jsonl").exists():
        return None
    return advise(most_of_one(Corpus.open(ws)), language=ws.language, limits=read_thresholds(ws))


def training_command(ws: Workspace) -> Remedy:
    """The training to run next: by the recipe if there is one, else from a base where that is advised."""
    plain = Remedy("train", (ws.root,))
    if recipe_path(ws).exists():
        return plain
    before = voices(ws)[-1:]
    if before and (base := before[0].recipe.base) and is_here(base):
        return replace(plain, options={"base": base})
    advice = training_advice(ws)
    return replace(plain, options={"base": advice.offers[0].base}) if advice else plain
