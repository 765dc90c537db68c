"""olu split"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.here import WS
from olu.cli.show import many, print_json, quoted, say, table


def register(app: typer.Typer) -> None:
    @app.command()
    def split(
        ws: Path = WS,
        valid: float | None = typer.Option(None, "--valid", metavar="SHARE", help="For validation; 0.04 at first."),
        test: float | None = typer.Option(None, "--test", metavar="SHARE", help="For tests; 0.04 at first."),
        seed: int | None = typer.Option(None, "--seed", metavar="N", help="Another number, another split."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Choose which clips train and which are kept for validation and tests."""
        from dataclasses import asdict

        from olu.core.files import Workspace
        from olu.stages.split import SIDES, split_corpus

        done = split_corpus(Workspace.open(ws), valid=valid, test=test, seed=seed)
        if as_json:
            print_json({"workspace": str(ws), **asdict(done)})
            return
        rows = [[name, *(str(count[side] or "-") for side in SIDES)] for name, count in done.speakers.items()]
        rows.append(["all", *(str(done.clips[side]) for side in SIDES)])
        rows.append(["minutes", *(f"{done.seconds[side] / 60:.1f}" for side in SIDES)])
        rows.append(["middle length, s", *(f"{done.lengths[side]:.1f}" for side in SIDES)])
        table("", ["speaker", *SIDES], rows)
        if seams := done.clips["none"] - done.untranscribed:
            adjoin = "adjoins clips of two sides and belongs" if seams == 1 else "adjoin clips of two sides and belong"
            say(f"{many(seams, 'clip')} {adjoin} to none.")
        if done.untranscribed:
            have = "has no text and belongs" if done.untranscribed == 1 else "have no text and belong"
            say(f"{many(done.untranscribed, 'clip')} {have} to no side.")
        say(f"{many(done.moved, 'clip')} changed sides." if done.moved else "No clip changed sides.")
        say(f"Next: olu status {quoted(ws)}")
