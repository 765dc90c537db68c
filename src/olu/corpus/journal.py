"""JSON lines that are appended, so that a small change costs little in a large corpus: decisions, texts, boundaries.

Later rows overrule earlier ones. What no longer counts is left out when the file is written anew, which happens now and
then. Readers need no lock: they see every whole line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from olu.core.files import FULL, Workspace, line_blocks, write_jsonl
from olu.core.parse import BadData, from_json
from olu.core.rows import as_row, load_rows
from olu.core.workspace_lock import appending

FEW = 16  # ids that are looked for one by one
BULK = 256  # rows that are not appended: with so many the file is written anew
LOOKED_AT = 2**16  # bytes: from here on, whenever the file has doubled, it is looked at what still counts

Row = TypeVar("Row")


def lines_with(path: Path, ids: Collection[str]) -> Iterator[bytes]:
    """The lines that hold one of a few ids as a value, found without reading the others as JSON.

    Of one id they come in the order of the file. Whoever makes rows of them looks whether they are of that clip.
    """
    values = [json.dumps(id, ensure_ascii=False).encode("utf-8", "surrogatepass") for id in ids]
    for block in line_blocks(path):
        for value in values:
            at = block.find(value)
            while at >= 0:
                end = block.find(b"\n", at)
                line = block[block.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(block)]
                if end >= 0 or _is_whole(line):
                    yield line
                at = block.find(value, end) if end >= 0 else -1


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(from_json(line), dict)
    except BadData:
        return False


@dataclass(frozen=True)
class Journal(Generic[Row]):
    """Rows appended to a file of the workspace. `counts` keeps those that still hold, each once."""

    ws: Workspace
    name: str
    kind: Any  # the dataclass of a row, or a union of some
    counts: Callable[[Iterable[Row]], list[Row]]
    folder: str = "corpus"

    @property
    def path(self) -> Path:
        return self.ws.root / self.folder / self.name

    def rows(self) -> Iterator[Row]:
        """All rows as they were written; a last line that was cut off does not count."""
        return load_rows(enumerate(self._lines(), 1), self.path, self.kind)

    def rows_of(self, ids: Collection[str]) -> Iterator[Row]:
        """The rows of these clips, and perhaps others: quick where they are few."""
        if len(ids) > FEW:
            return self.rows()
        return load_rows(((0, line) for line in lines_with(self.path, ids)), self.path, self.kind)

    def rows_since(self, place: int) -> tuple[list[Row], int]:
        """What was appended behind this place, and the place behind it."""
        if not self.path.exists():
            return [], 0
        with self.path.open("rb") as file:
            file.seek(place)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        lines = ((0, line) for line in whole.splitlines())
        return list(load_rows(lines, self.path, self.kind)), place + len(whole)

    def last_rows(self, size: int) -> list[Row]:
        """The whole lines among the last bytes, as rows."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - size)
            file.seek(start)
            data = file.read()
        whole = data[data.find(b"\n") + 1 if start else 0 : data.rfind(b"\n") + 1]
        return list(load_rows(((0, line) for line in whole.splitlines()), self.path, self.kind))

    def rows_with(self, value: str) -> list[Row]:
        """The rows that hold a value such as the name of a batch, and perhaps others, without reading the rest."""
        return list(load_rows(((0, line) for line in lines_with(self.path, [value])), self.path, self.kind))

    def end(self) -> int:
        """The place behind the last whole line."""
        return self.path.stat().st_size - len(self._end()) if self.path.exists() else 0

    def _lines(self) -> Iterator[bytes]:
        if self.path.exists():
            with self.path.open("rb") as lines:
                yield from (line for line in lines if line.endswith(b"\n") or _is_whole(line))

    def cut_off(self) -> str:
        """A sentence where the last line breaks off, as it may while somebody appends; else nothing."""
        end = self._end()
        if not end or _is_whole(end):
            return ""
        shown = end[:60].decode("utf-8", "replace")
        return (
            f"the last line of {self.path} breaks off and does not count ({shown} ...): it was never written to its end"
        )

    def append(self, rows: Sequence[Row]) -> list[str]:
        """Write them behind the others, all at once and to the disk; returns what a person should know."""
        if not rows:
            return []
        with appending(self.ws):
            told = self._mend()
            before = self.path.stat().st_size if self.path.exists() else 0
            data = "".join(json.dumps(as_row(one), ensure_ascii=False) + "\n" for one in rows).encode()
            after = before + len(data)
            if len(rows) >= BULK:
                self.replace(self.counts([*self.rows(), *rows]))
                return told
            _write(self.path, data, at=before)
            if after >= LOOKED_AT and before.bit_length() != after.bit_length():
                self._compact()
        return told

    def replace(self, rows: Iterable[Row]) -> None:
        """Write the file anew, whole."""
        with appending(self.ws):
            write_jsonl(self.path, map(as_row, rows))

    def _compact(self) -> None:
        every = list(self.rows())
        held = self.counts(every)
        if 2 * len(held) < len(every):
            self.replace(held)

    def _mend(self) -> list[str]:
        """Take away a line that a killed command or a full disk left half written; nobody appends meanwhile."""
        end = self._end()
        told = self.cut_off()
        if end:
            with self.path.open("r+b") as file:
                size = file.seek(0, os.SEEK_END)
                if told:
                    file.truncate(size - len(end))
                else:
                    file.write(b"\n")
        return [f"{told}, and was removed"] if told else []

    def _end(self) -> bytes:
        """What stands behind the last newline."""
        if not self.path.exists():
            return b""
        with self.path.open("rb") as file:
            size, step = file.seek(0, os.SEEK_END), 4096
            while True:
                start = max(0, size - step)
                file.seek(start)
                data = file.read(size - start)
                if b"\n" in data or start == 0:
                    return data.rpartition(b"\n")[2]
                step *= 16


def _write(path: Path, data: bytes, *, at: int) -> None:
    """All of it or nothing, as far as a full disk goes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        try:
            left = data
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError as failed:
            file.truncate(at)
            if failed.errno in FULL:
                failed.filename = str(path)
            raise
