"""Whether a sound file ends where its format says: decoders read half a file without a word."""

from __future__ import annotations

import struct
from pathlib import Path

TAIL = 65536 + 300  # an Ogg page is no longer
LAST_PAGE = 4  # the flag of a stream's last page


def cut_off(path: Path) -> str:
    """What is missing at the end of a WAV or Ogg file; empty when it is whole or of another format."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
            if head == b"OggS":
                size = file.seek(0, 2)
                file.seek(max(0, size - TAIL))
                return _ogg(file.read())
            if head == b"RIFF":
                return _wav(path)
    except OSError:
        return ""
    return ""


def _ogg(tail: bytes) -> str:
    at = tail.rfind(b"OggS")
    while at >= 0 and (len(tail) - at < 27 or tail[at + 4] != 0):  # the letters can also stand inside a page
        at = tail.rfind(b"OggS", 0, at)
    if at < 0:
        return "its last page is not there"
    pieces = tail[at + 26]
    table = tail[at + 27 : at + 27 + pieces]
    if len(table) < pieces or at + 27 + pieces + sum(table) > len(tail):
        return "its last page is not whole"
    return "" if tail[at + 5] & LAST_PAGE else "the page that ends it is missing"


def _wav(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        at = 12
        while at + 8 <= size:
            file.seek(at)
            name, length = struct.unpack("<4sI", file.read(8))
            if name == b"data":
                held = size - at - 8
                streamed = length in (0, 0xFFFFFFFF)  # written without going back to fill in the length
                return "" if streamed or held >= length else f"it holds {held / length:.0%} of the sound it announces"
            at += 8 + length + length % 2
    return ""
