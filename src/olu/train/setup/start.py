"""Where a training begins: from nothing, from a base, from another run's weights, or where a run was left.

`resolve_start` is the only step of the set-up that knows which of them was asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from olu.align.state import DOCUMENT as PAUSES
from olu.align.state import Marks
from olu.core.config import check, flat
from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.machine import cpu_has_bf16
from olu.core.places import located
from olu.core.types import Reading
from olu.corpus.manifest import Corpus
from olu.features.store import ClipArrays
from olu.text.pieces import tag_of, vocabulary_from
from olu.text.vocabulary import SymbolVocabulary
from olu.train.checkpoint import Checkpoint
from olu.train.family import Base, Companion, Family, Written
from olu.train.grow_symbols import Growth, enlarged_checkpoint
from olu.train.kokoro import refuse_kokoro
from olu.train.ranks import Ranks
from olu.train.recipe import DataSettings, Recipe
from olu.train.run import Run
from olu.train.validation import Ear

RunStep = tuple[Run, int]  # a checkpoint of a run


@dataclass(frozen=True)
class SampleListener:
    """The recogniser that hears a training's samples."""

    run: str  # its name; a run that goes on hears with the same
    ear: Callable[[Mapping[str, Reading]], Ear]  # of what each sample says, by its name


@dataclass(frozen=True)
class TrainingRequest:
    """What a training is asked to be; nothing of its corpus is read yet."""

    ws: Workspace
    family: Family
    recipe: Recipe
    device: str
    run: Run | None = None  # to go on with
    start: RunStep | None = None  # a checkpoint of another run to begin from
    ranks: Ranks = field(default_factory=Ranks)
    listener: SampleListener | None = None
    companions: tuple[Companion, ...] = ()  # of runs of other kinds that this one needs
    features: Mapping[str, ClipArrays] = field(default_factory=dict)  # beside those that its family declares


@dataclass(frozen=True)
class KeptDecisions:
    """What a run that goes on has decided when it began."""

    run: str
    vocabulary: SymbolVocabulary
    frontend: dict[str, Any]  # its state
    speakers: list[str]
    pauses: Marks | None
    held_rows: int
    started_from: str | None  # RUN@STEP
    companions: dict[str, str]  # name -> digest


@dataclass(frozen=True)
class TrainingStart:
    """Where a training begins. The later steps of the set-up ask this, never how it was called."""

    ws: Workspace
    family: Family
    recipe: Recipe  # with every setting of the model
    config: Any
    device: str
    base: Base | None = None
    weights: RunStep | None = None  # a checkpoint of another run
    kept: KeptDecisions | None = None  # of a run that goes on
    writes: Written | None = None  # what a family that listens is to write
    companions: tuple[Companion, ...] = ()  # frozen modules

    @property
    def before(self) -> Run | None:
        return self.weights[0] if self.weights else None

    @property
    def started_from(self) -> str | None:
        if self.kept:
            return self.kept.started_from
        return f"{self.weights[0].name}@{self.weights[1]}" if self.weights else None


def check_half(precision: str) -> None:
    """Refuses what a CPU would only emulate, many times slower; no plan takes bf16 there, a person may."""
    if precision != "bf16" or not cpu_has_bf16():
        also = "" if precision == "bf16" else ", or in bf16 where it has that"
        raise TrainError(f"plan.precision = {precision} is for GPUs: on this CPU train in fp32{also}")
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # some tell of AMX and die when it is used


