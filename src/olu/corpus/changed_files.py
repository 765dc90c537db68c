"""Recordings that are no longer what was imported: seen by size and date, and read only where the date differs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from olu.core.files import Workspace, hash_file, read_jsonl, write_jsonl
from olu.corpus.again import import_again

FILE = "hashes.jsonl"  # of recordings whose date differs from that of the import: each is read once
RECORDING = {"audio": str, "sha256": str, "bytes": int, "mtime_ns": int}  # a row of files.jsonl and of hashes.jsonl
SHOWN = 3

_known: dict[tuple[str, int, int], str] = {}  # path, size and date -> hash, for as long as this process lives


class ChangeWatch:
    """What the import wrote down of each recording, beside what lies there now."""

    def __init__(self, ws: Workspace, *, imported: Mapping[str, dict[str, Any]] | None = None) -> None:
        """`imported`: what an import would write down, where nothing shall be written."""
        self.path, self.dry = ws.corpus / FILE, imported is not None
        self.imported = imported if imported is not None else _imported(ws.corpus / "files.jsonl")
        self.hashed: dict[str, dict[str, Any]] = {}
        with suppress(OSError):  # what cannot be read of it is made again
            self.hashed = {row["audio"]: row for row in read_jsonl(self.path, shape=RECORDING, lost=[])}
        self.news = False

    def has_changed(self, audio: str, path: str) -> bool:
        """Whether other bytes lie there than were imported; what is gone, or was never written down, has not."""
        try:
            return audio in self.imported and self.is_other(audio, path, state_of(path))
        except OSError:
            return False  # whoever reads it says why

    def is_other(self, audio: str, path: str, state: os.stat_result) -> bool:
        """The same of a recording whose size and date were looked up."""
        row = self.imported.get(audio)
        if row is None or (state.st_size, state.st_mtime_ns) == (row["bytes"], row["mtime_ns"]):
            return False
        return state.st_size != row["bytes"] or self._hash(audio, path, state.st_mtime_ns) != str(row["sha256"])

    def _hash(self, audio: str, path: str, mtime_ns: int) -> str:
        size = self.imported[audio]["bytes"]
        row = self.hashed.get(audio)
        if row is not None and (row["bytes"], row["mtime_ns"]) == (size, mtime_ns):
            return str(row["sha256"])
        key = (path, size, mtime_ns)
        if key not in _known:
            _known[key] = hash_file(Path(path))
        self.hashed[audio] = {"audio": audio, "sha256": _known[key], "bytes": size, "mtime_ns": mtime_ns}
        self.news = True
        return _known[key]

    def remember(self) -> None:
        """Write the hashes down, so that copied recordings with other dates are not read at every command."""
        if self.news and not self.dry:
            with suppress(OSError):  # a workspace one may only read is read again
                write_jsonl(self.path, [row for audio, row in self.hashed.items() if audio in self.imported])
            self.news = False


def state_of(path: str) -> os.stat_result:
    """To make a Path of it takes longer than to look."""
    return os.stat(path)  # noqa: PTH116


def _imported(path: Path) -> Mapping[str, dict[str, Any]]:
    if not path.exists():
        return {}
    state = path.stat()
    return _rows(path, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=1)  # one command asks several times, and a large corpus takes a while
def _rows(path: Path, *state: int) -> Mapping[str, dict[str, Any]]:
    return {row["audio"]: row for row in read_jsonl(path, shape=RECORDING) if row["bytes"]}


def is_other(path: Path, *, sha256: str, bytes: int, mtime_ns: int) -> bool:
    """Whether a copy that lies there is no longer what was copied."""
    if not path.is_file():
        return False
    state = path.stat()
    return state.st_size != bytes or (state.st_mtime_ns != mtime_ns and hash_file(path) != sha256)


def to_import(ws: Workspace, roots: Iterable[str]) -> str:
    """The import that takes changed recordings in."""
    commands = [f"'{import_again(ws, root)}'" for root in sorted(set(roots))]
    return f"run {' and '.join(commands)} again"


def to_drop(ws: Workspace, ids: Sequence[str]) -> str:
    """What to do with clips whose recording no import can take any more."""
    place = shlex.quote(str(ws.root))
    if len(ids) <= SHOWN:
        return f"leave {'it' if len(ids) == 1 else 'them'} out: olu drop {place} {shlex.join(ids)}"
    listed = f"olu clips {place} --where '\"unreadable\" in marks' --ids"
    return f"leave them out: olu drop {place} ID ..., with the ids that {listed} lists after an audit"


def told(names: Sequence[str], remedy: str, *, imported: bool) -> str:
    """One sentence on changed recordings; `imported`: an import was just made, and has not taken them."""
    one = len(names) == 1
    number, be, them = ("1 recording", "is", "it") if one else (f"{len(names)} recordings", "are", "them")
    listed = ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
    since = f"changed since {'it was' if one else 'they were'} imported and {be} left out ({listed})"
    return f"{number} {since}{f', and this import did not take {them}' if imported else ''}: {remedy}"
