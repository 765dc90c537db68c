"""The families, by name. Adding one is a folder and its line here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from olu.core.config import did_you_mean
from olu.core.errors import ConfigError
from olu.train.family import Family

FAMILIES = {
    "vits": "olu.families.vits",  # the first reads foreign voices
    "recogniser": "olu.families.recogniser",
    "acoustic": "olu.families.acoustic",
    "vocoder": "olu.families.vocoder",
    "xtts": "olu.families.xtts",
    "chatterbox": "olu.families.chatterbox",
}


def family(name: str) -> Family:
    if name not in FAMILIES:
        hint = did_you_mean(name, FAMILIES) or f"; there are: {', '.join(FAMILIES)}"
        raise ConfigError(f"recipe: unknown family {name!r}{hint}")
    found: Family = import_module(FAMILIES[name]).FAMILY
    return found


def family_of_base(place: Path) -> str | None:
    """The family that a base is surely of; None where nothing tells."""
    for name in FAMILIES:
        bases = family(name).bases
        if bases and bases.knows and bases.knows(place):
            return name
    return None


def first_voice() -> Family:
    """The family that foreign checkpoints are read with where nothing names another."""
    return family(next(iter(FAMILIES)))