def resolve_start(asked: TrainingRequest, corpus: Corpus) -> TrainingStart:
    """A request as a place to begin at; a recipe that cannot work there is refused."""
    family, run, weights = asked.family, asked.run, asked.start
    check_sound(family, asked.recipe)
    base = read_base(family, asked.recipe, run or (weights[0] if weights else None))
    config = config_for(family, asked.recipe, base)
    recipe = without_samples(asked.recipe.model_copy(update={"model": config.model_dump(mode="json")}), family)
    writes = family.hears.targets(config, language=asked.ws.language) if family.hears else None
    if recipe.plan.precision != "fp32" and asked.device == "cpu":
        check_half(recipe.plan.precision)
    if writes and run is None:
        check_unheard(asked.ws, recipe, corpus)
    kept = kept_by(run, recipe, reads="text" in family.data.needs) if run else None
    if run and kept and kept.started_from and not run.checkpoints().steps():
        weights = parse_start(asked.ws, kept.started_from)
    companions = (*asked.companions, *companions_of(family, config, base))
    if kept and kept.companions != {one.name: one.sha256 for one in companions}:
        raise TrainError(f"{kept.run} began with other frozen modules ({', '.join(kept.companions)}): bring them back")
    return TrainingStart(
        asked.ws,
        family,
        recipe,
        config,
        asked.device,
        base=base,
        weights=weights,
        kept=kept,
        writes=writes,
        companions=companions,
    )


def companions_of(family: Family, config: Any, base: Base | None) -> tuple[Companion, ...]:
    """The frozen modules that a family brings itself."""
    bases = family.bases
    return tuple(bases.companions(config, base)) if bases and bases.companions else ()


def kept_by(run: Run, recipe: Recipe, *, reads: bool = True) -> KeptDecisions:
    """What the files of a run say of how it began; one that learns from sound alone reads nothing."""
    facts = run.document("facts.json")
    return KeptDecisions(
        run=run.name,
        vocabulary=vocabulary_of(run),
        frontend=run.document("frontend.json") if reads else {},
        speakers=run.document("speakers.json"),
        pauses=run.document(PAUSES) if recipe.data.pauses else None,
        held_rows=int(facts.get("held_rows", 0)),
        started_from=facts.get("from"),
        companions=facts.get("companions", {}),
    )


def vocabulary_of(run: Run) -> SymbolVocabulary:
    return vocabulary_from(run.document("vocabulary.json"))


def rate_for(family: Family, recipe: Recipe, *, run: Run | None = None) -> int:
    """The sampling rate that a recipe needs; one that cannot work is refused."""
    check_sound(family, recipe)
    return family.data.rate(config_for(family, recipe, read_base(family, recipe, run)))


def without_samples(recipe: Recipe, family: Family) -> Recipe:
    """The recipe of a family that does not speak: nothing in it asks for samples."""
    if family.kind != "listener":
        return recipe
    if recipe.plan.sentences:
        raise TrainError(f"recipe: plan.sentences has no effect: the family {family.name!r} does not speak")
    if recipe.plan.choose != "loss":
        raise TrainError(f"recipe: plan.choose = 'heard' has no effect: the family {family.name!r} does not speak")
    return recipe.model_copy(update={"plan": recipe.plan.model_copy(update={"demo_clips": 0})})


def check_unheard(ws: Workspace, recipe: Recipe, corpus: Corpus) -> None:
    """A recogniser that measures CER must not be fine-tuned from one that was trained on the test clips."""
    if recipe.base is None or recipe.data.everything:
        return
    base = Run(Path(recipe.base))
    here = base.folder.resolve().parent == ws.runs_folder.resolve()
    if base.recipe.data.everything and (here or base.document("facts.json").get("corpus") == corpus.fingerprint):
        raise TrainError(
            f"recipe: base: {base.name} has learnt from all clips of this corpus, also those that tell how well one"
            " hears: start from a recogniser of another corpus, or set data.everything=true for one that aligns"
        )


def check_sound(family: Family, recipe: Recipe) -> None:
    usual = DataSettings()
    for name in ("resample", "edges", "loudness", "pauses"):
        value = getattr(recipe.data, name)
        if value != getattr(usual, name) and family.kind == "listener":
            raise TrainError(
                f"recipe: data.{name} = {value:g} is for voices: {family.name} listens to recordings as they are:"
                " leave it out"
            )


