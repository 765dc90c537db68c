"""metadata.csv with `id|text` or `id|text|normalised` lines, or as its header says, and the audio beside it.

Of M-AILABS every book has one: by_book/<gender>/<speaker>/<book>/ with metadata.csv and wavs/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from olu.core.errors import CorpusError
from olu.core.files import Refused, is_inside, read_inside
from olu.corpus.readers.columns import NAMES, delimiter
from olu.corpus.readers.rows import Guessed, Problem, Read, Row, SourceNote, Why, exists, folder_of, name_of
from olu.corpus.readers.source import LOOKED_IN, AudioIndex, SourceFolder, is_inside_name
from olu.corpus.readers.texts import BAD_LINE, MOST_TABLE, Told, as_utf8, decode, guessed, split_lines

METADATA = ("metadata.csv", "metadata.txt")
QUOTED = re.compile(r'"((?:[^"]|"")*+)"(?=\||\Z)')
TEXT_WORDS = {*NAMES["text"], "raw_transcription", "words", "prompt"}
ID_WORDS = {"id", "name", "path", "clip", "key", "file", "audio", "wav", "utt", "utterance", "recording", "filename"}
NORMAL = {"norm", "normalized", "normalised"}
OF_TEXT = {"text", "transcript", "transcription", "sentence"}
LONGEST_NAME = 250
BOOKS = "by_book"
GENDERS = ("female", "male", "mix")

Line = str | ValueError  # the error says why a line is no text


def seen(folder: SourceFolder) -> str:
    """Why a folder has the LJSpeech layout; nothing where it has not."""
    path = metadata(folder)
    if path is None or b"|" not in _told(folder, path).data:
        return ""
    first = folder.head(path.name)
    if "|" not in first and delimiter(first, among=",;\t"):  # a table whose texts have bars
        return ""
    return f"{path.name} has id|text lines"


def metadata(folder: SourceFolder) -> Path | None:
    there = (folder.path / name for name in METADATA if exists(folder.path / name))
    return next((path for path in there if is_inside(folder.home or folder.path, path.absolute())), None)


def _told(folder: SourceFolder, path: Path) -> Told:
    try:
        data = read_inside(folder.home or folder.path, path.absolute(), most=MOST_TABLE)
        return as_utf8(data, folder.options.encoding)
    except Refused as bad:
        raise CorpusError(f"{path} {bad}") from None


def rows(folder: SourceFolder) -> Iterator[Read]:
    path = metadata(folder)
    if path is None:
        return
    told, index = _told(folder, path), folder.index
    yield from guessed(path.name, told)
    lines = [_line(raw) for raw in split_lines(told.data)]
    first = next((n for n, line in enumerate(lines) if not _blank(line)), 0)
    order = header(lines[first], index=index, file=path)
    for found in Records(lines, index=index, order=order or PLAIN).read(first + 1 if order else 0):
        where = f"{path.name} line {found.line}"
        if found.fault:
            yield Problem(where, found.fault, found.why)
        else:
            yield _row(found.cells, where=where, order=order or PLAIN, index=index)


def mailabs_seen(folder: SourceFolder) -> str:
    books = _books(folder)
    number = f"{len(books)} book{'s' if len(books) > 1 else ''}"
    return f"{number} with metadata.csv and wavs/ under {BOOKS}/<gender>/<speaker>" if books else ""


def mailabs_rows(folder: SourceFolder) -> Iterator[Read]:
    yield from folder.tree.problems
    for book, speaker in _books(folder).items():
        place = folder.path / book
        try:
            for row in rows(SourceFolder(place, folder.options, home=folder.path)):
                if isinstance(row, SourceNote):
                    yield row
                elif isinstance(row, Guessed):
                    yield replace(row, file=f"{book}/{row.file}")
                elif isinstance(row, Problem):
                    yield replace(row, where=f"{book}/{row.where}")
                else:
                    where = f"{book}/{row.where}"
                    audio = row.audio if row.audio.startswith("/") else f"{book}/{row.audio}"
                    yield replace(row, audio=audio, where=where, speaker=row.speaker or speaker)
        except CorpusError as bad:
            yield Problem(f"{book}/metadata.csv", str(bad).removeprefix(f"{place}/"))


def _books(folder: SourceFolder) -> dict[str, str | None]:
    """Folder of a book -> its speaker; a book that several people read has none."""
    found: dict[str, str | None] = {}
    above = folder.path.resolve().parts
    for file in folder.tree.files:
        book = folder_of(file)
        path = (*above, *book.split("/"))
        if name_of(file) != "metadata.csv" or not book or BOOKS not in path:
            continue
        below = path[len(path) - path[::-1].index(BOOKS) :]
        if below and below[0] in GENDERS:
            found[book] = below[1] if len(below) > 2 else None
    return found


@dataclass(frozen=True, slots=True)
class Order:
    """Which columns hold what; `other` holds the words where the text is empty."""

    ids: tuple[int, ...] = (0,)  # the first that names a recording counts
    text: int = 1
    other: int | None = 2
    speaker: int | None = None
    names: tuple[str, ...] = ("id", "text")

    def shown(self, id: str) -> str:
        """A row as it should be written, with this id."""
        return "|".join(id if at == self.ids[0] else name for at, name in enumerate(self.names))


PLAIN = Order()


def header(line: Line, *, index: AudioIndex, file: Path) -> Order | None:
    """The order a first line names, or nothing where it is a row itself."""
    names = list(map(str.strip, line.split("|"))) if isinstance(line, str) else []
    words = list(map(_as_word, names))
    if len(words) < 2 or index.find(names[0]) is not None:
        return None
    ids = [at for at, word in enumerate(words) if _is_id(word)]
    texts = [at for at, word in enumerate(words) if _is_text(word)]
    named = ids and texts and all(index.find(names[at]) is None for at in ids)
    return _order(words, names, ids, texts, file=file) if 0 in ids or 1 in texts or named else None


def _order(words: list[str], names: list[str], ids: list[int], texts: list[int], *, file: Path) -> Order:
    """The order of columns by a header; `ids` and `texts`: those that may hold names and texts."""
    speaker = next((words.index(word) for word in NAMES["speaker"] if word in words), None)
    texts = sorted(texts, key=lambda at: _is_normal(words[at])) or [1 if speaker != 1 else 2]
    text = texts[0]
    if text >= len(words):
        raise CorpusError(f"{file}: the header {'|'.join(names)} has no column for the text: call it text")
    others = [at for at in range(len(words)) if at not in (text, speaker)]
    ids = [at for at in ids if at != text] or others[:1]
    if not ids:
        raise CorpusError(f"{file}: the header {'|'.join(names)} has no column for the recordings: call it file")
    other = texts[1] if len(texts) > 1 else 2 if len(words) < 3 else None
    return Order(tuple(ids), text, other, speaker, tuple(names))


def _as_word(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.lower())


def _is_id(word: str) -> bool:
    return word in NAMES["audio"] or set(word.split("_")) <= ID_WORDS


def _is_text(word: str) -> bool:
    return word in TEXT_WORDS or _is_normal(word)


def _is_normal(word: str) -> bool:
    """Whether the words of a column's name say that it holds normalised text."""
    parts = set(word.split("_"))
    return bool(parts & NORMAL) and parts <= NORMAL | OF_TEXT


