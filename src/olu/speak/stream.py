"""How a text is to be said, and the pieces of sound it becomes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

import numpy as np
import soxr
from numpy.typing import NDArray

from olu.audio.loudness import Leveller, Limiter
from olu.core.errors import VoiceError
from olu.core.types import Audio, Knob, Reading, Span
from olu.speak.melody import Melody
from olu.speak.sentences import LONGEST_PAUSE
from olu.text.markup import Prosody

if TYPE_CHECKING:
    from typing import Unpack

PAUSE_SECONDS = 0.25  # between sentences
FADE_SECONDS = 0.01
SLOWEST, FASTEST = 0.25, 4.0
LOWEST_RATE, HIGHEST_RATE = 4000, 192_000
QUIETEST, LOUDEST = -60.0, -5.0
MOST_NOISE = 2.0
MOST_SEED = 2**63 - 1
TONES = ("learnt", "strict")
SHORT_NAMES = ("noise", "duration_noise")  # knobs that may be wished for by name beside those of Manner itself
Item = TypeVar("Item")


class Wishes(TypedDict, total=False):
    """What may be asked of a voice, by name."""

    speed: float
    seed: int
    speaker: str | None
    pause: float
    loudness: float | None
    rate: int | None
    plain: bool
    tones: str
    melody: Melody | None
    knobs: Mapping[str, float]
    noise: float | None
    duration_noise: float | None


@dataclass(frozen=True, kw_only=True, init=False)
class Manner:
    """How to speak. None leaves a thing as the voice has it."""

    speed: float = 1.0
    seed: int = 0
    speaker: str | None = None
    pause: float = PAUSE_SECONDS  # between sentences, in seconds
    loudness: float | None = None  # LUFS
    rate: int | None = None
    plain: bool = False  # the text holds no markup: <, [[ and & are what they are
    tones: str = TONES[0]  # strict: knots of written tones are pushed apart until they differ
    melody: Melody | None = None  # lengths and pitch as `Voice.plan` gave them, edited or not
    knobs: Mapping[str, float] = field(default_factory=dict)  # what this voice's engine has beside: voice.knobs

    def __init__(self, **wishes: Unpack[Wishes]) -> None:
        """`noise` and `duration_noise` are short for knobs of that name."""
        short = {name: wishes.pop(name, None) for name in SHORT_NAMES}  # type: ignore[misc]
        given = dict(wishes.pop("knobs", {}) or {}) | {name: v for name, v in short.items() if v is not None}
        defaults = {name: one.default for name, one in self.__dataclass_fields__.items() if name != "knobs"}
        if unknown := sorted(wishes.keys() - defaults.keys()):
            raise VoiceError(f"a voice cannot be asked for {', '.join(unknown)}: choose {', '.join(defaults)} or knobs")
        for name, value in {**defaults, **wishes, "knobs": given}.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        _between("speed", self.speed, SLOWEST, FASTEST)
        _between("pause", self.pause, 0.0, LONGEST_PAUSE)
        _between("loudness", self.loudness, QUIETEST, LOUDEST)
        _between("rate", self.rate, LOWEST_RATE, HIGHEST_RATE)
        for name, value in self.knobs.items():
            _between(name.replace("_", " "), value, *((0.0, MOST_NOISE) if name in SHORT_NAMES else (-1e9, 1e9)))
        if self.tones not in TONES:
            raise VoiceError(f"tones {self.tones!r:.40} are not known: choose {' or '.join(TONES)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise VoiceError(f"seed {self.seed!r:.40} is no whole number: choose 0 or more")
        if self.seed < 0:
            raise VoiceError(f"seed {self.seed} is negative: choose 0 or more")
        if self.seed > MOST_SEED:
            raise VoiceError(f"seed {self.seed} is too large: choose one up to {MOST_SEED}")

    @property
    def noise(self) -> float | None:
        return self.knobs.get("noise")

    @property
    def duration_noise(self) -> float | None:
        return self.knobs.get("duration_noise")

    @staticmethod
    def of(manner: Manner | None, **wishes: Unpack[Wishes]) -> Manner:
        """`manner` with other wishes in the place of its own; a knob that is None is again as the voice has it."""
        if manner is None:
            return Manner(**wishes)
        own = {name: getattr(manner, name) for name in Manner.__dataclass_fields__}
        named = [name for name in SHORT_NAMES if name in wishes]
        own["knobs"] = {name: value for name, value in manner.knobs.items() if name not in named}
        return Manner(**{**own, **wishes})

    def settled(self, knobs: Mapping[str, Knob], *, voice: str) -> Manner:
        """With a value for every knob that the voice has; one that it has not is refused."""
        if unknown := next((name for name in self.knobs if name not in knobs), None):
            raise VoiceError(f"the voice {voice} has no knob {unknown!r}; it has: {', '.join(knobs) or 'none'}")
        for name, value in self.knobs.items():
            _between(name.replace("_", " "), value, knobs[name].low, knobs[name].high)
        return Manner.of(self, knobs={name: knob.default for name, knob in knobs.items()} | dict(self.knobs))


def _between(name: str, value: Any, least: float, most: float) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise VoiceError(f"{name} {value!r:.40} is no number: choose {least:g} to {most:g}")
    if not (math.isfinite(value) and least <= value <= most):
        raise VoiceError(f"{name} {value:g} is out of reach: choose {least:g} to {most:g}")


# ---------------------------------------------------------------- what is read and what is said


LOOP, SILENCE, ENDLESS = "loop", "silence", "endless"


@dataclass(frozen=True)
class SpokenSentence:
    """What is being said; times are in seconds from the start of the whole sound."""

    number: int
    text: str
    start: float
    end: float  # where an engine knows it only at the end: of what is made so far
    words: tuple[Span, ...] = ()
    durations: tuple[int, ...] = ()  # frames per token
    dropped: dict[str, int] = field(default_factory=dict)  # what the voice has no letter for
    notes: tuple[str, ...] = ()  # what was done to its melody: pitch that was cut, tones that were pushed apart
    faults: tuple[str, ...] = ()  # of a voice that draws codes, every try: LOOP, SILENCE or ENDLESS; none: it stopped


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
    prosody: tuple[tuple[int, int, Prosody], ...] = ()  # from which word to before which, and what is asked of them
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


# ---------------------------------------------------------------- what an engine makes, and what is heard of it

Wave = NDArray[np.float32]


@dataclass(frozen=True)
class Chunk:
    """Work for an engine's `run`. Those of one key may go through it together; only the engine knows the payload."""

    key: Hashable
    cost: float  # seconds of sound that take as long
    payload: Any
    gains: bool = False  # several together take far less than one after the other


