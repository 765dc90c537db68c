"""The formats a voice can be written in: the package, and what each family declares for other programs."""

from __future__ import annotations

from olu.core.config import did_you_mean
from olu.core.errors import ExportError
from olu.families import FAMILIES, family
from olu.train.family import Family, Format

VOICE = "voice"  # the one package that keeps everything; it is written by itself


def formats() -> dict[str, Format]:
    """The formats of all families, by name."""
    speaking = [found.speaks for name in FAMILIES if (found := family(name)).speaks]
    return {one.name: one for speaks in speaking if speaks for one in speaks.formats}


def format_named(name: str, *, of: Family | None = None) -> Format:
    """The format that goes by this name; `of`: as that family writes it."""
    held = formats() if of is None else {one.name: one for one in (of.speaks.formats if of.speaks else ())}
    for one in held.values():
        if name in (one.name, *one.also):
            return one
    names = (VOICE, *held)
    if of is not None:
        raise ExportError(f"the family {of.name!r} has no format {name!r}: it has {', '.join(names)}")
    raise ExportError(f"cannot export to {name!r}{did_you_mean(name, names)}; there is: {', '.join(names)}")
