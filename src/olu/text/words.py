"""A normal text as words and what stands between them."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

import numpy as np

from olu.text import markup
from olu.text.normalise.spelling import initials

JOINERS = "'’ʼ-‐‑"  # inside a word these belong to it
DOWNSTEP = "\ua71c"  # a raised arrow before a syllable belongs to its word; one that stands alone is not read
PAUSES = " ,.?!;:"  # all a break can hold, from the weakest to the strongest kinds of pause
SAID_AS = {  # a pause -> what else is said as it
    " ": "/\\-‐‑·፡",
    ",": "–—―()[]{}•、，،፣፥",
    ".": "…。।።፨",
    "?": "？؟፧",
    "!": "！",
    ";": "؛፤",
    ":": "፦",
}
FOLDS = {seen: pause for pause, marks in SAID_AS.items() for seen in marks}
SILENT = "\"'`´‘’‚‛“”„‟«»‹›¿¡ʼʻʹꞌ*_|~^"  # seen, not said


@cache
def combining_marks() -> str:
    """Every combining mark, as ranges for a regular expression, which has no class for them."""
    points = [p for p in range(sys.maxunicode + 1) if p < 0x20000 and unicodedata.category(chr(p))[0] == "M"]
    ranges: list[list[int]] = []
    for point in points:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


@cache
def _word() -> re.Pattern[str]:
    letter = rf"(?:[^\W_]|[{combining_marks()}])"
    part = rf"(?:{DOWNSTEP}?{letter})+"
    return re.compile(rf"{part}(?:[{re.escape(JOINERS)}]{part})*")


def split(normal: str) -> tuple[list[str], list[str]]:
    """Words, and one more break than words, as they stand."""
    words: list[str] = []
    breaks: list[str] = []
    at = 0
    for match in _word().finditer(normal):
        breaks.append(normal[at : match.start()])
        words.append(match[0])
        at = match.end()
    breaks.append(normal[at:])
    return words, breaks


@cache
def _folded(raw: str) -> tuple[str, tuple[str, ...]]:
    """What of a break is heard, and what of it was not read."""
    kept: list[str] = []
    lost: list[str] = []
    for character in raw:
        if character in PAUSES or character.isspace():
            kept.append(" " if character.isspace() else character)
        elif character in FOLDS:
            kept.append(FOLDS[character])
        elif character not in SILENT:
            lost.append(character)
    marks = "".join(mark for mark in kept if mark != " ")
    spaced = " " if " " in kept else ""
    # a row of marks is one pause: the strongest, and a question before a full stop
    strongest = next((mark for mark in "?!.;:," if mark in marks), "")
    return strongest + spaced, tuple(lost)


def fold(raw: str, dropped: Counter[str]) -> str:
    heard, lost = _folded(raw)
    dropped.update(lost)
    return heard


# ---- how far two spellings are apart


def edits(said: Sequence[str], heard: Sequence[str]) -> int:
    """Letters to change, leave out or put in, at the least."""
    if not said or not heard:
        return max(len(said), len(heard))
    code = {symbol: number for number, symbol in enumerate({*said, *heard})}
    target = np.array([code[symbol] for symbol in heard])
    place = np.arange(len(heard) + 1)
    row = place.copy()
    for number, symbol in enumerate(said, 1):
        changed = row[:-1] + (target != code[symbol])
        row = np.concatenate([[number], np.minimum(row[1:] + 1, changed)])
        row = np.minimum.accumulate(row - place) + place  # put in: along the row
    return int(row[-1])


# ---- long text into sentences and clauses, so that speech starts before all of it is made


CLOSERS = "\"'”’»)]"
CLAUSES = ",;:—–،؛፣፥፤፦、，"
LONGEST = 500  # characters spoken in one go: the encoder's memory grows with the square
SHORTEST = 40  # a clause is cut off only when this much stands before it


def split_sentences(
    text: str, ends: Sequence[str], *, abbreviations: Collection[str] = (), plain: bool = False
) -> list[str]:
    """Sentences with their end marks. A mark ends one only before white space or the end, so 3.5 stays whole.

    The point of an abbreviation (with its point, in small letters) ends nothing, nor does that of an initial or
    anything inside markup, which a `plain` text has none of.
    A sentence longer than the network can take is cut at a clause, else at a space, and only without one inside a word.
    """
    short = {one.casefold() for one in abbreviations}
    return [piece for sentence in _sentences(text, ends, short, plain) for piece in _pieces(sentence, plain)]


@cache
def sentence_ends(ends: tuple[str, ...], plain: bool) -> re.Pattern[str]:
    marks = "|".join(map(re.escape, sorted(ends, key=len, reverse=True)))
    tag = "" if plain else "|</prosody"
    return re.compile(rf"(?:{marks})+[{re.escape(CLOSERS)}]*(?=\s|${tag})|\n\s*\n")


def _sentences(text: str, ends: Sequence[str], short: Collection[str], plain: bool) -> list[str]:
    if not ends:
        return [text.strip()] if text.strip() else []
    pattern = sentence_ends(tuple(ends), plain)
    whole = [] if plain else markup.spans(text)
    inner = set(chain.from_iterable(one.points for one in initials(text)))
    sentences, at = [], 0
    for match in pattern.finditer(text):
        start, end = match.span()
        initial = match[0].rstrip(CLOSERS) == "." and start + 1 in inner
        if initial or _lies_in(whole, start, end) or (match[0] == "." and _abbreviated(text, end, short)):
            continue
        sentences.append(text[at:end])
        at = end
    sentences.append(text[at:])
    return [sentence.strip() for sentence in sentences if sentence.strip()]


def _abbreviated(text: str, end: int, short: Collection[str]) -> bool:
    """Whether the point before `end` belongs to a word like Sr. and the text goes on."""
    if not short or not text[end:].strip():
        return False
    start = end
    while start and not text[start - 1].isspace():
        start -= 1
    return text[start:end].lstrip("\"'“‘«([¿¡").casefold() in short


def _pieces(sentence: str, plain: bool) -> Iterator[str]:
    while len(sentence) > LONGEST:
        cut = _cut(sentence, [] if plain else markup.spans(sentence))
        yield sentence[:cut].rstrip()
        sentence = sentence[cut:].lstrip()
    if sentence:
        yield sentence


def _lies_in(spans: Iterable[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a stretch of a text, or a place in it, overlaps one of the spans."""
    return any(low < end and start < high for low, high in spans)


def _cut(sentence: str, whole: Sequence[tuple[int, int]]) -> int:
    """Where the first piece of an endless sentence ends: never inside markup, however long that is."""
    free = [at for at in range(1, LONGEST + 1) if not _lies_in(whole, at, at)]
    if not free:  # markup from its first letter on
        return max(end for start, end in whole if start < LONGEST < end)
    spaces = [at for at in free if sentence[at].isspace()]
    clauses = [at for at in spaces if sentence[at - 1] in CLAUSES and at >= SHORTEST]
    return _before_marks(sentence, max(clauses or spaces or free))


def _before_marks(sentence: str, at: int) -> int:
    """A place to cut at, moved back so that it is never between a letter and its mark."""
    while at > 1 and unicodedata.category(sentence[at])[0] == "M":
        at -= 1
    return at
