"""Symbols and their ids. Id 0 is the blank that VITS-like models put between symbols.

A vocabulary is written down as a state with its `kind`: symbols (the default), streams (tones and stress beside their
sounds) or pieces (BPE, see `text/pieces.py`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from olu.core.errors import TextError
from olu.core.types import Marks, Reading

BLANK = "_"
BLANK_ID = 0
TONES = ("?", "H", "M", "L", "D", "HL", "LH", "HM", "MH", "ML", "LM")  # ids from 1 on; the first is unknown
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

    def streams(self, reading: Reading) -> dict[str, list[int]]:
        """What goes with the ids, one number for each, by name; nothing for most kinds."""
        return {}

    def between(self, marks: str) -> str:
        """The symbols that stand for a break of a reading."""
        return marks

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


class StreamVocabulary(SymbolVocabulary):
    """Sounds as symbols; tone and stress of each stand in streams of their own.

    Before, between and after words there is always a gap, which may be silent: what is written there, or the blank.
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        super().__init__(symbols, interleave=False, marks="none")

    def extend(self, symbols: Iterable[str]) -> StreamVocabulary:
        return StreamVocabulary(super().extend(symbols).symbols)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "kind": "streams"}

    def between(self, marks: str) -> str:
        return marks or BLANK

    def encode(self, reading: Reading) -> list[int]:
        return super().encode(replace(reading, breaks=tuple(map(self.between, reading.breaks))))

    def streams(self, reading: Reading) -> dict[str, list[int]]:
        """`tones`: 0 where there is none, else the place in TONES from 1 on; `stress`: 1 on what carries it.

        `gaps`: 1 where no sound is meant. `language`: the id of its tag, where the vocabulary has it.
        """
        first, *after = (len(self.between(marks)) for marks in reading.breaks)
        tones, stress, gaps = [0] * first, [0] * first, [1] * first
        for word, size in zip(reading.words, after, strict=True):
            borne = dict(zip(word.bearers, word.tones, strict=True))
            named = [borne.get(place) for place in range(len(word.phones))]
            tones += [0 if tone is None else 1 + (TONES.index(tone) if tone in TONES else 0) for tone in named]
            stress += [int(place == word.stress) for place in range(len(word.phones))]
            gaps += [int(phone == BLANK) for phone in word.phones]
            tones, stress, gaps = tones + [0] * size, stress + [0] * size, gaps + [1] * size
        found = {"tones": tones, "stress": stress, "gaps": gaps}
        if tag := self._ids.get(language_tag(reading.language)):
            found["language"] = [tag] * len(gaps)
        return found


def language_tag(code: str) -> str:
    """The symbol whose row is the vector of a language, where a voice was trained on several."""
    return f"<{code}>"


def is_language_tag(symbol: str) -> bool:
    return len(symbol) == 5 and symbol[0] == "<" and symbol[-1] == ">" and symbol[1:-1].isalpha()


def symbol_name(symbol: str) -> str:
    """A symbol people can recognise even when it cannot be seen."""
    codes = "+".join(f"U+{ord(character):04X}" for character in symbol)
    name = unicodedata.name(symbol[0], "") if len(symbol) == 1 else ""
    return f"{codes} {name}".strip() if not symbol.isprintable() else symbol
