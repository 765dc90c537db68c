"""Columns by name: which of a header holds the audio, the text and the speaker, and how a row falls into cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from olu.core.config import did_you_mean
from olu.core.errors import CorpusError
from olu.corpus.readers.rows import Guessed, Problem, Read, Row, TextLine, Why, folder_of, speaker_name
from olu.corpus.readers.source import LOOKED_IN, AudioIndex, SourceFolder

# The first name that a header has counts.
NAMES = {
    "audio": (
        *("audio", "audio_file", "audio_path", "audio_filepath", "audio_filename", "path", "file", "file_name"),
        *("filename", "file_path", "filepath", "wav", "wav_path", "wav_file", "wav_filename", "clip", "recording"),
    ),
    "text": ("text", "sentence", "transcript", "transcription", "raw_text", "normalized_text", "normalised_text"),
    "speaker": ("speaker", "speaker_name", "speaker_id", "client_id", "spk", "spk_id"),
}
LINES_IN_QUOTES = 100  # a quote left open further than this was never closed
DOUBLED = re.compile(r'(?:[^"]|"")*+')


def parse(given: str | None) -> dict[str, str]:
    """`audio=NAME,text=NAME` as a mapping; whatever else somebody typed is an error.

    A name with a comma stands in quotes with its kind: `"audio=sound, wav",text=words`.
    """
    columns: dict[str, str] = {}
    for item in _items(given) if given is not None else ():
        kind, equals, name = (part.strip() for part in item.partition("="))
        if not equals or not name:
            raise CorpusError(f"--columns {item.strip()!r} is not KIND=NAME: write for example audio=path,text=words")
        if kind not in NAMES:
            hint = did_you_mean(kind, NAMES) or f"; known: {', '.join(NAMES)}"
            raise CorpusError(f"--columns: unknown kind {kind!r}{hint}")
        if kind in columns:
            raise CorpusError(f"--columns names {kind!r} twice: leave one out")
        columns[kind] = name
    return columns


def _items(given: str) -> list[str]:
    try:
        return next(csv.reader([given], skipinitialspace=True), []) or [""]
    except csv.Error as bad:
        raise CorpusError(
            f"--columns {given!r} cannot be read ({bad}): write for example audio=path,text=words"
        ) from None


def written(names: Mapping[str, str]) -> str:
    """The columns as somebody would type them after --columns: "audio=path,text=sentence"."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(f"{kind}={name}" for kind, name in names.items())
    return out.getvalue()


def pick(header: Iterable[str], columns: Mapping[str, str] | None = None, *, lax: bool = False) -> dict[str, str]:
    """Kind -> its name in this header; nothing unless audio, text and all that was asked for are there.

    `lax` lets one row lack the speaker.
    """
    there: dict[str, str] = {}
    for name in header:
        there.setdefault(_fold(name), name)
    chosen = {}
    for kind, names in NAMES.items():
        asked = (columns or {}).get(kind)
        found = next((there[name] for name in ([_fold(asked)] if asked else names) if name in there), None)
        if found is not None:
            chosen[kind] = found
        elif kind != "speaker" or (asked and not lax):
            return {}
    return chosen


def refuse(columns: Mapping[str, str], headers: Mapping[str, Iterable[str]], *, source: Path) -> CorpusError:
    """Why the columns that were asked for make a table of none of these files."""
    for file, names in headers.items():
        there = [name.strip() for name in names if name.strip()]
        folded = {_fold(name) for name in there}
        for kind, asked in columns.items():
            if _fold(asked) not in folded:
                hint = did_you_mean(asked, there) or f"; it has {', '.join(there[:20])}"
                return CorpusError(f"--columns {kind}={asked}: {file} has no column {asked!r}{hint}")
        for kind in ("audio", "text"):
            if kind not in columns and folded.isdisjoint(NAMES[kind]):
                return CorpusError(f"{file} has no column for the {kind}: name it with --columns {kind}=NAME")
    return CorpusError(f"{source} has no table with a header (.csv, .tsv, .jsonl), which --columns is for")


