"""A text as the sentences to say and the pauses between them, made one by one, however long the text is.

A reading that is too long for one run of an engine is cut into stretches: an encoder's work grows with the square.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from olu.core.errors import TextError
from olu.core.types import Reading, Word
from olu.text import markup
from olu.text.vocabulary import SymbolVocabulary
from olu.text.words import split_sentences

MOST_TOKENS = 400  # of one stretch of a sentence, the blanks between symbols counted
WINDOW = 5000  # characters looked at in one go
MOST_JOINED = 200  # characters of short sentences that are said together
LONGEST_PAUSE = 60.0
AS_PLAIN = 'or have it read as plain text: --plain, plain=True in Python, "plain": true over HTTP'
STRENGTHS = {"none": 0.0, "x-weak": 0.0, "weak": 0.15, "medium": 0.3, "strong": 0.5, "x-strong": 1.0}  # seconds
CONTROL = re.compile(r"<(?P<close>/?)(?P<name>speak|p|s|break)\b(?P<rest>[^<>]*)>(?:\s*</break\s*>)?", re.IGNORECASE)
GIVEN = re.compile(r"""(time|strength)\s*=\s*["']\s*([^"']*?)\s*["']""")


@dataclass(frozen=True)
class SpeechLine:
    """Something to say, or nothing at the end of a text, and the pause before it where the text asks for one."""

    text: str
    pause: float | None = None


def lines(
    text: str, ends: Sequence[str], *, abbreviations: Collection[str] = (), plain: bool = False
) -> Iterator[SpeechLine]:
    """Markup that is wrong is an error before the first line; a `plain` text has none."""
    if not plain and markup.has_markup(text):
        try:
            markup.parse(text)
        except TextError as bad:
            raise TextError(f"{bad}; {AS_PLAIN}") from None
    return _lines(text, ends, abbreviations, plain)


def _lines(text: str, ends: Sequence[str], abbreviations: Collection[str], plain: bool) -> Iterator[SpeechLine]:
    pause: float | None = None
    wrapped: list[str] = []  # tags that hold for sentences to come
    for stretch, after in [(text, None)] if plain else _stretches(text):
        for sentence in _sentences(stretch, ends, abbreviations, plain):
            if not plain and (wrapped or "<" in sentence):
                sentence, wrapped = markup.closed_prosody(sentence, wrapped)
            yield SpeechLine(sentence, pause)
            pause = None
        if after is not None:
            pause = (pause or 0.0) + after
    if pause:
        yield SpeechLine("", pause)


def joined(found: Iterator[SpeechLine], words: int) -> Iterator[SpeechLine]:
    """Sentences of so many words or fewer together with a neighbour, where no pause or markup stands between them."""
    held: SpeechLine | None = None
    for line in found:
        if held is not None and _can_join(held, line, words):
            held = replace(held, text=f"{held.text} {line.text}")
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def _can_join(held: SpeechLine, line: SpeechLine, words: int) -> bool:
    together = f"{held.text} {line.text}"
    apart = line.pause is not None or not held.text or not line.text or markup.has_markup(together)
    short = min(len(held.text.split()), len(line.text.split())) <= words
    return short and not apart and len(together) <= MOST_JOINED


def _stretches(text: str) -> Iterator[tuple[str, float | None]]:
    """The text between pauses and around paragraph tags, each with the seconds of the pause that ends it."""
    if "<" not in text:
        yield text, None
        return
    inside, at = _spans(text), 0
    for tag in CONTROL.finditer(text):
        if _within(tag.start(), inside):
            continue
        piece = text[at : tag.start()]
        if tag["name"].lower() != "break":
            yield piece, None
        else:
            seconds = _seconds(tag["rest"])
            if seconds == 0:  # the frontend reads it: it is no pause
                continue
            yield (piece.rstrip() + _mark(piece, seconds)), seconds
        at = tag.end()
    yield text[at:], None


def _spans(text: str) -> list[tuple[int, int]]:
    """Where other markup stands; the text is known to be well formed."""
    return sorted((start, end) for start, end in markup.spans(text) if not CONTROL.fullmatch(text, start, end))


def _within(at: int, spans: list[tuple[int, int]]) -> bool:
    found = bisect_left(spans, (at, 0)) - 1
    return found >= 0 and at < spans[found][1]


def _seconds(rest: str) -> float:
    given = dict(GIVEN.findall(rest))
    if "time" not in given:
        return STRENGTHS.get(given.get("strength", "medium"), 0.0)
    number = re.match(r"[\d.]+", given["time"])
    seconds = float(number[0]) / (1000 if given["time"].endswith("ms") else 1) if number else 0.0
    if seconds > LONGEST_PAUSE:
        raise TextError(f"a pause of {seconds:g} s is too long: {LONGEST_PAUSE:g} s is the longest")
    return seconds


def _mark(piece: str, seconds: float) -> str:
    """The mark that the voice reads before a pause in the middle of a sentence; none where one stands."""
    said = piece.rstrip()
    if not said or not (said[-1].isalnum() or said.endswith(("]]", ">"))):
        return ""
    return "." if seconds >= markup.LONG_SECONDS else ","


def _sentences(text: str, ends: Sequence[str], abbreviations: Collection[str], plain: bool) -> Iterator[str]:
    """As split_sentences, a window at a time: the last sentence of a window begins the next one."""
    whole, at = (_spans(text) if not plain and markup.has_markup(text) else []), 0
    while at < len(text):
        stop = min(at + WINDOW, len(text))
        stop = next((end for start, end in whole if start < stop < end), stop)
        window = text[at:stop]
        found = split_sentences(window, ends, abbreviations=abbreviations, plain=plain)
        if stop == len(text):
            yield from found
            return
        if len(found) < 2:
            yield from found
            at = stop
            continue
        yield from found[:-1]
        at += len(window.rstrip()) - len(found[-1])


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
        best = _most_marked(long, reading.breaks) or places
        last = min(best, key=lambda place: abs(ends[place] - start - goal))
        yield first, last
        first = last


def _most_marked(places: Sequence[int], breaks: Sequence[str]) -> list[int]:
    """Those before which a mark stands, else those before which there is a space."""
    marked = [place for place in places if breaks[place].strip()]
    return marked or [place for place in places if breaks[place]]


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
    """A word as several of at most so many phones, never parted between a letter and its mark."""
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
