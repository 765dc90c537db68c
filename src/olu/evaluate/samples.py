"""What is judged: a sentence as it was spoken, its recording where there is one, and what the judges need to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from olu.core.types import Alignment, Audio, Reading
from olu.evaluate.evaluation import Domain

if TYPE_CHECKING:
    from olu.evaluate.metrics.sanity import Usual
    from olu.evaluate.metrics.speaker import Voice


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One sentence. Sounds are read when they are needed, so that many sentences fit in memory."""

    id: str
    text: str
    domain: Domain
    wav: str  # the name of its file
    spoken: Callable[[], Audio]
    natural: Callable[[], Audio] | None = None
    reading: Reading | None = None
    speaker: str = ""

    @property
    def letters(self) -> int | None:
        """How many are said; none where the text could not be read."""
        return sum(len(word.text) for word in self.reading.words) if self.reading else None


class Transcriber(Protocol):
    """A recogniser as judging needs it."""

    @property
    def version(self) -> str: ...

    def target(self, reading: Reading) -> list[str]: ...
    def transcribe(self, audio: Audio) -> str: ...


Aligns = Callable[[str, Audio, Reading], Alignment | None]


@dataclass(frozen=True, kw_only=True)
class References:
    """What the natural recordings of the corpus say, gathered once for all sentences."""

    language: str = ""
    hears: Transcriber | None = None
    second: Transcriber | None = None  # trained on another part of the corpus: for the collusion check
    aligns: Aligns | None = None
    aligner: str = ""
    usual: Usual | None = None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # speaker -> pitch in Hz
    voices: Mapping[str, Voice] = field(default_factory=dict)  # speaker -> the middle of its recordings
    absent: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # group -> why it has no instrument, command

    def any_bounds(self, speaker: str) -> tuple[float, float] | None:
        return self.bounds.get(speaker) or next(iter(self.bounds.values()), None)


def spread_evenly(items: Sequence[str], count: int) -> list[str]:
    """At most so many, from the whole length of the list."""
    if len(items) <= count:
        return list(items)
    return [items[round(place * (len(items) - 1) / max(1, count - 1))] for place in range(count)]
