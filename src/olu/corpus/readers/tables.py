"""Tables with a header, JSON lines and tables without names: the layouts coqui, commonvoice, table and jsonl.

A table whose columns have names nobody knows, or none, is taken where its contents say which column is which.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Literal

from olu.core.parse import BadData, from_json
from olu.corpus.readers.columns import cells, delimiter, named_row, pick, records, table, written
from olu.corpus.readers.rows import Problem, Read, Row, TextLine, Why, folder_of, name_of, speaker_name
from olu.corpus.readers.source import LOOKED_IN, AudioIndex, SourceFolder, is_inside_name

COQUI = ("metadata_train.csv", "metadata_eval.csv", "metadata_test.csv")
COMMON_VOICE = {"audio": "path", "text": "sentence", "speaker": "client_id"}
CHECKED = "validated.tsv"
PARTS = ("train.tsv", "dev.tsv", "test.tsv")  # what other listeners refused or did not hear yet stays out
JSON = (".jsonl", ".json", ".ndjson")
TABLES = (".csv", ".tsv")
TEXTS = (*TABLES, ".tab", ".txt")  # that may be tables
MARKS = "\t,;|"
LOOKED_AT = 200  # rows
MOST_TABLES = 50  # a folder with more texts than this is no folder with a table
LEAST_ROWS = 3  # to take a table by itself: fewer prove nothing
LEAST_NAMED = 0.5  # of the rows name a recording that is there
LEAST_FILLED = 0.8  # of the rows have a text
LEAST_DISTINCT = 0.5  # of the texts: a remark or a name is said again and again
LEAST_LETTERS = 2.0  # in the middle: a number or a mark is no text


def coqui_seen(folder: SourceFolder) -> str:
    """metadata_train.csv and metadata_eval.csv with the header `audio_file|text|speaker_name`, and lang.txt."""
    files = _coqui(folder)
    return f"{' and '.join(files)} {'have' if len(files) > 1 else 'has'} an audio_file|text header" if files else ""


def coqui_rows(folder: SourceFolder) -> Iterator[Read]:
    for file in _coqui(folder):
        yield from table(folder, file, mark="|")


def coqui_language(folder: SourceFolder) -> str | None:
    """The language code that lang.txt names."""
    return folder.head("lang.txt").strip()[:40] or None


def _coqui(folder: SourceFolder) -> list[str]:
    there = [file for file in COQUI if file in folder.tree.files]
    return [file for file in there if folder.head(file).lower().startswith("audio_file|")]


def commonvoice_seen(folder: SourceFolder) -> str:
    """TSV tables with client_id, path and sentence, and the recordings in clips/."""
    files = _commonvoice(folder)
    return f"{', '.join(files)} {'have' if len(files) > 1 else 'has'} client_id, path and sentence" if files else ""


def commonvoice_rows(folder: SourceFolder) -> Iterator[Read]:
    for file in _commonvoice(folder):
        yield from table(folder, file, mark="\t", columns=COMMON_VOICE, raw=True)


def _commonvoice(folder: SourceFolder) -> list[str]:
    """The validated table of each language, or its parts where that is not there."""
    found: dict[str, list[str]] = {}
    for name in (CHECKED, *PARTS):
        for file in folder.tree.files:
            place = folder_of(file)
            if name_of(file) != name or f"{place}/{CHECKED}".lstrip("/") in found.get(place, []):
                continue
            if pick(folder.head(file).split("\t"), COMMON_VOICE):
                found.setdefault(place, []).append(file)
    return [file for files in found.values() for file in files]


def table_seen(folder: SourceFolder) -> str:
    """A CSV or TSV table whose header names the columns."""
    for file, mark in _headed(folder).items():
        chosen = pick(cells(folder.glance(file)[0], mark), folder.options.columns)
        return f"{file} has a header with {', '.join(f'{kind}={name}' for kind, name in chosen.items())}"
    return ""


def table_asked(folder: SourceFolder) -> str:
    """As `table_seen`, also where only the contents say which column is which."""
    why = table_seen(folder)
    if why or folder.options.columns:
        return why
    found = certain(unnamed_tables(folder))
    return found.why if found else ""


def table_headers(folder: SourceFolder) -> dict[str, list[str]]:
    """Table -> what its header names, for a message."""
    files = [file for file in folder.tree.files if file.lower().endswith(TABLES)]
    return {file: max((cells(folder.head(file), mark) for mark in MARKS), key=len) for file in files}


def table_rows(folder: SourceFolder) -> Iterator[Read]:
    known = _headed(folder)
    for file, mark in known.items():
        yield from table(folder, file, mark=mark, columns=folder.options.columns)
    if not known and not folder.options.columns and (found := certain(unnamed_tables(folder))):
        yield from _unnamed_rows(folder, found)


def _headed(folder: SourceFolder) -> dict[str, str]:
    """Table -> what parts its columns. With columns that somebody named, any text may be the table they mean."""
    columns = folder.options.columns
    files = [file for file in folder.tree.files if file.lower().endswith(TEXTS if columns else TABLES)]
    marks = {file: delimiter(folder.head(file), among=MARKS, columns=columns) for file in files}
    return {file: mark for file, mark in marks.items() if mark}


def jsonl_seen(folder: SourceFolder) -> str:
    """JSON lines, one object for each recording: NeMo manifests, metadata.jsonl, and their like."""
    for file, keys in jsonl_headers(folder).items():
        if chosen := pick(keys, folder.options.columns):
            return f"{file} has JSON lines with {', '.join(f'{kind}={name}' for kind, name in chosen.items())}"
    return ""


def jsonl_headers(folder: SourceFolder) -> dict[str, list[str]]:
    """File of JSON lines -> the keys of its first objects."""
    found: dict[str, list[str]] = {}
    for file in folder.tree.files:
        lines = folder.glance(file) if file.lower().endswith(JSON) else ()
        if objects := [value for line in lines if isinstance(value := _value(line), dict)]:
            found[file] = list(dict.fromkeys(key for value in objects for key in value))
    return found


def jsonl_rows(folder: SourceFolder) -> Iterator[Read]:
    for file, keys in jsonl_headers(folder).items():
        if pick(keys, folder.options.columns):
            yield from folder.rows(file, partial(_json_row, folder=folder, near=folder_of(file)))


def _value(text: str) -> Any:
    try:
        return from_json(text)
    except BadData:
        return None


def _json_row(line: TextLine, *, folder: SourceFolder, near: str) -> Row | Problem:
    value = _value(line.text)
    if not isinstance(value, dict):
        return Problem(line.where, "is no JSON object: write one object on each line", Why.FORM)
    chosen = pick(value, folder.options.columns, lax=True)
    if not chosen:
        return Problem(line.where, "names no audio or no text: write both, or remove the line", Why.FORM)
    name, text = value[chosen["audio"]], value[chosen["text"]]
    if isinstance(name, dict):  # as Hugging Face writes it
        name = name.get("path")
    if not isinstance(name, str) or not isinstance(text, str):
        return Problem(line.where, "the audio or the text is no string: write both in quotes", Why.FORM)
    start, seconds = _number(value.get("offset")), _number(value.get("duration"))
    if start is False or seconds is False:
        return Problem(line.where, "offset or duration is no number: write seconds", Why.TIMES)
    audio = folder.index.take(name, where=line.where, near=near, hint=f" in {LOOKED_IN}")
    if isinstance(audio, Problem):
        return audio
    speaker = value[chosen["speaker"]] if "speaker" in chosen else None
    said_by = speaker_name(str(speaker)) if isinstance(speaker, str | int) else None
    return Row(audio=audio, text=text, where=line.where, speaker=said_by, start=start or 0.0, seconds=seconds)


def _number(given: Any) -> float | Literal[False] | None:
    """Seconds, None where nothing was given, False for what is no number."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return False
    try:
        return float(given)
    except (ValueError, OverflowError):
        return False


