"""Reading by letters inside a graph: what a runtime gives letter by letter becomes the ids a voice was trained with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from olu.text.letters import EDGE, FARTHEST, LOOKS, RANKS, LetterTable
from olu.text.vocabulary import BLANK_ID, SymbolVocabulary

ANY = 0  # of a neighbour that does not matter
BESIDE = 1  # of everything that stands between words


class LetterReader(nn.Module):
    """Letters [1, T] to ids [1, N]. A number below the vocabulary's size is a symbol itself; letters come after."""

    def __init__(self, letters: LetterTable, vocabulary: SymbolVocabulary) -> None:
        super().__init__()
        self.interleave = vocabulary.interleave
        ids = {symbol: id for id, symbol in enumerate(vocabulary.symbols)}
        self.size = vocabulary.size
        self.numbers = {letter: self.size + at for at, letter in enumerate(letters.alone)}
        self.space = ids.get(letters.space, -1)
        kinds = {letter: BESIDE + 1 + at for at, letter in enumerate(letters.alone) if letter not in letters.breaks}
        self.kinds = len(letters.alone) + 2
        shares: list[tuple[int, ...]] = [(id,) for id in range(self.size)]
        shares += [tuple(ids[symbol] for symbol in symbols) for symbols in letters.alone.values()]
        shares += [tuple(ids[symbol] for symbol in symbols) for symbols in letters.rows.values()]
        width = max(map(len, shares))
        table = torch.full((len(shares), max(1, width)), -1, dtype=torch.long)
        for at, share in enumerate(shares):
            table[at, : len(share)] = torch.tensor(share, dtype=torch.long)
        self.first = self.size + len(letters.alone)
        neighbours = {**kinds, EDGE: BESIDE, "": ANY}
        ranks = {"": ANY, **{str(number): 1 + number for number in range(RANKS)}}
        self.counts = bool(letters.peaks)
        keys = [
            self._key(self.numbers[letter], neighbours[before], neighbours[after], neighbours[next], ranks[rank])
            for letter, before, after, next, rank in letters.rows
        ]
        peak = [0] * self.size + [int(letter in letters.peaks) for letter in letters.alone]
        self.peak: Tensor
        self.register_buffer("peak", torch.tensor(peak, dtype=torch.long))
        mute = torch.zeros(self.size, dtype=torch.bool)  # what a space is not said before
        mute[[ids[one] for one in letters.marks]] = True
        mute[self.space] = True
        self.mute: Tensor
        self.register_buffer("mute", mute)
        self.table: Tensor
        self.keys: Tensor
        self.kind: Tensor
        self.register_buffer("table", table)
        self.register_buffer("keys", torch.tensor(keys, dtype=torch.long))
        kind = [BESIDE] * self.size + [kinds.get(letter, BESIDE) for letter in letters.alone]
        self.register_buffer("kind", torch.tensor(kind, dtype=torch.long))

    def _key(self, letter: Any, before: Any, after: Any, next: Any, rank: Any) -> Any:
        neighbours = ((letter * self.kinds + before) * self.kinds + after) * self.kinds + next
        return neighbours * (RANKS + 1) + rank

    def forward(self, letters: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        letter = letters[0][torch.arange(letters.shape[1]) < lengths[0]]
        row = letter
        if len(self.keys):
            edge = torch.full((2,), BESIDE, dtype=torch.long)
            around = torch.cat([edge[:1], self.kind[letter], edge])
            before, after, next = around[:-3], around[2:-1], around[3:]
            none, rank = torch.zeros_like(before), self._rank(letter)
            for looks in reversed(LOOKS):  # the most exact last: it stays
                seen = zip((before, after, next, rank), looks, strict=True)
                wanted = self._key(letter, *(value if told else none for value, told in seen))
                fits = (wanted[:, None] == self.keys[None]).int()
                row = torch.where(fits.sum(1) > 0, fits.argmax(1) + self.first, row)
        flat = self.table[row].reshape(-1)
        ids = self._spaced(flat[flat >= 0])
        if self.interleave:
            blank = torch.full_like(ids, BLANK_ID)
            ids = torch.cat([torch.stack([blank, ids], 1).reshape(-1), torch.zeros(1, dtype=torch.long)])
        return ids[None], torch.ones_like(ids).sum()[None]

    def _rank(self, letter: Tensor) -> Tensor:
        """How many peaks are to come in the word of each letter, and whether any came before; from 1 on."""
        if not self.counts:
            return torch.zeros_like(letter)
        word = torch.cumsum((self.kind[letter] == BESIDE).int(), 0)
        at = torch.arange(letter.shape[0])
        beside = (word[:, None] == word[None]).long() * self.peak[letter][None]
        to_come = (beside * (at[None] > at[:, None])).sum(1)
        gone = (beside * (at[None] < at[:, None])).sum(1)
        return torch.clamp(to_come, max=FARTHEST) + (FARTHEST + 1) * (gone == 0).long() + 1

    def _spaced(self, ids: Tensor) -> Tensor:
        """One space where several meet; none at the ends or before a mark."""
        if self.space < 0:
            return ids
        behind = torch.cat([ids, torch.full((1,), self.space, dtype=torch.long)])[1:]
        spoken = ids != self.space
        begun = torch.cumsum(spoken.int(), 0) > 0
        return ids[spoken | (begun & ~self.mute[behind])]
