"""What every reader yields, and the look at a source that all of them share."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from olu.audio.io import SUFFIXES

UTF16 = (b"\xff\xfe", b"\xfe\xff")
LINE_END = re.compile(rb"\r*\n")
GLANCE_BYTES = 65536
GLANCE_LINES = 10
GLANCE_LETTERS = 4000
WIDE_SHARE = 20  # one byte in so many is zero at least: ids and bars are few where texts are long


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One recording and its text, as the source gives them."""

    audio: str  # with forward slashes, from the source's root
    text: str | None  # None: nobody has written down what is said
    where: str  # for messages: "metadata.csv line 7", "a/b.txt"
    speaker: str | None = None
    start: float = 0.0
    seconds: float | None = None  # to the end of the recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a text file, without its ending."""

    number: int
    text: str
    where: str  # "data/text line 7"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that was left out: where, why, and what to do."""

    where: str
    message: str
    missing: str = ""  # the recording a row names, where it is not there

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Note:
    """Something a person should know of a source that was read."""

    text: str


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a source, sorted, and the folders that could not be entered."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def audio(self) -> list[str]:
        return [file for file in self.files if is_audio(file)]


def look(source: Path) -> Tree:
    """Every file under `source`; hidden ones are the system's, not a person's recordings."""
    files: list[str] = []
    problems: list[Problem] = []

    def refused(bad: OSError) -> None:
        where = _relative(Path(bad.filename), source)
        problems.append(Problem(where=where, message=f"cannot be opened ({bad.strerror}): allow reading it"))

    for folder, below, names in os.walk(source, onerror=refused):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in below:
            if Path(folder, name).is_symlink():  # may lead out of the source, or round in a circle
                message = "is a link to a folder and is not followed: import that folder itself, or copy it here"
                problems.append(Problem(where=_relative(Path(folder, name), source), message=message))
        files += (_relative(Path(folder, name), source) for name in names if not name.startswith("."))
    return Tree(tuple(sorted(files)), tuple(problems))


def is_audio(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def without_ending(name: str) -> str:
    """a/b.wav -> a/b, in NFC: some systems store names decomposed, whatever the metadata says."""
    return unicodedata.normalize("NFC", str(PurePosixPath(name).with_suffix("")))


def decode(data: bytes) -> str:
    """UTF-8, or a ValueError that says which byte is wrong."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as bad:
        raise ValueError(f"not valid UTF-8 (byte 0x{data[bad.start]:02x} at position {bad.start + 1})") from None


def row_beside(source: Path, *, audio: str, text: str, speaker: str | None = None) -> Row | Problem:
    """A recording whose text lies in a file of its own; only the newline that ends the file is taken off."""
    try:
        data = (source / text).read_bytes()
        if wide(data):
            return Problem(where=text, message="is UTF-16: save it as UTF-8")
        said = decode(data).removeprefix("\ufeff")
    except OSError as bad:
        return Problem(where=text, message=f"cannot be read ({bad.strerror}): allow reading it")
    except ValueError as bad:
        return Problem(where=text, message=f"{bad}: save it as UTF-8")
    ending = next((end for end in ("\r\n", "\n", "\r") if said.endswith(end)), "")
    return Row(audio=audio, text=said.removesuffix(ending), where=text, speaker=speaker)


def read_lines(source: Path, file: str) -> Iterator[Line | Problem]:
    """The lines of a text file that hold something; what is no text is a problem of its line, or of the file."""
    try:
        data = (source / file).read_bytes()
    except (OSError, ValueError) as bad:
        reason = getattr(bad, "strerror", None) or "no such name"
        yield Problem(where=file, message=f"cannot be read ({reason}): allow reading it")
        return
    if wide(data):
        yield Problem(where=file, message="is UTF-16: save it as UTF-8")
        return
    for number, raw in enumerate(split_lines(data), 1):
        where = f"{file} line {number}"
        try:
            text = decode(raw)
        except ValueError as bad:
            yield Problem(where=where, message=f"{bad}: save the file as UTF-8; the row is left out")
        else:
            if text.strip():
                yield Line(number=number, text=text, where=where)


def split_lines(data: bytes) -> list[bytes]:
    """The lines of a file, without their ends and without the mark that it is UTF-8.

    Old programs end lines by a return alone; beside other line ends it is a part of a text.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    return LINE_END.split(data) if b"\n" in data else data.split(b"\r")


def wide(data: bytes) -> str:
    """Which UTF-16 this is, or nothing. Without a mark: its digits and bars have a zero byte on the same side."""
    if data.startswith(UTF16):
        return "UTF-16"
    start = data[:GLANCE_LETTERS]
    high, low = start[0::2].count(0), start[1::2].count(0)
    if max(high, low) * WIDE_SHARE < max(1, len(start)) or min(high, low) * 10 > max(high, low):
        return ""
    return "UTF-16-LE" if low > high else "UTF-16-BE"


def is_utf16(path: Path) -> bool:
    try:
        with path.open("rb") as data:
            return bool(wide(data.read(GLANCE_LETTERS)))
    except (OSError, ValueError):
        return False


def glance(source: Path, file: str) -> list[str]:
    """The first few lines that hold something, for a look at what a file is."""
    try:
        with (source / file).open("rb") as data:
            start = data.read(GLANCE_BYTES)
    except (OSError, ValueError):
        return []
    lines = [raw.decode("utf-8", "replace") for raw in split_lines(start)]
    return [line for line in lines if line.strip()][:GLANCE_LINES]


def speaker_name(given: str) -> str | None:
    return " ".join(given.split()) or None


def folder_of(file: str) -> str:
    """a/b/c.csv -> a/b, and nothing for a file at the top."""
    return file.rpartition("/")[0]


def name_of(file: str) -> str:
    return file.rpartition("/")[2]


def exists(path: Path) -> bool:
    """Whether `path` is a file, where `path` may be anything somebody typed."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _relative(path: Path, source: Path) -> str:
    return path.relative_to(source).as_posix()
