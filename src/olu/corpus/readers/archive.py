"""A zip or tar of recordings, unpacked so that nothing in it can write anywhere else.

The headers of a tar are looked at before Python's own reader works on them: some Pythons take minutes over a header of
digits (CVE-2024-6232), or ask for as much memory as a header claims.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import re
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from olu.core.errors import CorpusError, OluError
from olu.core.job import Job, Tick
from olu.core.words import many
from olu.corpus.readers.rows import DEEPEST, Problem, Why
from olu.corpus.readers.source import ABSOLUTE

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
MOST_FILES = 1_000_000
MOST_BYTES = 500 * 2**30
OUT = Why.OUTSIDE
SHARE_OF_DISK = 0.9  # of what is free
CHUNK = 2**20
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,  # a compression this Python does not have
    RuntimeError,
    ValueError,
    OverflowError,
    IndexError,
)
UNUSABLE_NAME = (errno.ENAMETOOLONG, errno.EINVAL, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EILSEQ)
Header = TypeVar("Header", bound=tarfile.TarInfo)
PAX = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
MOST_HEADER = 2**20  # bytes of what describes one file: names, dates and attributes
MOST_TAR_BYTES = 2**50
DIGITS = re.compile(rb"[0-9]{100}")  # numbers of a header are short; runs of digits are what takes for ever
RECORD = re.compile(rb"([0-9]{1,10}) [^=\n]+=")
SPARSE = b"GNU.sparse."
OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    kind: str  # "file", "folder", or what else it is, in words
    open: Callable[[], IO[bytes] | None]


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS) and path.is_file()


def unpack(archive: Path, *, into: Path) -> Job[list[Problem]]:
    """Write the files of an archive under `into`, a folder of our own; what is left out comes back as problems."""
    into.mkdir(parents=True)
    room = min(MOST_BYTES, int(shutil.disk_usage(into).free * SHARE_OF_DISK))
    problems: list[Problem] = []
    size, files, members = archive.stat().st_size, 0, 0
    with archive.open("rb") as data:
        found = _zipped(data) if archive.name.lower().endswith(".zip") else _tarred(data)
        while True:
            try:
                member = next(found, None)
            except (OSError, *DAMAGE) as bad:
                if isinstance(bad, OluError) or not _is_damage(bad):
                    raise
                if not members:
                    raise CorpusError(f"{archive} is not a readable archive ({_reason(bad)}): copy it again") from None
                message = f"breaks off after {files} files ({_reason(bad)}): what came before is used; copy it again"
                problems.append(Problem(archive.name, message))
                break
            if member is None:
                break
            members += 1
            if members > MOST_FILES:
                raise CorpusError(
                    f"{archive} holds more than {MOST_FILES} files: unpack it yourself, import the folder"
                )
            written = _take(member, into=into, room=room, archive=archive)
            if isinstance(written, Problem):
                problems.append(written)
            elif written is not None:
                files, room = files + 1, room - written
            yield Tick(min(data.tell(), size), size, f"unpacking {archive.name}")
    if not files and problems:
        number = many(len(problems), "problem")
        raise CorpusError(f"nothing in {archive} can be unpacked ({number}); the first is {problems[0]}")
    return problems


def names_in(archive: Path) -> list[str]:
    """The files of an archive by name; nothing is unpacked."""
    try:
        with archive.open("rb") as data:
            found = _zipped(data) if archive.name.lower().endswith(".zip") else _tarred(data)
            return [member.name for member in islice(found, MOST_FILES) if member.kind == "file"]
    except (OSError, *DAMAGE) as bad:
        raise CorpusError(f"{archive} is not a readable archive ({_reason(bad)}): copy it again") from None


def inner(folder: Path) -> Path:
    """The one folder that everything inside lies in, as most archives have one; else the folder itself."""
    while True:
        below = list(folder.iterdir())
        if len(below) != 1 or not below[0].is_dir():
            return folder
        if below[0].name in ("wavs", "wav", "audio", "clips", "by_book"):  # this is the layout already
            return folder
        folder = below[0]


def _zipped(data: IO[bytes]) -> Iterator[_Member]:
    with zipfile.ZipFile(data) as zipped:
        for info in zipped.infolist():
            kind = "folder" if info.is_dir() else "file"
            if stat.S_ISLNK(info.external_attr >> 16):
                kind = "a link"
            elif info.flag_bits & 1:
                kind = "locked with a password"
            yield _Member(info.filename, kind, partial(zipped.open, info))


def _tarred(data: IO[bytes]) -> Iterator[_Member]:
    with open_tar(data) as tarred:
        for info in tarred:
            kind = "a link" if info.issym() or info.islnk() else "a device"
            kind = "file" if info.isreg() else "folder" if info.isdir() else kind
            yield _Member(info.name, kind, partial(tarred.extractfile, info))


def _take(member: _Member, *, into: Path, room: int, archive: Path) -> int | Problem | None:
    """Write one member and say how many bytes it has; nothing for what is no file of a person's."""
    parts = [part for part in member.name.replace("\\", "/").split("/") if part not in ("", ".")]
    where = f"{archive.name}: {member.name}"
    if ABSOLUTE.match(member.name) or ".." in parts or "\0" in member.name:
        return Problem(where, "leads out of the archive and was not unpacked: pack it again", OUT)
    if member.kind not in ("file", "folder"):
        return Problem(where, f"is {member.kind} and was not unpacked: pack the file itself", OUT)
    if member.kind == "folder" or not parts or any(part.startswith((".", "__MACOSX")) for part in parts):
        return None
    if len(parts) > DEEPEST:
        message = f"lies more than {DEEPEST} folders deep and was not unpacked: pack it further up"
        return Problem(f"{archive.name}: {'/'.join(parts)[:80]}...", message)
    return _write(member, into.joinpath(*parts), where=where, room=room, archive=archive)


