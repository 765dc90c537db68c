"""More symbols than before: new rows in every table of symbols, and in a checkpoint with its moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from olu.train.checkpoint import Checkpoint

APART = 0.1  # of the spread: a new row beside the one it was copied from


@dataclass(frozen=True)
class Growth:
    """New rows of a table: for each the old row it starts from, several for their mean, or None for the mean of all.

    `again`: old rows that nothing used, and that start anew for something.
    """

    old: int
    parents: tuple[int | tuple[int, ...] | None, ...]
    scale: float = 1.0
    again: tuple[tuple[int, int | tuple[int, ...] | None], ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.parents or self.again)

    @property
    def rows(self) -> int:
        return self.old + len(self.parents)


def enlarged(table: Tensor, growth: Growth) -> Tensor:
    """Old rows as they are, then the new, of their size: much smaller or larger ones would not learn at their pace."""
    if not growth.changes:
        return table
    random = torch.Generator().manual_seed(0)
    parents = [*growth.parents, *(parent for _, parent in growth.again)]
    noise = torch.randn(len(parents), *table.shape[1:], generator=random)
    starts, spreads = (torch.stack(both) for both in zip(*(_start(table, one) for one in parents), strict=True))
    made = (starts + growth.scale * spreads * noise).to(table.dtype)
    grown = torch.cat([table, made[: len(growth.parents)]])
    for (row, _), value in zip(growth.again, made[len(growth.parents) :], strict=True):
        grown[row] = value
    return grown


def _start(table: Tensor, parent: int | tuple[int, ...] | None) -> tuple[Tensor, Tensor]:
    """Where a new row starts, and how far from there: near one row, or among those it is the mean of."""
    if isinstance(parent, int):
        return table[parent], APART * table.std(0)
    kin = table if parent is None or len(parent) < 2 else table[list(parent)]
    return kin.mean(0), kin.std(0)


def enlarged_checkpoint(checkpoint: Checkpoint, names: Sequence[str], growth: Growth) -> Checkpoint:
    """With new rows in the tables `names` (part.parameter). Old rows keep their moments.

    New rows have no momentum. Their second moment is the mean of the old rows', because the optimiser's count of steps
    is one for the whole table: from zero, their first updates would be far too long.
    """
    weights, optimiser = dict(checkpoint.weights), dict(checkpoint.optimiser)
    for name in names:
        part, _, inside = name.partition(".")
        for key in (f"learner/{name}", f"average/{part}/{inside}"):
            if key in weights:
                weights[key] = enlarged(weights[key], growth)
        for moment in ("exp_avg", "exp_avg_sq"):
            key = f"{part}/{inside}/{moment}"
            if key in optimiser:
                held = optimiser[key]
                start = held.mean(0) if moment == "exp_avg_sq" else torch.zeros_like(held[0])
                grown = torch.cat([held, start.expand(len(growth.parents), *start.shape)])
                for row, _ in growth.again:
                    grown[row] = start
                optimiser[key] = grown
    return replace(checkpoint, weights=weights, optimiser=optimiser)


def said_of_scale(name: str, table: Tensor, old: int) -> str:
    """How large the new rows of a table begin beside the old ones."""
    sizes = table.detach().float().reshape(len(table), -1).norm(dim=1)
    before, now = float(sizes[:old].mean()), float(sizes[old:].mean())
    return f"the new rows of {name} begin at {now:.3g}, the old ones have {before:.3g} (mean length of a row)"
