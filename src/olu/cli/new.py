"""olu new"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.rights import AGREED, CONSENT, CREDITS, LICENCE, SOURCE, asked_rights
from olu.cli.show import print_json, quoted, say


def register(app: typer.Typer) -> None:
    @app.command()
    def new(
        ws: Path = typer.Argument(..., metavar="WS", help="The folder to make."),
        language: str = typer.Option(..., "--language", "-l", help="Language code: am, amh, am-ET, ig, es, swa ..."),
        licence: str = LICENCE,
        consent: str = CONSENT,
        agreed: str = AGREED,
        credits: str = CREDITS,
        source: str = SOURCE,
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Make a workspace folder."""
        from olu.stages.new import new_workspace

        given = {"licence": licence, "consent": consent, "agreed": agreed, "credits": credits, "source": source}
        made = new_workspace(ws, language=language, rights=asked_rights(given, quiet=as_json))
        if as_json:
            print_json({"workspace": str(made.root), "language": made.language})
        else:
            say(f"{made.root}: a workspace for {made.language}. Next: olu import {quoted(made.root)} SOURCE")
