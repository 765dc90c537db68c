"""The texts of a source as letters: which encoding they have, told or guessed, and their lines."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from olu.core.config import did_you_mean
from olu.core.errors import CorpusError
from olu.core.files import Refused, read_inside
from olu.corpus.readers.rows import Guessed, Problem, Row, TextLine, Why

MOST_TABLE = 2**30
MOST_TEXT = 2**24  # of one recording
GLANCE_BYTES = 65536
GLANCE_LINES = 10
LINE_END = re.compile(rb"\r*\n")

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
WIDE_LETTERS = 4000
WIDE_SHARE = 20  # one byte in so many is zero at least: ids and bars are few where texts are long
# Windows-1252, what spreadsheets in the West write: letters with marks among many plain ones. Where most letters
# lie above ASCII it is another one (Cyrillic, Greek), which nobody can tell by looking.
WESTERN = "cp1252"
MOST_HIGH = 0.4  # of the letters
LEAST_LIKELY = 0.9  # of the characters above ASCII: letters with marks, and what programs put for quotes and dashes
ASCII = re.compile(rb"[\x00-\x7f]+")
SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)  # a letter of UTF-8
MOST_UTF8 = 0.1  # of the bytes above ASCII that make such letters: with more it is UTF-8 with damaged lines
SIGNS = "’‘“”„‚–—…«»‹›°€£§¿¡·ºª\xa0"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
WORD = re.compile(r"\w+")
SAMPLES = 2
# Those that people use, the commonest first.
KNOWN = ("utf-8", "utf-16", "cp1252", "latin-1", "cp1250", "cp1251", "mac-roman", "iso-8859-15", "cp1253", "cp1254",
         "cp1256", "utf-16-le", "utf-16-be", "shift-jis", "gb18030", "big5", "euc-kr", "koi8-r")  # fmt: skip
NAMES = {"cp1252": "Windows-1252", "utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "utf-32": "UTF-32"}
HELP = "save it as UTF-8 (in Excel: Save As, 'CSV UTF-8')"


class Told(NamedTuple):
    """A text as UTF-8, and the encoding it had where that was guessed."""

    data: bytes
    guess: str = ""


def check_encoding(name: str | None) -> None:
    try:
        b" ".decode(name or "utf-8", "replace")
    except (LookupError, ValueError):
        hint = did_you_mean(str(name), KNOWN) or f"; some are {', '.join(KNOWN[:6])}"
        raise CorpusError(f"--encoding {name}: no such encoding of text is known{hint}") from None


def guess(data: bytes) -> str:
    """The encoding of a text, by its mark, by its zero bytes, or because it cannot be UTF-8; UTF-8 where unsure."""
    if mark := next((name for mark, name in MARKS if data.startswith(mark)), ""):
        return mark
    if found := wide(data):
        return found
    return WESTERN if _is_western(data) else "utf-8"


def wide(data: bytes) -> str:
    """Which UTF-16 this is, or nothing. Without a mark: its digits and bars have a zero byte on the same side."""
    start = data[:WIDE_LETTERS]
    high, low = start[0::2].count(0), start[1::2].count(0)
    if max(high, low) * WIDE_SHARE < max(1, len(start)) or min(high, low) * 10 > max(high, low):
        return ""
    return "utf-16-le" if low > high else "utf-16-be"


def _is_western(data: bytes) -> bool:
    high = len(data) - sum(map(len, ASCII.findall(data)))
    if high == 0 or sum(map(len, SEQUENCE.findall(data))) > MOST_UTF8 * high:
        return False
    try:
        text = b"\n".join(line for line in data.split(b"\n") if not line.isascii()).decode(WESTERN)
    except UnicodeDecodeError:
        return False
    likely = sum(c.isalpha() or c in SIGNS for c in text if ord(c) > 127)
    letters = sum(map(str.isalpha, text))
    marked = sum(c.isalpha() for c in text if ord(c) > 127)
    return likely >= LEAST_LIKELY * high and marked <= MOST_HIGH * letters and not CONTROL.search(text)


def as_utf8(data: bytes, encoding: str | None = None) -> Told:
    """A text in UTF-8, or Refused. Of what is UTF-8 already, lines may still be wrong: those are left to their rows."""
    name = encoding or guess(data)
    if codecs.lookup(name).name == "utf-8":
        return Told(data.removeprefix(codecs.BOM_UTF8))
    try:
        text = data.decode(name)
    except UnicodeDecodeError as bad:
        line = data.count(b"\n", 0, bad.start) + 1
        shown = f"is no {NAMES.get(name, name)} (byte 0x{data[bad.start]:02x} in line {line})"
        raise Refused(f"{shown}: {f'name another with --encoding, or {HELP}' if encoding else HELP}") from None
    # What a lone half of a character becomes is refused with its row, by the check of all texts.
    return Told(text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"), "" if encoding else name)


def guessed(file: str, told: Told) -> Iterator[Guessed]:
    """That an encoding was guessed, with words to see whether it is right."""
    if told.guess:
        words = dict.fromkeys(word for word in WORD.findall(told.data.decode("utf-8", "replace")) if not word.isascii())
        yield Guessed(file, NAMES.get(told.guess, told.guess), tuple(word[:30] for word in words)[:SAMPLES])


def decode(data: bytes) -> str:
    """UTF-8, or a ValueError that says which byte is wrong."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as bad:
        raise ValueError(f"not valid UTF-8 (byte 0x{data[bad.start]:02x} at position {bad.start + 1})") from None


