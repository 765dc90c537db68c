"""olu clean"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.here import WS
from olu.cli.show import print_json, say, size


def register(app: typer.Typer) -> None:
    @app.command()
    def clean(
        ws: Path = WS,
        damaged: bool = typer.Option(False, "--damaged", help="Remove damaged checkpoints that were put aside, too."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Remove what can be made again: features and leftovers of killed commands."""
        from dataclasses import asdict

        from olu.core.files import Workspace
        from olu.stages.clean import clean as stage

        summary = stage(Workspace.open(ws), damaged=damaged)
        if as_json:
            print_json(asdict(summary))
        else:
            for path in summary.back:
                say(f"{path} was put back: a command was killed while it replaced it")
            removed = ", ".join(summary.removed) or "nothing to remove"
            say(f"{removed}: {size(summary.bytes)} given back")
            if summary.used:
                say(f"Kept: {', '.join(summary.used)} (in use by a training or another command)")
            if summary.aside:
                say(f"Kept: {', '.join(summary.aside)} (damaged; --damaged removes them)")
