"""olu merge"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from olu.cli.show import follow, many, print_json, quoted, say

if TYPE_CHECKING:
    from olu.stages.merge import MergeSummary

SHOWN = 5


def register(app: typer.Typer) -> None:
    @app.command()
    def merge(
        ws: Path = typer.Argument(..., metavar="WS", help="The workspace that takes the clips in."),
        others: list[Path] = typer.Argument(..., metavar="OTHER...", help="The workspaces they come from."),
        same_speakers: bool = typer.Option(False, "--same-speakers", help="The same name is the same person."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Take in the clips of other workspaces; their recordings stay where they lie."""
        from olu.core.files import Workspace
        from olu.stages.merge import merge as stage

        summary = follow(stage(Workspace.open(ws), others, same_speakers=same_speakers), label="merge")
        if as_json:
            print_json({"workspace": str(ws), **asdict(summary), "next": f"olu audit {ws}"})
        else:
            _tell(summary, ws)


def _tell(summary: MergeSummary, ws: Path) -> None:
    for workspace, number in summary.added.items():
        say(f"Added {number} clips of {workspace}.")
    if not summary.added:
        say("Nothing new.")
    if summary.already:
        say(f"{summary.already} clips were there already.")
    for workspace, names in summary.renamed.items():
        for there, here in names.items():
            say(f"The speaker {there} of {workspace} is {here} here.")
    if summary.decisions:
        say(f"{many(summary.decisions, 'decision')} came along.")
    if summary.corrections:
        say(f"{many(summary.corrections, 'corrected text')} came along.")
    if summary.texts:
        say(f"{summary.texts} clips that had no text have one now.")
    if summary.duplicates:
        say(f"Left out, since their sound is here already: {len(summary.duplicates)}")
        for line in summary.duplicates[:SHOWN]:
            say(f"  {line}")
        if len(summary.duplicates) > SHOWN:
            say(f"  ... and {len(summary.duplicates) - SHOWN} more, see {ws / 'corpus' / 'duplicates.jsonl'}")
    speakers = ", ".join(summary.speakers)
    say(f"The corpus has {summary.clips} clips, {summary.seconds / 3600:.2f} h; speakers: {speakers}.")
    say(f"Next: olu audit {quoted(ws)}")