def row_beside(
    source: Path, *, audio: str, text: str, speaker: str | None = None, encoding: str | None = None
) -> Iterator[Row | Problem | Guessed]:
    """A recording whose text lies in a file of its own; only the newline that ends the file is taken off."""
    try:
        told = as_utf8(read_inside(source, text, most=MOST_TEXT), encoding)
        said = decode(told.data)
    except Refused as bad:
        yield Problem(text, str(bad), Why.LETTERS)
        return
    except ValueError as bad:
        yield Problem(text, f"{bad}: save it as UTF-8, or name its encoding with --encoding", Why.LETTERS)
        return
    yield from guessed(text, told)
    ending = next((end for end in ("\r\n", "\n", "\r") if said.endswith(end)), "")
    yield Row(audio=audio, text=said.removesuffix(ending), where=text, speaker=speaker)


def read_lines(source: Path, file: str, *, encoding: str | None = None) -> Iterator[TextLine | Problem | Guessed]:
    """The lines of a text file that hold something; what is no text is a problem of its line, or of the file."""
    try:
        told = as_utf8(read_inside(source, file, most=MOST_TABLE), encoding)
    except Refused as bad:
        yield Problem(file, str(bad), Why.LETTERS)
        return
    yield from guessed(file, told)
    for number, raw in enumerate(split_lines(told.data), 1):
        where = f"{file} line {number}"
        try:
            text = decode(raw)
        except ValueError as bad:
            yield Problem(where, f"{bad}: {BAD_LINE}", Why.LETTERS)
        else:
            if text.strip():
                yield TextLine(number=number, text=text, where=where)


BAD_LINE = "save the file as UTF-8, or name its encoding with --encoding; the row is left out"


def split_lines(data: bytes) -> list[bytes]:
    """The lines of a file, without their ends.

    Old programs end lines by a return alone; beside other line ends it is a part of a text.
    """
    return LINE_END.split(data) if b"\n" in data else data.split(b"\r")


def glance(source: Path, file: str, *, encoding: str | None = None) -> list[str]:
    """The first few lines that hold something, for a look at what a file is."""
    try:
        start = read_inside(source, file, most=GLANCE_BYTES, cut=True)
    except Refused:
        return []
    text = start.decode(encoding or guess(start), "replace").removeprefix("\ufeff")
    lines = [raw.decode("utf-8") for raw in split_lines(text.encode("utf-8", "replace"))]
    return [line for line in lines if line.strip()][:GLANCE_LINES]
