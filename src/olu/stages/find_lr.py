"""Look for a learning rate: a short training in memory whose rate rises, and a page with its curve."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from olu.core.files import Workspace, write_json, write_text
from olu.core.halt import Halt, heeded, why
from olu.core.job import Job, Note, Tick
from olu.core.machine import best_device, take_device
from olu.core.stage import need_training
from olu.core.threads import use_threads_for
from olu.core.told import TextTable, Told
from olu.pages.charts import rate_chart
from olu.pages.render import render as render_page
from olu.stages.plan import choose_recipe
from olu.stages.train_setup import prepare_run, set_up
from olu.stages.verbs.training import TrainOptions
from olu.train.find_lr import HIGH, LOW, STEPS, RatePoint, RateSearchResult, choose_rate, range_test

if TYPE_CHECKING:
    from olu.train.setup.job import TrainingJob

RATE = "model.learning_rate"
BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 60  # of the curve on a terminal
ROWS = 12


@dataclass(frozen=True)
class RateSummary:
    finding: RateSearchResult
    points: list[RatePoint]
    planned: float  # the rate the recipe has
    loss: str
    page: str
    command: str

    def sentences(self, options: TrainOptions) -> Iterator[Told]:
        """The curve as a line of bars and a short table, then what it says."""
        points = [point for point in self.points if isfinite(point.smooth)]
        if points:
            shown = points[:: max(1, len(points) // COLUMNS)]
            yield f"{shown[0].rate:.0e} {spark([point.smooth for point in shown])} {shown[-1].rate:.0e}"
            rows = [[f"{one.rate:.1e}", f"{one.smooth:.4g}"] for one in points[:: max(1, len(points) // ROWS)]]
            yield TextTable(["rate", f"{self.loss}, smoothed"], rows)
        found = self.finding
        if found.rate is None:
            yield f"No suggestion: {found.why}."
        else:
            yield f"Suggested rate: {found.rate:g} (the recipe has {self.planned:g}): {found.why}."
        yield f"Nothing was kept of this training. Page: {self.page}"
        yield f"Next: {self.command}"


def spark(values: list[float]) -> str:
    """A curve in one line."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(BARS[min(len(BARS) - 1, int((value - low) / span * len(BARS)))] for value in values)


def find_lr(
    ws: Workspace,
    *,
    recipe: Path | None = None,
    overrides: list[str] | None = None,
    base: Path | None = None,
    device: str | None = None,
    steps: int = STEPS,
) -> Job[RateSummary]:
    """Nothing of the training is kept: only `find-lr.json` and `find-lr.html` in the workspace.

    Without `device` the best there is.
    """
    need_training("olu train --find-lr")

    chosen = device or best_device()
    chosen = take_device(chosen)
    yield from map(Note, use_threads_for(None, run="", device=chosen))
    settings, said = yield from choose_recipe(ws, recipe=recipe, overrides=overrides, base=base, device=chosen)
    yield from prepare_run(ws, settings)
    setup = set_up(ws, settings, device=chosen)
    for sentence in [*said, *setup.notes]:
        yield Note(sentence)
    points, planned = list[RatePoint](), float(setup.learner.parts()[setup.family.figures.learns].lr)  # type: ignore[operator]
    with heeded() as asked:
        for point in _points(setup, steps):
            points.append(point)
            yield Tick(len(points), steps, f"rate {point.rate:.1e}")
            if signal := asked():
                raise Halt(f"stopped {why(signal)} after {len(points)} of {steps} rates: nothing is kept", asked=signal)
    found = choose_rate(points)
    page = ws.root / "find-lr.html"
    command = command_with(found.rate, ws=ws.root, recipe=recipe, base=base, overrides=overrides or [], device=device)
    summary = RateSummary(found, points, planned, setup.family.figures.learning, str(page), command)
    write_json(page.with_suffix(".json"), {**asdict(summary), "page": page.name})
    write_text(page, render(ws.name, summary))
    return summary


def command_with(
    rate: float | None, *, ws: Path, recipe: Path | None, base: Path | None, overrides: list[str], device: str | None
) -> str:
    """The training that was asked about, with the rate that was found."""
    words = ["olu", "train", str(ws)]
    words += ["--recipe", str(recipe)] if recipe else []
    words += ["--base", str(base)] if base else []
    for change in overrides:
        if rate is None or change.partition("=")[0].strip() != RATE:
            words += ["--set", change]
    words += ["--set", f"{RATE}={rate:g}"] if rate is not None else []
    words += ["--device", device] if device else []
    return shlex.join(words)


def _points(setup: TrainingJob, steps: int) -> Iterator[RatePoint]:
    from olu.train.run import Run

    never = 10 * steps  # no validation, no saving, no end in between
    changes = {"steps": never, "validate_every": never, "save_every": never, "schedule": "constant", "warmup_steps": 0}
    plan = setup.recipe.plan.model_copy(update=changes)
    own = replace(setup, recipe=setup.recipe.model_copy(update={"plan": plan}))
    with TemporaryDirectory() as folder:
        run = Run(Path(folder))
        run.checkpoints_folder.mkdir()
        engine = own.engine(run)
        engine.guards = []  # they would go back just where the test wants to see
        yield from range_test(engine, part=setup.family.figures.learns, loss=setup.family.figures.learning, steps=steps)


def render(name: str, summary: RateSummary) -> str:
    """find-lr.html: the loss against the rate, and what it suggests."""
    found = summary.finding
    marks = (("suggested", found.rate), ("recipe", summary.planned), ("edge", found.edge))
    drawn = rate_chart(
        [(point.rate, point.loss) for point in summary.points],
        [(point.rate, point.smooth) for point in summary.points],
        label="loss against the learning rate",
        ends=(LOW, HIGH),
        marks=[(rate, f"{word} {rate:.1e}") for word, rate in marks if rate is not None],
    )
    return render_page(
        "find_lr.html",
        name=name,
        summary=summary,
        lead=f"Try {found.rate:.1e}: {found.why}." if found.rate is not None else f"No suggestion: {found.why}.",
        low=LOW,
        high=HIGH,
        drawn=drawn,
        points=summary.points[:: max(1, len(summary.points) // 40)],
    )
