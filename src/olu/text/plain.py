"""The pronouncer most languages need: exceptions first, then letters and rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from olu.text.pack import Pack
from olu.text.rules import Letters
from olu.text.said import Said


class RulePronouncer:
    def __init__(self, pack: Pack) -> None:
        self.letters = Letters.of(pack)
        self.lexicon = exceptions(pack)

    def mode(self, words: Sequence[str]) -> str:
        return ""

    def say(self, word: str, *, mode: str = "") -> Said:
        return self.lexicon.get(word) or self.letters.say(word)


def exceptions(pack: Pack) -> dict[str, Said]:
    """lexicon.tsv: words whose phones no rule gives."""
    found = {}
    for word, phones, *_ in (row for row in pack.rows("lexicon.tsv") if len(row) > 1):
        key = unicodedata.normalize("NFC", word.strip())
        found[key] = Said(tuple(phones.split()), rules=(f"lexicon: {key}",))
    return found
