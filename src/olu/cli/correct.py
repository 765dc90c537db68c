"""olu correct"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from olu.cli.show import many, print_json, quoted, say

if TYPE_CHECKING:
    from olu.stages.correct import CorrectSummary, UndoSummary

SHOWN = 5
FILE = typer.Argument(
    None,
    metavar="[FILE]",
    help="What 'olu clips WS --csv FILE' wrote, with texts edited; or id|text lines; - for stdin.",
)


def register(app: typer.Typer) -> None:
    @app.command()
    def correct(
        ws: Path = typer.Argument(..., metavar="WS", help="The workspace."),
        file: Path | None = FILE,
        clip: str | None = typer.Option(None, "--clip", metavar="ID", help="One clip, instead of a file."),
        text: str | None = typer.Option(None, "--text", metavar="TEXT", help="What is said in it."),
        undo: bool = typer.Option(
            False, "--undo", help="Take the last corrections back; with --clip, those of a clip."
        ),
        by: str | None = typer.Option(None, "--by", metavar="NAME", help="Who corrects. Default: your login name."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Correct texts, or give clips their first. The source's stay on record."""
        from olu.core.files import Workspace
        from olu.stages import correct as stage

        _check(file, clip=clip, text=text, undo=undo)
        workspace = Workspace.open(ws)
        if undo:
            back = stage.undo_corrections(workspace, clip=clip, by=by)
            print_json({"workspace": str(ws), "undone": True, **asdict(back)}) if as_json else _tell_undo(ws, back)
            return
        if clip is not None and text is not None:
            done = stage.correct_clip(workspace, clip, text, by=by)
        else:
            assert file is not None
            data = sys.stdin.buffer.read() if str(file) == "-" else stage.read_file(file)
            done = stage.correct_file(workspace, data, name="stdin" if str(file) == "-" else file.name, by=by)
        print_json({"workspace": str(ws), "undone": False, **asdict(done)}) if as_json else _tell(ws, done)


def _check(file: Path | None, *, clip: str | None, text: str | None, undo: bool) -> None:
    from olu.core.errors import ConfigError

    if undo and (file is not None or text is not None):
        raise ConfigError("--undo takes back what was corrected last: give no FILE and no --text with it")
    if undo:
        return
    if file is not None and (clip is not None or text is not None):
        raise ConfigError("a FILE names its clips itself: leave --clip and --text out, or leave the file out")
    if file is None and (clip is None or text is None):
        raise ConfigError("nothing to correct: name a FILE, or one clip with --clip ID --text TEXT")


def _tell(ws: Path, done: CorrectSummary) -> None:
    other = f"; {done.unchanged} unchanged" if done.unchanged else ""
    say(f"{many(len(done.ids), 'text')} corrected by {done.by}{other}.")
    if done.first:
        say(f"{many(done.first, 'clip')} had none before, and may train now.")
    if done.empty:
        say(f"{many(done.empty, 'clip')} had no text and got none.")
    _list(done.refused, "not taken")
    _list(done.unknown, "of no clip here")
    for note in done.notes:
        say(f"Note: {note}.")
    if done.ids:
        say(f"Back again: olu correct {quoted(ws)} --undo")
    say(f"Next: olu status {quoted(ws)}")


def _list(lines: tuple[str, ...], what: str) -> None:
    if lines:
        say(f"{many(len(lines), 'row')} {what}:")
        for line in lines[:SHOWN]:
            say(f"  {line}")
        if len(lines) > SHOWN:
            say(f"  and {len(lines) - SHOWN} more: --json lists them all")


def _tell_undo(ws: Path, back: UndoSummary) -> None:
    if not back.ids:
        say("Nothing to take back: no text was corrected so.")
        return
    say(f"Taken back for {many(len(back.ids), 'clip')}: what {', '.join(back.by)} wrote, last at {back.at}.")
    say(f"Next: olu status {quoted(ws)}")
