"""What a sweep tries: a grid of settings, the whole recipe of each of its points, and a short run of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from olu.core.config import check, flat, with_overrides
from olu.core.errors import ConfigError
from olu.core.files import hash_value
from olu.train.recipe import Recipe

MOST_POINTS = 64
LEAST_STEPS = 4
BUDGET = "it is what a sweep decides itself: --steps or --minutes say how long its runs are"
OWN = {
    "plan.steps": BUDGET,
    "plan.validate_every": BUDGET,
    "plan.save_every": BUDGET,
    "plan.keep": "a sweep keeps one checkpoint of a run",
    "plan.demo_clips": "a sweep judges by sentences of its own",
    "plan.sentences": "a sweep judges by sentences of its own",
    "plan.choose": "a sweep judges by sentences of its own",
    "plan.stop_patience": "a sweep ends runs itself",
    "data.valid_clips": "all runs are judged by the same sentences",
    "data.hold_back": "all runs are judged by the same sentences",
    "data.everything": "a run is judged by sentences that it has not learnt from",
    "family": "a sweep is of one family: sweep each, and compare voices with 'olu compare'",
    "base": "a sweep has one base: give it by --base",
}


@dataclass(frozen=True)
class SweepPoint:
    """Settings that are tried together."""

    changes: tuple[str, ...]  # KEY=VALUE, as --set takes them

    @property
    def values(self) -> dict[str, Any]:
        return flat(with_overrides({}, self.changes))

    def __str__(self) -> str:
        return ", ".join(change.replace("=", " = ", 1) for change in self.changes)


def grid(over: Sequence[str]) -> list[SweepPoint]:
    """Every combination of the values of 'KEY=A,B', several of which multiply."""
    if not over:
        raise ConfigError(
            "there is nothing to try: name a setting and its values, --over 'model.learning_rate=1e-4,2e-4'"
        )
    axes: list[list[str]] = []
    for one in over:
        key, equals, raw = (part.strip() for part in one.partition("="))
        values = list(dict.fromkeys(_values(raw)))
        if not key or not equals or not all(values):
            raise ConfigError(f"--over {one!r}: write KEY=A,B, as in 'model.learning_rate=1e-4,2e-4'")
        if key in OWN:
            raise ConfigError(f"--over {key}: {OWN[key]}")
        if len(values) < 2:
            raise ConfigError(f"--over {key}: one value is no choice: give two or more, or set it by --set {key}={raw}")
        if any(axis[0].startswith(f"{key}=") for axis in axes):
            raise ConfigError(f"--over {key} is given twice: put all its values behind one")
        axes.append([f"{key}={value}" for value in values])
    points = [SweepPoint(changes) for changes in product(*axes)]
    if len(points) > MOST_POINTS:
        raise ConfigError(f"--over makes {len(points)} runs, and a sweep has at most {MOST_POINTS}: give fewer values")
    return points


def _values(raw: str) -> list[str]:
    """Parted at commas that stand in no brackets and no quotes."""
    found, depth, quote = [""], 0, ""
    for letter in raw:
        if letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        elif not quote:
            depth += (letter in "[{") - (letter in "]}")
        if letter == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += letter
    return [value.strip() for value in found]


def check_apart(points: Sequence[SweepPoint], recipes: Sequence[Recipe]) -> None:
    """Refuse points that come to one and the same training."""
    known: dict[str, SweepPoint] = {}
    for point, recipe in zip(points, recipes, strict=True):
        key = hash_value(recipe.model_dump(mode="json"))
        if (other := known.setdefault(key, point)) is not point:
            raise ConfigError(f"--over: '{other}' and '{point}' are the same training: leave one out")


def rungs(steps: int) -> list[int]:
    """The steps after which the runs that are left are judged: a quarter, half and all of them."""
    quarter = steps // LEAST_STEPS
    return [quarter, 2 * quarter, steps]


def shortened(recipe: Recipe, steps: int) -> Recipe:
    """The recipe as a run of so many steps: what counts in steps shrinks with them, and it is judged from outside."""
    plan = recipe.plan
    share = steps / max(1, plan.steps)

    def scaled(at: int) -> int:
        return max(1, round(at * share)) if at else 0

    changes = {
        "steps": steps,
        "warmup_steps": min(scaled(plan.warmup_steps), steps // 2),
        "milestones": sorted({scaled(at) for at in plan.milestones}),
        "late": {name: scaled(at) for name, at in plan.late.items()},
        "validate_every": rungs(steps)[0],
        "save_every": rungs(steps)[0],
        "keep": 1,
        "demo_clips": 0,
        "sentences": [],
        "choose": "loss",
        "stop_patience": 0,
    }
    values = recipe.model_dump(mode="json")
    return check(Recipe, {**values, "plan": {**values["plan"], **changes}}, where="recipe")
