"""What one word sounds like, and what was done to a text on the way there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """One word as phones. `tones` are of the phones that `bearers` points at: H M L D, two letters for a contour."""

    phones: tuple[str, ...]
    tones: tuple[str, ...] = ()
    bearers: tuple[int, ...] = ()
    stress: int | None = None  # which phone carries the main stress
    rules: tuple[str, ...] = ()  # what fired, in order, for people who ask
    dropped: tuple[str, ...] = ()  # characters of the word that were not read


class Pronouncer(Protocol):
    """Turns one canonical word into phones. What depends on the whole text is decided once, in `mode`."""

    def mode(self, words: Sequence[str]) -> str: ...

    def say(self, word: str, *, mode: str = "") -> Pronunciation: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One rule that changed a stretch of the text."""

    stage: str  # canonical, restore, normalise, pronounce
    rule: str
    before: str
    after: str


@dataclass(slots=True)
class ReadingTrace:
    """What happens to one text: every change, and every character that was left out."""

    steps: list[Step] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, stage: str, rule: str, before: str, after: str) -> None:
        if before != after:
            self.steps.append(Step(stage, rule, before, after))
