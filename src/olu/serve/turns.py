"""Whose turn it is among the open requests of a worker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

AHEAD_SECONDS = 16.0  # of sound that nobody has taken yet: more would only fill memory
HEAD_START = 60.0  # who has heard nothing waits only for those who have been without sound for longer than this


@dataclass(eq=False, kw_only=True)
class Turn:
    """How a request stands; times are of one clock, in seconds."""

    came: float
    begun: float | None = None  # when its first sound was given
    given: float = 0.0  # seconds of sound
    taken: float = 0.0  # of them, by the listener
    like: tuple[str, int] | None = None  # the voice and the size of the part that is ready, if one is

    @property
    def due(self) -> float:
        """When the listener runs out of sound."""
        return self.came - HEAD_START if self.begun is None else self.begun + self.given

    @property
    def ahead(self) -> bool:
        return self.given - self.taken >= AHEAD_SECONDS


Any = TypeVar("Any", bound=Turn)


def first(turns: Iterable[Any]) -> Any | None:
    """The one whose listener runs out first; those who came first where it is equal."""
    return min((turn for turn in turns if not turn.ahead), key=lambda turn: (turn.due, turn.came), default=None)


def together(lead: Any, turns: Iterable[Any], *, most: int) -> list[Any]:
    """Who can go with `lead` now, because the same voice has a part of the same size ready for it; `lead` first."""
    if most < 2:
        return [lead]
    others = [turn for turn in turns if turn is not lead and turn.like == lead.like and not turn.ahead]
    return [lead, *sorted(others, key=lambda turn: (turn.due, turn.came))[: most - 1]]
