"""Files with corrected texts: which clip, which text. What kind of file it is, is seen by its first line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from olu.core.errors import CorpusError
from olu.core.files import Refused
from olu.core.parse import BadData, from_json
from olu.corpus.readers.columns import NAMES, cells
from olu.corpus.readers.texts import NAMES as ENCODINGS
from olu.corpus.readers.texts import WESTERN, as_utf8

IDS = ("id", "clip", "clip_id")
MARKS = "\t,;|"
RIGHT = "right"  # the column where a person marks drafts that need no other text
KINDS = "a table whose header names id and text, as 'olu clips WS --csv FILE' writes it; id|text lines; or JSON lines"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # such a cell is written with an apostrophe, so that nothing runs it


@dataclass(frozen=True, slots=True)
class GivenText:
    """A text that somebody wrote for a clip."""

    id: str
    text: str
    where: str  # for messages: "todo.csv line 7"


def read_texts(data: bytes, *, name: str) -> tuple[list[GivenText], list[str]]:
    """The rows of a file, each clip once, and what a person should know of it.

    A file that cannot be understood is refused as a whole.
    """
    text, notes = _decoded(data, name)
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise CorpusError(f"{name} is empty: give {KINDS}")
    if first.lstrip().startswith("{"):
        rows = _json(text, name)
    elif mark := next((mark for mark in MARKS if _columns(cells(first, mark))), ""):
        rows = _table(text, mark, name)
    elif mark := next((mark for mark in "|\t" if mark in first), ""):
        rows = _lines(text, mark, name)
    else:
        raise CorpusError(f"{name} begins with {first[:40]!r}, which names no clip and text: give {KINDS}")
    return _each_once(rows), notes


def _decoded(data: bytes, name: str) -> tuple[str, list[str]]:
    try:
        told = as_utf8(data)
    except Refused as bad:
        raise CorpusError(f"{name} {bad}") from None
    try:
        text = told.data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as bad:
        line = told.data.count(b"\n", 0, bad.start) + 1
        raise CorpusError(f"{name} line {line} is not UTF-8: save the file as UTF-8 (in Excel: CSV UTF-8)") from None
    guess = ENCODINGS.get(told.guess, told.guess)
    return text, [f"{name} was read as {guess}: look at a few of its texts"] if told.guess == WESTERN else []


def _columns(header: Iterable[str]) -> tuple[int, int] | None:
    """Where the ids and the texts stand, by the names of a header."""
    names = [name.strip().casefold() for name in header]
    places = [next((names.index(one) for one in known if one in names), None) for known in (IDS, NAMES["text"])]
    return (places[0], places[1]) if places[0] is not None and places[1] is not None else None


def _table(text: str, mark: str, name: str) -> Iterator[GivenText]:
    rows = _quoted(text, mark, name) if mark in ",;" else _plain(text, mark)
    header: list[str] = []
    places = (0, 0)
    for number, row in rows:
        if not header:
            header, places = row, _columns(row) or places
        elif any(cell.strip() for cell in row):
            where = f"{name} line {number}"
            if len(row) != len(header):
                told = f"{len(row)} columns where the header has {len(header)}"
                raise CorpusError(f"{where}: {told}: put texts with {mark!r} in quotes; nothing was recorded")
            id, said = row[places[0]].strip(), row[places[1]] if row[places[1]].strip() else _draft(header, row)
            if mark in ",;":
                id, said = _bare(id), _bare(said)
            yield GivenText(id, said, where)


def _draft(header: list[str], row: list[str]) -> str:
    """The draft of a row of 'olu transcribe --list', where somebody has marked it as right and written nothing else."""
    names = [name.strip().casefold() for name in header]
    if "draft" not in names or RIGHT not in names or not row[names.index(RIGHT)].strip():
        return ""
    return row[names.index("draft")]


def _bare(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell


def _quoted(text: str, mark: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of a spreadsheet, where a cell in quotes may hold newlines; each with the number of its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    number = 1
    try:
        for row in reader:
            if row:
                yield number, row
            number = reader.line_num + 1
    except csv.Error as bad:
        raise CorpusError(f"{name} line {number}: its quotes cannot be read ({bad}): close or double them") from None


def _plain(text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, cells(line.rstrip("\r"), mark)


def _lines(text: str, mark: str, name: str) -> Iterator[GivenText]:
    for number, line in enumerate(text.split("\n"), 1):
        id, found, said = line.partition(mark)
        if not line.strip():
            continue
        if not found:
            raise CorpusError(f"{name} line {number} has no {mark!r} between id and text; nothing was recorded")
        yield GivenText(id.strip(), said, f"{name} line {number}")


def _json(text: str, name: str) -> Iterator[GivenText]:
    """One object a line; or the one object that 'olu clips WS --json' prints."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name} line {number}"
        try:
            row = from_json(line)
        except BadData as bad:
            raise CorpusError(
                f"{where} is no JSON ({bad.why}): write one object a line; nothing was recorded"
            ) from None
        every = row["clips"] if isinstance(row, dict) and isinstance(row.get("clips"), list) else [row]
        yield from (_object(one, where) for one in every)


def _object(row: Any, where: str) -> GivenText:
    held = row if isinstance(row, dict) else {}
    id = next((held[key] for key in IDS if isinstance(held.get(key), str)), None)
    text = next((held[key] for key in NAMES["text"] if isinstance(held.get(key), str)), None)
    if id is None or text is None:
        raise CorpusError(f'{where} has no id and text: write {{"id": ..., "text": ...}}; nothing was recorded')
    return GivenText(id, text, where)


def _each_once(rows: Iterable[GivenText]) -> list[GivenText]:
    found: dict[str, GivenText] = {}
    for one in rows:
        first = found.setdefault(one.id, one)
        if first.text.split() != one.text.split():
            told = f"{one.where}: clip {one.id} has another text in {first.where}"
            raise CorpusError(f"{told}: remove one of the two; nothing was recorded")
    return list(found.values())
