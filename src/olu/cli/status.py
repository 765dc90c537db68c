"""olu status"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.doubts import show_doubts
from olu.cli.here import WS
from olu.cli.show import length, many, print_json, quoted, say, size, table, write_texts


def register(app: typer.Typer) -> None:
    @app.command()
    def status(
        ws: Path = WS,
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Say which stage is stale, how much disk each uses, and what to run next."""
        from dataclasses import asdict

        from olu.core.files import Workspace
        from olu.stages.status import status as stage

        found = stage(Workspace.open(ws))
        if as_json:
            print_json(asdict(found))
            return
        say(f"{found.workspace}: {found.language}, {many(found.clips, 'clip')}, {length(found.seconds)}")
        if found.aside:
            lie = "lies aside, cut" if found.aside == 1 else "lie aside, cut"
            say(f"{many(found.aside, 'long clip')} {lie} into shorter ones, which are counted instead")
        if found.untranscribed:
            have = "has no text and is" if found.untranscribed == 1 else "have no text and are"
            say(f"{found.untranscribed} of the clips {have} never trained on. To change that: {write_texts(ws)}")
        if found.long:
            say(found.long)
        if found.corrected:
            say(f"{many(found.corrected, 'text')} corrected: olu clips {quoted(ws)} --where 'corrected != \"\"'")
        for sentence in (*found.lost, *found.torn):
            say(sentence[:1].upper() + sentence[1:])
        if found.decisions:
            kinds = ", ".join(f"{number} {kind}" for kind, number in found.decisions.items())
            say(f"Decided: {kinds}; {length(found.seconds_left)} are left to train on")
        show_doubts(found.doubts)
        rows = [[s.name, s.state, size(s.bytes) if s.bytes else "-", s.command] for s in found.stages]
        table("", ["stage", "state", "disk", "command"], rows)
        if found.features:
            say(found.features)
        for run in found.runs:
            if run["aside"]:
                names = ", ".join(map(str, run["aside"]))  # type: ignore[call-overload]
                say(f"{run['run']}: damaged and put aside: {names} ('olu clean {quoted(ws)} --damaged' removes it)")
            say(f"{run['run']}: {run['says']}")
        if found.advice:
            say(found.advice)
        say(f"Next: {found.next}")
