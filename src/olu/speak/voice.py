"""A voice package that speaks: numpy and onnxruntime, no torch."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from olu.core.errors import ConfigError, LanguageError, OluError, TextError, VoiceError
from olu.core.types import Audio, Knob
from olu.speak.engines import ChunkPlan, LineJob, PlanningEngine, SpeechEngine, engine_named, number
from olu.speak.graphs import OnnxGraph, RunTerminator
from olu.speak.lines import NO_MELODY, LineReader, abbreviations_of
from olu.speak.melody import FORMAT, Melody, MelodySentence
from olu.speak.package import Package, package_place, read_package
from olu.speak.stream import (
    TONES,
    Ahead,
    Chunk,
    LineMaking,
    Making,
    Manner,
    ReadLine,
    ReadText,
    SpokenChunk,
    SpokenSentence,
    Wishes,
    pause_before,
    pieces,
)
from olu.text.frontend import from_state, with_words
from olu.text.language_data import load_lexicon
from olu.text.pieces import vocabulary_from

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["Manner", "SpokenChunk", "SpokenSentence", "Voice"]

CHECKED_CHARACTERS = 10_000  # of all check sentences together; Olu writes a few short ones
MOST_THREADS = 256
LIKE = "like"  # the name of a speaker who is heard from recordings
LEAST_CONSENT = 3  # words
Result = TypeVar("Result")


class TooManyTokens(TextError):
    """A text that becomes longer than it may when it is read."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the text is more than {most} tokens when it is read: send it in parts")


