"""The rows of a table of clips that one question finds: kept, and brought up to date row by row."""

from __future__ import annotations

from array import array
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cmp_to_key
from itertools import chain, compress, repeat
from typing import Any

from olu.corpus.query import Kind, Table, comparer, sorter, where

COLUMNS: dict[str, Kind] = {
    "id": "text",
    "speaker": "text",
    "split": "text",  # "" for a clip of no side
    "seconds": "number",  # of what training hears: a trimmed clip counts without its ends
    "rate": "number",
    "letters": "number",
    "seconds_per_letter": "number",
    "tokens": "number",  # not known before 'olu read'
    "frames": "number",
    "worst": "text",  # the hardest verdict of the audit: error, warn, info or ""
    "marks": "names",
    "decision": "text",
    "trains": "yes or no",
    "audio": "text",
    "start": "number",  # seconds into the recording, where the clip begins and ends
    "end": "number",
    "corrected": "text",  # who wrote the text, where it is not the source's
    "imported": "text",  # the source's text, where another holds
    "draft": "text",  # what a recogniser would write, of a clip without a text
    "confidence": "number",  # of its draft
    "text": "text",
}
FACETS = ("worst", "marks", "speaker", "split", "decision")  # columns whose values are counted, to choose by
MOVED = 64  # rows that are put into a sorted answer one by one; more are sorted with all the others

Row = Mapping[str, Any]


class ClipView:
    """The places of the rows that one question finds, kept until it is asked again."""

    def __init__(self, expression: str | None, sort: str | None) -> None:
        self.fits = where(expression, COLUMNS) if expression is not None else None
        self.order = sorter(sort, COLUMNS) if sort is not None else None
        self.compare = comparer(sort, COLUMNS) if sort is not None else None
        self.found = array("I")  # a list of so many numbers would take eight times the memory
        self.seconds = 0.0
        self.forget()

    def forget(self) -> None:
        self._mask: bytearray | None = None  # row by row, whether it fits
        self._news: dict[int, Row] = {}  # what changed, and the row as it was
        self._counts: dict[str, Counter[str]] | None = None

    def changed(self, at: int, old: Row) -> None:
        self._news.setdefault(at, old)

    def count(self, table: Table) -> dict[str, Counter[str]]:
        """The facets of the rows found; `look` comes first, and keeps them right from then on."""
        if self._counts is None:
            assert self._mask is not None
            self._counts = {}
            for name in FACETS:
                values = compress(table[name], self._mask)
                listed = COLUMNS[name] == "names"
                self._counts[name] = Counter(chain.from_iterable(values) if listed else values)
        return self._counts

    def _recount(self, row: Row, by: int) -> None:
        for name, counts in (self._counts or {}).items():
            for value in row[name] if COLUMNS[name] == "names" else [row[name]]:
                counts[value] += by

    def _fit(self, table: Table) -> Iterator[bool]:
        return self.fits(table) if self.fits else repeat(True, len(table["id"]))

    def look(self, table: Table) -> None:
        """Bring it up to date with the rows of the table."""
        if self._mask is not None and not self._news:
            return
        anew = self._mask is None or len(self._news) > MOVED
        if self._mask is None:
            self._mask = bytearray(self._fit(table))
        else:
            self._fit_again(self._mask, {name: [column[at] for at in self._news] for name, column in table.items()})
        if self.order and anew:
            self.found = array("I", self.order(table, compress(range(len(self._mask)), self._mask)))
        elif self.compare:
            self._move(table, self.compare)
        else:
            self.found = array("I", compress(range(len(self._mask)), self._mask))
        self._news = {}
        self.seconds = round(sum(compress(table["seconds"], self._mask)), 3)

    def _fit_again(self, mask: bytearray, news: Table) -> None:
        """`news`: the rows that changed, as they are now."""
        for new, ((at, old), fits) in enumerate(zip(self._news.items(), self._fit(news), strict=True)):
            if mask[at]:
                self._recount(old, -1)
            mask[at] = fits
            if fits:
                self._recount({name: news[name][new] for name in FACETS}, 1)

    def _move(self, table: Table, compare: Callable[[Table, int, int], int]) -> None:
        """Put what changed in its new place of the order; rows that are equal in it stand as in the corpus."""
        assert self._mask is not None
        self.found = array("I", (at for at in self.found if at not in self._news))

        def compared(one: int, other: int) -> int:
            return compare(table, one, other) or one - other

        key = cmp_to_key(compared)
        for at in sorted(self._news):
            if self._mask[at]:
                insort(self.found, at, key=key)
