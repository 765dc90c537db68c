"""When each word is heard: from the durations of a sentence's tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from olu.core.types import Reading, Span
from olu.speak.stream import SpokenSentence
from olu.text.vocabulary import SymbolVocabulary

FORMATS = ("json", "srt")


def word_spans(
    reading: Reading, vocabulary: SymbolVocabulary, durations: Sequence[int], *, frame_seconds: float, start: float
) -> tuple[Span, ...]:
    """Words with their times. A blank beside a word belongs to it, the symbols between words to none."""
    ends = [0, *accumulate(durations)]
    spans, symbol, taken = [], len(reading.breaks[0]), 0
    for word, after in zip(reading.words, reading.breaks[1:], strict=True):
        size = len(word.symbols(vocabulary.marks))
        first, last = (2 * symbol, 2 * (symbol + size) + 1) if vocabulary.interleave else (symbol, symbol + size)
        first, last = max(first, taken), min(last, len(durations))
        if size:
            spans.append(Span(word.text, start + ends[first] * frame_seconds, start + ends[last] * frame_seconds))
        taken, symbol = last, symbol + size + len(after)
    return tuple(spans)


def as_rows(sentences: Iterable[SpokenSentence]) -> list[dict[str, Any]]:
    return [
        {
            "text": one.text,
            "start": round(one.start, 4),
            "end": round(one.end, 4),
            "words": [{"word": w.label, "start": round(w.start, 4), "end": round(w.end, 4)} for w in one.words],
            "unsaid": dict(one.dropped),
        }
        for one in sentences
    ]


def as_srt(words: Iterable[Span]) -> str:
    """One numbered cue a word."""
    cues = (
        f"{number}\n{_clock(word.start)} --> {_clock(word.end)}\n{' '.join(word.label.split())}\n"
        for number, word in enumerate(words, 1)
    )
    return "\n".join(cues)


def _clock(seconds: float) -> str:
    millis = round(seconds * 1000)
    minutes, millis = divmod(millis, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{millis // 1000:02},{millis % 1000:03}"
