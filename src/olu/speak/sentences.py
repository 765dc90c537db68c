"""Long text into sentences, so that speech starts before all of it is made."""

from __future__ import annotations

import re
from collections.abc import Sequence

CLOSERS = "\"'”’»)]"


def split_sentences(text: str, ends: Sequence[str]) -> list[str]:
    """Sentences with their end marks. A mark ends one only before white space or the end, so 3.5 stays whole."""
    if not ends:
        return [text] if text.strip() else []
    marks = "|".join(re.escape(end) for end in sorted(ends, key=len, reverse=True))
    pattern = re.compile(rf"(?:{marks})+[{re.escape(CLOSERS)}]*(?=\s|$)|\n\s*\n")
    sentences, at = [], 0
    for match in pattern.finditer(text):
        sentences.append(text[at : match.end()])
        at = match.end()
    sentences.append(text[at:])
    return [sentence.strip() for sentence in sentences if sentence.strip()]