@dataclass(frozen=True, slots=True)
class UnnamedTable:
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


def unnamed_tables(folder: SourceFolder) -> list[UnnamedTable]:
    """The texts of a source that are tables with several columns, those that name recordings first."""
    files = [file for file in folder.tree.files if file.lower().endswith(TEXTS)]
    found = [one for file in files if len(files) <= MOST_TABLES and (one := _unnamed(folder, file))]
    return sorted(found, key=lambda table: (not table.audio, not table.is_certain, table.file))


def certain(found: Sequence[UnnamedTable]) -> UnnamedTable | None:
    """The one table that can be taken by itself."""
    named = [table for table in found if table.audio]
    return named[0] if len(named) == 1 and named[0].is_certain else None


def _unnamed_rows(folder: SourceFolder, table: UnnamedTable) -> Iterator[Read]:
    waiting = bool(table.header)
    width = len(table.header)
    for record in records(folder.lines(table.file), table.mark):
        if not isinstance(record, TextLine):
            yield record
        elif waiting:
            waiting = False
        else:
            row = cells(record.text, table.mark)
            width = width or len(row)
            if len(row) != width or max(*table.audio, *table.texts) >= len(row):
                message = f"{len(row)} columns where others have {width}: put texts with {table.mark!r} in quotes"
                yield Problem(record.where, message, Why.FORM)
            else:
                named = {"audio": row[table.audio[0]], "text": row[table.texts[0]]}
                yield named_row(named, record, index=folder.index, near=folder_of(table.file))


