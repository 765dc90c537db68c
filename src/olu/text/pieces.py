"""Vocabularies of every kind from their state, and pieces of words by byte pair encoding (BPE) in pure Python.

Pieces are cut as the token models' `tokenizers` files have it. A word is a run of letters, marks, digits and
connectors, by their Unicode categories: a tone mark belongs to its vowel, where Python's own word characters leave it
out. Where a pair stands in the list of merges twice, the last place counts. No text makes a special token: `[STOP]`
that somebody writes is a bracket, letters and a bracket. Where a vocabulary cuts bytes, every text has ids.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any, Literal

from olu.core.errors import TextError
from olu.core.types import Reading
from olu.text.byte_words import BYTE_SIGNS, byte_words, from_bytes
from olu.text.languages import two_letters
from olu.text.vocabulary import StreamVocabulary, SymbolVocabulary, symbol_name

SPACE, UNKNOWN, START, STOP = "[SPACE]", "[UNK]", "[START]", "[STOP]"
SPECIAL = (STOP, UNKNOWN, SPACE, START)
JOINERS = "\u200c\u200d"
LETTERS_BY_USE = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))  # signs like Ⓐ
WHITE = "\t\n\x0b\x0c\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
SPARE = re.compile(r"\[PLACEHOLDER\d+\]")  # special tokens that nobody uses, and that have rows
Pair = tuple[str, str]
Form = Literal["", "NFC", "NFKD"]


def vocabulary_from(state: dict[str, Any]) -> SymbolVocabulary:
    """The vocabulary of a state, by its kind; one without a kind holds symbols."""
    kind = state.get("kind", "symbols")
    if kind == "pieces":
        merges = [(str(a), str(b)) for a, b in state["merges"]]
        more = {"tag": state["tag"], "specials": state["specials"], "learnt": state.get("learnt", 0)}
        form, tagged = state.get("form", ""), state.get("tagged", True)
        return PieceVocabulary(state["symbols"], merges, **more, form=form, tagged=tagged)
    if kind == "bytes":
        merges = [(str(a), str(b)) for a, b in state["merges"]]
        return BytePieceVocabulary(state["symbols"], merges, specials=state["specials"], met=state["met"])
    if kind == "streams":
        return StreamVocabulary(state["symbols"])
    if kind != "symbols":
        raise TextError(f"a vocabulary of the kind {kind!r:.40} is unknown here: upgrade Olu")
    return SymbolVocabulary.from_state(state)


def tag_of(language: str) -> str:
    """ISO 639-1 where there is one, else 639-3: what stands in brackets before a text."""
    return two_letters(language) or language


class PieceVocabulary(SymbolVocabulary):
    """Special tokens, single signs and merged pieces; `tag` names the language and stands before every text
    that was not read in another one it knows.

    `learnt`: how many of its last merges were learnt from a corpus, on top of a base's. `form`: of Unicode, which texts
    are put in before they are cut. `tagged`: whether a tag stands before texts at all.
    """

    def __init__(
        self,
        pieces: Iterable[str],
        merges: Iterable[Pair] = (),
        *,
        tag: str = "",
        specials: Iterable[str] = SPECIAL,
        learnt: int = 0,
        form: Form = "",
        tagged: bool = True,
    ) -> None:
        super().__init__(pieces, interleave=False, marks="vowel")
        self.merges, self.tag, self.specials, self.learnt = tuple(merges), tag, tuple(specials), learnt
        self.form, self.tagged = form, tagged
        self._rank = {pair: place for place, pair in enumerate(self.merges)}  # the last place of a pair counts
        parts = (part for a, b in self.merges for part in (a + b, a, b))
        if lost := next((part for part in parts if part not in self._ids), None):
            raise TextError(f"a merge has {lost!r}, which is no piece of this vocabulary: take another file")
        if tag and f"[{tag}]" not in self._ids:
            raise TextError(f"the vocabulary has no tag [{tag}]: extend it with the language first")
        self._cut = lru_cache(maxsize=65536)(self._pieces)

    @staticmethod
    def learn(texts: Iterable[str], *, merges: int = 0, tag: str = "") -> PieceVocabulary:
        """Pieces learnt from texts: every sign, then so many merges of frequent neighbours."""
        words = Counter(tuple(word) for text in texts for word in words_of(text) if word != SPACE)
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
            words = Counter({tuple(merged(word, best)): times for word, times in words.items()})
        specials = (*SPECIAL, *((f"[{tag}]",) if tag else ()))
        pieces = dict.fromkeys([*specials, *signs, *(a + b for a, b in found)])
        return PieceVocabulary(pieces, found, tag=tag, specials=specials)

    def state(self) -> dict[str, Any]:
        held = {"merges": [list(pair) for pair in self.merges], "tag": self.tag, "specials": list(self.specials)}
        rare = {"learnt": self.learnt, "form": self.form, "tagged": self.tagged}
        usual = {"learnt": 0, "form": "", "tagged": True}
        kept = {name: value for name, value in rare.items() if value != usual[name]}
        return {**super().state(), "kind": "pieces", **held, **kept}

    def sayable(self) -> list[str]:
        return [piece for piece in self.symbols if piece not in self.specials]

    def extend(self, symbols: Iterable[str]) -> PieceVocabulary:
        """New signs get ids at the end; no merge is added, so that old texts are cut as before."""
        new = sorted({sign for symbol in symbols for sign in self.formed(symbol)} - set(self.symbols) - {" ", *WHITE})
        return self.grown(pieces=new)

    def grown(
        self,
        *,
        pieces: Iterable[str] = (),
        merges: Iterable[Pair] = (),
        tag: str | None = None,
        learnt: int = 0,
        on_spare: bool = False,
    ) -> PieceVocabulary:
        """With pieces and merges after the old ones, and another tag, which becomes a special token.

        `on_spare`: a new tag takes the id of a placeholder, where there is one.
        """
        tag = self.tag if tag is None or not self.tagged else tag
        new = [f"[{tag}]"] if tag else []
        spare = next((one for one in self.symbols if SPARE.fullmatch(one)), None)
        renamed = {spare: new[0]} if on_spare and spare and new and new[0] not in self._ids else {}
        specials = dict.fromkeys([*(renamed.get(one, one) for one in self.specials), *new])
        held = dict.fromkeys([*(renamed.get(one, one) for one in self.symbols), *new, *pieces])
        kept: dict[str, Any] = {"learnt": self.learnt + learnt, "form": self.form, "tagged": self.tagged}
        return PieceVocabulary(held, (*self.merges, *merges), tag=tag, specials=specials, **kept)

    def word_firsts(self, ids: Sequence[int]) -> list[int]:
        """The number of the first token of each word: of what stands between spaces, without tags and the like."""
        special, firsts, inside = set(self.specials), list[int](), False
        for at, id in enumerate(ids):
            piece = self.symbols[id]
            if piece == SPACE or piece in special:
                inside = False
            elif not inside and any(sign.isalnum() for sign in piece):
                inside = True
                firsts.append(at)
        return firsts

    def formed(self, text: str) -> str:
        return unicodedata.normalize(self.form, text) if self.form else text

    def signs(self, *, lower: bool) -> list[str]:
        """What a text may be written with; `lower`: in small letters only."""
        return [" ", *(one for one in self.sayable() if len(one) == 1 and not (lower and one != one.lower()))]

    def encode(self, reading: Reading) -> list[int]:
        """Behind the tag of the language it was read in, where there is one."""
        tag = tag_of(reading.language)
        known = self.tagged and f"[{tag}]" in self._ids
        return self.encode_text("".join(reading.symbols(self.marks)), tag=tag if known else "")

    def encode_text(self, text: str, *, tag: str = "") -> list[int]:
        """The tag, then the pieces of every word; a sign that is no piece becomes the unknown one."""
        tag = tag or self.tag
        pieces = [*([f"[{tag}]"] if tag else []), *self.pieces_of(text)]
        if UNKNOWN not in self._ids and (strange := next((one for one in pieces if one not in self._ids), None)):
            raise TextError(f"{strange!r} is not in the vocabulary, which has no {UNKNOWN}: run 'olu read' again")
        return [self._ids[piece if piece in self._ids else UNKNOWN] for piece in pieces]

    def pieces_of(self, text: str) -> list[str]:
        """The pieces of a text, without a tag; signs that are none stand as they are."""
        words = words_of(self.formed(text))
        return [piece for word in words for piece in ([word] if word == SPACE else self._cut(word))]

    def fault_in(self, text: str) -> str:
        """In what a text is not read whole: signs that are no piece, or that are lost on the way; nothing if it is."""
        if strange := next((one for one in self.pieces_of(text) if one not in self._ids), None):
            return f"{symbol_name(strange)} is not in the vocabulary"
        meant = "".join(sign for sign in self.formed(text) if sign not in WHITE)
        back = self.decode(self.encode_text(text))
        return "" if back == meant else f"it is read as {back[:60]!r}"

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, without tags and the like."""
        pieces = (self.symbols[id] for id in ids)
        return "".join(" " if one == SPACE else one for one in pieces if one == SPACE or one not in self.specials)

    def _pieces(self, word: str) -> list[str]:
        """Neighbours become one, the pair of the lowest rank first and of those the leftmost, until no pair is left."""
        pieces: list[str] = list(word)
        after, before = [*range(1, len(pieces)), -1], list(range(-1, len(pieces) - 1))
        waiting = [(self._rank[pair], at, *pair) for at, pair in enumerate(pairwise(pieces)) if pair in self._rank]
        heapq.heapify(waiting)
        while waiting:
            _, at, left, right = heapq.heappop(waiting)
            beside = after[at]
            if beside < 0 or pieces[at] != left or pieces[beside] != right:
                continue  # one of the two is part of another piece by now
            pieces[at], pieces[beside] = left + right, ""
            after[at] = after[beside]
            if after[at] >= 0:
                before[after[at]] = at
            after[beside] = -1
            for first in (before[at], at):
                second = after[first] if first >= 0 else -1
                if second >= 0 and (rank := self._rank.get((pieces[first], pieces[second]))) is not None:
                    heapq.heappush(waiting, (rank, first, pieces[first], pieces[second]))
        return [piece for piece in pieces if piece]


