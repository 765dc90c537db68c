"""Look for a learning rate: a short training in memory whose rate rises, and a page with its curve."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from olu.core.extras import need_training
from olu.core.files import Workspace, write_json, write_text
from olu.core.halt import Halt, heeded, why
from olu.core.job import Job, Note, Tick
from olu.pages.style import STYLE
from olu.stages.plan import choose_recipe
from olu.stages.threads import use_threads_for
from olu.train.find_lr import HIGH, LOW, STEPS, RatePoint, RateSearchResult, judge, range_test
from olu.train.machine import best_device, take_device

if TYPE_CHECKING:
    from olu.train.setup.job import TrainingJob

RATE = "model.learning_rate"
WIDTH, HEIGHT, EDGE = 640, 280, 44


@dataclass(frozen=True)
class RateSummary:
    finding: RateSearchResult
    points: list[RatePoint]
    planned: float  # the rate the recipe has
    loss: str
    page: str
    command: str

    def row(self) -> dict[str, Any]:
        return asdict(self)


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
    from olu.stages.train_setup import prepare_run, set_up

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
    found = judge(points)
    page = ws.root / "find-lr.html"
    command = command_with(found.rate, ws=ws.root, recipe=recipe, base=base, overrides=overrides or [], device=device)
    summary = RateSummary(found, points, planned, setup.family.figures.learning, str(page), command)
    write_json(page.with_suffix(".json"), {**summary.row(), "page": page.name})
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
    found = summary.finding
    lead = f"Try {found.rate:.1e}: {found.why}." if found.rate is not None else f"No suggestion: {found.why}."
    rows = "".join(
        f"<tr><td>{point.rate:.2e}</td><td>{point.loss:.4g}</td><td>{point.smooth:.4g}</td></tr>"
        for point in summary.points[:: max(1, len(summary.points) // 40)]
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(name)}: learning rate</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style><main>'
        f'<h1>{escape(name)}: which learning rate?</h1><p class="lead">{escape(lead)}</p>'
        f"<p>The recipe has {summary.planned:.1e}. The rate rose from {LOW:g} to {HIGH:g} while {escape(summary.loss)}"
        " was watched; a short test sees only the start of a training, so take it as a hint and stay near the recipe's"
        f" rate where both are close.</p><figure><figcaption>{escape(summary.loss)} against the rate</figcaption>"
        f"{_curve(summary)}</figure><p><code>{escape(summary.command)}</code></p>"
        f"<details><summary>Figures</summary><div class=scroll><table><tr><th>rate</th><th>loss</th><th>smoothed</th>"
        f"</tr>{rows}</table></div></details></main></html>\n"
    )


def _curve(summary: RateSummary) -> str:
    from math import isfinite, log10

    points = [point for point in summary.points if isfinite(point.smooth)]
    if not points:
        return '<p class="soft">No figures.</p>'
    low = min(min(point.smooth for point in points), sorted(point.loss for point in points)[len(points) // 50])
    high = sorted(point.loss for point in points)[int(0.97 * (len(points) - 1))]
    tall = max(high - low, 1e-9)

    def x(rate: float) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * (log10(rate) - log10(LOW)) / (log10(HIGH) - log10(LOW))

    def y(loss: float) -> float:
        return HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * min(max((loss - low) / tall, -0.05), 1.1)

    def line(style: str, values: list[tuple[float, float]]) -> str:
        return f'<polyline class="{style}" points="{" ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in values)}"/>'

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="loss against the learning rate">']
    for power in range(round(log10(LOW)), round(log10(HIGH)) + 1):
        at = x(10.0**power)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{EDGE}" y2="{HEIGHT - EDGE}"/>')
        parts.append(f'<text class="axis" x="{at:.1f}" y="{HEIGHT - EDGE + 18}" text-anchor="middle">1e{power}</text>')
    for value in (low, low + tall / 2, high):
        parts.append(f'<text class="axis" x="{EDGE - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    parts.append(line("line c0 faint", [(point.rate, point.loss) for point in points]))
    parts.append(line("line c0", [(point.rate, point.smooth) for point in points]))
    marks = (("suggested", summary.finding.rate), ("recipe", summary.planned), ("edge", summary.finding.edge))
    for place, (name, rate) in enumerate(marks):
        if rate is not None and LOW <= rate <= HIGH:
            at, top = x(rate), 14 + 12 * place
            parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{HEIGHT - EDGE}"/>')
            parts.append(f'<text class="axis" x="{at + 4:.1f}" y="{top + 4}">{name} {rate:.1e}</text>')
    return "".join(parts) + "</svg>"
