"""olu make"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.show import print_json, quoted, say
from olu.cli.threads import THREADS, settle_threads
from olu.core.errors import ConfigError


def register(app: typer.Typer) -> None:
    @app.command()
    def make(
        ws: Path = typer.Argument(..., metavar="WS", help="The workspace to make or go on with."),
        source: Path = typer.Argument(..., metavar="SOURCE", help="A folder of recordings and their texts."),
        language: str = typer.Option(..., "--language", "-l", help="Language code: am, amh, am-ET, ig, es, swa ..."),
        recipe: Path | None = typer.Option(None, "--recipe", metavar="FILE", help="Training settings in TOML."),
        changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Change a setting: plan.steps=500"),
        base: Path | None = typer.Option(
            None, "--base", help="Fine-tune this: a folder, a file, a hub id, or embedded."
        ),
        from_scratch: bool = typer.Option(
            False, "--from-scratch", help="Without a base, though there is too little speech for that."
        ),
        device: str | None = typer.Option(
            None, "--device", help="cpu, cuda, cuda:1 or mps; default: the best there is"
        ),
        threads: int | None = THREADS,
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Everything in one go: new, import, audit, read, prepare, train, export."""
        from dataclasses import asdict

        from olu.cli.progress import follow
        from olu.stages.make import make as stage
        from olu.train.machine import best_device

        settle_threads(threads, quiet=True)
        where = device or best_device()
        if from_scratch and base:
            raise ConfigError("--from-scratch and --base exclude each other: leave one out")
        made = follow(
            stage(
                ws,
                source,
                language=language,
                recipe=recipe,
                overrides=changes,
                base=base,
                device=where,
                scratch=from_scratch,
            )
        )
        if as_json:
            print_json(asdict(made))
            return
        say(f"{made.voice.voice}: a voice from {made.clips} clips ({made.run}). Report: {ws}/audit/report.html")
        say(f'Next: olu speak "..." --voice {quoted(ws)} -o out.wav')
