"""olu sample"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.show import follow, print_json, say


def register(app: typer.Typer) -> None:
    @app.command()
    def sample(
        folder: Path = typer.Argument(..., metavar="FOLDER", help="The folder to make."),
        language: str | None = typer.Option(None, "--language", "-l", help="The language of Olu's own voice: amh."),
        clips: int = typer.Option(60, "--clips", metavar="N", help="How many clips, 1 to 60."),
        pitch: float = typer.Option(1.2, "--pitch", help="Times the own voice's pitch, 0.7 to 1.4: another speaker."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Make a small corpus spoken by Olu's own voice, to try the other commands with."""
        from dataclasses import asdict

        from olu.stages.sample import sample_corpus

        made = follow(sample_corpus(folder, language=language, clips=clips, pitch=pitch), label="sample")
        if as_json:
            print_json(asdict(made))
        else:
            by = f"spoken by {made.spoken_by}"
            say(f"{made.folder}: {made.clips} clips of {made.language}, {made.seconds:.1f} s, {by}.")
            say(f"Next: olu new WS --language {made.language}, then olu import WS {made.folder}")