class Voice:
    """Opened once, it may be used by several threads: nothing in it changes."""

    def __init__(self, package: Package, *, threads: int = 0, halt: RunTerminator | None = None) -> None:
        """`threads` are for networks whose sums do not depend on their number. `halt` ends runs from another thread."""
        where, self.facts = package.where, package.facts
        try:
            kind = engine_named(package.engine)
        except VoiceError as newer:
            raise VoiceError(f"{where}: {newer}") from None
        with ThreadPoolExecutor(2) as beside:  # onnxruntime prepares the networks while Python prepares the reading
            opening = self._opening(kind, package, beside, threads=threads, halt=halt)
            checks = self._prepare(kind, package)
            graphs = {name: graph.result() for name, graph in opening.items()}
        try:
            self.engine.connect(graphs)
        except (ValueError, KeyError, IndexError):
            raise VoiceError(f"{where}: its networks do not fit each other: export the voice again") from None
        self.networks = _digest(package)
        told = (row for row in checks if any(row[key] is not None for key in row.keys() - {"text", "ids", "samples"}))
        first = next(told, None)
        if first is not None and (what := self.engine.differs(first["ids"], first)):
            raise VoiceError(f"{where} {what}: export it again")

    @staticmethod
    def _opening(
        kind: type[SpeechEngine],
        package: Package,
        pool: ThreadPoolExecutor,
        *,
        threads: int,
        halt: RunTerminator | None,
    ) -> dict[str, Future[OnnxGraph]]:
        where = package.where
        absent = [name for name, spec in kind.GRAPHS.items() if not spec.optional and name not in package.graphs]
        unknown = [name for name in package.graphs if name not in kind.GRAPHS]
        if absent or unknown:
            what = f"no {absent[0]}" if absent else f"{unknown[0]:.40} is none of its engine's"
            raise VoiceError(f"{where} is not a whole voice package ({what}): export it again")
        return {
            name: pool.submit(
                OnnxGraph,
                network,
                name=f"{name}.onnx",
                inputs=kind.GRAPHS[name].inputs,
                outputs=kind.GRAPHS[name].outputs,
                where=where,
                threads=threads if kind.GRAPHS[name].threads is None else kind.GRAPHS[name].threads or 1,
                optimised=kind.GRAPHS[name].optimised and package.schema > 1,
                halt=halt,
            )
            for name, network in package.graphs.items()
        }

    def _prepare(self, kind: type[SpeechEngine], package: Package) -> list[dict[str, Any]]:
        """Everything but the networks, and proof that texts are read as they were; gives the rows of the check."""
        where = package.where
        try:
            self.name, self.language = _word(self.facts["name"]), _word(self.facts["language"])
            self.speakers: list[str] = [_word(name) for name in self.facts["speakers"]]
            loudness = self.facts.get("loudness")
            self.usual_loudness = None if loudness is None else number(loudness, -100.0, 20.0)
            self.resample: float = number(self.facts.get("resample", 1.0), 0.5, 2.0)
            self._usual = 0  # who speaks where nobody is named
            self._ends: list[str] = [_word(end) for end in self.facts["sentence_ends"]]
            self.vocabulary = vocabulary_from(package.vocabulary)
            self.engine = kind(package, self.vocabulary)
            self.frontend = from_state(package.frontend)
            self._abbreviations = abbreviations_of(self.frontend)
            checks = _short(
                {**row, "text": _word(row["text"]), "ids": row["ids"]} for row in package.check["sentences"]
            )
        except VoiceError as newer:
            raise VoiceError(f"{where}: {newer}") from None
        except (LanguageError, ConfigError) as bad:
            raise VoiceError(f"{where}: its language folder is damaged ({bad!s:.120}): export it again") from None
        except KeyError as absent:
            raise VoiceError(f"{where} is not a whole voice package (no {absent!s:.60}): export it again") from None
        except (TypeError, ValueError, IndexError, OverflowError, AttributeError, RecursionError) as bad:
            raise VoiceError(f"{where} is damaged ({' '.join(str(bad).split()):.120}): export it again") from None
        if not self.speakers:
            raise VoiceError(f"{where}: its networks do not fit each other: export the voice again")
        for row in checks:
            if self._check_ids(row["text"]) != row["ids"]:
                raise VoiceError(f"{where} reads {row['text'][:60]!r} differently than at its export: export it again")
        return checks

    @property
    def rate(self) -> int:
        return self.engine.rate

    @property
    def knobs(self) -> dict[str, Knob]:
        """What may be chosen beside speed, seed and the like; each has a range and a default."""
        return self.engine.knobs

    @staticmethod
    def open(path: str | Path, *, threads: int = 0, halt: RunTerminator | None = None) -> Voice:
        """A package folder or zip, a workspace (its newest exported voice), or "embedded", the voice inside Olu.

        `threads` 0 lets onnxruntime choose.
        """
        check_threads(threads)
        return Voice(read_package(package_place(Path(path))), threads=threads, halt=halt)

    def plan(self, text: str, *, manner: Manner | None = None, **wishes: Unpack[Wishes]) -> Melody:
        """How it would say a text, in numbers that may be edited: how long each sound is, and how high.

        `speak(text, melody=...)` says it so. What may be wished for is as in `speak`; speed, the knob `pitch`, tones
        and the text's own <prosody> are in the numbers already.
        """
        lines, who, settled = self._asked(text, Manner.of(manner, **wishes))
        if not self.engine.plans:
            raise VoiceError(f"the voice {self.name} has no melody to show: {NO_MELODY}")
        engine, made, start = cast(PlanningEngine, self.engine), list[MelodySentence](), 0.0
        chunks, seconds = ChunkPlan.of(engine.frame_seconds, context=engine.context, quick=False), engine.frame_seconds
        while (line := lines.take()) is not None and line.ids:
            start += (line.pause or 0.0) if not made else pause_before(line, settled)
            made.append(engine.plan(LineJob(line, len(made), start, who, chunks, _given(settled, len(made))), settled))
            start += int(made[-1].frames.sum()) * seconds
        return Melody(FORMAT, self.name, self.networks, self.speakers[who], seconds, text, tuple(made))

    def like(self, recordings: Sequence[Audio], *, consent: str, name: str = LIKE) -> Voice:
        """The same voice with one speaker more, heard from recordings of one person, who speaks where nobody is named.

        Only where it was exported with `olu export --cloning`. `consent`: who agreed, when and to what; without the
        consent of whose voice it is nothing is heard. This voice itself stays as it is.
        """
        hears = getattr(self.engine, "hears", None)
        if hears is None or getattr(self.engine, "hearing", None) is None:
            raise VoiceError(f"the voice {self.name} was not exported to hear others: 'olu export --cloning' makes one")
        if len(consent.split()) < LEAST_CONSENT:
            raise VoiceError(
                "to speak like somebody takes their consent: say in words who agreed, when and to what (--consent)"
            )
        if name in self.speakers:
            raise VoiceError(f"the voice {self.name} has a speaker {name!r} already: choose another name")
        made = copy(self)
        made.engine = hears(recordings)
        made.speakers, made._usual = [*self.speakers, name], len(self.speakers)
        return made

    def use_lexicon(self, path: str | Path) -> None:
        """Read the words of a .tsv (spelling, tab, phones) as it says, from now on; the package stays as it is."""
        self.frontend = with_words(self.frontend, load_lexicon(Path(path)))

    def speak(self, text: str, *, manner: Manner | None = None, **wishes: Unpack[Wishes]) -> Audio:
        """The whole text as one sound.

        What may be wished for, by name:

        speed           1.0; 2 is twice as fast, 0.25 to 4
        seed            0; the same text, seed and wishes give the same samples
        speaker         one of `voice.speakers`; the first where none is named
        pause           0.25; seconds of silence between sentences
        knobs           {"noise": 0.5}: what this voice lets you choose, by `voice.knobs`; else as the voice has it
        noise           short for that knob: how much the sound varies, 0 to 2
        duration_noise  the same for the rhythm
        loudness        LUFS, for example -18; as the voice is
        rate            samples a second of the sound; the voice's own
        plain           False; True reads <, [[ and & as they stand: the text has no markup
        tones           "learnt"; "strict" pushes the pitch of written tones apart until they differ
        melody          what `plan` gave for this text, edited or not

        `manner` is a Manner that holds such wishes; those named beside it come before its own.
        """
        said = [spoken.audio for spoken in self.stream(text, manner=manner, quick=False, **wishes)]
        return Audio(np.concatenate([audio.samples for audio in said]), said[0].rate)

    def stream(
        self, text: str, *, manner: Manner | None = None, quick: bool = True, **wishes: Unpack[Wishes]
    ) -> Iterator[SpokenChunk]:
        """Piece by piece, each as soon as it is made; leave off between two and nothing more is made.

        What may be wished for is as in `speak`: speed, seed, speaker, pause, knobs, noise, duration_noise, loudness,
        rate, plain, tones and melody.

        `quick` begins with a short piece, and goes by the voice's usual loudness for a wished one; without it pieces
        are long, for less work. Arguments and markup are checked before the first piece is asked for.
        """
        return self._decoded(self.begin(text, manner=Manner.of(manner, **wishes), quick=quick))

    def _decoded(self, making: Making) -> Iterator[SpokenChunk]:
        sent: Any = None
        while True:
            try:
                made = making.send(sent)
            except StopIteration:
                return
            sent = None
            if isinstance(made, Chunk):
                (sent,) = self.run([made])
            else:
                yield made

    def run(self, chunks: Sequence[Chunk]) -> list[Any]:
        """What the engine makes of chunks of one key, to be sent to where each came from."""
        return self.engine.run(chunks)

    def begin(
        self, text: str | ReadText, *, manner: Manner, quick: bool = True, hurry: Callable[[], bool] = lambda: True
    ) -> Making:
        """As `stream`, but it also yields the engine's chunks, and is to be sent what `run` makes of each.

        `hurry` is asked at each sentence: without it chunks are long after all.
        """
        sayable, who, settled = self._asked(text, manner)
        engine = self.engine

        def say(line: ReadLine, number: int, start: float) -> LineMaking:
            heard = start if number else 0.0
            plan = ChunkPlan.of(engine.frame_seconds, context=engine.context, quick=quick and hurry(), heard=heard)
            return engine.begin(LineJob(line, number, start, who, plan, _given(settled, number)), settled)

        return pieces(sayable, say=say, manner=manner, rate=self.rate, usual=self.usual_loudness if quick else None)

    def _asked(self, text: str | ReadText, manner: Manner) -> tuple[Ahead[ReadLine], int, Manner]:
        """What is to be said, by whom and how; what cannot be is refused before anything is made."""
        if not isinstance(text, str | ReadText):
            raise TextError(f"a text is wanted, not {type(text).__name__}: give a string")
        melody = manner.melody
        who = self._speaker(melody.speaker if melody and manner.speaker is None else manner.speaker)
        settled = manner.settled(self.knobs, voice=self.name)
        if not self.engine.plans and (melody is not None or manner.tones != TONES[0]):
            raise VoiceError(f"the voice {self.name} has no melody to be told: {NO_MELODY}")
        join = self.engine.join_words if settled.knobs.get("guards", 1.0) else 0
        found = self.reader().lines(text, plain=manner.plain, join=join) if isinstance(text, str) else iter(text.lines)
        if melody is not None:
            whole = list(found)
            symbols = [[self.vocabulary.symbols[id] for id in line.ids] for line in whole if line.ids]
            melody.check(voice=self.name, networks=self.networks, readings=symbols)
            found = iter(whole)
        sayable = Ahead(found)
        first = sayable.peek()
        if first is None or not first.ids:
            unknown = first.unsaid if first is not None else {}
            hint = f" (it has no {', '.join(map(repr, list(unknown)[:5]))})" if unknown else ""
            raise TextError(f"nothing in the text can be said by the voice {self.name}{hint}: check text and language")
        return sayable, who, settled

    def read(self, text: str, *, most_tokens: int, plain: bool = False) -> ReadText:
        """The whole text as it will be said, before any of it is: what `begin` takes in a text's place."""
        found, tokens, unsaid = list[ReadLine](), 0, Counter[str]()
        for line in self.reader().lines(text, plain=plain, join=self.engine.join_words):
            tokens += len(line.ids)
            if tokens > most_tokens:
                raise TooManyTokens(most_tokens)
            found.append(line)
            unsaid.update(line.unsaid)
            unsaid.update(line.reading.dropped if line.reading else {})
        return ReadText(tuple(found), tokens, dict(unsaid))

    def reader(self) -> LineReader:
        """How it reads a text, without its networks."""
        return LineReader(
            self.name,
            self.frontend,
            self.vocabulary,
            self._ends,
            self._abbreviations,
            most_tokens=self.engine.most_tokens,
            plans=self.engine.plans,
        )

    def _check_ids(self, text: str) -> list[int] | None:
        try:
            reading = self.frontend.read(text)
            return self.vocabulary.encode(reading) if reading.words else []
        except TextError:  # the frontend finds a symbol that the vocabulary no longer has
            return None

    def _speaker(self, name: str | None) -> int:
        if name is None:
            return self._usual
        if name not in self.speakers:
            raise VoiceError(f"no speaker {name!r} in the voice {self.name}; it has: {', '.join(self.speakers)}")
        return self.speakers.index(name)


