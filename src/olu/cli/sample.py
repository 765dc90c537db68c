"""olu sample"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.show import follow, print_json, say


def register(app: typer.Typer) -> None:
    @app.command()
    def sample(
        folder: Path = typer.Argument(..., metavar="FOLDER", help="The folder to make."),
        language: str = typer.Option(..., "--language", "-l", help="Language code: am, es, sw ..."),
        clips: int = typer.Option(60, "--clips", metavar="N", help="How many clips, 1 to 60."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Make a small corpus of machine speech, to try the other commands with."""
        from dataclasses import asdict

        from olu.stages.sample import sample_corpus

        made = follow(sample_corpus(folder, language=language, clips=clips), label="sample")
        if as_json:
            print_json(asdict(made))
        else:
            say(f"{made.folder}: {made.clips} clips of {made.language}, {made.seconds:.1f} s, spoken by espeak-ng.")
            say(f"Next: olu new WS --language {made.language}, then olu import WS {made.folder}")
