"""A voice package that speaks: numpy and onnxruntime, no torch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from olu.core.errors import ConfigError, LanguageError, TextError, VoiceError
from olu.core.types import Audio, Reading
from olu.speak.chunk import ChunkPlan, DecoderChunk, parts
from olu.speak.graphs import DECODER, ENCODER, OnnxGraph, RunTerminator
from olu.speak.package import FILES, GRAPHS, SCHEMA, Package, read_package
from olu.speak.place import package_place
from olu.speak.sentences import AS_PLAIN, lines
from olu.speak.stream import (
    Ahead,
    Making,
    Manner,
    ReadLine,
    ReadText,
    SpokenChunk,
    SpokenSentence,
    Wave,
    Wishes,
    pieces,
)
from olu.speak.stretch import stretches
from olu.speak.times import word_spans
from olu.text.frontend import AnyFrontend, from_state
from olu.text.markup import has_markup
from olu.text.vocabulary import SymbolVocabulary

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["FILES", "GRAPHS", "SCHEMA", "Manner", "SpokenChunk", "SpokenSentence", "Voice"]

NOISE_FRAMES_PER_TOKEN = 16  # the encoder repeats noise when a text needs more frames than this
MOST_STRETCHING = 16.0  # a package may ask for speech so slow that its noise would fill the memory
CHECKED_CHARACTERS = 10_000  # of all check sentences together; Olu writes a few short ones
CHECKED_TOKENS = 41  # of a check sentence, so that opening stays quick
SAMPLING = ("noise_scale", "duration_noise_scale", "length_scale")
LIMITS = {"rate": 768_000, "hop": 65_536, "channels": 16_384}
MOST_CONTEXT = 10_000
MOST_THREADS = 256


class TooManyTokens(TextError):
    """A text that becomes longer than it may when it is read."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the text is more than {most} tokens when it is read: send it in parts")


