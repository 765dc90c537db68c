"""How a text is to be said, and the pieces of sound it becomes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from olu.audio.loudness import Leveller
from olu.core.errors import VoiceError
from olu.core.types import Audio, Reading, Span
from olu.speak.chunk import DecoderChunk
from olu.speak.sentences import LONGEST_PAUSE
from olu.speak.sound import Finish, fade, silence

if TYPE_CHECKING:
    from typing import Unpack

PAUSE_SECONDS = 0.25  # between sentences
SLOWEST, FASTEST = 0.25, 4.0
LOWEST_RATE, HIGHEST_RATE = 4000, 192_000
QUIETEST, LOUDEST = -60.0, -5.0
MOST_NOISE = 2.0
MOST_SEED = 2**63 - 1
Item = TypeVar("Item")


class Wishes(TypedDict, total=False):
    """What may be asked of a voice, by name."""

    speed: float
    seed: int
    speaker: str | None
    pause: float
    noise: float | None
    duration_noise: float | None
    loudness: float | None
    rate: int | None
    plain: bool


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How to speak. None leaves a thing as the voice has it."""

    speed: float = 1.0
    seed: int = 0
    speaker: str | None = None
    pause: float = PAUSE_SECONDS  # between sentences, in seconds
    noise: float | None = None  # how much the sound varies
    duration_noise: float | None = None  # how much the rhythm varies
    loudness: float | None = None  # LUFS
    rate: int | None = None
    plain: bool = False  # the text holds no markup: <, [[ and & are what they are

    def __post_init__(self) -> None:
        _between("speed", self.speed, SLOWEST, FASTEST)
        _between("pause", self.pause, 0.0, LONGEST_PAUSE)
        for name in ("noise", "duration_noise"):
            _between(name.replace("_", " "), getattr(self, name), 0.0, MOST_NOISE)
        _between("loudness", self.loudness, QUIETEST, LOUDEST)
        _between("rate", self.rate, LOWEST_RATE, HIGHEST_RATE)
        if self.seed < 0:
            raise VoiceError(f"seed {self.seed} is negative: choose 0 or more")
        if self.seed > MOST_SEED:
            raise VoiceError(f"seed {self.seed} is too large: choose one up to {MOST_SEED}")

    @staticmethod
    def of(manner: Manner | None, **wishes: Unpack[Wishes]) -> Manner:
        return replace(manner or Manner(), **wishes)


def _between(name: str, value: float | None, least: float, most: float) -> None:
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        raise VoiceError(f"{name} {value:g} is out of reach: choose {least:g} to {most:g}")


@dataclass(frozen=True)
class SpokenSentence:
    """What is being said; times are in seconds from the start of the whole sound."""

    number: int
    text: str
    start: float
    end: float
    words: tuple[Span, ...] = ()
    durations: tuple[int, ...] = ()  # frames per token
    dropped: dict[str, int] = field(default_factory=dict)  # what the voice has no letter for


@dataclass(frozen=True)
class SpokenChunk:
    """A piece of sound and the sentence it is of. The pause after a sentence belongs to its last piece."""

    audio: Audio
    sentence: SpokenSentence
    last: bool  # of its sentence
    final: bool = False  # of the whole text


@dataclass(frozen=True)
class ReadLine:
    """A sentence the voice can say, a stretch of a long one, or the end of a text that ends with a pause."""

    text: str
    pause: float | None
    reading: Reading | None = None
    ids: tuple[int, ...] = ()
    unsaid: Mapping[str, int] = field(default_factory=dict)  # of sentences before it that were left out whole


@dataclass(frozen=True)
class ReadText:
    """A text read to its end."""

    lines: tuple[ReadLine, ...]
    tokens: int
    unsaid: Mapping[str, int]  # what the voice has no letter for, and how often


class Ahead(Generic[Item]):
    """An iterator that can be asked what comes next; nothing is made before it is asked for."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items, self._seen = items, list[Item]()

    def peek(self) -> Item | None:
        if not self._seen:
            self._seen.extend(next(([item] for item in self._items), []))
        return self._seen[0] if self._seen else None

    def take(self) -> Item | None:
        found = self.peek()
        self._seen.clear()
        return found


Wave = NDArray[np.float32]
Say = Callable[[ReadLine, int, float], tuple[SpokenSentence, Iterator[DecoderChunk]]]
Making = Generator[DecoderChunk | SpokenChunk, Wave | None, None]  # after a part it is sent the part's sound


def pieces(lines: Ahead[ReadLine], *, say: Say, manner: Manner, rate: int, usual: float | None) -> Making:
    """`say` gives a line's sentence and its parts. Everything is made only when the next piece is asked for.

    Whoever asks also runs the decoder, so that parts of several texts can go through it together.

    For a wished loudness each sentence is heard whole first, unless the voice's `usual` one is to be gone by.
    """
    out = manner.rate or rate
    finish = Finish(rate, out, limited=manner.loudness is not None)
    level = None if manner.loudness is None else _Level(manner.loudness, rate, usual=usual)
    number, clock = 0, 0
    while (line := lines.take()) is not None and line.ids:
        before = silence((line.pause or 0.0) if number == 0 else 0.0, rate)
        sentence, parts = say(line, number, (clock + len(before)) / rate)
        sentence = _without(sentence, line.unsaid if number == 0 else {})
        begins = True
        for part in parts:
            made = yield part
            assert made is not None, "after a part, send its sound"
            for wave, ends in level.push(made, ends=part.ends) if level else [(made, part.ends)]:
                sound = fade(wave, rate, begins=begins, ends=ends)
                following = lines.peek() if ends else None
                sentence = _without(sentence, following.unsaid if following else {})
                after = silence(_pause(following, manner), rate)
                sound = np.concatenate([before, sound, after]) if begins else np.concatenate([sound, after])
                clock += len(sound)
                final = ends and (following is None or not following.ids)
                done = finish.push(sound, last=final)
                if len(done) or ends:
                    yield SpokenChunk(Audio(done, out), sentence, ends, final)
                begins = False
        number += 1


def _without(sentence: SpokenSentence, unsaid: Mapping[str, int]) -> SpokenSentence:
    """With what was left out beside it."""
    return replace(sentence, dropped=dict(Counter(sentence.dropped) + Counter(unsaid))) if unsaid else sentence


def _pause(following: ReadLine | None, manner: Manner) -> float:
    if following is None:
        return 0.0
    return manner.pause if following.pause is None else following.pause


class _Level:
    """Gives waves at the gain that is due: by what was heard before, or, held back, also by the sentence itself."""

    def __init__(self, target: float, rate: int, *, usual: float | None) -> None:
        self._level, self._rate, self._quick = Leveller(target, usual=usual), rate, usual is not None
        self._heard: list[Wave] = []

    def push(self, wave: Wave, *, ends: bool) -> list[tuple[Wave, bool]]:
        gain = np.float32(self._level.gain())
        self._heard.append(wave)
        if ends:
            heard, self._heard = self._heard, []
            self._level.hear(np.concatenate(heard), self._rate)
            if not self._quick:
                gain = np.float32(self._level.gain())
                return [(one * gain, number == len(heard)) for number, one in enumerate(heard, 1)]
        return [(wave * gain, ends)] if self._quick else []
