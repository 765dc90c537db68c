"""Reading by letters inside a graph: what a runtime gives letter by letter becomes the ids a voice was trained with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from olu.export.letters import EDGE, Letters
from olu.text.vocabulary import BLANK_ID, SymbolVocabulary

ANY = 0  # of a neighbour that does not matter
BESIDE = 1  # of everything that stands between words


class Reader(nn.Module):
    """Letters [1, T] to ids [1, N]. A number below the vocabulary's size is a symbol itself; letters come after."""

    def __init__(self, letters: Letters, vocabulary: SymbolVocabulary) -> None:
        super().__init__()
        self.interleave = vocabulary.interleave
        ids = {symbol: id for id, symbol in enumerate(vocabulary.symbols)}
        self.size = vocabulary.size
        self.numbers = {letter: self.size + at for at, letter in enumerate(letters.alone)}
        self.space = ids.get(letters.space, -1)
        kinds = {letter: BESIDE + 1 + at for at, letter in enumerate(letters.alone) if letter not in letters.breaks}
        self.kinds = len(letters.alone) + 2
        shares = [(id,) for id in range(self.size)]
        shares += [tuple(ids[symbol] for symbol in symbols) for symbols in letters.alone.values()]
        shares += [tuple(ids[symbol] for symbol in symbols) for symbols in letters.rows.values()]
        width = max(map(len, shares))
        table = torch.full((len(shares), max(1, width)), -1, dtype=torch.long)
        for at, share in enumerate(shares):
            table[at, : len(share)] = torch.tensor(share, dtype=torch.long)
        self.first = self.size + len(letters.alone)
        neighbours = {**kinds, EDGE: BESIDE, "": ANY}
        keys = [
            self._key(self.numbers[letter], neighbours[before], neighbours[after], neighbours[next])
            for letter, before, after, next in letters.rows
        ]
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

    def _key(self, letter: Any, before: Any, after: Any, next: Any) -> Any:
        return ((letter * self.kinds + before) * self.kinds + after) * self.kinds + next

    def forward(self, letters: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        letter = letters[0][torch.arange(letters.shape[1]) < lengths[0]]
        row = letter
        if len(self.keys):
            edge = torch.full((2,), BESIDE, dtype=torch.long)
            around = torch.cat([edge[:1], self.kind[letter], edge])
            before, after, next = around[:-3], around[2:-1], around[3:]
            none = torch.zeros_like(before)
            looks = ((before, none, none), (none, after, none), (none, after, next), (before, after, none))
            for look in (*looks, (before, after, next)):  # the most exact last: it stays
                wanted = self._key(letter, *look)
                fits = (wanted[:, None] == self.keys[None]).int()
                row = torch.where(fits.sum(1) > 0, fits.argmax(1) + self.first, row)
        flat = self.table[row].reshape(-1)
        ids = self._spaced(flat[flat >= 0])
        if self.interleave:
            blank = torch.full_like(ids, BLANK_ID)
            ids = torch.cat([torch.stack([blank, ids], 1).reshape(-1), torch.zeros(1, dtype=torch.long)])
        return ids[None], torch.ones_like(ids).sum()[None]

    def _spaced(self, ids: Tensor) -> Tensor:
        """One space where several meet; none at the ends or before a mark."""
        if self.space < 0:
            return ids
        behind = torch.cat([ids, torch.full((1,), self.space, dtype=torch.long)])[1:]
        spoken = ids != self.space
        begun = torch.cumsum(spoken.int(), 0) > 0
        return ids[spoken | (begun & ~self.mute[behind])]