def parse_start(ws: Workspace, text: str) -> RunStep:
    """RUN or RUN@STEP; without a step, the best one."""
    name, _, at = text.partition("@")
    run = Run.named(ws.runs_folder, name)
    steps = run.checkpoints().steps()
    if not steps:
        raise TrainError(f"{name} has no checkpoint to start from")
    if at and (not at.isdigit() or int(at) not in steps):
        raise TrainError(f"{name} has no checkpoint at step {at!r}; it has: {', '.join(map(str, steps))}")
    return run, int(at) if at else int((run.best or {"step": steps[-1]})["step"])


def begun_from(
    start: RunStep, *, family: Family, learner: nn.Module, growth: Growth | None, speakers: list[str]
) -> Checkpoint:
    """The checkpoint of another run, with rows for what is new since: speakers and symbols."""
    run, step = start
    checkpoint, old = run.checkpoints().load(step), len(run.document("speakers.json"))
    bases = family.bases
    if bases and bases.fold_speakers and len(speakers) > old:
        checkpoint = bases.fold_speakers(checkpoint, learner, old=old)
    if bases and growth and growth.changes:
        checkpoint = enlarged_checkpoint(checkpoint, bases.symbol_rows, growth)
    return checkpoint


def check_fits(learner: nn.Module, start: RunStep, checkpoint: Checkpoint) -> None:
    """Refuse weights of another shape before a run is made."""
    for name, tensor in learner.state_dict().items():
        held = checkpoint.weights.get(f"learner/{name}")
        if held is None or held.shape != tensor.shape:
            has = "nothing" if held is None else f"shape {tuple(held.shape)}"
            raise TrainError(
                f"{start[0].name} has {has} for {name}, these settings need {tuple(tensor.shape)}: keep its [model]"
            )


def read_base(family: Family, recipe: Recipe, run: Run | None = None) -> Base | None:
    """A run with a checkpoint has all it needs; its base may be gone by then."""
    if recipe.base is None or (run and run.checkpoints().steps()):
        return None
    place = located(recipe.base) if family.kind != "listener" else Path(recipe.base)
    refuse_kokoro(place)
    if family.bases is None:
        raise TrainError(f"recipe: base: the family {family.name!r} starts from none: leave it out")
    return family.bases.read(place)


def config_for(family: Family, recipe: Recipe, base: Base | None) -> Any:
    if base and "size" in recipe.model and recipe.model["size"] != base.settings["size"]:
        raise TrainError(
            f"recipe: model.size = {recipe.model['size']!r} has no effect with a base: the base has its own"
        )
    tuning = family.advice.tuning if family.advice else None
    if base:
        check_decided(base, recipe)
    under = {**base.settings, **(tuning(base) if tuning else {})} if base else {}
    return check(family.config, {**under, **recipe.model}, where="recipe [model]")


def check_decided(base: Base, recipe: Recipe) -> None:
    """Refuse a recipe that has settings otherwise that only a base decides."""
    for name in base.decides:
        own = base.settings.get(name)
        if name in recipe.model and own is not None and recipe.model[name] != own:
            raise TrainError(f"recipe: model.{name} is the base's own, which has {own}: leave it out")


def check_read(family: Family, config: Any, base: Base, languages: Iterable[str]) -> None:
    """Refuse letters that a base would cut otherwise than it has learnt; phones are cut alike in every language."""
    if family.data.by_phones(config):
        return
    for code in languages:
        if why := base.unread.get(tag_of(code)):
            raise TrainError(
                f"{code} by letters cannot be learnt from this base: {why}. Learn phones (model.reads=phones), or take"
                " another family"
            )


def changes_from(old: Recipe, new: Recipe, start: RunStep) -> list[str]:
    before, after = flat(old.model_dump(mode="json")), flat(new.model_dump(mode="json"))
    changed = [f"{key}: {before.get(key)} -> {after.get(key)}" for key in after if before.get(key) != after.get(key)]
    return [f"from {start[0].name} at step {start[1]}; changed: {', '.join(changed) or 'nothing'}"]
