"""How long clips are to a model, looked up in the readings when somebody asks: to read them all takes seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from olu.core.files import Workspace, read_json
from olu.core.parse import from_json
from olu.core.rows import load_rows
from olu.core.types import Clip, Reading, ReadingRow
from olu.corpus.line_index import LineIndex
from olu.text.vocabulary import VOCABULARY


class TokenLengths:
    """Of each clip the number of symbols that a model is given, blanks included."""

    def __init__(self, ws: Workspace, places: Mapping[str, int]) -> None:
        self._path = ws.readings / "readings.jsonl"
        self._index: LineIndex | None = None  # where nothing was read yet
        known = ws.readings / "vocabulary.json"
        if not known.exists() or not self._path.exists():
            return
        self._blanks = bool(read_json(known, shape=VOCABULARY)["interleave"])
        self._index = LineIndex(self._path, places, ReadingRow)
        deque(self._index.look_through(), maxlen=0)

    def of(self, clips: Iterable[tuple[int, Clip]]) -> Iterator[tuple[int, int | None]]:
        """Of clips with their places; None for one that was not read, or has another text by now."""
        wanted = dict(clips)
        if self._index is None:
            yield from ((at, None) for at in wanted)
            return
        with self._index.told():
            for (at, clip), line in zip(wanted.items(), self._index.lines(wanted), strict=True):
                yield at, self._count(line, clip) if line else None

    def reading(self, at: int) -> Reading | None:
        """How a clip was read last."""
        lines = self._index.lines([at]) if self._index else ()
        return next(load_rows(((0, line) for line in lines if line), self._path, ReadingRow), None)

    def _count(self, line: bytes, clip: Clip) -> int | None:
        row = from_json(line)  # rows checked whole take four times as long, and there are many
        if row["id"] != clip.id or row["text"] != clip.text:
            return None
        symbols = sum(map(len, row["breaks"])) + sum(len(word["phones"]) for word in row["words"])
        return 2 * symbols + 1 if self._blanks else symbols
