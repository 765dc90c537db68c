"""Words for people: plurals, sizes, lengths; and foreign names with what would move a cursor escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

SIZES = (("GiB", 2**30, 2), ("MiB", 2**20, 1), ("KiB", 2**10, 1))
LENGTHS = (("hours", 3600.0, 2), ("minutes", 60.0, 1))
# C0 and C1 controls, line and paragraph separators, marks that turn the direction of a text
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
BUT_LINES = re.compile(f"(?![\n\t]){CONTROL.pattern}")


def many(count: int, what: str) -> str:
    """A number and its noun, whose plural ends in s."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def first_names(names: Sequence[str], most: int, *, count: bool = False) -> str:
    """The first `most` with commas, and where there are more "..." or, with `count`, how many."""
    more = f" and {len(names) - most} more" if count else " ..."
    return ", ".join(names[:most]) + (more if len(names) > most else "")


def size(number: float) -> str:
    """A number of bytes in words, of a file, a disk or a memory."""
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


def clock(seconds: float) -> str:
    """3:05 for minutes and seconds, 2 h 10 min beyond an hour."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60}:{whole % 60:02d}"


def minutes(seconds: float) -> str:
    """Minutes of speech in words, rounded down: 9.7 must not read as the 10 that are not reached."""
    whole = int(seconds // 60)
    return f"{whole} minute{'' if whole == 1 else 's'}" if whole else length(seconds)


def large(number: int) -> str:
    """A large number in short, such as the parameters of a network."""
    return f"{number / 1e6:.1f} M" if number >= 1_000_000 else f"{number:,}"


def one_line(text: str) -> str:
    """The text safe to print in one line: control characters, newlines and bytes that are no UTF-8 escaped."""
    return CONTROL.sub(_escape, _encodable(text))


def lines(text: str) -> str:
    """The text safe to print, its newlines kept: for several lines that Olu made itself."""
    return BUT_LINES.sub(_escape, _encodable(text))


def json_safe(text: str) -> str:
    """JSON text with control characters escaped that JSON itself would leave; its value is the same."""
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escape(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]
