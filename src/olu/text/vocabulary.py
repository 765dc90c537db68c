"""Symbols and their ids. Id 0 is the blank that VITS-like models put between symbols."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from olu.core.errors import TextError
from olu.core.types import Marks, Reading

BLANK = "_"
BLANK_ID = 0
VOCABULARY = {"symbols": list, "interleave": bool}  # what its file must hold


class SymbolVocabulary:
    """`marks` says how the tones and stress of a reading become symbols."""

    def __init__(self, symbols: Iterable[str], *, interleave: bool = True, marks: Marks = "vowel") -> None:
        self.symbols, self.interleave, self.marks = tuple(symbols), interleave, marks
        self._ids = {symbol: id for id, symbol in enumerate(self.symbols)}
        if len(self._ids) != len(self.symbols):
            raise TextError("a vocabulary holds a symbol twice: remove one of them")

    @staticmethod
    def of(symbols: Iterable[str], *, marks: Marks = "vowel") -> SymbolVocabulary:
        """A new vocabulary: the blank first, then the symbols in code point order."""
        return SymbolVocabulary((BLANK, *sorted(set(symbols) - {BLANK})), marks=marks)

    @staticmethod
    def from_state(state: dict[str, Any]) -> SymbolVocabulary:
        """Of what `state` gave; files are read with the shape VOCABULARY."""
        return SymbolVocabulary(state["symbols"], interleave=state["interleave"], marks=state.get("marks", "vowel"))

    @property
    def size(self) -> int:
        return len(self.symbols)

    def sayable(self) -> list[str]:
        """The symbols a text can hold: not the blank, not <unk> and the like."""
        return [s for s in self.symbols if s != BLANK and not (len(s) > 2 and s.startswith("<") and s.endswith(">"))]

    def encode(self, reading: Reading) -> list[int]:
        try:
            ids = [self._ids[symbol] for symbol in reading.symbols(self.marks)]
        except KeyError as unknown:
            raise TextError(f"{unknown.args[0]!r} is not in the vocabulary: run 'olu read' again") from None
        if not self.interleave:
            return ids
        spaced = [BLANK_ID] * (2 * len(ids) + 1)
        spaced[1::2] = ids
        return spaced

    def extend(self, symbols: Iterable[str]) -> SymbolVocabulary:
        """New symbols get new ids at the end; old ids never move."""
        new = sorted(set(symbols) - set(self.symbols))
        return SymbolVocabulary((*self.symbols, *new), interleave=self.interleave, marks=self.marks)

    def state(self) -> dict[str, Any]:
        return {"symbols": list(self.symbols), "interleave": self.interleave, "marks": self.marks}


def symbol_name(symbol: str) -> str:
    """A symbol people can recognise even when it cannot be seen."""
    codes = "+".join(f"U+{ord(character):04X}" for character in symbol)
    name = unicodedata.name(symbol[0], "") if len(symbol) == 1 else ""
    return f"{codes} {name}".strip() if not symbol.isprintable() else symbol