class Voice:
    """Opened once, it may be used by several threads: nothing in it changes."""

    def __init__(self, package: Package, *, threads: int = 0, halt: RunTerminator | None = None) -> None:
        """`threads` are the decoder's. The encoder has one: its sums would otherwise depend on their number.

        `halt` can end its networks' runs, from another thread.
        """
        given: dict[str, Any] = {"where": package.where, "halt": halt}
        new = package.schema > 1
        with ThreadPoolExecutor(2) as beside:  # onnxruntime prepares the networks while Python prepares the reading
            encoder = beside.submit(
                OnnxGraph,
                package.encoder,
                name="encoder.onnx",
                inputs=ENCODER,
                outputs=2,
                optimised=new,
                threads=1,
                **given,
            )
            decoder = beside.submit(
                OnnxGraph, package.decoder, name="decoder.onnx", inputs=DECODER, outputs=1, threads=threads, **given
            )
            timed = self._prepare(package)
            self._encoder, self._decoder = encoder.result(), decoder.result()
        where = package.where
        self.batches = self._decoder.shapes["latents"][0] != 1  # older packages take one chunk at a time
        if self._decoder.shapes["latents"][1:2] != [self._channels] or not self.speakers:
            raise VoiceError(f"{where}: its networks do not fit each other: export the voice again")
        if timed and not _alike(self.check_durations(timed[0][0]), timed[0][1]):
            raise VoiceError(f"{where} speaks with other lengths than at its export: export it again")

    def _prepare(self, package: Package) -> list[tuple[Any, Any]]:
        """Everything but the networks, and proof that texts are read as they were; gives ids with their durations."""
        self.facts, where = package.facts, package.where
        try:
            self.name, self.language = _word(self.facts["name"]), _word(self.facts["language"])
            self.rate, self._hop, self._channels = (_count(self.facts[name], LIMITS[name]) for name in LIMITS)
            self._context = _count(self.facts["context"], MOST_CONTEXT) if package.schema > 1 else None
            self.speakers: list[str] = [_word(name) for name in self.facts["speakers"]]
            self.sampling = {name: _scale(self.facts["sampling"][name]) for name in SAMPLING}
            self.usual_loudness: float | None = _level(self.facts.get("loudness"))
            self.resample: float = _factor(self.facts.get("resample", 1.0))
            self._ends: list[str] = [_word(end) for end in self.facts["sentence_ends"]]
            self.vocabulary = SymbolVocabulary.from_state(package.vocabulary)
            self.frontend = from_state(package.frontend)
            self._abbreviations = _abbreviations(self.frontend)
            checks = _short(
                (_word(row["text"]), row["ids"], row.get("durations")) for row in package.check["sentences"]
            )
        except VoiceError as newer:
            raise VoiceError(f"{where}: {newer}") from None
        except (LanguageError, ConfigError) as bad:
            raise VoiceError(f"{where}: its language folder is damaged ({bad!s:.120}): export it again") from None
        except KeyError as absent:
            raise VoiceError(f"{where} is not a whole voice package (no {absent!s:.60}): export it again") from None
        except (TypeError, ValueError, IndexError, OverflowError, AttributeError, RecursionError) as bad:
            raise VoiceError(f"{where} is damaged ({' '.join(str(bad).split()):.120}): export it again") from None
        for text, ids, _ in checks:
            if self._check_ids(text) != ids:
                raise VoiceError(f"{where} reads {text[:60]!r} differently than at its export: export it again")
        return [(ids, durations) for _, ids, durations in checks if durations is not None]

    @property
    def frame_seconds(self) -> float:
        return self._hop / self.rate

    @staticmethod
    def open(path: str | Path, *, threads: int = 0, halt: RunTerminator | None = None) -> Voice:
        """A package folder or zip, a workspace (its newest exported voice), or "embedded", the voice inside Olu.

        `threads` 0 lets onnxruntime choose.
        """
        check_threads(threads)
        return Voice(read_package(package_place(Path(path))), threads=threads, halt=halt)

    def speak(self, text: str, *, manner: Manner | None = None, **wishes: Unpack[Wishes]) -> Audio:
        """The whole text as one sound.

        What may be wished for, by name:

        speed           1.0; 2 is twice as fast, 0.25 to 4
        seed            0; the same text, seed and wishes give the same samples
        speaker         one of `voice.speakers`; the first where none is named
        pause           0.25; seconds of silence between sentences
        noise           how much the sound varies, 0 to 2; as the voice has it
        duration_noise  how much the rhythm varies, 0 to 2; as the voice has it
        loudness        LUFS, for example -18; as the voice is
        rate            samples a second of the sound; the voice's own
        plain           False; True reads <, [[ and & as they stand: the text has no markup

        `manner` is a Manner that holds such wishes; those named beside it come before its own.
        """
        said = [spoken.audio for spoken in self.stream(text, manner=manner, quick=False, **wishes)]
        return Audio(np.concatenate([audio.samples for audio in said]), said[0].rate)

    def stream(
        self, text: str, *, manner: Manner | None = None, quick: bool = True, **wishes: Unpack[Wishes]
    ) -> Iterator[SpokenChunk]:
        """Piece by piece, each as soon as it is made; leave off between two and nothing more is made.

        What may be wished for is as in `speak`: speed, seed, speaker, pause, noise, duration_noise, loudness, rate
        and plain.

        `quick` begins with a short piece, and goes by the voice's usual loudness for a wished one; without it pieces
        are long, for less work. Arguments and markup are checked before the first piece is asked for.
        """
        return self._decoded(self.begin(text, manner=Manner.of(manner, **wishes), quick=quick))

    def _decoded(self, making: Making) -> Iterator[SpokenChunk]:
        wave: Wave | None = None
        while True:
            try:
                made = making.send(wave)
            except StopIteration:
                return
            if isinstance(made, DecoderChunk):
                (wave,) = self.decode([made])
            else:
                wave = None
                yield made

    def begin(
        self, text: str | ReadText, *, manner: Manner, quick: bool = True, hurry: Callable[[], bool] = lambda: True
    ) -> Making:
        """As `stream`, but it also yields each part for the decoder, and is to be sent what `decode` makes of it.

        `hurry` is asked at each sentence: without it chunks are long after all.
        """
        who = self._speaker(manner.speaker)
        sayable = Ahead(self._sayable(text, plain=manner.plain) if isinstance(text, str) else iter(text.lines))
        first = sayable.peek()
        if first is None or not first.ids:
            unknown = first.unsaid if first is not None else {}
            hint = f" (it has no {', '.join(map(repr, list(unknown)[:5]))})" if unknown else ""
            raise TextError(f"nothing in the text can be said by the voice {self.name}{hint}: check text and language")

        def say(line: ReadLine, number: int, start: float) -> tuple[SpokenSentence, Iterator[DecoderChunk]]:
            heard = start if number else 0.0
            plan = ChunkPlan.of(self.frame_seconds, context=self._context, quick=quick and hurry(), heard=heard)
            return self._say(line, number, start, manner=manner, who=who, plan=plan)

        return pieces(sayable, say=say, manner=manner, rate=self.rate, usual=self.usual_loudness if quick else None)

    def read(self, text: str, *, most_tokens: int, plain: bool = False) -> ReadText:
        """The whole text as it will be said, before any of it is: what `begin` takes in a text's place."""
        found, tokens, unsaid = list[ReadLine](), 0, Counter[str]()
        for line in self._sayable(text, plain=plain):
            tokens += len(line.ids)
            if tokens > most_tokens:
                raise TooManyTokens(most_tokens)
            found.append(line)
            unsaid.update(line.unsaid)
            unsaid.update(line.reading.dropped if line.reading else {})
        return ReadText(tuple(found), tokens, dict(unsaid))

    def _sayable(self, text: str, *, plain: bool = False) -> Iterator[ReadLine]:
        """What can be said, read one sentence at a time; a pause around what cannot is kept."""
        pause: float | None = None
        unsaid = Counter[str]()
        for line in lines(text, self._ends, abbreviations=self._abbreviations, plain=plain):
            if line.pause is not None:
                pause = (pause or 0.0) + line.pause
            reading = self._reading(line.text, plain=plain) if line.text else None
            said = stretches(line.text, reading, self.vocabulary) if reading is not None and reading.words else []
            for one in said:
                yield ReadLine(one.text, pause, one.reading, one.ids, dict(unsaid))
                pause = 0.0  # inside a sentence its own marks make the pauses
                unsaid.clear()
            if said:
                pause = None
            elif reading is not None:
                unsaid.update(reading.dropped)
        if pause or unsaid:
            yield ReadLine("", pause or 0.0, unsaid=dict(unsaid))

    def _reading(self, text: str, *, plain: bool) -> Reading:
        try:
            return self.frontend.read(text, plain=plain)
        except TextError as bad:
            hint = f"; {AS_PLAIN}" if not plain and has_markup(text) else ""
            raise TextError(f"{bad}{hint}") from None

    def _say(
        self, line: ReadLine, number: int, start: float, *, manner: Manner, who: int, plan: ChunkPlan
    ) -> tuple[SpokenSentence, Iterator[DecoderChunk]]:
        assert line.reading is not None
        speaker = np.array([who], np.int64)
        latents, counts = self._encode(line.ids, np.random.PCG64([manner.seed, number]), manner=manner, speaker=speaker)
        durations = tuple(int(count) for count in counts[0])
        frame = self.frame_seconds
        sentence = SpokenSentence(
            number=number,
            text=line.text,
            start=start,
            end=start + latents.shape[2] * frame,
            words=word_spans(line.reading, self.vocabulary, durations, frame_seconds=frame, start=start),
            durations=durations,
            dropped=line.reading.dropped,
        )

        return sentence, parts(latents, plan=plan, hop=self._hop, speaker=who)

    def decode(self, some: Sequence[DecoderChunk]) -> list[Wave]:
        """The sound of parts of one size, made in one run where the network takes several."""
        if len(some) > 1 and not self.batches:
            return [wave for part in some for wave in self.decode([part])]
        latents = some[0].latents if len(some) == 1 else np.concatenate([part.latents for part in some])
        speaker = np.array([part.speaker for part in some], np.int64)
        (waves,) = self._decoder.run({"latents": latents, "speaker": speaker})
        if waves.shape != (len(some), latents.shape[2] * self._hop) or not np.isfinite(waves).all():
            raise VoiceError(f"the voice {self.name} makes numbers that are no sound: export the voice again")
        return [wave[part.keep] for wave, part in zip(waves, some, strict=True)]

    def _encode(self, ids: Any, bits: np.random.PCG64, *, manner: Manner, speaker: Any) -> tuple[Any, Any]:
        random = np.random.Generator(bits)
        length_scale = self.sampling["length_scale"] / manner.speed
        frames = math.ceil(NOISE_FRAMES_PER_TOKEN * len(ids) * min(MOST_STRETCHING, max(1.0, length_scale)))
        noise, rhythm = manner.noise, manner.duration_noise
        feeds: dict[str, Any] = {
            "ids": np.array([ids], np.int64),
            "duration_noise": random.standard_normal((1, 2, len(ids)), np.float32),
            "noise": random.standard_normal((1, self._channels, frames), np.float32),
            "noise_scale": np.float32(self.sampling["noise_scale"] if noise is None else noise),
            "duration_noise_scale": np.float32(self.sampling["duration_noise_scale"] if rhythm is None else rhythm),
            "length_scale": np.float32(length_scale),
            "speaker": speaker,
        }
        latents, durations = self._encoder.run(feeds)
        if latents.ndim != 3 or latents.shape[:2] != (1, self._channels) or durations.shape != (1, len(ids)):
            raise VoiceError(f"the networks of the voice {self.name} do not fit each other: export the voice again")
        return latents, durations

    def check_durations(self, ids: Any) -> list[int]:
        """Frames per token at the start of a sentence, as seed 0 and the first speaker give them."""
        start = np.array([0], np.int64)
        counts = self._encode(ids[:CHECKED_TOKENS], np.random.PCG64([0, 0]), manner=Manner(), speaker=start)[1]
        return [int(count) for count in counts[0]]

    def _check_ids(self, text: str) -> list[int] | None:
        try:
            reading = self.frontend.read(text)
            return self.vocabulary.encode(reading) if reading.words else []
        except TextError:  # the frontend finds a symbol that the vocabulary no longer has
            return None

    def _speaker(self, name: str | None) -> int:
        if name is None:
            return 0
        if name not in self.speakers:
            raise VoiceError(f"no speaker {name!r} in the voice {self.name}; it has: {', '.join(self.speakers)}")
        return self.speakers.index(name)


