"""olu speak"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from olu.cli.show import follow, print_json, say, warn

if TYPE_CHECKING:
    from collections.abc import Mapping

PIPE = Path("-")


def register(app: typer.Typer) -> None:
    @app.command()
    def speak(
        text: str | None = typer.Argument(None, help="What to say; - reads it from what is piped in."),
        voice: Path | None = typer.Option(None, "--voice", help="A voice package, or a workspace with one."),
        to: Path | None = typer.Option(
            None, "-o", "--output", help="A sound file; - for a pipe; with --batch a folder."
        ),
        file: Path | None = typer.Option(None, "--file", help="A text file to say, UTF-8."),
        batch: Path | None = typer.Option(None, "--batch", help="A file of lines to say: 'text' or 'name|text'."),
        form: str | None = typer.Option(None, "--format", help="wav, flac, ogg, opus, mp3 or pcm; else by the ending."),
        speed: float = typer.Option(1.0, "--speed", help="2 is twice as fast; 0.25 to 4."),
        pause: float = typer.Option(0.25, "--pause", help="Seconds of silence between sentences."),
        speaker: str | None = typer.Option(None, "--speaker", help="Which of the voice's speakers."),
        seed: int = typer.Option(0, "--seed", help="The same text and seed give the same samples."),
        noise: float | None = typer.Option(None, "--noise", help="How much the sound varies; 0 to 2."),
        duration_noise: float | None = typer.Option(None, "--duration-noise", help="How much the rhythm varies."),
        loudness: float | None = typer.Option(None, "--loudness", help="LUFS, for example -18; else as the voice is."),
        rate: int | None = typer.Option(None, "--rate", help="Samples a second; else the voice's own."),
        plain: bool = typer.Option(False, "--plain", help="Read <, [[ and & as they stand: the text has no markup."),
        times: str | None = typer.Option(None, "--times", help="When each word is heard: json or srt."),
        threads: int = typer.Option(0, "--threads", help="0: as many as the machine has."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Say a text, or many, as it is made."""
        from dataclasses import asdict

        from olu.core.errors import AudioError, VoiceError
        from olu.stages.speak import find_voice, free_name, given_text, speak_many, speak_through, speak_to

        wishes: dict[str, Any] = {
            "speed": speed,
            "pause": pause,
            "speaker": speaker,
            "seed": seed,
            "noise": noise,
            "duration_noise": duration_noise,
            "loudness": loudness,
            "rate": rate,
            "plain": plain,
        }
        out = to or free_name(Path("speech.wav" if form is None else f"speech.{form}"))
        if batch is not None:
            if to is None:
                raise VoiceError("--batch writes many files: name a folder for them with -o")
            if text is not None or file is not None or out == PIPE:
                raise VoiceError(
                    "--batch has its texts in its file and needs a folder: leave TEXT, --file and -o - out"
                )
            many = speak_many(
                batch, out, find_voice(voice, threads=1), format=form, times=times, threads=threads, **wishes
            )
            spoken = follow(many, label="speak")
            _report(asdict(spoken), f"{out}: {spoken.lines} files, {spoken.seconds:.2f} s", as_json=as_json)
            return
        words = given_text(text, file=file, stdin=sys.stdin.buffer)
        opened = find_voice(voice, threads=threads)
        if out == PIPE:
            if times is not None or as_json:
                raise VoiceError("the sound goes to the pipe: --times and --json need -o with the name of a file")
            try:
                piped = follow(speak_through(sys.stdout.buffer, opened, words, format=form, **wishes), label="speak")
            except AudioError:
                _forget_output()
                raise
            _unsaid(piped.dropped)
            return
        said = follow(speak_to(out, opened, words, format=form, times=times, **wishes), label="speak")
        _report({"output": str(out), **asdict(said)}, f"{out}: {said.seconds:.2f} s", as_json=as_json)


def _forget_output() -> None:
    """Nobody reads it any more: what Python still holds would be an error once more when it ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(facts: Mapping[str, Any], line: str, *, as_json: bool) -> None:
    _unsaid(facts["dropped"])
    if as_json:
        print_json(facts)
    else:
        say(line)


def _unsaid(dropped: Mapping[str, int]) -> None:
    if dropped:
        unsaid = ", ".join(f"{symbol!r} x{count}" for symbol, count in dropped.items())
        warn(f"not in this voice's alphabet, left unsaid: {unsaid}")
