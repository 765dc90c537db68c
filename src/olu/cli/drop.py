"""olu drop, olu keep"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import typer

from olu.cli.show import print_json, quoted, say

IDS = typer.Argument(None, metavar="ID...", help="Clips, as 'olu clips WS --ids' lists them; - reads them from stdin.")
LIST = typer.Option(None, "--from", metavar="FILE", help="Take the ids from this file, one a line.")
REASON = typer.Option("", "--reason", metavar="TEXT", help="Why; it is kept beside the decision.")
UNDO = typer.Option(False, "--undo", help="Take this decision back.")
JSON = typer.Option(False, "--json", help="Print one JSON object.")


def register(app: typer.Typer) -> None:
    @app.command()
    def drop(
        ws: Path = typer.Argument(..., metavar="WS", help="The workspace."),
        ids: list[str] | None = IDS,
        listed: Path | None = LIST,
        reason: str = REASON,
        undo: bool = UNDO,
        as_json: bool = JSON,
    ) -> None:
        """Leave clips out of everything to come. Nothing is deleted."""
        _decide("drop", ws, ids or [], listed, reason=reason, undo=undo, as_json=as_json)

    @app.command()
    def keep(
        ws: Path = typer.Argument(..., metavar="WS", help="The workspace."),
        ids: list[str] | None = IDS,
        listed: Path | None = LIST,
        reason: str = REASON,
        undo: bool = UNDO,
        as_json: bool = JSON,
    ) -> None:
        """Take clips as they are, whatever the audit says of them."""
        _decide("keep", ws, ids or [], listed, reason=reason, undo=undo, as_json=as_json)


def _decide(
    decision: Literal["drop", "keep"],
    ws: Path,
    ids: list[str],
    listed: Path | None,
    *,
    reason: str,
    undo: bool,
    as_json: bool,
) -> None:
    from dataclasses import asdict

    from olu.core.errors import ConfigError
    from olu.core.files import Workspace
    from olu.stages import decide as stage

    if undo and reason:
        raise ConfigError("--reason has no effect with --undo: leave it out")
    if not ids and listed is None:
        raise ConfigError(f"no clip named: give ids, --from FILE, or - for stdin: see 'olu {decision} --help'")
    workspace = Workspace.open(ws)
    wanted = [*_named(ids), *(_lines(listed) if listed else [])]
    if undo:
        done = stage.undo(workspace, wanted, decision=decision)
    else:
        done = stage.decide(workspace, wanted, decision=decision, reason=reason)
    if as_json:
        print_json({"workspace": str(ws), "undone": undo, **asdict(done)})
        return
    if undo:
        other = f"; {done.already} had none" if done.already else ""
        say(f"Taken back for {_clips(len(done.ids))}{other}.")
    else:
        other = f"; {done.already} stood so already" if done.already else ""
        what = "left out" if decision == "drop" else "taken as they are"
        say(f"{_clips(len(done.ids))} {what}{other}.")
    for note in done.notes:
        say(f"Note: {note}.")
    say(f"Next: olu status {quoted(ws)}")


def _clips(number: int) -> str:
    return "1 clip" if number == 1 else f"{number} clips"


def _named(ids: list[str]) -> list[str]:
    found = []
    for id in ids:
        found += _cleaned(sys.stdin.read()) if id == "-" else [id]
    return found


def _lines(path: Path) -> list[str]:
    from olu.core.errors import ConfigError

    try:
        return _cleaned(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"--from {path} is not there: check the path") from None
    except UnicodeDecodeError:
        raise ConfigError(f"--from {path} is not UTF-8 text: give a file with one id a line") from None


def _cleaned(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