def _unnamed(folder: SourceFolder, file: str) -> UnnamedTable | None:
    if not (mark := _mark(folder.glance(file))):
        return None
    lines = records(folder.lines(file), mark)
    taken = list(islice((cells(line.text, mark) for line in lines if isinstance(line, TextLine)), LOOKED_AT + 1))
    if not taken:
        return None
    width = max(map(len, taken))
    near, index = folder_of(file), folder.index
    headed = not sum(_names(cell, index, near) for cell in taken[0])
    header = tuple(taken[0]) if headed and len(taken[0]) == width else ()
    body = [row for row in (taken[1:] if headed else taken) if len(row) == width]
    if width < 2 or not body or (headed and not header):
        return None
    return _columns(UnnamedTable(file, mark, header, (), (), 0, len(body)), body, index=index)


def _columns(table: UnnamedTable, body: Sequence[Sequence[str]], *, index: AudioIndex) -> UnnamedTable:
    """The table with what its columns hold."""
    columns, near = list(zip(*body, strict=True)), folder_of(table.file)
    named = [sum(_names(cell, index, near) for cell in column) for column in columns]
    audio = tuple(at for at, number in enumerate(named) if number >= LEAST_NAMED * len(body))
    texts = tuple(at for at, column in enumerate(columns) if at not in audio and _is_text(column))
    return replace(table, audio=audio, texts=texts, named=max(named))


def _mark(lines: Sequence[str]) -> str:
    """What parts the columns: that which parts every line into as many, and into most."""
    best, most = "", 1
    for mark in "\t;,|":
        widths = [len(cells(line, mark)) for line in lines]
        usual = max(set(widths), key=widths.count, default=0)
        if usual > most and widths.count(usual) * 2 > len(widths):
            best, most = mark, usual
    return best


def _names(cell: str, index: AudioIndex, near: str) -> bool:
    return bool(cell.strip()) and is_inside_name(index.find(cell, near=near))


def _is_text(column: Sequence[str]) -> bool:
    filled = [cell.strip() for cell in column if any(map(str.isalpha, cell))]
    if not filled or len(filled) < LEAST_FILLED * len(column):
        return False
    letters = sorted(sum(map(str.isalpha, cell)) for cell in filled)[len(filled) // 2]
    return letters > LEAST_LETTERS and len(set(filled)) >= LEAST_DISTINCT * len(filled)
