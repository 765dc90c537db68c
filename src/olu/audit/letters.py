"""What of a transcript is spoken: its letters."""

from __future__ import annotations

import unicodedata


def count_letters(text: str) -> int:
    """Letters of any script; marks, digits, spaces and punctuation do not count."""
    return sum(letter.isalpha() for letter in unicodedata.normalize("NFC", text))


def has_digits(text: str) -> bool:
    return any(unicodedata.category(letter).startswith("N") for letter in text)


def fold(text: str) -> str:
    """The text as it sounds: one form for what differs only in case, spaces or encoding."""
    return unicodedata.normalize("NFC", " ".join(unicodedata.normalize("NFC", text).casefold().split()))
