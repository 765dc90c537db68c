"""Tables whose columns have names nobody knows, or none: what the columns hold says which is which."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from olu.corpus.readers.audio_index import AudioIndex
from olu.corpus.readers.columns import cells, named_row, records, written
from olu.corpus.readers.rows import Problem, Read, TextLine, Tree, Why, folder_of
from olu.corpus.readers.texts import glance, read_lines

ENDINGS = (".csv", ".tsv", ".tab", ".txt")
MARKS = "\t;,|"
LOOKED_AT = 200  # rows
MOST_TABLES = 50  # a folder with more texts than this is no folder with a table
LEAST_ROWS = 3  # to take a table by itself: fewer prove nothing
LEAST_NAMED = 0.5  # of the rows name a recording that is there
LEAST_FILLED = 0.8  # of the rows have a text
LEAST_DISTINCT = 0.5  # of the texts: a remark or a name is said again and again
LEAST_LETTERS = 2.0  # in the middle: a number or a mark is no text


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and which of its columns may hold what."""

    file: str
    mark: str
    header: tuple[str, ...]  # empty where the first line is a row
    audio: tuple[int, ...]  # columns that name recordings
    texts: tuple[int, ...]  # columns that look like what is said
    named: int  # rows that name a recording, of those looked at
    looked: int

    @property
    def is_certain(self) -> bool:
        return len(self.audio) == 1 and len(self.texts) == 1 and self.looked >= LEAST_ROWS

    def name(self, at: int) -> str:
        return " ".join(self.header[at].split()) if self.header else f"column {at + 1}"

    @property
    def why(self) -> str:
        first = "" if self.header else " without a header"
        audio, text = self.name(self.audio[0]), self.name(self.texts[0])
        return (
            f"{self.file} is a table{first} whose {audio!r} names recordings that are there ({self.named} of the first"
            f" {self.looked} rows) and whose {text!r} alone looks like texts"
        )

    def told(self) -> str:
        """What it holds, and what to write so that it can be used."""
        if not self.header:
            return f"{self.file} is a table without a header: write one as its first line, such as {self._model()}"
        shown = ", ".join(self.name(at) for at in range(len(self.header)))
        said = f"{self.file} is a table with the columns {shown}"
        if not self.audio:
            return f"{said}, and none of them names a recording that is there: correct the names in it"
        if not self.texts:
            given = {"audio": self.name(self.audio[0]), "text": "NAME"}
            return f"{said}: say which of them holds the texts with --columns {shlex.quote(written(given))}"
        given = {"audio": self.name(self.audio[0]), "text": self.name(self.texts[0])}
        more = [self.name(at) for at in (*self.audio[1:], *self.texts[1:])]
        other = f" ({' or '.join(map(repr, more))} may be meant too)" if more else ""
        return f"{said}: import again with --columns {shlex.quote(written(given))}{other}"

    def _model(self) -> str:
        width = max((*self.audio, *self.texts, 1)) + 1
        names = [f"other{at + 1}" for at in range(width)]
        for kind, found in (("text", self.texts or (1,)), ("audio", self.audio or (0,))):
            names[found[0]] = kind
        return repr(self.mark.join(names))[1:-1]


def tables(source: Path, tree: Tree, *, encoding: str | None = None) -> list[Table]:
    """The texts of a source that are tables with several columns, those that name recordings first."""
    files = [file for file in tree.files if file.lower().endswith(ENDINGS)]
    shelf = AudioIndex.of(source) if files and len(files) <= MOST_TABLES else None
    found = [one for file in files if shelf and (one := _table(source, file, shelf, encoding))]
    return sorted(found, key=lambda table: (not table.audio, not table.is_certain, table.file))


def certain(found: Sequence[Table]) -> Table | None:
    """The one table that can be taken by itself."""
    named = [table for table in found if table.audio]
    return named[0] if len(named) == 1 and named[0].is_certain else None


def rows(source: Path, table: Table, *, shelf: AudioIndex, encoding: str | None = None) -> Iterator[Read]:
    waiting = bool(table.header)
    width = len(table.header)
    for record in records(read_lines(source, table.file, encoding=encoding), table.mark):
        if not isinstance(record, TextLine):
            yield record
        elif waiting:
            waiting = False
        else:
            row = cells(record.text, table.mark)
            width = width or len(row)
            if len(row) != width or max(*table.audio, *table.texts) >= len(row):
                message = f"{len(row)} columns where others have {width}: put texts with {table.mark!r} in quotes"
                yield Problem(where=record.where, message=message, why=Why.FORM)
            else:
                named = {"audio": row[table.audio[0]], "text": row[table.texts[0]]}
                yield named_row(named, record, shelf=shelf, near=folder_of(table.file))


def _table(source: Path, file: str, shelf: AudioIndex, encoding: str | None) -> Table | None:
    if not (mark := _mark(glance(source, file, encoding=encoding))):
        return None
    lines = records(read_lines(source, file, encoding=encoding), mark)
    taken = list(islice((cells(line.text, mark) for line in lines if isinstance(line, TextLine)), LOOKED_AT + 1))
    if not taken:
        return None
    width = max(map(len, taken))
    near = folder_of(file)
    headed = not any(_names(cell, shelf, near) for cell in taken[0])
    body = [row for row in (taken[1:] if headed else taken) if len(row) == width]
    if width < 2 or not body:
        return None
    columns = list(zip(*body, strict=True))
    named = [sum(_names(cell, shelf, near) for cell in column) for column in columns]
    audio = tuple(at for at, number in enumerate(named) if number >= LEAST_NAMED * len(body))
    texts = tuple(at for at, column in enumerate(columns) if at not in audio and _is_text(column))
    header = tuple(taken[0]) if headed and len(taken[0]) == width else ()
    return None if headed and not header else Table(file, mark, header, audio, texts, max(named), len(body))


def _mark(lines: Sequence[str]) -> str:
    """What parts the columns: that which parts every line into as many, and into most."""
    best, most = "", 1
    for mark in MARKS:
        widths = [len(cells(line, mark)) for line in lines]
        usual = max(set(widths), key=widths.count, default=0)
        if usual > most and widths.count(usual) * 2 > len(widths):
            best, most = mark, usual
    return best


def _names(cell: str, shelf: AudioIndex, near: str) -> bool:
    found = shelf.find(cell, near=near) if cell.strip() else None
    return found is not None and not found.startswith("/") and ".." not in found.split("/")


def _is_text(column: Sequence[str]) -> bool:
    filled = [cell.strip() for cell in column if any(map(str.isalpha, cell))]
    if not filled or len(filled) < LEAST_FILLED * len(column):
        return False
    letters = sorted(sum(map(str.isalpha, cell)) for cell in filled)[len(filled) // 2]
    return letters > LEAST_LETTERS and len(set(filled)) >= LEAST_DISTINCT * len(filled)