def delimiter(header: str, *, among: str, columns: Mapping[str, str] | None = None) -> str:
    """What parts the names of a header, or nothing where it names no audio and text."""
    return next((mark for mark in among if pick(cells(header, mark), columns)), "")


def cells(line: str, mark: str) -> list[str]:
    """The parts of a row; none where its quotes make no sense."""
    if mark in ",;":
        try:
            return next(csv.reader([line], delimiter=mark), [])
        except csv.Error:
            return []
    return [_unquoted(cell) for cell in line.split(mark)]


def _unquoted(cell: str) -> str:
    """The cell without quotes that a program put around a text with quotes; those somebody wrote stay."""
    inner = cell[1:-1]
    quoted = len(cell) > 2 and cell[0] == cell[-1] == '"' and '""' in inner and DOUBLED.fullmatch(inner)
    return inner.replace('""', '"') if quoted else cell


def table(
    folder: SourceFolder, file: str, *, mark: str, columns: Mapping[str, str] | None = None, raw: bool = False
) -> Iterator[Read]:
    """The rows of one table with a header; `raw` takes every quote as it stands."""
    header: list[str] | None = None
    chosen: dict[str, int] = {}
    for record in records(folder.lines(file), mark):
        if not isinstance(record, TextLine):
            yield record
            continue
        row = record.text.split(mark) if raw else cells(record.text, mark)
        if not row:
            yield Problem(record.where, "cannot be parted into columns: write the row again", Why.FORM)
        elif header is None:
            header = row
            chosen = {kind: row.index(name) for kind, name in pick(row, columns).items()}
            if not chosen:
                yield Problem(record.where, "is no header that names an audio and a text column: write one", Why.FORM)
                return
        elif len(row) != len(header):
            message = f"{len(row)} columns where the header has {len(header)}: put texts with {mark!r} in quotes"
            yield Problem(record.where, message, Why.FORM)
        else:
            named = {kind: row[at] for kind, at in chosen.items()}
            yield named_row(named, record, index=folder.index, near=folder_of(file))


def named_row(named: Mapping[str, str], record: TextLine, *, index: AudioIndex, near: str) -> Row | Problem:
    audio = index.take(named["audio"], where=record.where, near=near, hint=f" in {LOOKED_IN}")
    if isinstance(audio, Problem):
        return audio
    return Row(audio=audio, text=named["text"], where=record.where, speaker=speaker_name(named.get("speaker", "")))


def records(lines: Iterable[TextLine | Problem | Guessed], mark: str) -> Iterator[TextLine | Problem | Guessed]:
    """Lines, joined where a quoted cell of a comma table goes on over several."""
    if mark not in ",;":
        yield from lines
        return
    waiting = list(lines)
    at = 0
    while at < len(waiting):
        line = waiting[at]
        at += 1
        if not isinstance(line, TextLine) or not _open(line):
            yield line
        elif end := _closing(waiting, at):
            text, last = line.text, line.number
            for more in waiting[at : end + 1]:
                if isinstance(more, TextLine):
                    text += "\n" * (more.number - last) + more.text
                    last = more.number
            yield TextLine(number=line.number, text=text, where=line.where)
            at = end + 1
        else:
            yield Problem(line.where, "opens a quote that is never closed: close or double it", Why.FORM)


def _open(line: TextLine) -> bool:
    return line.text.count('"') % 2 == 1


def _closing(waiting: Sequence[TextLine | Problem | Guessed], at: int) -> int:
    """The place of the line that closes a quote opened before `at`, or 0."""
    for end in range(at, min(at + LINES_IN_QUOTES, len(waiting))):
        line = waiting[end]
        if not isinstance(line, TextLine):
            return 0
        if _open(line):
            return end
    return 0


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()
