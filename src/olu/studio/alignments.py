"""Alignments of a workspace, found by clip without reading them all: where each line of the file begins."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olu.align.state import alignment_path, tones_of, words_of
from olu.core.files import Workspace
from olu.core.parse import from_json
from olu.core.rows import load_rows
from olu.core.types import Alignment, Reading, ReadingRow
from olu.corpus import hand_bounds
from olu.corpus.hand_bounds import HandBounds
from olu.corpus.journal import lines_with
from olu.studio.roots import NotHere
from olu.studio.words import t

HEAD = re.compile(rb'"id": ("(?:[^"\\]|\\.)*"), "seconds": [-\d.e+]+, "score": (null|[-\d.e+]+), "method": "(\w*)"')
MOST = 3  # workspaces


@dataclass(frozen=True)
class AlignedLine:
    """Where the alignment of a clip lies in its file, and how well it fits."""

    start: int
    size: int
    score: float | None
    method: str


@dataclass(frozen=True)
class ShownAlignment:
    """The alignment of a clip as it counts now, and who set it."""

    alignment: Alignment
    hand: HandBounds | None  # None where no boundary was set by hand, or the text is another now
    tones: tuple[str, ...]  # of each phone that is heard; none where the language has no tones
    stale: bool  # whether the text is read otherwise by now

    def facts(self) -> dict[str, Any]:
        one, hand = self.alignment, self.hand
        return {
            "id": one.id,
            "seconds": one.seconds,
            "method": one.method,
            "score": one.score,
            "words": [[span.label, span.start, span.end] for span in one.words],
            "phones": [[span.label, span.start, span.end] for span in one.phones],
            "tones": list(self.tones),
            "by": hand.by if hand else "",
            "at": hand.at if hand else "",
            "batch": hand.batch if hand else "",
            "stale": self.stale,
        }


@dataclass
class HeldAlignments:
    ws: Workspace
    _state: Any = None
    _lines: dict[str, AlignedLine] = field(default_factory=dict)
    _worst: list[str] | None = None  # ids, as asked for by the list of alignments; sorted once for a file
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lines(self) -> dict[str, AlignedLine]:
        """Clip id -> its line; the file is looked through again when it has changed."""
        path = alignment_path(self.ws)
        with self._lock:
            try:
                held = path.stat()
                state = (held.st_ino, held.st_size, held.st_mtime_ns)
            except OSError:
                state = None
            if state != self._state:
                self._lines, self._state, self._worst = _looked_through(path) if state else {}, state, None
            return self._lines

    def worst_first(self) -> list[str]:
        """Ids of what the aligner wrote, those that fit least first; those without a score stand last."""
        lines = self.lines()
        with self._lock:
            if self._worst is None:
                self._worst = sorted(lines, key=lambda id: _score(lines[id].score))
            return self._worst

    def found(self, id: str) -> Alignment | None:
        """What the aligner wrote for a clip."""
        line = self.lines().get(id)
        if line is None:
            return None
        path = alignment_path(self.ws)
        with path.open("rb") as file:
            file.seek(line.start)
            data = file.read(line.size)
        return next(iter(load_rows([(0, data)], path, Alignment)), None)

    def clip(self, id: str) -> ShownAlignment:
        """The alignment that counts; `NotHere` where the clip has none."""
        now, hand = self.counting(id)
        reading = self._reading(id)
        tones = tones_of(reading) if reading else []
        labels = hand_bounds.heard_labels(now)
        fits = reading is not None and [one for _, phones in words_of(reading) for one in phones] == labels
        borne = tuple(tones) if fits and any(tones) else ()
        return ShownAlignment(now, hand, borne, stale=reading is not None and not fits)

    def counting(self, id: str) -> tuple[Alignment, HandBounds | None]:
        found, hand = self.found(id), hand_bounds.in_force(self.ws, ids=[id]).get(id)
        if hand is not None and hand_bounds.counts(hand, found):
            return hand_bounds.by_hand(hand, found), hand
        if found is None:
            raise NotHere(t("clip {id} is not aligned: run 'olu align' for this workspace", id=repr(id[:120])))
        return found, None

    def _reading(self, id: str) -> Reading | None:
        path = self.ws.readings / "readings.jsonl"
        rows = load_rows(((0, line) for line in lines_with(path, [id])), path, ReadingRow)
        return next((one for one in rows if one.id == id), None)


def _score(score: float | None) -> float:
    return 1.0 if score is None else score


def _looked_through(path: Path) -> dict[str, AlignedLine]:
    found: dict[str, AlignedLine] = {}
    start = 0
    with path.open("rb") as file:
        for line in file:
            if (head := HEAD.search(line)) is not None:
                score = None if head[2] == b"null" else float(head[2])
                found[from_json(head[1])] = AlignedLine(start, len(line), score, head[3].decode())
            start += len(line)
    return found


class AlignmentShelf:
    """The alignments of the workspaces asked for last."""

    def __init__(self) -> None:
        self._held: OrderedDict[Path, HeldAlignments] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, ws: Workspace) -> HeldAlignments:
        with self._lock:
            if ws.root not in self._held:
                self._held[ws.root] = HeldAlignments(ws)
            self._held.move_to_end(ws.root)
            while len(self._held) > MOST:
                self._held.popitem(last=False)
            return self._held[ws.root]
