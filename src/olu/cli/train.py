"""olu train"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from olu.cli.show import print_json, quoted, say, warn
from olu.errors import TrainError

if TYPE_CHECKING:
    from olu.stages.train import TrainSummary
    from olu.train.engine import Report

Result = TypeVar("Result")
EVERY = 25  # steps between lines where no bar can be drawn


def register(app: typer.Typer) -> None:
    @app.command()
    def train(
        ws: Path = typer.Argument(..., metavar="WS"),
        recipe: Path | None = typer.Option(None, "--recipe", metavar="FILE", help="Settings in TOML."),
        changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a setting: plan.steps=500"),
        resume: bool = typer.Option(False, "--resume", help="Go on with the newest unfinished run, exactly."),
        from_run: str | None = typer.Option(None, "--from-run", metavar="RUN[@STEP]", help="Start from its weights."),
        base: Path | None = typer.Option(None, "--base", help="Fine-tune this checkpoint folder (transformers VITS)."),
        new: bool = typer.Option(False, "--new", help="Start a new run even if one is unfinished or equal."),
        dry_run: bool = typer.Option(False, "--dry-run", help="Resolve everything, make one update, write no run."),
        device: str = typer.Option("cpu", "--device", help="cpu, cuda or mps"),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Train a voice."""
        from dataclasses import asdict

        from olu.files import Workspace
        from olu.stages.train import train as stage

        work = stage(
            Workspace.open(ws),
            recipe=recipe,
            overrides=changes,
            base=base,
            resume=resume,
            new=new,
            from_run=from_run,
            dry=dry_run,
            device=device,
        )
        summary = watch(work)
        if as_json:
            print_json(asdict(summary))
        else:
            _tell(summary, ws)
        if summary.stopped:
            raise TrainError(f"{summary.run} stopped at step {summary.steps}: {summary.stopped}")


def watch(work: Generator[Any, None, Result]) -> Result:
    """Show a training as it goes: a bar with the losses on a terminal, a line now and then elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from olu.stages.train import Note
    from olu.types import Tick

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    drawn = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with drawn as progress:
        bar = progress.add_task("", total=None)
        while True:
            try:
                event = next(work)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(event, Note):
                console.print(event.text, markup=False, highlight=False, soft_wrap=True)
            elif isinstance(event, Tick):
                progress.update(bar, total=event.total, completed=event.done, description=event.what)
            else:
                _show(event, console, progress, bar)


def _show(report: Report, console: Any, progress: Any, bar: Any) -> None:
    losses = {name: value for seen in report.seen for name, value in seen.losses.items()}
    line = "  ".join(f"{name} {value:.3g}" for name, value in losses.items())
    progress.update(bar, total=report.steps, completed=report.step, description=line)
    if not console.is_terminal and (report.step % EVERY == 0 or report.step == 1):
        sys.stderr.write(f"step {report.step}  {line}\n")
    for event in report.events:
        console.print(f"step {report.tried}: {event.guard}: {event.message}", markup=False, soft_wrap=True)
    if report.scores:
        scores = "  ".join(f"{name} {value:.4g}" for name, value in report.scores.items())
        console.print(f"step {report.step}: validation  {scores}", markup=False, highlight=False)


def _tell(summary: TrainSummary, ws: Path) -> None:
    if summary.dry:
        for key, value in summary.dry.items():
            say(f"{key}: {value}")
        return
    if summary.fresh:
        say(f"{summary.run} was trained with these settings on this corpus already: nothing to do (--new trains again)")
    elif summary.best and not summary.stopped:
        said = f"best at step {summary.best['step']} ({summary.best['metric']} {summary.best['score']:.4g})"
        say(f"{summary.run}: {summary.steps} steps, {said}")
    if not summary.stopped:
        say(f"Next: olu export {quoted(ws)} --to voice")
    else:
        warn(f"see {ws}/runs/{summary.run}/events.jsonl")
