"""Whose turn it is among the open requests of a worker."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

AHEAD_SECONDS = 16.0  # of sound that nobody has taken yet: more would only fill memory
CROWD = 8  # open requests; what is more waits longer for its first sound, so that others are not left in silence
HEAD_START = 60.0  # who has heard nothing waits only for those who have been without sound for longer than this
CROWD_START = 2.0  # the same in a crowd, where there is always somebody new


@dataclass(eq=False, kw_only=True)
class Turn:
    """How a request stands; times are of one clock, in seconds."""

    came: float
    begun: float | None = None  # when its first sound was given
    given: float = 0.0  # seconds of sound
    taken: float = 0.0  # of them, by the listener
    like: tuple[str, Hashable] | None = None  # the voice and the key of the chunk that is ready, if one is

    def due(self, head_start: float = HEAD_START) -> float:
        """When the listener runs out of sound."""
        return self.came - head_start if self.begun is None else self.begun + self.given

    @property
    def ahead(self) -> bool:
        return self.given - self.taken >= AHEAD_SECONDS


Any = TypeVar("Any", bound=Turn)


def first(turns: Collection[Any]) -> Any | None:
    """The one whose listener runs out first; those who came first where it is equal."""
    head_start = CROWD_START if len(turns) > CROWD else HEAD_START
    waiting = (turn for turn in turns if not turn.ahead)
    return min(waiting, key=lambda turn: (turn.due(head_start), turn.came), default=None)


def together(lead: Any, turns: Iterable[Any], *, most: int) -> list[Any]:
    """Who can go with `lead` now, because the same voice has a chunk of the same key ready for it; `lead` first."""
    if most < 2:
        return [lead]
    others = [turn for turn in turns if turn is not lead and turn.like == lead.like and not turn.ahead]
    return [lead, *sorted(others, key=lambda turn: (turn.due(), turn.came))[: most - 1]]
