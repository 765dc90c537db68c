"""Where the line of each clip lies in a file that a stage wrote, so that one is read without the others."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from olu.core.files import read_rows
from olu.core.parse import BadData, from_json

HEAD = b'{"id": "'  # as a line begins that a stage wrote


class LineIndex:
    """By the place of a clip in its corpus: sixteen bytes each, where a dict by id would take two hundred."""

    def __init__(self, path: Path, places: Mapping[str, int], kind: type[Any]) -> None:
        self.path, self.kind = path, kind  # the dataclass of a row
        self._places = places
        self._ends = array("Q", bytes(8 * len(places)))  # behind the line of each clip; 0 where none is
        self._sizes = array("L", [0]) * len(places)

    def look_through(self) -> Iterator[tuple[int, bytes]]:
        """Find every line; gives the place of its clip and what it holds."""
        end = 0
        with self.path.open("rb") as lines, self.told():
            for line in lines:
                end += len(line)
                at = self._places.get(_id_of(line))
                if at is not None:
                    self._ends[at], self._sizes[at] = end, len(line)
                    yield at, line

    def __contains__(self, at: int) -> bool:
        return bool(self._ends[at])

    def lines(self, places: Iterable[int]) -> Iterator[bytes]:
        """The lines of these clips; an empty one where there is none."""
        with self.path.open("rb") as file:
            for at in places:
                file.seek(self._ends[at] - self._sizes[at])
                yield file.read(self._sizes[at])

    @contextmanager
    def told(self) -> Iterator[None]:
        """Where a line is not what it should be: an error that names the line and what mends it."""
        try:
            yield
        except (BadData, LookupError, TypeError):
            deque(read_rows(self.path, self.kind), maxlen=0)
            raise


def _id_of(line: bytes) -> str:
    if line.startswith(HEAD):
        end = line.find(b'"', len(HEAD))
        id = line[len(HEAD) : end]
        if end > 0 and b"\\" not in id:
            return id.decode("utf-8")
    return from_json(line)["id"] if line.strip() else ""
