"""olu evaluate"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from olu.cli.show import follow, print_json, quoted, say, table, warn
from olu.cli.threads import THREADS, settle_threads

if TYPE_CHECKING:
    from olu.stages.evaluate import EvaluateSummary


def register(app: typer.Typer) -> None:
    @app.command()
    def evaluate(
        place: Path = typer.Argument(..., metavar="WS|VOICE", help="A workspace, or a voice package."),
        corpus: Path | None = typer.Option(None, "--corpus", metavar="WS", help="For a VOICE: its recordings."),
        sentences: int = typer.Option(50, "--sentences", metavar="N", help="Held-out sentences to speak."),
        texts: Path | None = typer.Option(None, "--text", metavar="FILE", help="Other sentences, one on each line."),
        wavs: Path | None = typer.Option(None, "--wavs", metavar="FOLDER", help="Judge these sound files instead."),
        only: str = typer.Option("", "--only", metavar="NAMES", help="Only these metrics: cer,mcd"),
        run: str | None = typer.Option(None, "--run", help="Default: the newest finished run."),
        step: int | None = typer.Option(None, "--step", help="Default: the run's best step."),
        checkpoints: str | None = typer.Option(None, "--checkpoints", metavar="all|N", help="Curves over checkpoints."),
        collusion: bool = typer.Option(False, "--collusion", help="Ask a second recogniser too. Slow."),
        seed: int = typer.Option(0, "--seed", help="Of the voice's own chance."),
        noise: float | None = typer.Option(None, "--noise", help="How much the sound varies, 0 to 2; else its own."),
        device: str | None = typer.Option(None, "--device", help="cpu, cuda, cuda:1 or mps, for the recogniser."),
        threads: int | None = THREADS,
        out: Path | None = typer.Option(None, "-o", "--output", metavar="FOLDER", help="Where it is written."),
        strict: bool = typer.Option(False, "--strict", help="Exit with code 2 when the voice fails a gate."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Speak held-out sentences and say how good the voice is."""
        from olu.stages.evaluate import EvaluateOptions
        from olu.stages.evaluate import evaluate as stage

        settle_threads(threads)
        wish = EvaluateOptions(
            corpus=corpus,
            wavs=wavs,
            texts=texts,
            sentences=sentences,
            only=tuple(name.strip() for name in only.split(",") if name.strip()),
            run=run,
            step=step,
            device=device,
            seed=seed,
            noise=noise,
            collusion=collusion,
            checkpoints=checkpoints,
            out=out,
        )
        summary = follow(stage(place, wish), label="evaluating")
        if as_json:
            folder = {"folder": str(summary.folder), "report": str(summary.page)}
            print_json({**folder, **summary.evaluation.row()})
        else:
            show_evaluation(summary)
        if strict and summary.evaluation.level == "fail":
            warn(f"olu: the voice fails: see {summary.page}")
            raise typer.Exit(2)


def show_evaluation(summary: EvaluateSummary) -> None:
    from olu.evaluate.report import table_of

    evaluation = summary.evaluation
    columns, rows = table_of(evaluation)
    table("", columns, rows)
    for gate in evaluation.gates:
        say(f"{gate.level:7} {gate.said}")
    for one in evaluation.missing:
        how = f": {one.command}" if one.command else ""
        warn(f"not measured: {one.metric}: {one.why}{how}")
    for note in evaluation.facts.get("notes", []):
        warn(str(note))
    if evaluation.subject.noise is not None:
        say(f"Spoken with noise {evaluation.subject.noise:g}.")
    say(evaluation.verdict[0])
    say(f"Report: {summary.page}")
    say(f"To compare it with another: olu compare {quoted(summary.folder)} OTHER")
