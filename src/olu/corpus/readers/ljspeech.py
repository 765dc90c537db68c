"""metadata.csv with `id|text` or `id|text|normalised` lines, and the audio in a folder beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.corpus.readers.columns import delimiter
from olu.corpus.readers.rows import UTF16, Problem, Row, Tree, decode, exists, glance
from olu.corpus.readers.shelf import LOOKED_IN, Shelf
from olu.errors import CorpusError

METADATA = ("metadata.csv", "metadata.txt")
TEXT_WORDS = {"text", "transcript", "transcription", "sentence", "raw_text", "normalized_text", "normalised_text"}
ID_WORDS = {"id", "name", "path", "clip", "key", "file", "audio", "wav", "utt", "utterance", "recording", "filename"}
SPEAKER_WORDS = {"speaker", "speaker_name", "speaker_id"}
QUOTED = re.compile(r'"((?:[^"]|"")*+)"(?=\||\Z)')


def seen(source: Path, tree: Tree) -> str:
    """Why this is such a folder, or nothing."""
    path = metadata(source)
    if path is None or b"|" not in _bytes(path):
        return ""
    first = next(iter(glance(source, path.name)), "")
    if "|" not in first and delimiter(first, among=",;\t"):  # a table whose texts have bars
        return ""
    return f"{path.name} has id|text lines"


def metadata(source: Path) -> Path | None:
    return next((source / name for name in METADATA if exists(source / name)), None)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as bad:
        raise CorpusError(f"{path} cannot be read ({bad.strerror}): allow reading it") from None


def rows(source: Path) -> Iterator[Row | Problem]:
    path = metadata(source)
    if path is None:
        return
    data = _bytes(path)
    if data.startswith(UTF16):
        raise CorpusError(f"{path} is UTF-16: save it as UTF-8 and import again")
    shelf = Shelf.of(source)
    columns: list[str] | None = None
    for first, found in enumerate(records(data.removeprefix(b"\xef\xbb\xbf"), shelf=shelf)):
        where = f"{path.name} line {found.line}"
        if found.fault:
            yield Problem(where=where, message=found.fault)
        elif first == 0 and _is_header(found.cells, shelf):
            columns = [cell.strip().lower() for cell in found.cells]
        else:
            yield _row(found.cells, where=where, columns=columns, shelf=shelf)


@dataclass(slots=True)
class Record:
    line: int
    cells: list[str]
    fault: str = ""


def records(data: bytes, *, shelf: Shelf) -> Iterator[Record]:
    """Rows of cells. A row goes on over lines without '|' and to the end of a field quoted over several lines."""
    lines = [_line(raw) for raw in data.split(b"\n")]
    at = 0
    while at < len(lines):
        end = _end(lines, at, shelf)
        part = lines[at:end]
        while part and _blank(part[-1]):
            part.pop()
        bad = next((n for n, text in enumerate(part) if isinstance(text, ValueError)), None)
        if bad is not None:
            yield Record(at + bad + 1, [], f"{part[bad]}: save the file as UTF-8; the row is left out")
        elif part:
            text = "\n".join(str(line) for line in part)
            fault = "" if "|" in text else "no '|' in the line: write id|text"
            yield Record(at + 1, _cells(text), fault)
        at = end


def _blank(line: str | ValueError) -> bool:
    return isinstance(line, str) and not line.strip()


def _line(raw: bytes) -> str | ValueError:
    try:
        return decode(raw.removesuffix(b"\r"))
    except ValueError as bad:
        return _Bad(str(bad), row=b"|" in raw)


class _Bad(ValueError):
    """A line that is no text, and whether it still looks like the start of a row."""

    def __init__(self, message: str, *, row: bool) -> None:
        super().__init__(message)
        self.row = row


def _end(lines: list[str | ValueError], at: int, shelf: Shelf) -> int:
    """The line after the row that starts at `at`."""
    first = lines[at]
    if _blank(first):
        return at + 1
    if isinstance(first, str):
        if "|" not in first:
            return at + 1
        if first.partition("|")[2].startswith('"'):
            text = first
            for n in range(at + 1, len(lines)):
                line = lines[n]
                if not isinstance(line, str) or _starts_row(line, shelf):
                    break
                text += "\n" + line
                if QUOTED.match(text.partition("|")[2]):
                    return _goes_on(lines, n + 1)
    return _goes_on(lines, at + 1)


def _goes_on(lines: list[str | ValueError], at: int) -> int:
    while at < len(lines):
        line = lines[at]
        if line.row if isinstance(line, _Bad) else "|" in str(line):
            break
        at += 1
    return at


def _starts_row(line: str, shelf: Shelf) -> bool:
    """In a text that opened a quote: is this the next row, so that the quote was only a quote?"""
    id, bar, _ = line.partition("|")
    return bool(bar) and (not re.search(r'["\s]', id) or shelf.find(id) is not None)


def _cells(text: str) -> list[str]:
    id, _, rest = text.partition("|")
    quoted = QUOTED.match(rest)
    if quoted and "\n" in quoted[1]:
        return [id, quoted[1].replace('""', '"'), *rest[quoted.end() + 1 :].split("|")]
    return [id, *rest.split("|")]


def _is_header(cells: list[str], shelf: Shelf) -> bool:
    if shelf.find(cells[0]) is not None:
        return False
    words = [cell.strip().lower() for cell in cells]
    return set(re.split(r"[_ ]", words[0])) <= ID_WORDS or words[1] in TEXT_WORDS


def _row(cells: list[str], *, where: str, columns: list[str] | None, shelf: Shelf) -> Row | Problem:
    id, text = cells[:2]
    if not text.strip() and len(cells) > 2 and _is_text(columns):
        text = cells[2]
    speaker = None
    for name, cell in zip(columns or [], cells, strict=False):
        if name in SPEAKER_WORDS:
            speaker = cell.strip() or None
    audio = shelf.find(id)
    if audio is None:
        message = f"no audio for {id.strip()!r} in {LOOKED_IN}: put the file there or remove the line"
        return Problem(where=where, message=message, missing=id.strip() or "(no name)")
    return Row(audio=audio, text=text, where=where, speaker=speaker)


def _is_text(columns: list[str] | None) -> bool:
    """Whether the third column may hold words: a header can say that it holds something else."""
    return columns is None or len(columns) < 3 or columns[2] in TEXT_WORDS or "norm" in columns[2]
