"""A reading that is too long for one run of the encoder, cut into stretches: its work grows with the square."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

from olu.core.types import Reading, Word
from olu.text.vocabulary import SymbolVocabulary

MOST_TOKENS = 400  # of one stretch, the blanks between symbols counted


@dataclass(frozen=True)
class Stretch:
    """Some words of a reading. Its text is the writer's where that can be told, else the words as they are said."""

    text: str
    reading: Reading
    ids: tuple[int, ...]


def stretches(text: str, reading: Reading, vocabulary: SymbolVocabulary, *, most: int | None = None) -> list[Stretch]:
    """The whole where it fits into `most` tokens, never more than MOST_TOKENS.

    Else cuts after marks such as a comma, else between words, else inside a word.

    What was dropped is told with the first.
    """
    ids = vocabulary.encode(reading)
    room = min(MOST_TOKENS, most or MOST_TOKENS)
    if len(ids) <= room:
        return [Stretch(text, reading, tuple(ids))] if ids else []
    return list(_cut(text, reading, vocabulary, room))


def _cut(text: str, reading: Reading, vocabulary: SymbolVocabulary, tokens: int) -> Iterator[Stretch]:
    room = (tokens - 1) // 2 if vocabulary.interleave else tokens  # symbols
    fitting = _with_short_words(reading, vocabulary, room)
    written = text.split() if len(text.split()) == len(fitting.words) else None
    dropped = fitting.dropped
    for first, last in _cuts(fitting, vocabulary, room):
        before = fitting.breaks[0] if first == 0 else ""
        after = fitting.breaks[last] if last == len(fitting.words) else fitting.breaks[last].rstrip()
        words, breaks = fitting.words[first:last], (before, *fitting.breaks[first + 1 : last], after)
        said = before + "".join(word.text + gap for word, gap in zip(words, breaks[1:], strict=True))
        part = replace(fitting, words=words, breaks=breaks, dropped=dropped)
        shown = " ".join(written[first:last]) if written else said.strip()
        yield Stretch(shown, part, tuple(vocabulary.encode(part)))
        dropped = {}


def _cuts(reading: Reading, vocabulary: SymbolVocabulary, room: int) -> Iterator[tuple[int, int]]:
    """From which word to which: stretches of about one length, so that none ends with a word alone."""
    gaps = [len(gap) for gap in reading.breaks]
    sizes = [len(word.symbols(vocabulary.marks)) for word in reading.words]
    ends = list(accumulate((size + gap for size, gap in zip(sizes, gaps[1:], strict=True)), initial=gaps[0]))
    first = 0
    while first < len(sizes):
        start = ends[first] if first else 0
        left = ends[-1] - start
        if left <= room:
            yield first, len(sizes)
            return
        goal = left / math.ceil(left / room)
        places = [last for last in range(first + 1, len(sizes)) if ends[last] - start <= room] or [first + 1]
        long = [last for last in places if 2 * (ends[last] - start) >= goal]
        marked = [last for last in long if reading.breaks[last].strip()]
        spaced = [last for last in long if reading.breaks[last]]
        last = min(marked or spaced or places, key=lambda place: abs(ends[place] - start - goal))
        yield first, last
        first = last


def _with_short_words(reading: Reading, vocabulary: SymbolVocabulary, room: int) -> Reading:
    """The same, where a word too long to be kept whole stands as several. Scripts without spaces have such words."""
    most = max(4, room // 2)
    words, breaks = list[Word](), [reading.breaks[0][:most]]
    for word, after in zip(reading.words, reading.breaks[1:], strict=True):
        pieces = _pieces(word, most // 4) if len(word.symbols(vocabulary.marks)) > most else [word]
        words += pieces
        breaks += [""] * (len(pieces) - 1) + [after[:most]]  # more marks than this make no longer pause
    return replace(reading, words=tuple(words), breaks=tuple(breaks))


def _pieces(word: Word, size: int) -> list[Word]:
    """Of so many phones at most, none of them between a letter and its mark."""
    tones = dict(zip(word.bearers, word.tones, strict=True))
    made, at = list[Word](), 0
    while at < len(word.phones):
        end = min(at + size, len(word.phones))
        while at + 1 < end < len(word.phones) and unicodedata.category(word.phones[end][0])[0] == "M":
            end -= 1
        bearers = tuple(place for place in word.bearers if at <= place < end)
        stress = word.stress - at if word.stress is not None and at <= word.stress < end else None
        held = tuple(tones[place] for place in bearers)
        made.append(Word(word.text, word.phones[at:end], held, tuple(place - at for place in bearers), stress))
        at = end
    return made
