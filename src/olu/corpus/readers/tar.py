"""A tar whose headers are looked at before Python's own reader works on them.

Some Pythons take minutes over a header of digits (CVE-2024-6232), or ask for as much memory as a header claims.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tarfile
from typing import IO, Any, Self, TypeVar

Header = TypeVar("Header", bound=tarfile.TarInfo)
PAX = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
MOST_HEADER = 2**20  # bytes of what describes one file: names, dates and attributes
MOST_BYTES = 2**50
DIGITS = re.compile(rb"[0-9]{100}")  # numbers of a header are short; runs of digits are what takes for ever
RECORD = re.compile(rb"([0-9]{1,10}) [^=\n]+=")
SPARSE = b"GNU.sparse."
OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}


class BadHeader(ValueError):
    """A header that no honest program writes."""


class Watched:
    """What a tar holds, unpacked, with every extended header checked before it is handed on."""

    def __init__(self, data: IO[bytes]) -> None:
        start = data.read(6)
        data.seek(0)
        opener: Any = next((one for magic, one in OPENERS.items() if start.startswith(magic)), None)
        self.data: IO[bytes] = opener(data) if opener else data
        self.wanted = False  # the next read is an extended header
        self.headers = 0  # looked at so far

    def looked_at(self, info: Header) -> Header:
        self.headers += 1
        described = info.type in PAX or info.type in LONG
        if not 0 <= info.size <= (MOST_HEADER if described else MOST_BYTES):
            raise BadHeader(f"a header that claims {info.size} bytes")
        self.wanted = info.type in PAX
        return info

    def read(self, size: int = -1) -> bytes:
        found = self.data.read(size)
        if self.wanted:
            self.wanted = False
            check_pax(found)
        return found

    def seek(self, place: int, whence: int = 0) -> int:
        return self.data.seek(place, whence)

    def tell(self) -> int:
        return self.data.tell()


def open_tar(data: IO[bytes]) -> tarfile.TarFile:
    watched = Watched(data)

    class CheckedTar(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            return watched.looked_at(super().frombuf(buf, encoding, errors))

        @classmethod
        def _frombuf(cls, *given: Any, **more: Any) -> Self:  # what newer Pythons call in its place
            return watched.looked_at(super()._frombuf(*given, **more))  # type: ignore[misc, no-any-return]

    opened: tarfile.TarFile = tarfile.open(fileobj=watched, mode="r:", tarinfo=CheckedTar)  # type: ignore[call-overload]  # noqa: SIM115
    if not watched.headers and opened.next() is not None:
        raise BadHeader("headers that this Python reads past every check: unpack it yourself")
    return opened


def check_pax(data: bytes) -> None:
    """Records of `length name=value`, one behind the other, in one pass."""
    if DIGITS.search(data):
        raise BadHeader("an extended header of digits")
    if SPARSE in data:
        raise BadHeader("a file with holes, as tar -S writes it")
    at, end = 0, len(data.rstrip(b"\0"))
    while at < end:
        found = RECORD.match(data, at)
        after = at + int(found[1]) if found else 0
        if found is None or after <= found.end() or after > end or data[after - 1 : after] != b"\n":
            raise BadHeader("an extended header that is damaged")
        at = after
