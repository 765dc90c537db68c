"""Long text into sentences, so that speech starts before all of it is made."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

CLOSERS = "\"'”’»)]"
LONGEST = 500  # characters spoken in one go: the encoder's memory grows with the square


def split_sentences(text: str, ends: Sequence[str]) -> list[str]:
    """Sentences with their end marks. A mark ends one only before white space or the end, so 3.5 stays whole.

    Where a sentence is longer than the network can take, it is cut at a space, and only without one inside a word.
    """
    return [piece for sentence in _sentences(text, ends) for piece in _pieces(sentence)]


def _sentences(text: str, ends: Sequence[str]) -> list[str]:
    if not ends:
        return [text.strip()] if text.strip() else []
    marks = "|".join(re.escape(end) for end in sorted(ends, key=len, reverse=True))
    pattern = re.compile(rf"(?:{marks})+[{re.escape(CLOSERS)}]*(?=\s|$)|\n\s*\n")
    sentences, at = [], 0
    for match in pattern.finditer(text):
        sentences.append(text[at : match.end()])
        at = match.end()
    sentences.append(text[at:])
    return [sentence.strip() for sentence in sentences if sentence.strip()]


def _pieces(sentence: str) -> Iterator[str]:
    while len(sentence) > LONGEST:
        room = sentence[: LONGEST + 1]
        cut = max((place for place, character in enumerate(room) if place and character.isspace()), default=LONGEST)
        while cut > 1 and unicodedata.category(sentence[cut])[0] == "M":  # never between a letter and its mark
            cut -= 1
        yield sentence[:cut].rstrip()
        sentence = sentence[cut:].lstrip()
    if sentence:
        yield sentence
