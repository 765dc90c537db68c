"""olu export"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from olu.cli.show import follow, large, print_json, quoted, say, size, warn

if TYPE_CHECKING:
    from olu.stages.export import ExportSummary

# Typed here so that --help needs no network code; a test holds it to the list of formats.
FORMATS = "voice, hf, hf-train, mms, onnx, piper, sherpa"


def register(app: typer.Typer) -> None:
    @app.command()
    def export(
        source: Path = typer.Argument(..., metavar="WS", help="A workspace, or a checkpoint of another program."),
        to: str = typer.Option("voice", "--to", help=f"Format: {FORMATS}."),
        run: str | None = typer.Option(None, "--run", help="Default: the newest finished run."),
        step: int | None = typer.Option(None, "--step", help="Default: the run's best step."),
        out: Path | None = typer.Option(None, "-o", "--output", help="x.voice for a folder, x.zip for one file."),
        with_training: bool = typer.Option(False, "--with-training", help="Put in what training on needs."),
        noise: float | None = typer.Option(
            None, "--noise", help="What it then speaks with, 0 to 2; else the recipe's."
        ),
        licence: str = typer.Option("", "--licence", help="What it is given away under; default: what its parts say."),
        override: str = typer.Option("", "--override-licence", metavar="REASON", help="Why --licence may differ."),
        push: str | None = typer.Option(None, "--push", metavar="REPO", help="Put it on the Hugging Face hub."),
        public: bool = typer.Option(False, "--public", help="With --push: for everyone to see."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Turn a run into a voice package that speaks without torch, or into another program's files."""
        from dataclasses import asdict

        from olu.stages.export import export as stage

        rights = {"licence": licence.strip(), "override": override.strip()}
        where = {"push": push, "public": public, "with_training": with_training, "noise": noise}
        made = follow(stage(source, to=to, run=run, step=step, out=out, **rights, **where), label="export")
        for note in made.notes:
            warn(note)
        if as_json:
            print_json(asdict(made))
        else:
            _tell(made)


def _tell(made: ExportSummary) -> None:
    again = " (there already: nothing was done again)" if made.fresh else ""
    say(f"{made.voice}: {large(made.parameters)} parameters, {size(made.bytes)}{again}")
    if made.pushed:
        say(f"On the hub: {made.pushed}")
    if made.to == "voice":
        say(f'Next: olu speak "..." --voice {quoted(made.voice)} -o out.wav')
