"""What every reader yields, and the look at a source that all of them share."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from olu.audio.io import SUFFIXES


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One recording and its text, as the source gives them."""

    audio: str  # with forward slashes, from the source's root
    text: str
    where: str  # for messages: "metadata.csv line 7", "a/b.txt"
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that was left out: where, why, and what to do."""

    where: str
    message: str
    missing: str = ""  # the recording a row names, where it is not there

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


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


def exists(path: Path) -> bool:
    """Whether `path` is a file, where `path` may be anything somebody typed."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _relative(path: Path, source: Path) -> str:
    return path.relative_to(source).as_posix()
