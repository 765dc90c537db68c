"""olu languages"""

from __future__ import annotations

import typer

from olu.cli.show import print_json, say, table

OTHERS = "Any other language works too, by its ISO 639-3 code: its text is read character by character."


def register(app: typer.Typer) -> None:
    @app.command()
    def languages(
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """List the languages that come with a folder of their own."""
        from olu.text.languages import available

        known = available()
        if as_json:
            keys = ("code", "name", "native", "script")
            rows = [{key: getattr(one, key) for key in keys} | {"sample": one.has_sample} for one in known]
            print_json({"languages": rows, "others": OTHERS})
            return
        columns = ["code", "name", "native", "script", "sample"]
        table("", columns, [[o.code, o.name, o.native, o.script, "yes" if o.has_sample else "-"] for o in known])
        say(OTHERS)
