"""How long clips are to a model, looked up in the readings when somebody asks: to read them all takes seconds."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext

from olu.core.files import Workspace, read_json, read_rows
from olu.core.parse import BadData, from_json
from olu.core.types import Clip, ReadingRow
from olu.text.vocabulary import VOCABULARY

HEAD = b'{"id": "'  # as a line begins that `olu read` wrote


class TokenLengths:
    """Of each clip the number of symbols that a model is given, blanks included."""

    def __init__(self, ws: Workspace, places: Mapping[str, int]) -> None:
        self._path = ws.readings / "readings.jsonl"
        self._ends = array("Q")  # behind the line of each clip; 0 where none is
        self._sizes = array("L")
        known = ws.readings / "vocabulary.json"
        if not known.exists() or not self._path.exists():
            return
        self._blanks = bool(read_json(known, shape=VOCABULARY)["interleave"])
        try:
            self._look_through(places)
        except (BadData, LookupError, TypeError):
            self._say_which()
            raise

    def _look_through(self, places: Mapping[str, int]) -> None:
        self._ends, self._sizes = array("Q", bytes(8 * len(places))), array("L", [0]) * len(places)
        end = 0
        with self._path.open("rb") as lines:
            for line in lines:
                end += len(line)
                at = places.get(_id_of(line))
                if at is not None:
                    self._ends[at], self._sizes[at] = end, len(line)

    def of(self, clips: Iterable[tuple[int, Clip]]) -> Iterator[tuple[int, int | None]]:
        """Of clips with their places; None for one that was not read, or has another text by now."""
        with self._path.open("rb") if self._ends else nullcontext() as file:
            for at, clip in clips:
                if file is None or not self._ends[at]:
                    yield at, None
                else:
                    file.seek(self._ends[at] - self._sizes[at])
                    yield at, self._count(file.read(self._sizes[at]), clip)

    def _count(self, line: bytes, clip: Clip) -> int | None:
        try:
            row = from_json(line)  # rows checked whole take four times as long, and there are many
            if row["id"] != clip.id or row["text"] != clip.text:
                return None
            symbols = sum(map(len, row["breaks"])) + sum(len(word["phones"]) for word in row["words"])
        except (BadData, LookupError, TypeError):
            self._say_which()
            raise
        return 2 * symbols + 1 if self._blanks else symbols

    def _say_which(self) -> None:
        """Raises what says which line is damaged, and how."""
        deque(read_rows(self._path, ReadingRow), maxlen=0)


def _id_of(line: bytes) -> str:
    if line.startswith(HEAD):
        end = line.find(b'"', len(HEAD))
        id = line[len(HEAD) : end]
        if end > 0 and b"\\" not in id:
            return id.decode("utf-8")
    return from_json(line)["id"] if line.strip() else ""
