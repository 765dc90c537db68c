"""Counting people's choices: how sure a preference is."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb


@dataclass(frozen=True)
class Preference:
    """How often each of two was chosen. `chance` is how often a coin would be at least as far from half."""

    first: int
    second: int
    equal: int
    chance: float | None  # None where nobody preferred either

    @property
    def share(self) -> float | None:
        """Of those who preferred one, how many preferred the second."""
        both = self.first + self.second
        return self.second / both if both else None


def preference(first: int, second: int, *, equal: int = 0) -> Preference:
    return Preference(first, second, equal, coin(first, second) if first + second else None)


def coin(first: int, second: int) -> float:
    """The exact two-sided binomial test against an even coin."""
    total = first + second
    far = abs(2 * first - total)
    ways = sum(comb(total, heads) for heads in range(total + 1) if abs(2 * heads - total) >= far)
    return float(min(1.0, ways / 2**total))
