"""metadata.csv with `id|text` or `id|text|normalised` lines, or as its header says, and the audio beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.core.errors import CorpusError
from olu.core.inside import Refused, is_inside, read_inside
from olu.corpus.readers.audio_index import LOOKED_IN, AudioIndex
from olu.corpus.readers.columns import delimiter
from olu.corpus.readers.ljspeech_lines import PLAIN, Line, Order, header, mistaken
from olu.corpus.readers.rows import Problem, Read, Row, Tree, Why, exists
from olu.corpus.readers.texts import BAD_LINE, MOST_TABLE, Told, as_utf8, decode, glance, guessed, split_lines

METADATA = ("metadata.csv", "metadata.txt")
QUOTED = re.compile(r'"((?:[^"]|"")*+)"(?=\||\Z)')


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a folder, or nothing."""
    path = metadata(source)
    if path is None or b"|" not in _told(source, path, encoding).data:
        return ""
    first = next(iter(glance(source, path.name, encoding=encoding)), "")
    if "|" not in first and delimiter(first, among=",;\t"):  # a table whose texts have bars
        return ""
    return f"{path.name} has id|text lines"


def metadata(source: Path, home: Path | None = None) -> Path | None:
    there = (source / name for name in METADATA if exists(source / name))
    return next((path for path in there if is_inside(home or source, path.absolute())), None)


def _told(home: Path, path: Path, encoding: str | None) -> Told:
    try:
        return as_utf8(read_inside(home, path.absolute(), most=MOST_TABLE), encoding)
    except Refused as bad:
        raise CorpusError(f"{path} {bad}") from None


def rows(source: Path, *, home: Path | None = None, encoding: str | None = None) -> Iterator[Read]:
    """`home` is the folder that nothing may lead out of, where that is not the source itself."""
    path = metadata(source, home)
    if path is None:
        return
    told = _told(home or source, path, encoding)
    yield from guessed(path.name, told)
    shelf = AudioIndex.of(source)
    lines = [_line(raw) for raw in split_lines(told.data)]
    first = next((n for n, line in enumerate(lines) if not _blank(line)), 0)
    order = header(lines[first], shelf=shelf, file=path)
    for found in Records(lines, shelf=shelf, order=order or PLAIN).read(first + 1 if order else 0):
        where = f"{path.name} line {found.line}"
        if found.fault:
            yield Problem(where=where, message=found.fault, why=found.why)
        else:
            yield _row(found.cells, where=where, order=order or PLAIN, shelf=shelf)


@dataclass(slots=True)
class Record:
    line: int
    cells: list[str]
    fault: str = ""
    why: Why = Why.FORM  # where there is a fault


class Records:
    """Rows of cells. A row goes on over lines without '|' and to the end of a field quoted over several lines."""

    def __init__(self, lines: list[Line], *, shelf: AudioIndex, order: Order) -> None:
        self.lines, self.shelf, self.order = lines, shelf, order
        self.mistaken = mistaken(lines, shelf=shelf, order=order)

    def read(self, at: int) -> Iterator[Record]:
        while at < len(self.lines):
            end = self._end(at)
            part = self.lines[at:end]
            while part and _blank(part[-1]):
                part.pop()
            bad = next((n for n, text in enumerate(part) if isinstance(text, ValueError)), None)
            if bad is not None:
                yield Record(at + bad + 1, [], f"{part[bad]}: {BAD_LINE}", Why.LETTERS)
            elif part:
                yield self._record(at, "\n".join(map(str, part)))
            at = end

    def _record(self, at: int, text: str) -> Record:
        if (name := self.mistaken.get(at)) is not None:
            fault = f"names the recording {name!r} but has no '|': write {self.order.shown(name)}"
            return Record(at + 1, [], fault)
        if "|" not in text:
            return Record(at + 1, [], f"no '|' in the line: write {self.order.shown('id')}")
        return Record(at + 1, _cells(text, self.order.text))

    def _end(self, at: int) -> int:
        """The line after the row that starts at `at`."""
        first = self.lines[at]
        if _blank(first):
            return at + 1
        if isinstance(first, str):
            if "|" not in first:
                return self._goes_on(at + 1) if at in self.mistaken else at + 1
            if _parted(first, self.order.text)[1].startswith('"'):
                text = first
                for n in range(at + 1, len(self.lines)):
                    line = self.lines[n]
                    if not isinstance(line, str) or self._starts_row(line):
                        break
                    text += "\n" + line
                    if QUOTED.match(_parted(text, self.order.text)[1]):
                        return self._goes_on(n + 1)
        return self._goes_on(at + 1)

    def _goes_on(self, at: int) -> int:
        while at < len(self.lines) and at not in self.mistaken:
            line = self.lines[at]
            if line.row if isinstance(line, _Bad) else "|" in str(line):
                break
            at += 1
        return at

    def _starts_row(self, line: str) -> bool:
        """In a text that opened a quote: is this the next row, so that the quote was only a quote?"""
        cells = line.split("|")
        ids = [cells[at] for at in self.order.ids if at < len(cells)]
        return len(cells) > 1 and any(not re.search(r'["\s]', id) or self.shelf.find(id) is not None for id in ids)


def _blank(line: str | ValueError) -> bool:
    return isinstance(line, str) and not line.strip()


def _line(raw: bytes) -> str | ValueError:
    try:
        return decode(raw)
    except ValueError as bad:
        return _Bad(str(bad), row=b"|" in raw)


class _Bad(ValueError):
    """A line that is no text, and whether it still looks like the start of a row."""

    def __init__(self, message: str, *, row: bool) -> None:
        super().__init__(message)
        self.row = row


def _parted(text: str, bars: int) -> tuple[list[str], str]:
    """The cells before so many bars, and all that follows."""
    *before, rest = text.split("|", bars)
    return before, rest if len(before) == bars else ""


def _cells(text: str, said: int) -> list[str]:
    """`said` is the column of the text, which may be quoted."""
    before, rest = _parted(text, said)
    quoted = QUOTED.match(rest)
    if quoted and "\n" in quoted[1]:
        after = rest[quoted.end() + 1 :].split("|") if quoted.end() < len(rest) else []
        return [*before, quoted[1].replace('""', '"'), *after]
    return text.split("|")


def _row(cells: list[str], *, where: str, order: Order, shelf: AudioIndex) -> Row | Problem:
    if len(cells) <= max(order.text, min(order.ids)):
        message = f"{len(cells)} columns where the header has {len(order.names)}: write {order.shown('id')}"
        return Problem(where=where, message=message, why=Why.FORM)
    text = cells[order.text]
    if not text.strip() and order.other is not None and order.other < len(cells):
        text = cells[order.other]
    speaker = cells[order.speaker].strip() if order.speaker is not None and order.speaker < len(cells) else ""
    ids = [cells[at].strip() for at in order.ids if at < len(cells)]
    audio = next((found for id in ids if (found := shelf.find(id)) is not None), None)
    if audio is None:
        return shelf.missing(ids[0], where=where, hint=f" in {LOOKED_IN}")
    return Row(audio=audio, text=text, where=where, speaker=speaker or None)
