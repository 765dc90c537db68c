"""olu families"""

from __future__ import annotations

import typer

from olu.cli.show import print_json, table


def register(app: typer.Typer) -> None:
    @app.command()
    def families(as_json: bool = typer.Option(False, "--json", help="Print one JSON object.")) -> None:
        """List the families of voices and their settings."""
        from olu.families import FAMILIES, family

        found = [family(name) for name in FAMILIES]
        if as_json:
            print_json({f.name: {"summary": f.summary, "settings": f.config().model_dump(mode="json")} for f in found})
        else:
            table("", ["family", "what it is"], [[f.name, f.summary] for f in found])