def _given(manner: Manner, number: int) -> MelodySentence | None:
    return manner.melody.sentences[number] if manner.melody else None


def _digest(package: Package) -> str:
    """The same for the same networks and symbols, whatever else was changed in a package."""
    files = package.check.get("files")
    named = (
        {name: digest for name, digest in files.items() if name.endswith((".onnx", "vocabulary.json"))} if files else {}
    )
    return hashlib.sha256(repr(sorted(named.items())).encode()).hexdigest()[:16]


def _short(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many of a package's sentences as are quickly read: they are its own choice."""
    kept, room = [], CHECKED_CHARACTERS
    for row in rows:
        if len(row["text"]) <= room:
            room -= len(row["text"]) + 1
            kept.append(row)
    return kept


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def check_threads(threads: int) -> None:
    if not 0 <= threads <= MOST_THREADS:
        raise VoiceError(f"threads {threads}: choose 1 to {MOST_THREADS}, or 0 for as many as the machine has")


def each(
    texts: Sequence[str], work: Callable[[int], Result], *, threads: int = 0
) -> Iterator[tuple[int, Result | OluError]]:
    """`work` for every text by its number, one a thread, the longest first; each as it is done.

    An error of one is its result, and the others go on. Two on one core each are quicker than one on two.
    """
    order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        numbers: dict[Future[Result], int] = {pool.submit(work, number): number for number in order}
        try:
            for future in as_completed(numbers):
                try:
                    yield numbers[future], future.result()
                except OluError as bad:
                    yield numbers[future], bad
        finally:
            pool.shutdown(cancel_futures=True)
