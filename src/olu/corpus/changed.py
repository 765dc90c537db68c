"""Recordings that are no longer what was imported: seen by size and date, and read only where the date differs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from olu.corpus.shapes import FILE as KNOWN
from olu.files import Workspace, hash_file, read_jsonl, write_jsonl

FILE = "hashes.jsonl"  # of recordings whose date differs from that of the import: each is read once
SHOWN = 3

_known: dict[tuple[str, int, int], str] = {}  # path, size and date -> hash, for as long as this process lives


class Watch:
    """What the import wrote down of each recording, beside what lies there now."""

    def __init__(self, ws: Workspace) -> None:
        self.path = ws.corpus / FILE
        rows = read_jsonl(ws.corpus / "files.jsonl", shape=KNOWN)
        self.imported = {row["audio"]: row for row in rows if row["bytes"]}
        self.hashed: dict[str, dict[str, Any]] = {row["audio"]: row for row in read_jsonl(self.path, shape=KNOWN)}
        self.news = False

    def has_changed(self, audio: str, path: Path) -> bool:
        """Whether other bytes lie there than were imported; what is gone, or was never written down, has not."""
        row = self.imported.get(audio)
        if row is None:
            return False
        try:
            state = path.stat()
            if state.st_size != row["bytes"]:
                return True
            touched = bool(state.st_mtime_ns != row["mtime_ns"])
            return touched and self._hash(audio, path, state.st_mtime_ns) != str(row["sha256"])
        except OSError:
            return False  # whoever reads it says why

    def _hash(self, audio: str, path: Path, mtime_ns: int) -> str:
        size = self.imported[audio]["bytes"]
        row = self.hashed.get(audio)
        if row is not None and (row["bytes"], row["mtime_ns"]) == (size, mtime_ns):
            return str(row["sha256"])
        key = (str(path), size, mtime_ns)
        if key not in _known:
            _known[key] = hash_file(path)
        self.hashed[audio] = {"audio": audio, "sha256": _known[key], "bytes": size, "mtime_ns": mtime_ns}
        self.news = True
        return _known[key]

    def remember(self) -> None:
        """Write the hashes down, so that copied recordings with other dates are not read at every command."""
        if self.news:
            with suppress(OSError):  # a workspace one may only read is read again
                write_jsonl(self.path, [row for audio, row in self.hashed.items() if audio in self.imported])
            self.news = False


def is_other(path: Path, *, sha256: str, bytes: int, mtime_ns: int) -> bool:
    """Whether a copy that lies there is no longer what was copied."""
    if not path.is_file():
        return False
    state = path.stat()
    return state.st_size != bytes or (state.st_mtime_ns != mtime_ns and hash_file(path) != sha256)


def what_to_do(ws: Workspace, roots: Iterable[str]) -> str:
    """The import that takes changed recordings in; a copied source has to be named by whoever knows it."""
    known = sorted(set(roots))
    source = shlex.quote(known[0]) if len(known) == 1 and Path(known[0]).is_absolute() else "SOURCE"
    return f"run 'olu import {shlex.quote(str(ws.root))} {source}' again"


def few(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:SHOWN]) + (" ..." if len(listed) > SHOWN else "")
