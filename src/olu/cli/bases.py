"""olu bases"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from olu.cli.show import print_json, say

if TYPE_CHECKING:
    from olu.stages.bases import Listed


def register(app: typer.Typer) -> None:
    @app.command()
    def bases(
        language: str | None = typer.Option(None, "--language", metavar="CODE", help="What there is for a language."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """List published checkpoints to fine-tune, from a table that comes with Olu."""
        from olu.stages.bases import bases as stage

        found = stage(language)
        if as_json:
            print_json(found.json())
            return
        if language is None:
            say(f"{len(found.listed)} checkpoints for {found.languages} languages: name one with --language CODE")
            return
        if found.listed:
            _show(found.listed)
            _offer(found.language)
            say(f"Next: olu doctor --base {found.listed[0].id}  (fetches it and says whether it is whole)")
            return
        say(f"No checkpoint is known for {found.language}." + (" Near it are:" if found.near else ""))
        if found.near:
            _show(found.near)
        if following := _offer(found.language):
            say(f"Next: {following}")


def _offer(language: str) -> str:
    """The voice that comes with Olu, which is always here; returns how to begin with it."""
    from olu.stages.base_choice import offers

    for one in offers(language):
        if one.here:
            say(f"Always there: --base {one.base}, {one.facts()}{one.gain()}.")
            return f"olu train WS --base {one.base}"
    return ""


def _show(rows: list[Listed]) -> None:
    width = max(len(row.id) for row in rows)  # ids are for pasting: a table would cut them
    for row in rows:
        facts = f"discriminator {row.discriminator}, uroman {row.uroman}, licence {row.licence}"
        say(f"{row.id:{width}}  {row.language}  {facts}")
