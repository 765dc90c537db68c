"""olu train"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from olu.cli.show import print_json, quoted, say, warn
from olu.cli.training_view import watch
from olu.errors import TrainError

if TYPE_CHECKING:
    from olu.stages.train import TrainSummary


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
        profile: int = typer.Option(0, "--profile", metavar="N", min=0, help="Profile N steps of the run."),
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
            profile=profile,
        )
        summary = watch(work)
        if not summary.leads:
            raise typer.Exit(2 if summary.stopped else 0)
        if as_json:
            print_json(asdict(summary))
        else:
            _tell(summary, ws)
        if summary.stopped:
            raise TrainError(f"{summary.run} stopped at step {summary.steps}: {summary.stopped}")


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
