"""What a run starts from: a recipe that can work, a base, or the weights of another run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from olu.config import check, flat
from olu.errors import TrainError
from olu.families import family as family_named
from olu.files import Workspace
from olu.train.family import Base, Family
from olu.train.hub import located
from olu.train.recipe import DataSettings, Recipe
from olu.train.run import Run

FINE_TUNING_RATE = 2e-5  # a base is moved gently; ten times more forgets it


def rate_for(recipe: Recipe, *, run: Run | None = None) -> int:
    """The sampling rate that a recipe needs; one that cannot work is refused."""
    chosen = family_named(recipe.family)
    check_sound(chosen, recipe)
    return chosen.rate(config_for(chosen, recipe, read_base(chosen, recipe, run)))


def check_sound(family: Family, recipe: Recipe) -> None:
    usual = DataSettings()
    for name in ("resample", "edges", "loudness", "pauses"):
        value = getattr(recipe.data, name)
        if value != getattr(usual, name) and not family.speaks:
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


def check_fits(learner: nn.Module, start: tuple[Run, int], may_grow: tuple[str, ...]) -> None:
    """Before a run is made: weights of another shape cannot be started from."""
    run, step = start
    saved = run.checkpoints().load(step).weights
    for name, tensor in learner.state_dict().items():
        held = saved.get(f"learner/{name}")
        if held is not None and name in may_grow and held.shape[1:] == tensor.shape[1:]:
            continue
        if held is None or held.shape != tensor.shape:
            has = "nothing" if held is None else f"shape {tuple(held.shape)}"
            raise TrainError(
                f"{run.name} has {has} for {name}, these settings need {tuple(tensor.shape)}: keep its [model]"
            )


def read_base(family: Family, recipe: Recipe, run: Run | None = None) -> Base | None:
    """A run with a checkpoint has all it needs; its base may be gone by then."""
    if recipe.base is None or (run and run.checkpoints().steps()):
        return None
    return family.read_base(located(recipe.base) if family.speaks else Path(recipe.base))


def config_for(family: Family, recipe: Recipe, base: Base | None) -> Any:
    if base and "size" in recipe.model and recipe.model["size"] != base.settings["size"]:
        raise TrainError(
            f"recipe: model.size = {recipe.model['size']!r} has no effect with a base: the base has its own"
        )
    gentle = (
        {"learning_rate": FINE_TUNING_RATE, "discriminator_learning_rate": FINE_TUNING_RATE} if family.speaks else {}
    )
    under = {**base.settings, **gentle} if base else {}
    return check(family.config, {**under, **recipe.model}, where="recipe [model]")


def changes_from(old: Recipe, new: Recipe, start: tuple[Run, int]) -> list[str]:
    before, after = flat(old.model_dump(mode="json")), flat(new.model_dump(mode="json"))
    changed = [f"{key}: {before.get(key)} -> {after.get(key)}" for key in after if before.get(key) != after.get(key)]
    return [f"from {start[0].name} at step {start[1]}; changed: {', '.join(changed) or 'nothing'}"]
