"""The reading every language has: its letters as they stand, tidied, with nothing dropped in silence."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Any

from olu.types import Reading, Word

UNSAYABLE = ("Cc", "Cf", "Cs", "Co", "Cn")  # control, format, surrogate, private use, unassigned
JOINERS = "'’ʼ-‐‑"  # inside a word these belong to it


class CharacterFrontend:
    """NFC, lower case, white space folded. With an inventory (longest symbol first), what is outside it is listed."""

    kind = "characters"

    def __init__(self, language: str, *, lower: bool = True, inventory: Iterable[str] | None = None) -> None:
        self.language, self.lower = language, lower
        self.inventory = None if inventory is None else sorted(set(inventory))
        if self.inventory:
            longest_first = sorted(self.inventory, key=lambda symbol: (-len(symbol), symbol))
            self._pattern = re.compile("|".join(re.escape(symbol) for symbol in longest_first))

    def read(self, text: str) -> Reading:
        dropped: Counter[str] = Counter()
        symbols = _fold_spaces(self._known(_fold_spaces(_sayable(self._canonical(text), dropped)), dropped))
        words, breaks = _words(symbols)
        return Reading(text=text, normal="".join(symbols), words=words, breaks=breaks, dropped=dict(dropped))

    def state(self) -> dict[str, Any]:
        return {"kind": self.kind, "language": self.language, "lower": self.lower, "inventory": self.inventory}

    @staticmethod
    def from_state(state: dict[str, Any]) -> CharacterFrontend:
        return CharacterFrontend(state["language"], lower=state["lower"], inventory=state["inventory"])

    def _canonical(self, text: str) -> str:
        text = unicodedata.normalize("NFC", text)
        return unicodedata.normalize("NFC", text.lower()) if self.lower else text

    def _known(self, characters: list[str], dropped: Counter[str]) -> list[str]:
        if self.inventory is None:
            return characters
        if not self.inventory:
            dropped.update(characters)
            return []
        text, at, symbols = "".join(characters), 0, list[str]()
        while at < len(text):
            if match := self._pattern.match(text, at):
                symbols.append(match[0])
                at = match.end()
            else:
                dropped[text[at]] += 1
                at += 1
        return symbols


def _sayable(text: str, dropped: Counter[str]) -> list[str]:
    kept = []
    for character in text:
        if character.isspace():
            kept.append(" ")
        elif unicodedata.category(character) in UNSAYABLE:
            dropped[character] += 1
        else:
            kept.append(character)
    return kept


def _fold_spaces(symbols: list[str]) -> list[str]:
    folded: list[str] = []
    for symbol in symbols:
        if symbol != " " or (folded and folded[-1] != " "):
            folded.append(symbol)
    if folded and folded[-1] == " ":
        folded.pop()
    return folded


def _in_word(symbol: str) -> bool:
    return unicodedata.category(symbol[0])[0] in "LMN"


def _words(symbols: list[str]) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """Letters, marks and digits are words; everything between them is breaks."""
    words: list[Word] = []
    breaks = [""]
    current: list[str] = []
    for place, symbol in enumerate(symbols):
        follows = place + 1 < len(symbols) and _in_word(symbols[place + 1])
        if _in_word(symbol) or (current and symbol in JOINERS and follows):
            current.append(symbol)
            continue
        if current:
            words.append(Word("".join(current), tuple(current)))
            current = []
            breaks.append("")
        breaks[-1] += symbol
    if current:
        words.append(Word("".join(current), tuple(current)))
        breaks.append("")
    return tuple(words), tuple(breaks)