@dataclass(frozen=True)
class SpokenWave:
    """Sound of a sentence as an engine makes it, before level, edges and rate."""

    wave: Wave
    sentence: SpokenSentence
    ends: bool  # the sentence


LineMaking = Generator[Chunk | SpokenWave, Any, None]  # after a chunk it is sent what `run` made of it
Say = Callable[[ReadLine, int, float], LineMaking]
Making = Generator[Chunk | SpokenChunk, Any, None]


def pieces(lines: Ahead[ReadLine], *, say: Say, manner: Manner, rate: int, usual: float | None) -> Making:
    """`say` makes a line, by its number, from its second on. Nothing is made before the next piece is asked for.

    Whoever asks also runs the chunks, so that those of several texts can go together.

    For a wished loudness each sentence is heard whole first, unless the voice's `usual` one is to be gone by.
    """
    out = manner.rate or rate
    finish = Finish(rate, out, limited=manner.loudness is not None)
    level = None if manner.loudness is None else _Level(manner.loudness, rate, usual=usual)
    number, clock = 0, 0
    while (line := lines.take()) is not None and line.ids:
        before = silence((line.pause or 0.0) if number == 0 else 0.0, rate)
        making, sent, begins = say(line, number, (clock + len(before)) / rate), None, True
        while (made := _next(making, sent)) is not None:
            sent = None
            if isinstance(made, Chunk):
                sent = yield made
                assert sent is not None, "after a chunk, send what was made of it"
                continue
            sentence = _without(made.sentence, line.unsaid if number == 0 else {})
            for wave, ends in level.push(made.wave, ends=made.ends) if level else [(made.wave, made.ends)]:
                sound = fade(wave, rate, begins=begins, ends=ends)
                following = lines.peek() if ends else None
                sentence = _without(sentence, following.unsaid if following else {})
                after = silence(pause_before(following, manner), rate)
                sound = np.concatenate([before, sound, after]) if begins else np.concatenate([sound, after])
                clock += len(sound)
                final = ends and (following is None or not following.ids)
                done = finish.push(sound, last=final)
                if len(done) or ends:
                    yield SpokenChunk(Audio(done, out), sentence, ends, final)
                begins = False
        number += 1


def _next(making: LineMaking, sent: Any) -> Chunk | SpokenWave | None:
    try:
        return making.send(sent)
    except StopIteration:
        return None


def _without(sentence: SpokenSentence, unsaid: Mapping[str, int]) -> SpokenSentence:
    """The sentence, with what was left out beside it counted in."""
    return replace(sentence, dropped=dict(Counter(sentence.dropped) + Counter(unsaid))) if unsaid else sentence


def pause_before(following: ReadLine | None, manner: Manner) -> float:
    """Seconds of silence between a sentence and the one that follows it, if one does."""
    if following is None:
        return 0.0
    return manner.pause if following.pause is None else following.pause


def fade(samples: Wave, rate: int, *, begins: bool, ends: bool) -> Wave:
    """A copy that rises from and falls to silence where a sentence begins and ends."""
    size = min(round(FADE_SECONDS * rate), len(samples))
    if not size or not (begins or ends):
        return samples
    out = samples.copy()
    ramp = ((np.arange(size) + 0.5) / size).astype(np.float32)
    if begins:
        out[:size] *= ramp
    if ends:
        out[-size:] *= ramp[::-1]
    return out


def silence(seconds: float, rate: int) -> Wave:
    return np.zeros(round(seconds * rate), np.float32)


class Finish:
    """Takes the sound in pieces at the network's rate and gives it at the listener's, so that the pieces still join."""

    def __init__(self, rate: int, out: int, *, limited: bool) -> None:
        self._resample = soxr.ResampleStream(rate, out, 1, dtype="float32", quality="HQ") if out != rate else None
        self._limiter = Limiter(out) if limited else None

    def push(self, samples: Wave, *, last: bool) -> Wave:
        if self._resample is not None:
            samples = np.asarray(self._resample.resample_chunk(samples, last=last), np.float32)
        if self._limiter is not None:
            samples = self._limiter.push(samples, last=last)
        return np.clip(samples, -1.0, 1.0)


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
