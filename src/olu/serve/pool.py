"""The front of the workers: takes requests up to a limit, shares them out, and starts anew a worker that is gone."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import shutil
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from olu.core.errors import OluError, TextError, VoiceError
from olu.core.rows import from_row
from olu.serve.catalog import Entry, VoiceCatalog
from olu.serve.process import Link, watchdog
from olu.serve.protocol import (
    DEADLINE_SECONDS,
    SILENCE_SECONDS,
    Busy,
    Gone,
    Late,
    Message,
    NoRoom,
    Read,
    SoundPiece,
    SpeechJob,
    Stuck,
    TooLong,
    VoiceInfo,
)
from olu.speak.melody import Melody
from olu.speak.voice import TooManyTokens

log = logging.getLogger("olu.serve")
WATCH_SECONDS = 2.0  # between looks at the shelf when nobody asks
OPENING = 300  # opening a voice costs about as much as saying this many characters
START_SECONDS = 120.0
START_DEATHS = 3
LONGEST_DELAY = 5.0  # before a worker that dies again and again is started again
STEADY_SECONDS = 10.0  # a worker that lived for this long is started again at once
NAMED = 20
LOOK_SECONDS = 1.0  # that somebody who asks waits for a look at the shelf, where a large voice may have to be proved
ANSWER_SECONDS = 3.0  # within which a worker answers, or is not well


Answer = SoundPiece | Melody | Exception | None  # sound, a plan, a failure, or the end


class Saying:
    """One request, from the side of whoever asked: an async iterator of pieces."""

    def __init__(self, pool: Pool, ask: SpeechJob, number: int, *, deadline: float) -> None:
        """`deadline`: seconds until all of it is to be there."""
        self.ask, self.number, self._deadline = ask, number, deadline
        self.answers: asyncio.Queue[Answer] = asyncio.Queue()
        self.link: Link | None = None
        self.came = time.monotonic()
        self.heard = False  # its first sound is there
        self.made = False  # all of it
        self.over = False
        self._pool = pool
        self._asked = False
        self._taken = 0.0

    def __aiter__(self) -> Saying:
        return self

    async def __anext__(self) -> SoundPiece:
        if self.over:
            raise StopAsyncIteration
        answer = await self._next()
        if isinstance(answer, SoundPiece):
            self._taken = len(answer.samples) / 2 / answer.rate
            return answer
        self._pool.leave(self)
        raise answer if isinstance(answer, Exception) else StopAsyncIteration

    async def planned(self) -> Melody:
        """The melody, where that is all that was asked for."""
        answer = await self._next()
        self._pool.leave(self)
        if isinstance(answer, Melody):
            return answer
        raise answer if isinstance(answer, Exception) else Gone("the worker gave no melody")

    async def _next(self) -> Answer:
        try:
            async with asyncio.timeout(self.came + self._deadline - time.monotonic()):
                await self._ask_for_more()
                return await self.answers.get()
        except TimeoutError:
            self._pool.leave(self)
            raise Late(self._deadline) from None
        except BaseException:  # also when the task that waits is cancelled
            self._pool.leave(self)
            raise

    async def _ask_for_more(self) -> None:
        if not self._asked:
            self._asked = True
            await self._pool.hand_over(self)
        elif self._taken and self.link is not None and not self.made:
            self.link.send({"do": "took", "number": self.number, "seconds": self._taken})

    async def aclose(self) -> None:
        self._pool.leave(self)

    def __del__(self) -> None:
        if not self.over:  # somebody forgot it
            with suppress(RuntimeError):  # the loop may be gone
                self._pool.leave(self)


class Pool:
    def __init__(
        self,
        shelf: VoiceCatalog,
        *,
        workers: int = 0,
        queue: int,
        batch: int,
        loaded: int,
        memory: int = 0,
        silence: float = SILENCE_SECONDS,
        deadline: float = DEADLINE_SECONDS,
        lexicon: str | None = None,
    ) -> None:
        """`queue`: the most requests at a time; without a number of workers there is one a core.

        `memory`: bytes for each worker, 0 for as many as there are; `silence`: seconds before one that says nothing
        is replaced; `deadline`: seconds for a request; `lexicon`: words that every voice reads as this file says.
        """
        self._shelf, self._workers = shelf, workers or cores()
        self._memory, self._silence, self._deadline = memory, silence, deadline
        self._lexicon = lexicon
        self._folder: str | None = None  # an empty one, for the workers
        self._looking: asyncio.Task[None] | None = None
        self._queue, self._batch, self._loaded = queue, batch, loaded
        self._numbers = itertools.count(1)
        self._sayings: WeakValueDictionary[int, Saying] = WeakValueDictionary()  # one that is forgotten has left
        self._changed = asyncio.Condition()  # which workers are ready
        self._links: list[Link] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._counts: Counter[str] = Counter()
        self._seconds, self._usual = 0.0, 1.0  # spoken; that a request takes
        self._ending = False
        self._reported: set[tuple[str, str]] = set()  # voices and what is wrong with them
        self._lost: Counter[str] = Counter()  # workers that were gone while they opened a voice, since it last opened

    async def start(self) -> None:
        """Returns when every worker is ready."""
        self._report()
        self._folder = _empty_folder()
        self._tasks = [asyncio.create_task(self._keep()) for _ in range(self._workers)]
        guarding = watchdog(lambda: self._links, silence=self._silence, start=START_SECONDS, tell=_event)
        self._tasks.append(asyncio.create_task(guarding))
        with suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS), self._changed:
                await self._changed.wait_for(self._started)
        if not any(link.ready for link in self._links):
            await self.stop(grace=0)
            raise OluError("no worker could be started: what they wrote to stderr says why")
        self._tasks.append(asyncio.create_task(self._watch()))

    def _started(self) -> bool:
        ready = sum(link.ready for link in self._links)
        return ready == self._workers or self._counts["restarts"] - self._counts["lost"] >= START_DEATHS

    async def stop(self, *, grace: float) -> None:
        """Finish what was begun, within `grace` seconds, and end the workers."""
        self._ending = True
        until = time.monotonic() + grace
        while self._sayings and time.monotonic() < until:
            await asyncio.sleep(0.02)
        for saying in list(self._sayings.values()):
            self._answer(saying, Gone("the server has ended"))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        await self._notify()

    async def look(self) -> None:
        """Look at the shelf, one look at a time; nobody waits for it longer than a moment."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self._shelf.look))
        done, _ = await asyncio.wait({self._looking}, timeout=LOOK_SECONDS)
        for look in done:
            look.result()
        self._report()

    async def alive(self) -> bool:
        """Whether a worker answers; they are asked, unless one was heard just now."""

        def heard() -> bool:
            since = time.monotonic() - ANSWER_SECONDS
            return any(link.ready and link.heard is not None and link.heard > since for link in self._links)

        for link in self._links:
            if not heard():
                link.send({"do": "ping"})
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS), self._changed:
                await self._changed.wait_for(lambda: heard() or not any(link.ready for link in self._links))
        return heard()

    def _report(self) -> None:
        """Say what cannot be used, once; let workers go of what is gone."""
        entries = self._shelf.entries
        for entry in entries:
            if entry.fault and (entry.name, entry.fault) not in self._reported:
                _event("voice cannot be used", level=logging.WARNING, voice=entry.name, fault=entry.fault)
        self._reported = {(entry.name, entry.fault) for entry in entries if entry.fault}
        usable = {entry.key for entry in entries if not entry.fault}
        for link in self._links:
            for key in link.loaded - usable:
                link.send({"do": "drop", "key": key})

    def shown(self) -> list[VoiceInfo]:
        loaded = {key for link in self._links for key in link.loaded}
        return [replace(entry.info, loaded=entry.key in loaded) for entry in self._shelf.entries]

    def speak(self, ask: SpeechJob) -> Saying:
        if self._ending or len(self._sayings) >= self._queue:
            self._counts["refused"] += 1
            raise Busy(max(1.0, self._usual), ending=self._ending)
        saying = Saying(self, ask, next(self._numbers), deadline=self._deadline)
        self._sayings[saying.number] = saying
        self._counts["asks"] += 1
        return saying

    async def plan(self, ask: SpeechJob) -> Melody:
        """How a voice would say a text, in numbers: as `Voice.plan`."""
        return await self.speak(replace(ask, plan=True)).planned()

    def state(self) -> dict[str, float]:
        heard = sum(saying.heard for saying in self._sayings.values())
        return {
            "waiting": len(self._sayings) - heard,
            "open": heard,
            "room": self._queue - len(self._sayings),
            "workers": sum(link.ready for link in self._links),
            "workers_wanted": self._workers,
            "voices_loaded": sum(len(link.loaded) for link in self._links),
            "spoken_seconds": self._seconds,
            "ending": float(self._ending),
            **{name: self._counts[name] for name in ("asks", "refused", "restarts", "pieces", "runs", "parts")},
        }

    # ---- of a saying

    async def hand_over(self, saying: Saying) -> None:
        entry = await self._entry(saying.ask.voice)
        link = await self._link(entry)
        saying.link = link
        link.holds[saying.number] = len(saying.ask.text)
        message = {"number": saying.number, "key": entry.key, "path": str(entry.path), "ask": asdict(saying.ask)}
        link.send({"do": "say", **message})

    def leave(self, saying: Saying) -> None:
        """Whoever asked has all of it, or wants no more."""
        if saying.over:
            return
        saying.over = True
        self._sayings.pop(saying.number, None)
        self._usual += 0.1 * (time.monotonic() - saying.came - self._usual)
        if saying.link is not None and not saying.made:
            saying.link.send({"do": "leave", "number": saying.number})

    async def _entry(self, name: str) -> Entry:
        found = self._shelf.find(name)
        if found is None:
            await self.look()
            found = self._shelf.find(name)
        if found is None:
            there = [entry.name for entry in self._shelf.entries if not entry.fault]
            raise VoiceError(f"no voice {name!r:.80}; there is: {', '.join(there[:NAMED]) or 'none'}")
        if found.fault:
            raise VoiceError(found.fault)
        return found

    async def _link(self, entry: Entry) -> Link:
        """The worker with the least to do; one that has the voice already is preferred."""

        def ready() -> list[Link]:
            return [link for link in self._links if link.ready]

        try:
            async with asyncio.timeout(START_SECONDS), self._changed:
                await self._changed.wait_for(lambda: ready() or not self._tasks)
        except TimeoutError:
            raise Gone("no worker could be started") from None
        if not ready():
            raise Gone("the server has ended")
        return min(ready(), key=lambda link: link.load + (0 if entry.key in link.loaded else OPENING))

    # ---- of a worker

    async def _keep(self) -> None:
        """Keep one worker running: start another when it ends, later and later while they end early."""
        delay = 0.0
        while True:
            born = time.monotonic()
            try:
                given = {"batch": self._batch, "loaded": self._loaded, "memory": self._memory}
                await self._live(await Link.start(**given, folder=self._folder, lexicon=self._lexicon))
            except OSError as bad:
                _event("worker cannot be started", level=logging.ERROR, reason=bad.strerror)
            self._counts["restarts"] += 1
            await self._notify()
            steady = time.monotonic() - born >= STEADY_SECONDS
            delay = 0.0 if steady else min(LONGEST_DELAY, 2 * delay + 0.1)
            await asyncio.sleep(delay)

    async def _live(self, link: Link) -> None:
        self._links.append(link)
        try:
            self._prepare(link)
            async for message, sound in link.messages():
                await self._hear(link, message, sound)
            self._died(link)
        except Exception as bad:  # what it wrote is no message: it is not to be trusted any more
            _event("worker is not understood", level=logging.ERROR, kind=type(bad).__name__)
            self._died(link)
        finally:
            self._links.remove(link)
            await link.end()

    def _prepare(self, link: Link) -> None:
        usable = [entry for entry in self._shelf.entries if not entry.fault]
        for entry in usable[: self._loaded]:
            link.send({"do": "load", "key": entry.key, "path": str(entry.path)})
        link.send({"do": "report"})

    def _died(self, link: Link) -> None:
        _event("worker is gone", level=logging.ERROR, pid=link.pid)
        link.ready = False
        if link.opening and link.silent:
            self._shelf.spoil(link.opening, f"it did not open within {self._silence:g} seconds: export it again")
            self._report()
        elif link.opening:
            self._blame(link.opening)
        why = "did not answer and was ended" if link.silent else "is gone"
        for saying in [one for one in self._sayings.values() if one.link is link]:
            self._answer(saying, Gone(f"the worker that spoke {why}: ask again"))

    def _blame(self, key: str) -> None:
        """Count a worker lost while it opened a voice; more than all workers, and the voice is unusable."""
        self._counts["lost"] += 1
        self._lost[key] += 1
        if self._lost[key] > self._workers:
            del self._lost[key]
            self._shelf.spoil(key, "workers were lost whenever they opened this voice: export it again")
            self._report()

    async def _hear(self, link: Link, message: Message, sound: bytes) -> None:
        match message["is"]:
            case "piece" | "plan" | "end" | "error":
                if message["is"] != "piece":
                    link.holds.pop(message["number"], None)
                if (saying := self._sayings.get(message["number"])) is not None:
                    self._answer(saying, self._understood(saying, message, sound))
            case "left":
                link.holds.pop(message["number"], None)
            case "ran":
                self._counts.update(runs=1, parts=message["parts"])
            case "opening":
                link.opening = message["key"]
            case "opened":
                link.opening = ""
                link.loaded.add(message["key"])
                self._lost.pop(message["key"], None)
            case "closed":
                link.loaded.discard(message["key"])
                link.opening = ""
            case "damaged":
                link.opening = ""
                self._shelf.spoil(message["key"], message["why"])
                self._report()
            case "ready":
                link.ready = True
                await self._notify()
            case "pong":
                await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _understood(self, saying: Saying, message: Message, sound: bytes) -> Answer:
        if message["is"] == "end":
            return None
        if message["is"] == "error":
            return _failure(message, saying.ask)
        if message["is"] == "plan":
            return from_row(message["melody"], Melody)
        self._counts["pieces"] += 1
        self._seconds += len(sound) / 2 / message["rate"]
        told = {name: value for name, value in message.items() if name not in ("is", "number")}
        told["words"] = tuple(map(tuple, told["words"]))
        return SoundPiece(samples=sound, **{**told, "read": Read(**told["read"]) if told["read"] else None})

    def _answer(self, saying: Saying, answer: Answer) -> None:
        saying.heard = True
        saying.made = saying.made or not isinstance(answer, SoundPiece)
        saying.answers.put_nowait(answer)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await self.look()
            except Exception as bad:  # of a disk, say: it is looked at again
                _event("voices cannot be looked at", level=logging.ERROR, kind=type(bad).__name__)


def _empty_folder() -> str | None:
    """An empty folder for workers to work in, so that a package reaches no file by its name."""
    try:
        return tempfile.mkdtemp(prefix="olu-worker-")
    except OSError:
        _event("no empty folder for the workers", level=logging.WARNING, where=str(Path.cwd()))
        return None


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _failure(message: Message, ask: SpeechJob) -> Exception:
    kind, why = message["kind"], message["why"]
    if kind == TooLong.__name__:
        return TooLong(ask.seconds)
    if kind == TooManyTokens.__name__:
        return TooManyTokens(ask.tokens)
    ended = {Stuck: "voice came to no end and was ended", NoRoom: "voice needs more memory than there is"}
    if found := next((one for one in ended if one.__name__ == kind), None):
        _event(ended[found], level=logging.ERROR, voice=ask.voice)
        return found(ask.voice)
    if not kind:
        _event("failure in a worker", level=logging.ERROR, kind=why, where=message["where"])
        return RuntimeError(f"{why} in a worker")
    return {"TextError": TextError, "VoiceError": VoiceError}.get(kind, OluError)(why)


def _event(event: str, *, level: int, **facts: Any) -> None:
    log.log(level, event, extra={"facts": facts})
