"""A text as the sentences to say and the pauses between them, made one by one, however long the text is."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from olu.core.errors import TextError
from olu.text import markup
from olu.text.words import split_sentences

WINDOW = 5000  # characters looked at in one go
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
    for stretch, after in [(text, None)] if plain else _stretches(text):
        for sentence in _sentences(stretch, ends, abbreviations, plain):
            yield SpeechLine(sentence, pause)
            pause = None
        if after is not None:
            pause = (pause or 0.0) + after
    if pause:
        yield SpeechLine("", pause)


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
    """What the voice reads before a pause that comes in the middle of a sentence."""
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
