"""What the stages hand each other: frozen, small, numpy at most."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Severity = Literal["error", "warn", "info"]
Split = Literal["train", "valid", "test"]
EXACT = {"extra": "forbid"}  # as __pydantic_config__ of a dataclass: a row with a key that it does not know is refused


@dataclass(frozen=True, slots=True)
class Audio:
    """Mono sound: float32 samples in [-1, 1] and their rate in Hz."""

    samples: NDArray[np.float32]
    rate: int

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    def save(self, path: str | Path) -> None:
        """Write it into a file, by its ending: wav, flac, ogg, opus, mp3 or pcm.

        opus and mp3 have only some rates: there the sound is resampled to the next one above its own.
        """
        from olu.audio.sink import save

        save(self, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One stretch of recorded speech and what was said in it. Never edited: stages write beside it, by id."""

    id: str
    audio: str  # "<source>/<path inside that source>"; Corpus.locate makes it a real path
    seconds: float
    rate: int
    text: str  # exactly as given, newlines and all
    language: str
    start: float = 0.0
    speaker: str = "default"
    __pydantic_config__ = EXACT

    @property
    def transcribed(self) -> bool:
        """A recording without a text is kept, but never trained on."""
        return self.text != ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What an audit check said of a clip."""

    check: str
    severity: Severity
    value: float
    message: str
    __pydantic_config__ = EXACT


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRow(Mark):
    """A line of audit.jsonl: a mark of one clip."""

    id: str


Marks = Literal["vowel", "separate", "none"]  # how tones and stress become symbols
TONE_LETTERS = {"H": "˥", "M": "˧", "L": "˩", "D": "ꜜ"}
STRESS = "ˈ"
UNKNOWN_TONE = "_t"


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `tones` (H M L D, ? unknown, two letters for a contour) are of the phones that `bearers` points at."""

    text: str
    phones: tuple[str, ...]
    tones: tuple[str, ...] = ()
    bearers: tuple[int, ...] = ()
    stress: int | None = None  # the phone that carries the main stress

    def symbols(self, marks: Marks = "vowel") -> list[str]:
        """Phones with tone and stress on their vowel, as symbols of their own, or without them."""
        if marks == "none" or (self.stress is None and not self.tones):
            return list(self.phones)
        tones = dict(zip(self.bearers, self.tones, strict=True))
        stream: list[str] = []
        for place, phone in enumerate(self.phones):
            tone = tones.get(place)
            letters = [TONE_LETTERS[one] for one in tone] if tone and tone != "?" else []
            if marks == "vowel":
                stream.append((STRESS if place == self.stress else "") + phone + "".join(letters))
                continue
            stream += [STRESS, phone] if place == self.stress else [phone]
            stream += letters or ([UNKNOWN_TONE] if tone else [])
        return stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A text as it will be said. `breaks`, one more than `words`, is what stands before, between and after them."""

    text: str
    normal: str
    words: tuple[Word, ...]
    breaks: tuple[str, ...]
    dropped: dict[str, int] = field(default_factory=dict)  # what could not be read, and how often
    restored: dict[int, float] = field(default_factory=dict)  # places of words given their marks -> how sure that is
    read_by: dict[str, int] = field(default_factory=dict)  # of a chain of readings: how many words each has read
    language: str = ""  # it was read in

    def tone_sources(self) -> dict[str, int]:
        """How many tones were written, restored and unknown."""
        found = {"written": 0, "restored": 0, "unknown": 0}
        for place, word in enumerate(self.words):
            for tone in word.tones:
                found["unknown" if tone == "?" else "restored" if place in self.restored else "written"] += 1
        return {name: count for name, count in found.items() if count}

    def symbols(self, marks: Marks = "vowel") -> list[str]:
        """The symbols a vocabulary encodes, breaks and words in turn."""
        stream = list(self.breaks[0])
        for word, after in zip(self.words, self.breaks[1:], strict=True):
            stream += word.symbols(marks)
            stream += after
        return stream


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRow(Reading):
    """A line of readings.jsonl: the reading of one clip."""

    id: str


class Frontend(Protocol):
    """Turns text into a reading, and can say enough of itself to be rebuilt inside a voice package."""

    language: str

    def read(self, text: str) -> Reading: ...

    def state(self) -> dict[str, Any]: ...


class Vocabulary(Protocol):
    """Symbols and their ids. Extending appends: old ids never move."""

    @property
    def size(self) -> int: ...

    def encode(self, reading: Reading) -> list[int]: ...

    def extend(self, symbols: list[str]) -> Vocabulary: ...

    def state(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Knob:
    """A number that a voice takes when it speaks, such as how much noise; one it does not declare is refused."""

    name: str
    default: float
    low: float
    high: float
    what: str = ""  # in a few words, for help


class Feature(Protocol):
    """Something computed once per clip and cached under a hash of its own settings."""

    @property
    def key(self) -> str: ...

    @property
    def rate(self) -> int: ...

    def compute(self, audio: Audio) -> NDArray[Any]: ...


class Span(NamedTuple):
    """A sound or a word and when it is heard, in seconds from the start of its clip."""

    label: str  # "" is silence
    start: float
    end: float
    score: float | None = None  # mean log probability of its frames, where a network gave one

    def row(self) -> list[Any]:
        times: list[Any] = [self.label, round(self.start, 4), round(self.end, 4)]
        return times if self.score is None else [*times, round(self.score, 4)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Where each word and each sound of a clip is. `phones` lie end to end from 0 to `seconds`, silence included."""

    id: str
    seconds: float
    words: tuple[Span, ...]
    phones: tuple[Span, ...]
    score: float | None = None  # (forced - free) / frames: 0 is a perfect match, the lower the worse
    method: str = ""  # what made it: "ctc", "frames", "textgrid", "flat"
    unwritten: tuple[tuple[float, float], ...] = ()  # stretches of sound that the text does not have, in seconds
    unspoken: tuple[tuple[int, int], ...] = ()  # words that are not said: the first, and the one after the last
    otherwise: tuple[
        tuple[int, int], ...
    ] = ()  # words that are said otherwise than they are read: their place is a guess

    def row(self) -> dict[str, Any]:
        """What alignment.jsonl holds of it."""
        holes = {"unwritten": self.unwritten, "unspoken": self.unspoken, "otherwise": self.otherwise}
        return {
            **{name: [list(one) for one in found] for name, found in holes.items() if found},
            "id": self.id,
            "seconds": round(self.seconds, 4),
            "score": None if self.score is None else round(self.score, 5),
            "method": self.method,
            "words": [span.row() for span in self.words],
            "phones": [span.row() for span in self.phones],
        }


class Recogniser(Protocol):
    """A network that hears symbols: log probabilities, frame by frame; symbol 0 is the blank of CTC."""

    @property
    def rate(self) -> int: ...

    @property
    def frame_seconds(self) -> float: ...

    @property
    def symbols(self) -> tuple[str, ...]: ...

    def log_probs(self, audio: Audio) -> NDArray[np.float32]: ...  # [frames, symbols]
