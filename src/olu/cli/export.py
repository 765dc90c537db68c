"""olu export"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.show import print_json, quoted, say, warn


def register(app: typer.Typer) -> None:
    @app.command()
    def export(
        source: Path = typer.Argument(..., metavar="WS", help="A workspace, or a checkpoint of another program."),
        to: str = typer.Option("voice", "--to", help="Format: voice, hf, hf-training or vits"),
        run: str | None = typer.Option(None, "--run", help="Default: the newest finished run."),
        step: int | None = typer.Option(None, "--step", help="Default: the run's best step."),
        out: Path | None = typer.Option(None, "-o", "--output", help="x.voice for a folder, x.zip for one file."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Turn a run into a voice package that speaks without torch, or into another program's checkpoint."""
        from dataclasses import asdict

        from olu.stages.export import export as stage

        made = stage(source, to=to, run=run, step=step, out=out)
        for note in made.notes:
            warn(note)
        if as_json:
            print_json(asdict(made))
            return
        again = " (there already: nothing was done again)" if made.fresh else ""
        say(f"{made.voice}: {made.parameters / 1e6:.1f} M parameters, {made.bytes / 2**20:.1f} MiB{again}")
        if made.to == "voice":
            say(f'Next: olu speak "..." --voice {quoted(made.voice)} -o out.wav')
