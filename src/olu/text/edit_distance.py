"""How far two spellings are apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def edits(said: Sequence[str], heard: Sequence[str]) -> int:
    """Letters to change, leave out or put in, at the least."""
    if not said or not heard:
        return max(len(said), len(heard))
    code = {symbol: number for number, symbol in enumerate({*said, *heard})}
    target = np.array([code[symbol] for symbol in heard])
    place = np.arange(len(heard) + 1)
    row = place.copy()
    for number, symbol in enumerate(said, 1):
        changed = row[:-1] + (target != code[symbol])
        row = np.concatenate([[number], np.minimum(row[1:] + 1, changed)])
        row = np.minimum.accumulate(row - place) + place  # put in: along the row
    return int(row[-1])
