"""What may be opened of a source: plain files inside it. A link that leads out, a pipe or a device never is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}
# A pipe that nobody writes into must not make us wait, and a link may come between the look and the opening.
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Refused(ValueError):
    """A file that is not opened or cannot be read, and why: words to stand behind its name."""


def is_inside(source: Path, file: str | Path) -> bool:
    """Whether a path leads nowhere but into `source` (or, in a download of the hub, to the files beside it)."""
    try:
        found, root = (source / file).resolve(), source.resolve()
    except (OSError, ValueError, RuntimeError):  # a link that leads in a circle leads nowhere
        return False
    return found.is_relative_to(root) or found.is_relative_to(_blobs(root))


def _blobs(root: Path) -> Path:
    """Where the hub's cache keeps the files that a snapshot in it links to."""
    at = next((one for one in (root, *root.parents) if one.parent.name == "snapshots"), None)
    return at.parent.parent / "blobs" if at is not None else root


def fault_of(source: Path, file: str | Path) -> str:
    """Why a file of a source is not opened; nothing where it may be."""
    if not is_inside(source, file):
        return f"leads out of {source}: copy the file into it"
    try:
        return _no_file((source / file).stat().st_mode)
    except (OSError, ValueError) as bad:
        return f"cannot be read ({getattr(bad, 'strerror', None) or 'no such name'}): allow reading it"


def _no_file(mode: int) -> str:
    kind = stat.S_IFMT(mode)
    return "" if kind == stat.S_IFREG else f"is {KINDS.get(kind, 'no plain file')}: put a file in its place"


def read_inside(source: Path, file: str | Path, *, most: int, cut: bool = False) -> bytes:
    """What a text file of a source holds, or Refused. `cut`: only its beginning is wanted, of `most` bytes."""
    if fault := fault_of(source, file):
        raise Refused(fault)
    try:
        handle = os.open((source / file).resolve(), FLAGS)
        with open(handle, "rb") as data:  # noqa: PTH123
            if fault := _no_file(os.fstat(handle).st_mode):
                raise Refused(fault)
            found = data.read(most if cut else most + 1)
    except OSError as bad:
        raise Refused(f"cannot be read ({bad.strerror}): allow reading it") from None
    if len(found) > most:
        raise Refused(f"has more than {most // 2**20} MiB, which no such text has: name the right folder")
    return found
