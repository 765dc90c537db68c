"""olu train"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from olu.cli.doubts import show_standing
from olu.cli.dry import tell_dry
from olu.cli.find_lr import find_rate_of
from olu.cli.hf_vits import tell_prepared, work_of
from olu.cli.show import follow, many, print_json, print_told, quoted, say, warn
from olu.cli.threads import THREADS, settle_threads
from olu.core.errors import TrainError

if TYPE_CHECKING:
    from olu.stages.evaluate import EvaluateSummary
    from olu.stages.train import TrainSummary


def register(app: typer.Typer) -> None:
    @app.command()
    def train(
        ws: Path | None = typer.Argument(None, metavar="WS", help="The workspace."),
        recipe: Path | None = typer.Option(None, "--recipe", metavar="FILE", help="Settings in TOML."),
        changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a setting: plan.steps=500"),
        resume: bool = typer.Option(False, "--resume", help="Go on with the newest unfinished run, exactly."),
        from_run: str | None = typer.Option(None, "--from-run", metavar="RUN[@STEP]", help="Start from its weights."),
        base: Path | None = typer.Option(None, "--base", help="Fine-tune this: a folder, a file or a hub id."),
        from_scratch: bool = typer.Option(
            False, "--from-scratch", help="Without a base, though there is too little speech for that."
        ),
        from_hf_vits: Path | None = typer.Option(
            None, "--from-hf-vits", metavar="FILE", help="Run a config of finetune-hf-vits; WS may be left out."
        ),
        new: bool = typer.Option(False, "--new", help="Start a new run even if one is unfinished or equal."),
        dry_run: bool = typer.Option(False, "--dry-run", help="Resolve everything, make one update, write no run."),
        find_rate: bool = typer.Option(False, "--find-lr", help="Look for a learning rate; trains in memory only."),
        evaluate: bool = typer.Option(False, "--evaluate", help="Afterwards: speak held-out sentences, judge them."),
        device: str | None = typer.Option(
            None, "--device", help="cpu, cuda, cuda:1 or mps; default: the best there is"
        ),
        threads: int | None = THREADS,
        profile: int = typer.Option(0, "--profile", metavar="N", min=0, help="Profile N steps of the run."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Train a voice."""
        from dataclasses import asdict

        from olu.core.files import Workspace
        from olu.stages.train import train as stage
        from olu.train.machine import best_device

        settle_threads(threads, quiet=True)
        if from_hf_vits:
            from olu.stages.hf_vits import root_of

            ws = ws or root_of(from_hf_vits)
        if ws is None:
            raise typer.BadParameter("Missing argument 'WS'.")
        if find_rate:
            if resume or from_run or new or dry_run or profile or from_hf_vits or evaluate:
                raise TrainError("--find-lr starts from fresh weights or --base: it takes no run and no other mode")
            find_rate_of(ws, recipe=recipe, changes=changes, base=base, device=device, as_json=as_json)
            return
        if from_scratch and (base or from_run or resume or from_hf_vits):
            raise TrainError("--from-scratch is a start without weights: leave it out, or the option that names some")
        device = device or best_device()
        if evaluate and dry_run:
            raise TrainError("--evaluate has no effect with --dry-run: nothing is trained")
        if not from_hf_vits or (ws / "olu.toml").is_file():  # its first run makes the workspace
            show_standing(ws, say=warn)
        if from_hf_vits:
            work = work_of(
                from_hf_vits,
                ws,
                recipe=recipe,
                changes=changes,
                base=base,
                resume=resume,
                new=new,
                from_run=from_run,
                dry=dry_run,
                device=device,
                profile=profile,
            )
        else:
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
                scratch=from_scratch,
            )
        summary = follow(work)
        if not summary.leads:
            raise typer.Exit(2 if summary.stopped else 0)
        judged = _evaluated(summary, ws, device=device) if evaluate and not (summary.stopped or summary.dry) else None
        if as_json:
            print_json({**asdict(summary), **({"evaluation": judged.evaluation.row()} if judged else {})})
        else:
            _tell(summary, ws)
            if judged:
                print_told(judged.sentences(None))
        if summary.stopped:
            raise TrainError(f"{summary.run} stopped at step {summary.steps}: {summary.stopped}")


def _evaluated(summary: TrainSummary, ws: Path, *, device: str) -> EvaluateSummary:
    from olu.core.files import Workspace
    from olu.stages.evaluate_choice import evaluate_after

    return follow(evaluate_after(Workspace.open(ws), summary.run, device=device), label="evaluating")


def _tell(summary: TrainSummary, ws: Path) -> None:
    if "prepared" in summary.dry:
        tell_prepared(summary)
        return
    if summary.dry:
        tell_dry(summary.dry)
        return
    if summary.fresh:
        say(f"{summary.run} was trained with these settings on this corpus already: nothing to do (--new trains again)")
    elif summary.best and not summary.stopped:
        said = f"best at step {summary.best['step']} ({summary.best['metric']} {summary.best['score']:.4g})"
        say(f"{summary.run}: {many(summary.steps, 'step')}, {said}")
    if not summary.stopped:
        say(f"Next: olu export {quoted(ws)} --to voice" if summary.speaks else f"Next: olu align {quoted(ws)}")
    else:
        warn(f"see {ws}/runs/{summary.run}/events.jsonl")
