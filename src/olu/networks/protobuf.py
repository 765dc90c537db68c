"""Protocol buffers read field by field, bounded and without recursion: what stands where, never what it means.

Every occurrence of a field is given, also those that a parser would later overwrite or merge, so that nothing which any
parser might use is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MOST_VARINT = 10  # bytes

Field = tuple[int, int, int, int]  # its number, its wire type, and where its content begins and ends


class BadFields(ValueError):
    """Bytes that are no message."""


def fields(data: bytes, start: int, end: int) -> Iterator[Field]:
    """The fields of the message that lies between these places."""
    at = start
    while at < end:
        tag = data[at]
        if tag < 0x80:
            at += 1
        else:
            tag, at = varint(data, at, end)
            if tag >= 1 << 32:
                raise BadFields("a field has no number")
        number, kind = tag >> 3, tag & 7
        if not number:
            raise BadFields("a field has no number")
        if kind == BYTES:
            size, begin = varint(data, at, end)
            stop = begin + size
        elif kind == VARINT:
            begin, stop = at, varint(data, at, end)[1]
        elif kind in (FIXED32, FIXED64):
            begin, stop = at, at + (4 if kind == FIXED32 else 8)
        else:  # groups, which nobody writes any more
            raise BadFields("a field is of an unknown kind")
        if stop > end:
            raise BadFields("a field is cut")
        yield number, kind, begin, stop
        at = stop


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A whole number and where it ends."""
    value, shift = 0, 0
    for place in range(at, min(end, at + MOST_VARINT)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise BadFields("a number is cut")