def _write(member: _Member, target: Path, *, where: str, room: int, archive: Path) -> int | Problem:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as out:
            try:
                return _pour(member, out, room=room, archive=archive)
            except BaseException:
                target.unlink()  # half a recording is none
                raise
    except OluError:
        raise
    except FileExistsError:
        return Problem(where, "is there twice, and the first was taken: remove one of the two", Why.TWICE)
    except (OSError, *DAMAGE) as bad:
        if isinstance(bad, OSError) and bad.errno in UNUSABLE_NAME:
            return Problem(where, f"has a name that cannot be used here ({bad.strerror}): rename it")
        if not _is_damage(bad):
            raise
        return Problem(where, f"is damaged ({_reason(bad)}): pack it again")


def _pour(member: _Member, out: IO[bytes], *, room: int, archive: Path) -> int:
    inside = member.open()
    if inside is None:
        raise ValueError("no data")
    written = 0
    with inside:
        while chunk := inside.read(CHUNK):
            written += len(chunk)
            if written > room:
                raise CorpusError(
                    f"{archive} unpacks to more than there is room for ({room / 2**20:.0f} MB were left at"
                    f" {member.name}): make room, or unpack it yourself and import the folder"
                )
            out.write(chunk)
    return written


def _is_damage(bad: BaseException) -> bool:
    """Whether an error is the archive's fault, and not the disk's."""
    return not isinstance(bad, OSError) or bad.errno is None


def _reason(bad: BaseException) -> str:
    return str(bad).strip().rstrip(".").replace("\n", " ") or type(bad).__name__


class BadHeader(ValueError):
    """A header that no honest program writes."""


class CheckedHeaders:
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
        if not 0 <= info.size <= (MOST_HEADER if described else MOST_TAR_BYTES):
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
    watched = CheckedHeaders(data)

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
    """Refuse an extended header that is not `length name=value` records, one behind the other."""
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
