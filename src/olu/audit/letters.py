"""What of a transcript is spoken: its letters, and the scripts they belong to."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "HALFWIDTH": "CJK", "FULLWIDTH": "LATIN"}
NO_SCRIPT = {"MODIFIER", "FEMININE", "MASCULINE", "MICRO"}  # letters that stand in texts of any script


def count_letters(text: str) -> int:
    """Letters of any script; marks, digits, spaces and punctuation do not count."""
    return sum(map(str.isalpha, unicodedata.normalize("NFC", text)))


def has_digits(text: str) -> bool:
    return count_digits(text) > 0


def count_digits(text: str) -> int:
    return sum(unicodedata.category(letter).startswith("N") for letter in text)


def fold(text: str) -> str:
    """The text as it sounds: one form for what differs only in case, spaces or encoding."""
    return unicodedata.normalize("NFC", " ".join(unicodedata.normalize("NFC", text).casefold().split()))


@lru_cache(maxsize=100_000)
def script(letter: str) -> str:
    """The first word of a letter's Unicode name, such as LATIN or ETHIOPIC; empty for what has no script."""
    if not letter.isalpha():
        return ""
    word = unicodedata.name(letter, "UNKNOWN").replace("-", " ").split()[0]
    return "" if word in NO_SCRIPT else ONE_SCRIPT.get(word, word)


def scripts(text: str) -> Counter[str]:
    """Letters of each script."""
    counts = Counter(script(letter) for letter in unicodedata.normalize("NFC", text))
    del counts[""]
    return counts


def main_scripts(texts: Iterable[tuple[str, str]], *, least: float) -> dict[str, str]:
    """The script of each language of (language, text) pairs, where one has at least this share of the letters."""
    counts: dict[str, Counter[str]] = {}
    for language, text in texts:
        counts.setdefault(language, Counter()).update(scripts(text))
    found = {}
    for language, count in counts.items():
        if count:
            name, number = count.most_common(1)[0]
            if number >= least * count.total():
                found[language] = name
    return found
