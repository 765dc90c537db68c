"""What a run starts from: a recipe that can work, a base, or the weights of another run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from olu.core.config import check, flat
from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.places import located
from olu.families import family as family_named
from olu.train.checkpoint import Checkpoint
from olu.train.family import Base, Family
from olu.train.grow_symbols import Growth, enlarged_checkpoint
from olu.train.recipe import DataSettings, Recipe
from olu.train.run import Run

NAMED = 8  # speakers that a sentence lists


def rate_for(recipe: Recipe, *, run: Run | None = None) -> int:
    """The sampling rate that a recipe needs; one that cannot work is refused."""
    chosen = family_named(recipe.family)
    check_sound(chosen, recipe)
    return chosen.data.rate(config_for(chosen, recipe, read_base(chosen, recipe, run)))


def check_sound(family: Family, recipe: Recipe) -> None:
    usual = DataSettings()
    for name in ("resample", "edges", "loudness", "pauses"):
        value = getattr(recipe.data, name)
        if value != getattr(usual, name) and family.kind == "listener":
            raise TrainError(
                f"recipe: data.{name} = {value:g} is for voices: {family.name} listens to recordings as they are:"
                " leave it out"
            )


def parse_start(ws: Workspace, text: str) -> tuple[Run, int]:
    """RUN or RUN@STEP; without a step, the best one."""
    name, _, at = text.partition("@")
    run = Run.named(ws.runs, name)
    steps = run.checkpoints().steps()
    if not steps:
        raise TrainError(f"{name} has no checkpoint to start from")
    if at and (not at.isdigit() or int(at) not in steps):
        raise TrainError(f"{name} has no checkpoint at step {at!r}; it has: {', '.join(map(str, steps))}")
    return run, int(at) if at else int((run.best or {"step": steps[-1]})["step"])


def begun_from(
    start: tuple[Run, int], *, family: Family, learner: nn.Module, growth: Growth | None, speakers: list[str]
) -> Checkpoint:
    """The checkpoint of another run, with rows for what is new since: speakers and symbols."""
    run, step = start
    checkpoint, old = run.checkpoints().load(step), len(run.document("speakers.json"))
    bases = family.bases
    if bases and bases.fold_speakers and len(speakers) > old:
        checkpoint = bases.fold_speakers(checkpoint, learner, old=old)
    if bases and growth and growth.parents:
        checkpoint = enlarged_checkpoint(checkpoint, bases.symbol_rows, growth)
    return checkpoint


def speakers_from(start: Run, heard: set[str]) -> tuple[list[str], list[str]]:
    """Those of the run before and the new ones after them, so that no row moves; and what is said of it."""
    held: list[str] = start.document("speakers.json")
    new = sorted(heard - set(held))
    if not new:
        return held, []
    names = f"{', '.join(new[:NAMED])}{f' and {len(new) - NAMED} more' if len(new) > NAMED else ''}"
    if len(held) == 1 and len(heard) == 1:
        return new, [f"{start.name} has the speaker {held[0]}: {names} begins with that voice and takes its place"]
    if len(held) == 1:
        return held + new, [f"{start.name} has one speaker: more are added ({names}), who all begin with its voice"]
    return held + new, [f"{start.name} has {len(held)} speakers, and not {names}: they begin near the mean of its own"]


def check_fits(learner: nn.Module, start: tuple[Run, int], checkpoint: Checkpoint) -> None:
    """Before a run is made: weights of another shape cannot be started from."""
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
    if family.bases is None:
        raise TrainError(f"recipe: base: the family {family.name!r} starts from none: leave it out")
    return family.bases.read(located(recipe.base) if family.kind != "listener" else Path(recipe.base))


def config_for(family: Family, recipe: Recipe, base: Base | None) -> Any:
    if base and "size" in recipe.model and recipe.model["size"] != base.settings["size"]:
        raise TrainError(
            f"recipe: model.size = {recipe.model['size']!r} has no effect with a base: the base has its own"
        )
    tuning = family.advice.tuning if family.advice else None
    under = {**base.settings, **(tuning(base) if tuning else {})} if base else {}
    return check(family.config, {**under, **recipe.model}, where="recipe [model]")


def changes_from(old: Recipe, new: Recipe, start: tuple[Run, int]) -> list[str]:
    before, after = flat(old.model_dump(mode="json")), flat(new.model_dump(mode="json"))
    changed = [f"{key}: {before.get(key)} -> {after.get(key)}" for key in after if before.get(key) != after.get(key)]
    return [f"from {start[0].name} at step {start[1]}; changed: {', '.join(changed) or 'nothing'}"]
