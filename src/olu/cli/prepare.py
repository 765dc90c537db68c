"""olu prepare"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.doubts import show_standing
from olu.cli.here import WS
from olu.cli.show import followed, print_json, quoted, say, warn


def register(app: typer.Typer) -> None:
    @app.command()
    def prepare(
        ws: Path = WS,
        jobs: int | None = typer.Option(None, "--jobs", help="Threads; default: one per core."),
        recipe: Path | None = typer.Option(None, "--recipe", help="The recipe whose rate and data.resample are meant."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Make the features ahead of training (training makes them itself if they are missing)."""
        from dataclasses import asdict

        from olu.core.files import Workspace
        from olu.stages.prepare import prepare as stage
        from olu.stages.prepare import wanted_by

        opened = Workspace.open(ws)
        summary, busy = followed(stage(opened, **wanted_by(opened, recipe), jobs=jobs), label="preparing")
        if summary.note:
            warn(summary.note)
        for problem in summary.problems[:5]:
            warn(problem)
        if len(summary.problems) > 5:
            warn(f"... and {len(summary.problems) - 5} more; --json lists all")
        if as_json:
            print_json(asdict(summary))
        else:
            show_standing(ws)
            again = "" if busy else ", there already: nothing was done again"
            say(f"{summary.clips} clips at {summary.rate} Hz{again}. Next: olu train {quoted(ws)}")
