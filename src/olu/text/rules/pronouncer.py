"""The pronouncer most languages need: exceptions first, then letters and rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from olu.text.language_data import Pack, Pronunciation
from olu.text.rules.engine import LetterRules

UNLIKE = dict(zip("łøđðþıßæœ", "loddtisee", strict=True))  # letters that no mark sets apart from their base


class RulePronouncer:
    def __init__(self, pack: Pack) -> None:
        self.letters = LetterRules.of(pack)
        self.lexicon = exceptions(pack)

    def mode(self, words: Sequence[str]) -> str:
        return ""

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        return self.lexicon.get(word) or self.letters.say(word)


def nearest(word: str, letters: LetterRules) -> str:
    """The word with letters of foreign names that the language has not (ř, ł) as those nearest to them."""
    if word.isascii():
        return word
    return "".join(char if letters.begins(char) else _nearest(char, letters) for char in word)


def _nearest(char: str, letters: LetterRules) -> str:
    base = UNLIKE.get(char) or unicodedata.normalize("NFD", char)[0]
    return base if letters.begins(base) else char


def exceptions(pack: Pack) -> dict[str, Pronunciation]:
    """lexicon.tsv: words whose phones no rule gives."""
    found = {}
    for word, phones, *_ in (row for row in pack.rows("lexicon.tsv") if len(row) > 1):
        key = unicodedata.normalize("NFC", word.strip())
        found[key] = Pronunciation(tuple(phones.split()), rules=(f"lexicon: {key}",))
    return found