def mistaken(lines: list[Line], *, index: AudioIndex, order: Order) -> dict[int, str]:
    """Line -> the recording it names, of lines without '|' that are no second line of the text before.

    A word that also is the name of a recording may begin such a second line: then the recording has a row elsewhere.
    """
    found: dict[int, tuple[str, str, bool]] = {}
    for at, line in enumerate(lines):
        for name, sure in _names(line):
            if is_inside_name(audio := index.find(name)):
                found.setdefault(at, (name, audio, sure))
    if not found:
        return {}
    rows = [line.split("|") for line in lines if isinstance(line, str) and "|" in line]
    own = {index.find(cells[at]) for cells in rows for at in order.ids if at < len(cells)}
    return {at: name for at, (name, audio, sure) in found.items() if sure or audio not in own}


def _names(line: Line) -> Iterator[tuple[str, bool]]:
    """What a line without '|' may begin with as a recording's name, and whether a tab follows it."""
    if not isinstance(line, str) or "|" in line:
        return
    for end in (r"\t", r"$", r"\s", r"[,;]"):
        name, *more = re.split(end, line.strip(), maxsplit=1)
        if more and 0 < len(name) <= LONGEST_NAME:
            yield name, end == r"\t"


@dataclass(slots=True)
class Record:
    line: int
    cells: list[str]
    fault: str = ""
    why: Why = Why.FORM  # where there is a fault


class Records:
    """Rows of cells. A row goes on over lines without '|' and to the end of a field quoted over several lines."""

    def __init__(self, lines: list[Line], *, index: AudioIndex, order: Order) -> None:
        self.lines, self.index, self.order = lines, index, order
        self.mistaken = mistaken(lines, index=index, order=order)

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
        """Whether a line begins the next row, so that a quote opened before was only a quote."""
        cells = line.split("|")
        ids = [cells[at] for at in self.order.ids if at < len(cells)]
        return len(cells) > 1 and any(not re.search(r'["\s]', id) or self.index.find(id) is not None for id in ids)


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
    """The cells before so many bars, and all that follows them."""
    *before, rest = text.split("|", bars)
    return before, rest if len(before) == bars else ""


def _cells(text: str, said: int) -> list[str]:
    """The cells of a row; `said` is the column of the text, which may be quoted."""
    before, rest = _parted(text, said)
    quoted = QUOTED.match(rest)
    if quoted and "\n" in quoted[1]:
        after = rest[quoted.end() + 1 :].split("|") if quoted.end() < len(rest) else []
        return [*before, quoted[1].replace('""', '"'), *after]
    return text.split("|")


def _row(cells: list[str], *, where: str, order: Order, index: AudioIndex) -> Row | Problem:
    if len(cells) <= max(order.text, min(order.ids)):
        message = f"{len(cells)} columns where the header has {len(order.names)}: write {order.shown('id')}"
        return Problem(where, message, Why.FORM)
    text = cells[order.text]
    if not text.strip() and order.other is not None and order.other < len(cells):
        text = cells[order.other]
    speaker = cells[order.speaker].strip() if order.speaker is not None and order.speaker < len(cells) else ""
    ids = [cells[at].strip() for at in order.ids if at < len(cells)]
    audio = next((found for id in ids if (found := index.find(id)) is not None), None)
    if audio is None:
        return index.missing(ids[0], where=where, hint=f" in {LOOKED_IN}")
    return Row(audio=audio, text=text, where=where, speaker=speaker or None)