def _short(checks: Iterable[tuple[str, Any, Any]]) -> list[tuple[str, Any, Any]]:
    """As many of a package's sentences as are quickly read: they are its own choice."""
    kept, room = [], CHECKED_CHARACTERS
    for check in checks:
        if len(check[0]) <= room:
            room -= len(check[0]) + 1
            kept.append(check)
    return kept


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _count(value: Any, most: int) -> int:
    if type(value) is not int or not 1 <= value <= most:
        raise ValueError(f"{value!r:.40} is no number from 1 to {most}")
    return value


def _scale(value: Any) -> float:
    if type(value) not in (int, float) or not (math.isfinite(value) and 0 <= value <= 100):
        raise ValueError(f"{value!r:.40} is no number from 0 to 100")
    return float(value)


def _factor(value: Any) -> float:
    if type(value) not in (int, float) or not 0.5 <= value <= 2:
        raise ValueError(f"{value!r:.40} is no factor from 0.5 to 2")
    return float(value)


def _level(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not -100 <= value <= 20:
        raise ValueError(f"{value!r:.40} is no loudness")
    return float(value)


def _alike(found: list[int], kept: Any) -> bool:
    """Equal but for rounding: another processor may end a sound one frame later here and there."""
    if not isinstance(kept, list) or len(kept) != len(found) or not all(type(count) is int for count in kept):
        return False
    apart = [abs(one - other) for one, other in zip(found, kept, strict=True)]
    return max(apart, default=0) <= 1 and sum(apart) <= 1 + len(apart) // 20


def _abbreviations(frontend: AnyFrontend) -> frozenset[str]:
    """Words with a point that ends no sentence."""
    rows = frontend.pack.rows("abbreviations.tsv") if frontend.pack else []
    return frozenset(row[0].strip() for row in rows if row[0].strip().endswith("."))


def check_threads(threads: int) -> None:
    if not 0 <= threads <= MOST_THREADS:
        raise VoiceError(f"threads {threads}: choose 1 to {MOST_THREADS}, or 0 for as many as the machine has")
