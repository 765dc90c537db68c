"""What one process does that speaks: many requests are open, and a turn makes one chunk of one or some of them."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from olu.audio.io import to_int16
from olu.core.errors import OluError, VoiceError
from olu.core.rows import as_row, from_row
from olu.core.types import Audio
from olu.serve.protocol import Message, NoRoom, SpeechJob, Stuck, TooLong
from olu.speak.engines import MOST_SECONDS
from olu.speak.graphs import Ended, NoMemory, RunTerminator
from olu.speak.melody import Melody
from olu.speak.stream import Chunk, Making, Manner, ReadText, SpokenChunk
from olu.speak.voice import Voice

AHEAD_SECONDS = 16.0  # of sound that nobody has taken yet: more would only fill memory
CROWD = 8  # open requests; what is more waits longer for its first sound, so that others are not left in silence
HEAD_START = 60.0  # who has heard nothing waits only for those who have been without sound for longer than this
CROWD_START = 2.0  # the same in a crowd, where there is always somebody new
PLACES = 8  # of a failure, the innermost
NO_ROOM = "{} needs more memory than a worker may take: give workers more with --worker-memory"


# ---------------------------------------------------------------- whose turn it is among the open requests


@dataclass(eq=False, kw_only=True)
class Turn:
    """How far a request is with its sound; times in seconds of one clock."""

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


AnyTurn = TypeVar("AnyTurn", bound=Turn)


def first(turns: Collection[AnyTurn]) -> AnyTurn | None:
    """The one whose listener runs out first; those who came first where it is equal."""
    head_start = CROWD_START if len(turns) > CROWD else HEAD_START
    waiting = (turn for turn in turns if not turn.ahead)
    return min(waiting, key=lambda turn: (turn.due(head_start), turn.came), default=None)


def together(lead: AnyTurn, turns: Iterable[AnyTurn], *, most: int) -> list[AnyTurn]:
    """Who can go with `lead` now, because the same voice has a chunk of the same key ready for it; `lead` first."""
    if most < 2:
        return [lead]
    others = [turn for turn in turns if turn is not lead and turn.like == lead.like and not turn.ahead]
    return [lead, *sorted(others, key=lambda turn: (turn.due(), turn.came))[: most - 1]]


# ---------------------------------------------------------------- what is made in a turn


GAINING = 8  # requests whose chunks go together where that gains, also where nobody asked for it


class Send(Protocol):
    def __call__(self, message: Message, sound: bytes = b"", /) -> None: ...


@dataclass(eq=False, kw_only=True)
class OpenRequest(Turn):
    number: int
    key: str  # of its voice: another one when the voice's files change
    path: str
    ask: SpeechJob
    making: Making | None = None
    read: ReadText | None = None  # until its first sound is given
    chunk: Chunk | None = None  # waits for its turn
    sentence: int = -1  # the last one that was begun


class Worker:
    def __init__(
        self,
        send: Send,
        *,
        batch: int,
        loaded: int,
        clock: Callable[[], float] = time.monotonic,
        lexicon: str | None = None,
    ) -> None:
        """`batch`: the most parts in one run of a decoder; `loaded`: the most voices kept that nobody is using."""
        self._lexicon = lexicon
        self._send, self._batch, self._loaded, self._clock = send, batch, loaded, clock
        self._jobs: dict[int, OpenRequest] = {}
        self._voices: dict[str, Voice] = {}  # the one used last stands last
        self._dropped: set[str] = set()
        self._halt, self._lock = RunTerminator(), threading.Lock()
        self._turn: frozenset[int] = frozenset()  # the requests that are worked for now
        self._gone: set[int] = set()  # those whose client went away and that were not ended yet

    @property
    def busy(self) -> bool:
        return first(self._jobs.values()) is not None

    def overhear(self, message: Message) -> None:
        """Act on what cannot wait for the end of a turn; runs in the thread that listens."""
        with self._lock:
            if message["do"] == "leave":
                self._gone.add(message["number"])
                if self._turn and self._turn <= self._gone:
                    self._halt.end()
            elif message["do"] == "halt":
                self._halt.end()

    @contextmanager
    def _working(self, jobs: Iterable[OpenRequest]) -> Iterator[None]:
        """Work that is ended once nobody wants it any more."""
        with self._lock:
            self._turn = frozenset(job.number for job in jobs)
            self._halt.lift()
            if self._turn and self._turn <= self._gone:
                self._halt.end()
        try:
            yield
        finally:
            with self._lock:
                self._turn = frozenset()

    def hear(self, message: Message) -> None:
        match message["do"]:
            case "say":
                job = OpenRequest(
                    came=self._clock(),
                    number=message["number"],
                    key=message["key"],
                    path=message["path"],
                    ask=_asked(message["ask"]),
                )
                self._jobs[job.number] = job
            case "took" if message["number"] in self._jobs:
                self._jobs[message["number"]].taken += message["seconds"]
            case "leave":
                if (left := self._jobs.get(message["number"])) is not None:
                    self._end(left)
                self._gone.discard(message["number"])
                self._send({"is": "left", "number": message["number"]})
            case "load":
                self._load(message)
            case "drop":
                self._dropped.add(message["key"])
                self._tidy()
            case "report":
                self._send({"is": "ready"})
            case "ping":
                self._send({"is": "pong"})

    def step(self) -> None:
        """One turn."""
        lead = first(self._jobs.values())
        if lead is None:
            return
        with self._answering(lead), self._working([lead]):
            self._advance(lead)
        if lead.chunk is None:  # nothing of it is left to be said, or it failed
            return
        voice = self._voices[lead.key]
        fitting = int(MOST_SECONDS / lead.chunk.cost)  # no longer wait than for one
        batch = max(self._batch, GAINING) if lead.chunk.gains else self._batch
        some = together(lead, self._jobs.values(), most=min(batch, fitting))
        if len(some) > 1 and self._try(voice, some):
            return
        for job in some:  # one by one also where together failed: only the one at fault then ends
            with self._answering(job):
                self._run(voice, [job])

    def _try(self, voice: Voice, jobs: list[OpenRequest]) -> bool:
        try:
            self._run(voice, jobs)
        except (OluError, Ended, MemoryError):
            return False
        return True

    def _run(self, voice: Voice, jobs: list[OpenRequest]) -> None:
        with self._working(jobs):
            results = voice.run([job.chunk for job in jobs if job.chunk is not None])
        self._send({"is": "ran", "parts": len(jobs)})
        for job, result in zip(jobs, results, strict=True):
            with self._answering(job):
                self._give(job, result)

    def _advance(self, job: OpenRequest) -> None:
        """To its next chunk: a voice may have to be opened for it, and a sentence read."""
        if job.chunk is not None:
            return
        if job.making is None:
            voice = self._open(job.key, job.path)
            if job.ask.plan:
                self._plan(job, voice)
                return
            job.read = voice.read(job.ask.text, most_tokens=job.ask.tokens, plain=job.ask.manner.plain)
            job.making = voice.begin(job.read, manner=job.ask.manner, hurry=self._hurry)
        self._take(job, next(job.making, None))

    def _plan(self, job: OpenRequest, voice: Voice) -> None:
        """No sound: the melody it would have. A text is counted as it is read for sound."""
        voice.read(job.ask.text, most_tokens=job.ask.tokens, plain=job.ask.manner.plain)
        melody = voice.plan(job.ask.text, manner=job.ask.manner)
        self._send({"is": "plan", "number": job.number, "melody": as_row(melody)})
        self._end(job)

    def _hurry(self) -> bool:
        """Whether chunks are short, for few requests; a crowd is served in long ones, which are less work."""
        return len(self._jobs) <= CROWD

    def _give(self, job: OpenRequest, result: Any) -> None:
        assert job.making is not None
        job.chunk = job.like = None
        self._take(job, job.making.send(result))

    def _take(self, job: OpenRequest, made: Chunk | SpokenChunk | None) -> None:
        """Hand out sound that is ready. The next sentence is read only when it is this one's turn again."""
        assert job.making is not None
        while isinstance(made, SpokenChunk):
            self._hand_out(job, made)
            if made.final:
                made = None
            elif made.last:
                return
            else:
                made = next(job.making, None)
        if made is None:
            self._send({"is": "end", "number": job.number})
            self._end(job)
        else:
            job.chunk, job.like = made, (job.key, made.key)

    def _hand_out(self, job: OpenRequest, made: SpokenChunk) -> None:
        rate, sentence = made.audio.rate, made.sentence
        room = max(0, round(job.ask.seconds * rate) - round(job.given * rate))
        samples = made.audio.samples[:room]
        begins, job.sentence = sentence.number != job.sentence, sentence.number
        piece = {
            "sentence": sentence.number,
            "text": sentence.text,
            "begins": sentence.start,
            "ends": sentence.end,
            "words": [(word.label, word.start, word.end) for word in sentence.words] if begins else [],
            "last": made.last,
            "unsaid": sentence.dropped if begins else {},
            "read": {"tokens": job.read.tokens, "unsaid": job.read.unsaid} if job.read else None,
        }
        job.read = None
        sound = to_int16(Audio(samples, rate)).astype("<i2").tobytes()
        self._send({"is": "piece", "number": job.number, "rate": rate, **piece}, sound)
        job.begun = self._clock() if job.begun is None else job.begun
        job.given += len(samples) / rate
        if len(samples) < len(made.audio.samples):
            raise TooLong(job.ask.seconds)

    @contextmanager
    def _answering(self, job: OpenRequest) -> Iterator[None]:
        """What goes wrong with a request is its answer; the others go on."""
        try:
            yield
        except Ended:
            if job.number in self._gone:
                self._end(job)
            else:
                self._fail(job, Stuck.__name__, "")
        except (MemoryError, NoMemory):
            self._fail(job, NoRoom.__name__, "")
        except (OluError, TooLong) as bad:
            self._fail(job, type(bad).__name__, _said(bad, job.path))
        except Exception as bad:  # a mistake of ours: where it is, but not the text that met it
            frames = traceback.extract_tb(bad.__traceback__)[-PLACES:]
            where = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
            self._fail(job, "", type(bad).__name__, where=where)

    def _fail(self, job: OpenRequest, kind: str, why: str, *, where: Sequence[str] = ()) -> None:
        self._send({"is": "error", "number": job.number, "kind": kind, "why": why, "where": where})
        self._end(job)

    def _end(self, job: OpenRequest) -> None:
        if job.making is not None:
            job.making.close()
        job.making = job.chunk = job.like = job.read = None
        self._jobs.pop(job.number, None)
        self._tidy()

    def _load(self, message: Message) -> None:
        with suppress(OluError), self._working([]):  # it has been reported
            self._open(message["key"], message["path"])

    def _open(self, key: str, path: str) -> Voice:
        voice = self._voices.pop(key, None)
        if voice is None:
            self._send({"is": "opening", "key": key})
            try:
                voice = Voice.open(Path(path), threads=1, halt=self._halt)
                if self._lexicon is not None:
                    voice.use_lexicon(self._lexicon)
            except Ended:
                if self._turn and self._turn <= self._gone:  # nothing is known against it
                    self._send({"is": "closed", "key": key})
                    raise
                raise self._damaged(key, f"{Path(path).name} cannot be opened: its networks come to no end") from None
            except (MemoryError, NoMemory):
                raise self._damaged(key, NO_ROOM.format(Path(path).name)) from None
            except OluError as bad:
                raise self._damaged(key, _said(bad, path), type(bad)) from None
            self._send({"is": "opened", "key": key})
        self._dropped.discard(key)
        self._voices[key] = voice
        self._tidy(keep=key)
        return voice

    def _damaged(self, key: str, why: str, kind: type[OluError] = VoiceError) -> OluError:
        self._send({"is": "damaged", "key": key, "why": why})
        return kind(why)

    def _tidy(self, *, keep: str = "") -> None:
        """Let go of voices that are gone from the shelf, and of those that were not used for longest."""
        used = {job.key for job in self._jobs.values() if job.making is not None} | {keep}
        for key in [key for key in self._voices if key not in used]:
            if key in self._dropped or len(self._voices) > self._loaded:
                del self._voices[key]
                self._send({"is": "closed", "key": key})
        self._dropped &= self._voices.keys()


def _asked(row: dict[str, Any]) -> SpeechJob:
    """A request as the front sent it."""
    melody = row["manner"]["melody"]
    manner = {**row["manner"], "melody": None if melody is None else from_row(melody, Melody)}
    return SpeechJob(**{**row, "manner": Manner(**manner)})


def _said(bad: Exception, path: str) -> str:
    """Without the path of this machine: it may be shown to those who ask."""
    return str(bad).replace(path, Path(path).name)
