"""How many clips fit a machine's memory at once, by the family's own formula."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from olu.train.plan.facts import Case, Machine, Material, PlanClip

if TYPE_CHECKING:
    from olu.train.family import Family

SHARE = {"cuda": 0.8, "mps": 0.5, "cpu": 0.5}  # of the memory that a step may take: the rest is for all else
DRIVER_BYTES = 0.5e9  # a GPU's own


def below(material: Material, limit: float) -> float:
    return sum(piece.seconds for piece in material.pieces if piece.seconds <= limit)


def kept(case: Case, values: Mapping[str, Any]) -> list[PlanClip]:
    low, high = values["data.min_seconds"], values["data.max_seconds"]
    return [piece for piece in case.material.pieces if low <= piece.seconds <= high] or list(case.material.pieces)


def room(machine: Machine) -> float:
    return SHARE[machine.device] * machine.memory - (DRIVER_BYTES if machine.device == "cuda" else 0.0)


def fits(case: Case, config: Any, family: Family, limit: float) -> bool:
    pieces = [piece for piece in case.material.pieces if piece.seconds <= limit]
    return peak(config, family, ladder(pieces), 1, limit) <= room(case.machine)


Ladder = list[tuple[int, int]]  # whole seconds -> most tokens of a clip up to that long


def ladder(pieces: list[PlanClip]) -> Ladder:
    tokens: dict[int, int] = {}
    for piece in pieces:
        length = max(1, math.ceil(piece.seconds))
        tokens[length] = max(tokens.get(length, 1), piece.tokens)
    lengths = sorted(tokens)
    return list(zip(lengths, accumulate((tokens[length] for length in lengths), max), strict=True))


def peak(config: Any, family: Family, lengths: Ladder, clips: int, seconds: float) -> float:
    """Bytes of the worst batch under these limits."""
    assert family.advice is not None
    memory = family.advice.memory
    return max(
        (
            memory(config, clips=max(1, min(clips, int(seconds / length))), seconds=float(length), tokens=tokens)
            for length, tokens in lengths
        ),
        default=0.0,
    )


def largest(case: Case, config: Any, family: Family, pieces: list[PlanClip], target: int, usual: float) -> int:
    """The most clips at a time that fit, of those that share the batch evenly."""
    lengths, longest = ladder(pieces), max(piece.seconds for piece in pieces)
    for parts in range(1, target + 1):
        clips = math.ceil(target / parts)
        if peak(config, family, lengths, clips, max(clips * usual, longest)) <= room(case.machine):
            return clips
    return 1