class BytePieceVocabulary(PieceVocabulary):
    """Pieces of bytes, as GPT-2 cuts texts: whatever is written has ids, so that no table ever grows.

    `met`: the signs that somebody has learnt; what else a text holds could be cut, but would be noise.
    """

    def __init__(
        self, pieces: Iterable[str], merges: Iterable[Pair] = (), *, specials: Iterable[str] = (), met: Iterable[str]
    ) -> None:
        super().__init__(pieces, merges, specials=specials, form="NFC", tagged=False)
        self.met = tuple(sorted(set(met) - set(WHITE)))
        if lost := next((sign for sign in BYTE_SIGNS if sign not in self._ids), None):
            byte = BYTE_SIGNS.index(lost)
            raise TextError(f"the vocabulary has no piece for the byte {byte}: it does not cut as GPT-2 does")

    def state(self) -> dict[str, Any]:
        held = super().state()
        return {name: held[name] for name in ("symbols", "interleave", "marks", "merges", "specials")} | {
            "kind": "bytes",
            "met": list(self.met),
        }

    def having_met(self, signs: Iterable[str]) -> BytePieceVocabulary:
        met = {*self.met, *signs}
        return BytePieceVocabulary(self.symbols, self.merges, specials=self.specials, met=met)

    def extend(self, symbols: Iterable[str]) -> BytePieceVocabulary:
        return self.having_met(sign for symbol in symbols for sign in self.formed(symbol))

    def signs(self, *, lower: bool) -> list[str]:
        return [" ", *(one for one in self.met if one != " " and not (lower and one != one.lower()))]

    def pieces_of(self, text: str) -> list[str]:
        return [piece for word in byte_words(self.formed(text)) for piece in self._cut(word)]

    def decode(self, ids: Sequence[int]) -> str:
        held = set(self.specials)
        return from_bytes("".join(one for one in (self.symbols[id] for id in ids) if one not in held))

    def fault_in(self, text: str) -> str:
        return ""

    def word_firsts(self, ids: Sequence[int]) -> list[int]:
        """A space stands before the word, in its first piece; a letter may be made of several."""
        space = BYTE_SIGNS[ord(" ")]
        begins = [at for at, id in enumerate(ids) if at == 0 or self.symbols[id].startswith(space)]
        spans = pairwise([*begins, len(ids)])
        return [first for first, last in spans if any(map(str.isalnum, self.decode(ids[first:last])))]


def words_of(text: str) -> Iterator[str]:
    """Runs of word signs and runs of other signs, and SPACE for every space; other white space only parts words."""
    for kind, signs in groupby(text, key=_kind):
        run = "".join(signs)
        yield from [SPACE] * len(run) if kind == "space" else [] if kind == "white" else [run]


def _kind(sign: str) -> str:
    if sign == " " or sign in WHITE:
        return "space" if sign == " " else "white"
    return "word" if is_of_a_word(sign) else "other"


def is_of_a_word(sign: str) -> bool:
    category = unicodedata.category(sign)
    if category[0] in "LM" or category in ("Nd", "Nl", "Pc") or sign in JOINERS:
        return True
    return category == "So" and any(first <= ord(sign) <= last for first, last in LETTERS_BY_USE)


def merged(pieces: Sequence[str], pair: Pair) -> list[str]:
    """The pieces with each occurrence of the pair as one, from the left."""
    merged: list[str] = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged
