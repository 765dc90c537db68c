"""Sizes, lengths and large numbers for people: in a unit in which nothing rounds away."""

from __future__ import annotations

SIZES = (("GiB", 2**30, 2), ("MiB", 2**20, 1), ("KiB", 2**10, 1))
LENGTHS = (("hours", 3600.0, 2), ("minutes", 60.0, 1))


def size(number: float) -> str:
    """Of a file, a disk or a memory, given in bytes."""
    for unit, one, digits in SIZES:
        if number >= one:
            return f"{number / one:.{digits}f} {unit}"
    return "1 byte" if number == 1 else f"{number:.0f} bytes"


def length(seconds: float, *, short: bool = False) -> str:
    """How long something takes or lasts; `short`: with the sign of the unit, for a table."""
    if short:
        number, unit = length(seconds).split()
        return f"{number} {'min' if unit == 'minutes' else unit[0]}"
    for unit, one, digits in LENGTHS:
        if seconds >= one:
            return f"{seconds / one:.{digits}f} {unit}"
    return f"{seconds:.1f} seconds" if seconds >= 1 or not seconds else f"{seconds:.2g} seconds"


def minutes(seconds: float) -> str:
    """Of speech. Rounded down: 9.7 minutes must not read as the 10 that they do not reach."""
    whole = int(seconds // 60)
    return f"{whole} minute{'' if whole == 1 else 's'}" if whole else length(seconds)


def large(number: int) -> str:
    """Such as the parameters of a network."""
    return f"{number / 1e6:.1f} M" if number >= 1_000_000 else f"{number:,}"
