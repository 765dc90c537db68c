"""Long text into sentences and clauses, so that speech starts before all of it is made."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from olu.text import markup
from olu.text.normalise.initials import initials

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


def _sentences(text: str, ends: Sequence[str], short: Collection[str], plain: bool) -> list[str]:
    if not ends:
        return [text.strip()] if text.strip() else []
    marks = "|".join(re.escape(end) for end in sorted(ends, key=len, reverse=True))
    pattern = re.compile(rf"(?:{marks})+[{re.escape(CLOSERS)}]*(?=\s|$)|\n\s*\n")
    whole = [] if plain else markup.spans(text)
    inner = {point for one in initials(text) for point in one.points}
    sentences, at = [], 0
    for match in pattern.finditer(text):
        inside = any(start < match.end() and match.start() < end for start, end in whole)
        initial = match[0].rstrip(CLOSERS) == "." and match.start() + 1 in inner
        if inside or initial or (match[0] == "." and _abbreviated(text, match.end(), short)):
            continue
        sentences.append(text[at : match.end()])
        at = match.end()
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


def _cut(sentence: str, whole: Sequence[tuple[int, int]]) -> int:
    """Where the first piece of an endless sentence ends: never inside markup, however long that is."""
    free = [at for at in range(1, LONGEST + 1) if not any(start < at < end for start, end in whole)]
    spaces = [at for at in free if sentence[at].isspace()]
    clauses = [at for at in spaces if sentence[at - 1] in CLAUSES and at >= SHORTEST]
    if not free:  # markup from its first letter on
        return max(end for start, end in whole if start < LONGEST < end)
    cut = max(clauses or spaces or free)
    while cut > 1 and unicodedata.category(sentence[cut])[0] == "M":  # never between a letter and its mark
        cut -= 1
    return cut
