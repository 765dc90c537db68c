"""Vocabularies of every kind from their state, and pieces of words by byte pair encoding (BPE) in pure Python.

Pieces are cut as the token models' `tokenizers` files have it. A word is a run of letters, marks, digits and
connectors, by their Unicode categories: a tone mark belongs to its vowel, where Python's own word characters leave it
out. Where a pair stands in the list of merges twice, the last place counts.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any

from olu.core.errors import TextError
from olu.core.types import Reading
from olu.text.vocabulary import StreamVocabulary, SymbolVocabulary

SPACE, UNKNOWN, START, STOP = "[SPACE]", "[UNK]", "[START]", "[STOP]"
SPECIAL = (STOP, UNKNOWN, SPACE, START)
JOINERS = "\u200c\u200d"
Pair = tuple[str, str]


def vocabulary_from(state: dict[str, Any]) -> SymbolVocabulary:
    """The vocabulary of a state, by its kind; one without a kind holds symbols."""
    kind = state.get("kind", "symbols")
    if kind == "pieces":
        merges = [(str(a), str(b)) for a, b in state["merges"]]
        return PieceVocabulary(state["symbols"], merges, tag=state["tag"], specials=state["specials"])
    if kind == "streams":
        return StreamVocabulary(state["symbols"])
    if kind != "symbols":
        raise TextError(f"a vocabulary of the kind {kind!r:.40} is unknown here: upgrade Olu")
    return SymbolVocabulary.from_state(state)


class PieceVocabulary(SymbolVocabulary):
    """Special tokens, single signs and merged pieces; `tag` names the language and stands before every text."""

    def __init__(
        self, pieces: Iterable[str], merges: Iterable[Pair] = (), *, tag: str = "", specials: Iterable[str] = SPECIAL
    ) -> None:
        super().__init__(pieces, interleave=False, marks="vowel")
        self.merges, self.tag, self.specials = tuple(merges), tag, tuple(specials)
        self._rank = {pair: place for place, pair in enumerate(self.merges)}  # the last place of a pair counts
        if lost := next((a + b for a, b in self.merges if a + b not in self._ids), None):
            raise TextError(f"a merge makes {lost!r}, which is no piece of this vocabulary: take another file")
        self._cut = lru_cache(maxsize=65536)(self._pieces)

    @staticmethod
    def learn(texts: Iterable[str], *, merges: int = 0, tag: str = "") -> PieceVocabulary:
        """Pieces learnt from texts: every sign, then so many merges of frequent neighbours."""
        words = Counter(tuple(word) for text in texts for word in _words(text) if word != SPACE)
        signs = sorted({sign for word in words for sign in word})
        found: list[Pair] = []
        while len(found) < merges:
            counts: Counter[Pair] = Counter()
            for word, times in words.items():
                for pair in pairwise(word):
                    counts[pair] += times
            if max(counts.values(), default=0) < 2:
                break
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            found.append(best)
            words = Counter({tuple(_merged(word, best)): times for word, times in words.items()})
        specials = (*SPECIAL, *((f"[{tag}]",) if tag else ()))
        pieces = dict.fromkeys([*specials, *signs, *(a + b for a, b in found)])
        return PieceVocabulary(pieces, found, tag=tag, specials=specials)

    def state(self) -> dict[str, Any]:
        held = {"merges": [list(pair) for pair in self.merges], "tag": self.tag, "specials": list(self.specials)}
        return {**super().state(), "kind": "pieces", **held}

    def sayable(self) -> list[str]:
        return [piece for piece in self.symbols if piece not in self.specials]

    def extend(self, symbols: Iterable[str]) -> PieceVocabulary:
        """New signs get ids at the end; no merge is added, so that old texts are cut as before."""
        new = sorted({sign for symbol in symbols for sign in symbol} - set(self.symbols) - {" "})
        return PieceVocabulary((*self.symbols, *new), self.merges, tag=self.tag, specials=self.specials)

    def encode(self, reading: Reading) -> list[int]:
        return self.encode_text("".join(reading.symbols(self.marks)))

    def encode_text(self, text: str) -> list[int]:
        """The tag, then the pieces of every word; a sign that is no piece becomes the unknown one."""
        pieces = [f"[{self.tag}]"] if self.tag else []
        for word in _words(text):
            pieces += [word] if word == SPACE else self._cut(word)
        if UNKNOWN not in self._ids and (strange := next((one for one in pieces if one not in self._ids), None)):
            raise TextError(f"{strange!r} is not in the vocabulary, which has no {UNKNOWN}: run 'olu read' again")
        return [self._ids[piece if piece in self._ids else UNKNOWN] for piece in pieces]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, without tags and the like."""
        pieces = (self.symbols[id] for id in ids)
        return "".join(" " if one == SPACE else one for one in pieces if one == SPACE or one not in self.specials)

    def _pieces(self, word: str) -> list[str]:
        pieces = list(word)
        while ranked := [(self._rank[pair], pair) for pair in pairwise(pieces) if pair in self._rank]:
            pieces = _merged(pieces, min(ranked)[1])
        return pieces


def _words(text: str) -> Iterator[str]:
    """Runs of word signs and runs of other signs, and SPACE for every space."""
    for kind, signs in groupby(text, key=lambda sign: 2 if sign == " " else int(_is_of_a_word(sign))):
        run = "".join(signs)
        yield from [SPACE] * len(run) if kind == 2 else [run]


def _is_of_a_word(sign: str) -> bool:
    category = unicodedata.category(sign)
    return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or sign in JOINERS


def _merged(pieces: Sequence[str], pair: Pair) -> list[str]:
    """The pieces with each occurrence of the pair as one, from the left."""
    merged: list[str] = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged
