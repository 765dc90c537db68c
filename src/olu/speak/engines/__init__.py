"""What turns tokens into sound: a voice package names its engine, and each engine is a module here.

An engine works for one sentence at a time: `begin` gives a generator that yields chunks of work and waves. Whoever asks
runs the chunks through `run`, alone or with those of other texts, and sends back what was made of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import VoiceError
from olu.core.types import Knob, Reading, Span
from olu.speak.graphs import OnnxGraph
from olu.speak.stream import (
    MOST_NOISE,
    SHORT_NAMES,
    Chunk,
    LineMaking,
    Manner,
    ReadLine,
    SpokenSentence,
    SpokenWave,
    Wave,
)

if TYPE_CHECKING:
    from olu.speak.melody import MelodySentence
    from olu.speak.package import Outline, Package
    from olu.text.vocabulary import SymbolVocabulary

ENGINES = ("latents", "mel", "tokens", "flow")
FIRST_SECONDS = 0.25  # the first chunk, for a quick start
GROWTH = 3  # each one after it is this much longer
MOST_SECONDS = 4.0  # memory grows with this, and what is longer no longer fits the processor's cache
LEAST_SECONDS = 0.1  # a rest shorter than this goes with the chunk before it
MOST_RATE, MOST_HOP, MOST_CONTEXT = 768_000, 65_536, 10_000
MOST_KNOBS = 32
KNOB_NAME = re.compile(r"[a-z][a-z_]{0,39}")


@dataclass(frozen=True)
class GraphSpec:
    """What an engine wants of a network."""

    inputs: tuple[str, ...]  # those it can feed, the first always; `past` stands for `past.0`, `past.1` and so on
    outputs: int = 0  # how many there are; 0: the engine asks for them by name
    optional: bool = False
    threads: int | None = 1  # None: as many as the voice may use; sums must not depend on their number
    optimised: bool = False  # many small steps, optimised at the export


@dataclass(frozen=True)
class LineJob:
    """A line for an engine: which sentence it is, when it begins, who says it, how long its chunks are."""

    line: ReadLine
    number: int
    start: float
    speaker: int
    plan: ChunkPlan
    melody: MelodySentence | None = None  # lengths and pitch that are given

    def random(self, manner: Manner, *more: int) -> np.random.Generator:
        """The same text and seed give the same numbers, whatever else is spoken."""
        return np.random.Generator(np.random.PCG64([manner.seed, self.number, *more]))


class SpeechEngine(Protocol):
    """Made of a package's facts and arrays; then its networks are connected. Several threads may use it."""

    GRAPHS: Mapping[str, GraphSpec]
    rate: int
    frame_seconds: float
    most_tokens: int | None  # that a sentence may have; None: as many as are read at once
    context: int | None  # frames around a chunk that its sound depends on; None: sentences cannot be cut
    knobs: dict[str, Knob]
    draws: bool  # takes of one text differ by the seed in what is said, not only in how: it draws codes
    join_words: int  # a sentence of so many words or fewer is said together with its neighbour
    plans: bool  # lengths and pitch of a sentence stand open, to be shown and edited: a PlanningEngine

    def __init__(self, package: Package, vocabulary: SymbolVocabulary) -> None: ...

    def connect(self, graphs: Mapping[str, OnnxGraph]) -> None:
        """ValueError where they do not fit each other."""
        ...

    def begin(self, job: LineJob, manner: Manner) -> LineMaking:
        """`manner` has a value for every knob."""
        ...

    def run(self, chunks: Sequence[Chunk]) -> list[Any]:
        """What was made of each; they have one key."""
        ...

    def proof(self, ids: Sequence[int]) -> dict[str, Any]:
        """What is certain of these tokens on every machine, but for rounding: kept in check.json."""
        ...

    def differs(self, ids: Sequence[int], row: Mapping[str, Any]) -> str:
        """What is not as a row of check.json has it; nothing where all is."""
        ...


class PlanningEngine(SpeechEngine, Protocol):
    """One that `plans`."""

    def plan(self, job: LineJob, manner: Manner) -> MelodySentence:
        """What `begin` would say, in numbers."""
        ...


def engine_named(name: Any) -> type[SpeechEngine]:
    if name not in ENGINES:
        raise VoiceError(f"it needs the engine {name!r:.40}, and this Olu has {', '.join(ENGINES)}: upgrade Olu")
    found: type[SpeechEngine] = import_module(f"olu.speak.engines.{name}").ENGINE
    return found


# ---------------------------------------------------------------- what voice.json says


def count(value: Any, most: int, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r:.40} is no number from {least} to {most}")
    return value


def number(value: Any, least: float = 0.0, most: float = 100.0) -> float:
    if type(value) not in (int, float) or not (math.isfinite(value) and least <= value <= most):
        raise ValueError(f"{value!r:.40} is no number from {least:g} to {most:g}")
    return float(value)


def knobs_of(package: Outline, known: Sequence[str] | None = None) -> dict[str, Knob]:
    """Those that a package declares; `known`: what its engine has, and another is an error."""
    facts = package.facts
    if package.schema < 3:
        scales = {name: number(facts["sampling"][f"{name}_scale"]) for name in SHORT_NAMES}
        return {name: Knob(name, scale, 0.0, MOST_NOISE) for name, scale in scales.items()}
    rows = facts["knobs"]
    if not isinstance(rows, dict) or len(rows) > MOST_KNOBS:
        raise TypeError("its knobs are no table")
    knobs = {}
    for name, row in rows.items():
        if not KNOB_NAME.fullmatch(name) or (known is not None and name not in known):
            raise ValueError(f"its engine has no knob {name!r:.40}")
        low, high = number(row["low"], -1e6, 1e6), number(row["high"], -1e6, 1e6)
        knobs[name] = Knob(name, number(row["default"], -1e6, 1e6), low, high, str(row.get("what", ""))[:200])
    return knobs


def knob_row(knob: Knob) -> dict[str, Any]:
    """A knob as voice.json has it."""
    return {"default": knob.default, "low": knob.low, "high": knob.high, "what": knob.what}


# ---------------------------------------------------------------- frames in chunks


@dataclass(frozen=True)
class ChunkPlan:
    """How long chunks are, in frames; without a context a sentence cannot be cut."""

    context: int | None
    first: int
    most: int
    least: int

    @staticmethod
    def of(frame_seconds: float, *, context: int | None, quick: bool, heard: float = 0.0) -> ChunkPlan:
        """`quick` for the earliest sound, or for the next in time after the seconds `heard`; else the least work."""
        first = min(MOST_SECONDS, max(FIRST_SECONDS, (GROWTH - 1) * heard)) if quick else MOST_SECONDS
        frames = (max(1, round(seconds / frame_seconds)) for seconds in (first, MOST_SECONDS, LEAST_SECONDS))
        return ChunkPlan(context, *frames)

    def spans(self, frames: int) -> Iterator[tuple[int, int]]:
        start, size = 0, self.first
        while start < frames:
            end = self.cut(start, size, frames) or frames
            yield start, end
            start, size = end, self.grown(size)

    def cut(self, start: int, size: int, frames: int) -> int | None:
        """Where a chunk of this size ends; None where it goes to the end of the frames, however many come yet."""
        end = start + size
        return None if self.context is None or frames - end < self.least else end

    def grown(self, size: int) -> int:
        return min(size * GROWTH, self.most)


@dataclass(frozen=True)
class DecoderInput:
    """What the decoder is given for one chunk, and what of its sound to keep."""

    feeds: Mapping[str, NDArray[Any]]  # [1, ..., F] each: the chunk in its context
    frames: int
    speaker: int
    keep: slice  # samples


@dataclass(frozen=True)
class FrameCutter:
    """Cuts what a decoder is fed with, frame by frame, into chunks."""

    hop: int  # samples a frame
    rate: int

    def chunk(
        self, feeds: Mapping[str, NDArray[Any]], start: int, end: int, *, frames: int, context: int, speaker: int
    ) -> Chunk:
        """Arrays may have several numbers a frame in their last axis."""
        left, right = max(0, start - context), min(frames, end + context)
        cut = {}
        for name, array in feeds.items():
            wide = array.shape[-1] // frames
            cut[name] = np.ascontiguousarray(array[..., left * wide : right * wide])
        keep = slice((start - left) * self.hop, (end - left) * self.hop)
        given = DecoderInput(cut, right - left, speaker, keep)
        return Chunk(("decode", right - left), (right - left) * self.hop / self.rate, given)

    def spoken(
        self,
        feeds: Mapping[str, NDArray[Any]],
        sentence: SpokenSentence,
        *,
        plan: ChunkPlan,
        frames: int,
        speaker: int,
    ) -> LineMaking:
        """A whole sentence; each chunk is cut out when it is asked for, and is sent its sound."""
        for start, end in plan.spans(frames):
            wave = yield self.chunk(feeds, start, end, frames=frames, context=plan.context or 0, speaker=speaker)
            yield SpokenWave(wave, sentence, end == frames)


class SoundDecoder:
    """The network that makes sound of frames."""

    def __init__(self, graph: OnnxGraph, *, main: str, hop: int, voices: NDArray[np.float32] | None = None) -> None:
        """`main`: the input whose first axis is chunks and whose last is frames. `voices`: a vector of each speaker,
        where it is told those."""
        self.graph, self._hop, self._voices = graph, hop, voices
        self.batches = graph.shapes[main][0] != 1  # older packages take one chunk at a time

    def with_voice(self, vector_G: NDArray[np.float32]) -> SoundDecoder:
        """The same with one speaker more; this one stays as it is."""
        assert self._voices is not None
        made = copy(self)
        made._voices = np.concatenate([self._voices, vector_G[None]])
        return made

    def run(self, chunks: Sequence[Chunk]) -> list[Wave]:
        """The sound of chunks of one size, made in one run where the network takes several."""
        if len(chunks) > 1 and not self.batches:
            return [wave for chunk in chunks for wave in self.run([chunk])]
        given: list[DecoderInput] = [chunk.payload for chunk in chunks]
        feeds: dict[str, Any] = {
            name: array if len(given) == 1 else np.concatenate([one.feeds[name] for one in given])
            for name, array in given[0].feeds.items()
        }
        who = np.array([one.speaker for one in given], np.int64)
        (waves,) = self.graph.run({**feeds, "speaker": who if self._voices is None else self._voices[who]})
        if waves.shape != (len(given), given[0].frames * self._hop) or not np.isfinite(waves).all():
            raise VoiceError("the voice makes numbers that are no sound: export the voice again")
        return [wave[one.keep] for wave, one in zip(waves, given, strict=True)]


def word_tokens(reading: Reading, vocabulary: SymbolVocabulary, count: int) -> list[tuple[str, int, int]]:
    """Each word and its tokens, from the first to before the last of `count`.

    A blank beside a word belongs to it, the symbols between words to none.
    """
    found, symbol, taken = [], len(vocabulary.between(reading.breaks[0])), 0
    for word, after in zip(reading.words, reading.breaks[1:], strict=True):
        size = len(word.symbols(vocabulary.marks))
        first, last = (2 * symbol, 2 * (symbol + size) + 1) if vocabulary.interleave else (symbol, symbol + size)
        first, last = max(first, taken), min(last, count)
        found.append((word.text, first, last if size else first))
        taken, symbol = last, symbol + size + len(vocabulary.between(after))
    return found


def word_spans(
    reading: Reading, vocabulary: SymbolVocabulary, durations: Sequence[int], *, frame_seconds: float, start: float
) -> tuple[Span, ...]:
    """Words with their times."""
    ends = [0, *accumulate(durations)]
    return tuple(
        Span(text, start + ends[first] * frame_seconds, start + ends[last] * frame_seconds)
        for text, first, last in word_tokens(reading, vocabulary, len(durations))
        if last > first
    )


def alike(found: Sequence[int], kept: Any) -> bool:
    """Equal but for rounding: another processor may end a sound one frame later here and there."""
    if not isinstance(kept, list) or len(kept) != len(found) or not all(type(one) is int for one in kept):
        return False
    apart = [abs(one - other) for one, other in zip(found, kept, strict=True)]
    return max(apart, default=0) <= 1 and sum(apart) <= 1 + len(apart) // 20
