"""The workspace a verb is about: the one that is named, or the one a person stands in."""

from __future__ import annotations

from pathlib import Path

import typer

from olu.core.errors import ConfigError


def workspace_here() -> Path | None:
    """The folder one stands in, or one above it, that is a workspace."""
    place = Path.cwd()
    for above, folder in enumerate((place, *place.parents)):
        if (folder / "olu.toml").is_file():
            return Path(*[".."] * above) if above else Path()
    return None


def _named(value: Path | None) -> Path:
    found = workspace_here() if value is None else value
    if found is None:
        raise ConfigError("which workspace? Name its folder, or go into it: there is no olu.toml here or above")
    return found


WS = typer.Argument(None, metavar="[WS]", callback=_named, help="The workspace; without it, the one you are in.")
