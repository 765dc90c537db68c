"""Tables of clips held in memory, one a workspace, and what a page of them is asked by."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from olu.core.files import Workspace
from olu.core.types import Clip, Mark, Reading
from olu.corpus.decisions import Decision
from olu.corpus.manifest import Corpus
from olu.corpus.query import sorter, where
from olu.stages.clip_view import COLUMNS
from olu.stages.clips import ClipList, ClipTable
from olu.studio.roots import NotHere

PAGE = 50  # rows
MOST_TABLES = 3  # workspaces whose tables are held: one of 100,000 clips takes some 110 MB
NONE = "-"  # in addresses: no side, undecided
GROUPS = {"check": "marks", "speaker": "speaker", "side": "split", "decision": "decision"}  # chips -> column


def has_clips(ws: Workspace) -> bool:
    """Whether anything was imported yet."""
    return (ws.corpus / "clips.jsonl").exists()


@dataclass(frozen=True)
class ClipQuery:
    """What a page of clips shows: what was written, what chips are pressed, in which order, from which row on."""

    where: str = ""
    sort: str = ""
    at: int = 0
    check: tuple[str, ...] = ()
    speaker: tuple[str, ...] = ()
    side: tuple[str, ...] = ()
    decision: tuple[str, ...] = ()

    @property
    def expression(self) -> str | None:
        """All of it in the query language; nothing where every clip fits. A sentence says what is wrong with it."""
        written = self.where.strip()
        if written:
            where(written, COLUMNS)  # so that an error speaks of what was written, and of that alone
        parts = [_chosen(GROUPS[name], getattr(self, name)) for name in GROUPS if getattr(self, name)]
        if not parts:
            return written or None
        return " and ".join([*parts, f"({written})"] if written else parts)

    @property
    def order(self) -> str | None:
        order = self.sort.strip()
        if order:
            sorter(order, COLUMNS)
        return order or None

    @property
    def narrow(self) -> bool:
        """Whether some clips may not fit."""
        return bool(self.where.strip() or any(getattr(self, name) for name in GROUPS))

    def address(self, **changes: Any) -> str:
        """The query behind a page's address; without the row, unless it is given."""
        changed = replace(self, at=changes.pop("at", 0), **changes)
        pairs = [(name, value) for name in ("where", "sort") if (value := getattr(changed, name))]
        pairs += [(name, value or NONE) for name in GROUPS for value in getattr(changed, name)]
        pairs += [("at", str(changed.at))] if changed.at else []
        return "?" + urlencode(pairs) if pairs else "?"

    def toggled(self, group: str, value: str) -> str:
        """The address with one chip pressed, or let go."""
        held = getattr(self, group)
        return self.address(**{group: tuple(one for one in held if one != value) if value in held else (*held, value)})


def _chosen(column: str, values: tuple[str, ...]) -> str:
    texts = [json.dumps(one, ensure_ascii=False) for one in values]
    if COLUMNS[column] == "names":
        found = " or ".join(f"{one} in {column}" for one in texts)
        return f"({found})" if len(texts) > 1 else found
    return f"{column} == {texts[0]}" if len(texts) == 1 else f"{column} in [{', '.join(texts)}]"


@dataclass(frozen=True)
class ShownRow:
    """A row of the table with what stands behind it."""

    row: Mapping[str, Any]
    clip: Clip
    marks: tuple[Mark, ...]
    decision: Decision | None
    taken: Clip  # what training hears of it

    def facts(self) -> dict[str, Any]:
        """As JSON."""
        decided = self.decision
        return {
            **self.row,
            "found": [{"check": one.check, "severity": one.severity, "message": one.message} for one in self.marks],
            "decided": decided and {"by": decided.by, "who": decided.who, "at": decided.at, "reason": decided.reason},
            "length": self.clip.seconds,
            "taken": [round(self.taken.start - self.clip.start, 3), round(self.taken.seconds, 3)],
        }


@dataclass
class HeldTable:
    """A table that several requests ask at once."""

    table: ClipTable
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def page(self, query: ClipQuery) -> tuple[ClipList, list[ShownRow], dict[str, dict[str, int]]]:
        """The clips found, the rows of one page, and how many there are of each kind."""
        expression, order = query.expression, query.order
        with self._lock:
            found = self.table.page(expression=expression, sort=order, start=query.at, limit=PAGE)
            facets = self.table.facets(expression=expression, sort=order)
            return found, [self._shown(row) for row in found.rows], facets

    def row(self, id: str) -> ShownRow:
        with self._lock:
            row = self.table.row(id)
            if row is None:
                raise NotHere(f"there is no clip {id[:120]!r} here")
            return self._shown(row)

    def rows(self, ids: tuple[str, ...]) -> list[ShownRow]:
        with self._lock:
            return [self._shown(row) for id in ids if (row := self.table.row(id)) is not None]

    def ids(self, query: ClipQuery) -> list[str]:
        expression = query.expression
        with self._lock:
            return self.table.ids(expression=expression)

    def place_of(self, query: ClipQuery, id: str) -> int | None:
        """Which clip of a list this is, from 0 on."""
        expression, order = query.expression, query.order
        with self._lock:
            return self.table.place_of(id, expression=expression, sort=order)

    def places(self) -> Mapping[str, int]:
        """Where each clip stands in the corpus, by id, in that order."""
        return self.corpus().places

    def corpus(self) -> Corpus:
        with self._lock:
            return self.table.corpus

    def clip(self, id: str) -> tuple[Corpus, Clip]:
        with self._lock:
            self.row(id)
            corpus = self.table.held
            return corpus, corpus.clips[corpus.places[id]]

    def reading(self, id: str) -> Reading | None:
        """How a clip was read last."""
        with self._lock:
            return self.table.reading(id)

    def lengths(self) -> tuple[list[tuple[float, float | None]], dict[str, dict[str, int]]]:
        """Seconds and letters per second of every clip, and how many there are of each kind."""
        with self._lock:
            lengths = zip(self.table.column("seconds"), self.table.column("letters"), strict=True)
            found = [(seconds, letters / seconds if letters and seconds else None) for seconds, letters in lengths]
            return found, self.table.facets()

    def example(self) -> str:
        """The text of a clip, one with a digit where there is one."""
        with self._lock:
            rows = self.table.page(limit=200).rows
        texts = [row["text"] for row in rows if row["text"].strip()]
        return next((one for one in texts if any(letter.isdigit() for letter in one)), texts[0] if texts else "")

    def _shown(self, row: Mapping[str, Any]) -> ShownRow:
        corpus = self.table.held
        clip = corpus.clips[corpus.places[row["id"]]]
        return ShownRow(row, clip, corpus.marks(clip), corpus.decision(clip), corpus.taken(clip))


class Tables:
    """The tables of the workspaces asked for last."""

    def __init__(self) -> None:
        self._held: OrderedDict[Path, HeldTable] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, ws: Workspace) -> HeldTable:
        with self._lock:
            if ws.root not in self._held:
                self._held[ws.root] = HeldTable(ClipTable(ws))
            self._held.move_to_end(ws.root)
            while len(self._held) > MOST_TABLES:
                self._held.popitem(last=False)
            return self._held[ws.root]
