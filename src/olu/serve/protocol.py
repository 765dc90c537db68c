"""What is asked of the voices, what comes back, and what whoever answers must be able to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from olu.core.types import Knob
from olu.speak.stream import Manner

Message = dict[str, Any]  # between the front and a worker
MOST_TOKENS = 20_000  # of a text: about ten minutes of speech, and what 4096 characters of plain text stay below
SILENCE_SECONDS = 60.0  # of a worker, before it is replaced
DEADLINE_SECONDS = 900.0  # of a request: its ten minutes of sound may be heard as they are made
Words = tuple[
    tuple[str, float, float], ...
]  # a word, when it begins, when it ends: seconds from the start of the sound


@dataclass(frozen=True)
class SpeechJob:
    """One request, already checked."""

    voice: str  # a name on the shelf, never a path
    text: str
    manner: Manner
    seconds: float  # the most sound there may be; past it comes TooLong
    tokens: int = MOST_TOKENS  # the most the text may be when it is read
    plan: bool = False  # no sound is asked for, but the melody it would be said with


@dataclass(frozen=True)
class Read:
    """The whole text, as it was read before any of it is said."""

    tokens: int
    unsaid: Mapping[str, int]  # what the voice has no letter for, and how often


@dataclass(frozen=True)
class SoundPiece:
    """Some sound of one sentence; times are in seconds from the start of the whole sound."""

    samples: bytes  # int16, little endian, mono; the last piece of a sentence may have none
    rate: int
    sentence: int
    text: str
    begins: float  # the sentence
    ends: float
    words: Words  # of the sentence, with its first piece
    last: bool  # of the sentence
    unsaid: Mapping[str, int] = field(default_factory=dict)  # of the sentence, with its first piece
    read: Read | None = None  # with the first piece of all


@dataclass(frozen=True)
class VoiceInfo:
    """A voice on the shelf, or one that cannot be used and why."""

    name: str
    language: str
    rate: int
    speakers: tuple[str, ...]
    size: int  # bytes of the package
    loaded: bool  # in the memory of a worker
    fault: str = ""
    aliases: tuple[str, ...] = ()  # other names it answers to
    sample: str = ""  # a sentence to try it with
    knobs: tuple[Knob, ...] = ()  # what may be chosen when it speaks
    sentence_ends: tuple[str, ...] = ()
    licence: str = ""
    credits: str = ""  # whom the voice was made from


class Busy(Exception):
    """As many requests as may wait are waiting, or the server is about to end."""

    def __init__(self, retry_after: float, *, ending: bool = False) -> None:
        super().__init__("the server is ending" if ending else "too many requests are waiting")
        self.retry_after = retry_after  # seconds
        self.ending = ending


class Gone(Exception):
    """The worker that held the request is no more; another one is on its way."""


class Late(Exception):
    """The request took longer than one may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the answer took longer than {seconds:g} seconds")


class Stuck(Exception):
    """A voice's network did not come to an end with this text, and was ended."""


class NoRoom(Exception):
    """A voice needs more memory for this text than a worker may take."""


class TooLong(Exception):
    """The text makes more sound than the request may have; what was given is sound."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the text makes more than {seconds:g} seconds of sound")
        self.seconds = seconds


class SoundStream(Protocol):
    """The pieces of one request, as they are made. An async generator is one."""

    def __aiter__(self) -> AsyncIterator[SoundPiece]: ...

    async def __anext__(self) -> SoundPiece: ...

    async def aclose(self) -> None:
        """End the work, even inside a chunk; call it whenever the sound may not have been taken to its end."""
        ...


class Speaking(Protocol):
    """What HTTP needs of the pool."""

    async def start(self) -> None: ...

    async def stop(self, *, grace: float) -> None:
        """Finish within `grace` seconds what was begun; new asks are refused (Busy, ending)."""
        ...

    async def look(self) -> None:
        """See whether voices came or went, at most once a second; call it before `shown` where a person asks."""
        ...

    def shown(self) -> Sequence[VoiceInfo]: ...

    def speak(self, ask: SpeechJob) -> SoundStream:
        """Busy comes at once; VoiceError or TextError with the first piece; the other failures at any time."""
        ...

    async def alive(self) -> bool:
        """Whether a worker answers, within a few seconds."""
        ...

    def state(self) -> dict[str, float]:
        """Counts for /health and /metrics, by names of [a-z_]+."""
        ...
