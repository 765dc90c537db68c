"""olu pack and olu unpack"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.here import WS
from olu.cli.show import follow, print_json, quoted, say, size, warn


def register(app: typer.Typer) -> None:
    @app.command()
    def pack(
        ws: Path = WS,
        out: Path | None = typer.Option(None, "-o", "--output", help="Default: its name and .tar, here."),
        runs: str = typer.Option("last", "--runs", help="Which runs go along: last, all or none."),
        features: bool = typer.Option(False, "--features", help="Take what 'olu prepare' made; else it is made there."),
        opus: bool = typer.Option(False, "--opus", help="Make the sound smaller, which loses a little of it."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Make one file of a workspace, to carry to another machine and back."""
        from dataclasses import asdict

        from olu.core.errors import ConfigError
        from olu.core.files import Workspace
        from olu.stages.pack import pack as stage

        if opus and features:
            raise ConfigError("--features has no effect with --opus: they are made anew from the smaller sound")
        made = follow(stage(Workspace.open(ws), out=out, runs=runs, features=features, opus=opus), label="pack")  # type: ignore[arg-type]
        for note in made.notes:
            warn(note)
        if as_json:
            print_json(asdict(made))
            return
        carried = f", with {', '.join(made.runs)}" if made.runs else ""
        say(f"{made.file}: {size(made.bytes)}, {size(made.audio_bytes)} of it sound, {made.files} files{carried}.")
        say(f"Next, on the other machine: olu unpack {quoted(Path(made.file).name)}")

    @app.command()
    def unpack(
        file: Path = typer.Argument(..., metavar="FILE", help="What 'olu pack' made."),
        ws: Path | None = typer.Argument(None, metavar="[WS]", help="A new folder, or the workspace it came from."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Lay a packed workspace out again, or take its runs back into the workspace it came from."""
        from dataclasses import asdict

        from olu.stages.unpack import unpack as stage

        made = follow(stage(file, into=ws), label="unpack")
        for note in made.notes:
            warn(note)
        if as_json:
            print_json(asdict(made))
            return
        what = f"took {', '.join(made.runs) or 'nothing new'}" if made.merged else f"{made.files} files, all as packed"
        say(f"{made.workspace}: {what}. Next: olu status {quoted(made.workspace)}")
