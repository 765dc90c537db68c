"""olu speak"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.show import print_json, say, warn


def register(app: typer.Typer) -> None:
    @app.command()
    def speak(
        text: str = typer.Argument(..., help="What to say."),
        voice: Path | None = typer.Option(None, "--voice", help="A voice package, or a workspace with one."),
        out: Path = typer.Option(..., "-o", "--output", help="wav, flac, ogg, opus or mp3, by its ending."),
        speed: float = typer.Option(1.0, "--speed", help="2 is twice as fast; 0.25 to 4."),
        seed: int = typer.Option(0, "--seed", help="The same text and seed give the same samples."),
        speaker: str | None = typer.Option(None, "--speaker", help="Which of the voice's speakers."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Say a text."""
        from olu.stages.speak import find_voice, speak_to

        said = speak_to(out, find_voice(voice), text, speed=speed, seed=seed, speaker=speaker)
        if said.dropped:
            unsaid = ", ".join(f"{symbol!r} x{count}" for symbol, count in said.dropped.items())
            warn(f"not in this voice's alphabet, left unsaid: {unsaid}")
        if as_json:
            print_json({"output": str(out), "seconds": said.seconds, "rate": said.rate, "dropped": said.dropped})
        else:
            say(f"{out}: {said.seconds:.2f} s")
