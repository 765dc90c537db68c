"""Short Ogg Opus files that claim a little more sound than they hold.

Some versions of ffmpeg count the samples to skip at the start twice in the length of a file with one page of sound.
All of it is there, but libsndfile refuses the file; here the claim is put right, in memory.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HEAD = struct.Struct("<4sBBqIIIB")  # letters, version, flags, samples so far, stream, page, checksum, pieces
CONTINUED, LAST = 1, 4  # flags of a page
RATE = 48000  # Opus counts in it, whatever the sound's own is
LARGEST = 1 << 20  # bytes: one page of sound, and the tags
POLYNOMIAL = 0x04C11DB7
SILK, HYBRID, CELT = (480, 960, 1920, 2880), (480, 960), (120, 240, 480, 960)  # samples of a frame


@dataclass(frozen=True, slots=True)
class PageClaim:
    """What the only page of sound says it holds, what it holds, and what a decoder skips; in samples."""

    at: int
    said: int
    held: int
    skipped: int


def mended(data: bytes) -> bytes | None:
    """The file with its claim put right; None where something else is wrong, or sound is missing."""
    found = _claim(data)
    if found is None or not 0 < found.said - found.held <= found.skipped:
        return None
    page = bytearray(data[found.at :])
    page[6:14] = struct.pack("<q", found.held)
    page[22:26] = bytes(4)
    page[22:26] = struct.pack("<I", _checksum(page))
    return data[: found.at] + bytes(page)


def fault(data: bytes) -> str:
    """What is wrong with a file whose page holds less than it claims; nothing where all is well."""
    found = _claim(data)
    if found is None or found.said <= found.held:
        return ""
    return f"its only page of sound claims {found.said / RATE:.2f} s and holds {found.held / RATE:.2f} s"


def small_file(path: Path) -> bytes:
    """The bytes of a file; none where it cannot be read or is too large to be one of these."""
    try:
        return path.read_bytes() if path.stat().st_size <= LARGEST else b""
    except OSError:
        return b""


def _claim(data: bytes) -> PageClaim | None:
    """The claim of a whole Ogg Opus file with one page of sound, its last; None for all else."""
    pages = _pages(data)
    if len(pages) < 3 or not data[28:].startswith(b"OpusHead") or len(data) < 40:
        return None
    at = pages[-1]
    _, _, flags, said, _, _, checksum, pieces = HEAD.unpack_from(data, at)
    if not flags & LAST or flags & CONTINUED or _said(data, pages[-2]) != 0:
        return None
    if checksum != _checksum(data[at : at + 22] + bytes(4) + data[at + 26 :]):
        return None
    table = data[at + HEAD.size : at + HEAD.size + pieces]
    held = _samples(data[at + HEAD.size + pieces :], table)
    return None if held == 0 else PageClaim(at, said, held, struct.unpack_from("<H", data, 38)[0])


def _said(data: bytes, at: int) -> int:
    return int(HEAD.unpack_from(data, at)[3])


def _pages(data: bytes) -> list[int]:
    """The places where pages begin; none where they do not fill the file."""
    found, at = [], 0
    while at < len(data):
        if not data.startswith(b"OggS", at) or at + HEAD.size > len(data):
            return []
        found.append(at)
        pieces = data[at + HEAD.size - 1]
        at += HEAD.size + pieces + sum(data[at + HEAD.size : at + HEAD.size + pieces])
    return found if at == len(data) else []


def _samples(body: bytes, table: bytes) -> int:
    """How many samples the packets of a page hold; 0 where one is not whole."""
    total, start, at = 0, 0, 0
    for piece in table:
        at += piece
        if piece == 255:  # the packet goes on
            continue
        long = _packet(body[start:at])
        if long == 0:
            return 0
        total, start = total + long, at
    return total if start == at == len(body) else 0


def _packet(packet: bytes) -> int:
    if not packet:
        return 0
    kind, count = packet[0] >> 3, packet[0] & 3
    frame = SILK[kind & 3] if kind < 12 else HYBRID[kind & 1] if kind < 16 else CELT[kind & 3]
    if count == 3:
        return frame * (packet[1] & 63) if len(packet) > 1 else 0
    return frame * (1 if count == 0 else 2)


def _checksum(page: bytes | bytearray) -> int:
    table, value = _table(), 0
    for byte in page:
        value = (value << 8 & 0xFFFFFFFF) ^ table[value >> 24 ^ byte]
    return value


@cache
def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        value = byte << 24
        for _ in range(8):
            value = value << 1 ^ (POLYNOMIAL if value & 0x80000000 else 0)
        found.append(value & 0xFFFFFFFF)
    return tuple(found)


# ---- whether a sound file ends where its format says: decoders read half a file without a word


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
