"""Alignments of a workspace, found by clip without reading them all."""

from __future__ import annotations

import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

from olu.align.state import alignment_path, tones_of, words_of
from olu.core.files import Workspace
from olu.core.rows import load_rows
from olu.core.types import Alignment
from olu.corpus import hand_bounds
from olu.corpus.hand_bounds import HandBounds
from olu.corpus.line_index import LineIndex
from olu.studio.roots import NotHere
from olu.studio.tables import HeldTable, Tables, has_clips

SCORE = re.compile(rb'"score": ([-\d.e+]+)')
MOST = 3  # workspaces


class AlignedLines:
    """What the aligner wrote of the clips that are there: how well each fits, and the rest where it is asked for."""

    def __init__(self, path: Path, places: Mapping[str, int]) -> None:
        self.places = places
        self._index = LineIndex(path, places, Alignment)
        self._scores = array("d", [nan]) * len(places)
        for at, line in self._index.look_through() if path.exists() else ():
            if (found := SCORE.search(line)) is not None:
                self._scores[at] = float(found[1])
        self.worst_first = sorted(self, key=lambda id: inf if (score := self.score(id)) is None else score)

    def __contains__(self, id: str) -> bool:
        return id in self.places and self.places[id] in self._index

    def __iter__(self) -> Iterator[str]:
        return (id for id, at in self.places.items() if at in self._index)

    def score(self, id: str) -> float | None:
        """None for a clip that has no score, or is not aligned."""
        at = self.places.get(id)
        return None if at is None or isnan(self._scores[at]) else self._scores[at]

    def alignment(self, id: str) -> Alignment | None:
        lines = self._index.lines([self.places[id]]) if id in self else ()
        return next(load_rows(((0, line) for line in lines), self._index.path, Alignment), None)


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
    table: HeldTable
    _state: Any = None
    _lines: AlignedLines | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lines(self) -> AlignedLines:
        """They are looked through again when their file or the clips have changed."""
        path, places = alignment_path(self.ws), self.table.places() if has_clips(self.ws) else {}
        with self._lock:
            try:
                held = path.stat()
                state = (held.st_ino, held.st_size, held.st_mtime_ns)
            except OSError:
                state = None
            if self._lines is None or state != self._state or places is not self._lines.places:
                self._lines, self._state = AlignedLines(path, places), state
            return self._lines

    def clip(self, id: str) -> ShownAlignment:
        """The alignment that counts; `NotHere` where the clip has none."""
        now, hand = self.counting(id)
        reading = self.table.reading(id)
        tones = tones_of(reading) if reading else []
        labels = hand_bounds.heard_labels(now)
        fits = reading is not None and [one for _, phones in words_of(reading) for one in phones] == labels
        borne = tuple(tones) if fits and any(tones) else ()
        return ShownAlignment(now, hand, borne, stale=reading is not None and not fits)

    def counting(self, id: str) -> tuple[Alignment, HandBounds | None]:
        found, hand = self.lines().alignment(id), hand_bounds.in_force(self.ws, ids=[id]).get(id)
        if hand is not None and hand_bounds.counts(hand, found):
            return hand_bounds.by_hand(hand, found), hand
        if found is None:
            raise NotHere(f"clip {id[:120]!r} is not aligned: run 'olu align' for this workspace")
        return found, None


class AlignmentShelf:
    """The alignments of the workspaces asked for last."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._held: OrderedDict[Path, HeldAlignments] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, ws: Workspace) -> HeldAlignments:
        with self._lock:
            if ws.root not in self._held:
                self._held[ws.root] = HeldAlignments(ws, self._tables.of(ws))
            self._held.move_to_end(ws.root)
            while len(self._held) > MOST:
                self._held.popitem(last=False)
            return self._held[ws.root]
