"""A server of the real kind on a port of its own, with a pool that makes tones instead of speech."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from olu.core.errors import TextError, VoiceError
from olu.core.types import Knob
from olu.serve.app import Site, build
from olu.serve.logs import NAME
from olu.serve.protocol import Busy, Gone, Late, NoRoom, Read, SoundPiece, SpeechJob, Stuck, TooLong, VoiceInfo
from olu.serve.server import server
from olu.serve.settings import ServeSettings
from olu.speak.voice import TooManyTokens
from olu.text.refused import RefusedWords
from olu.web.sockets import address, listen

logging.getLogger(NAME).setLevel(logging.CRITICAL)  # else every request is kept as a record of its test
RATE = 22_050
PIECE_SECONDS = 0.25
SENTENCE_SECONDS = 1.0
UNSAID = "ŋ漢😀\x7f"  # letters it does not have


KNOBS = (Knob("noise", 0.6, 0.0, 2.0, "how much the sound varies"), Knob("duration_noise", 0.8, 0.0, 2.0))


@dataclass
class Tones:
    """Every sentence is a second of 440 Hz. Some texts bring trouble, as their words say."""

    slow: float = 0.0  # seconds a piece takes
    queue: int = 64
    voices: list[VoiceInfo] = field(
        default_factory=lambda: [
            VoiceInfo("ada", "ibo", RATE, ("ada", "obi"), 1000, True, knobs=KNOBS),
            VoiceInfo("broken", "swa", RATE, ("one",), 1000, False, "it is damaged"),
        ]
    )
    asked: list[SpeechJob] = field(default_factory=list)
    open: int = 0
    well: bool = True  # a worker answers
    closed_early: int = 0
    looks: int = 0
    stopped: bool = False
    grace: float = -1.0  # at the end
    on_look: list[VoiceInfo] = field(default_factory=list)  # appear at the next look

    async def start(self) -> None: ...

    async def stop(self, *, grace: float) -> None:
        self.stopped, self.grace = True, grace

    async def look(self) -> None:
        self.looks += 1
        self.voices += self.on_look
        self.on_look.clear()

    async def alive(self) -> bool:
        return self.well

    def shown(self) -> list[VoiceInfo]:
        return self.voices

    def state(self) -> dict[str, float]:
        return {"workers": 2, "open": self.open, "waiting": 0, "restarts": 0}

    async def speak(self, ask: SpeechJob) -> AsyncIterator[SoundPiece]:
        self.asked.append(ask)
        if self.open >= self.queue:
            raise Busy(3.0)
        self.open += 1
        try:
            async for piece in self._pieces(ask):
                yield piece
        except (GeneratorExit, asyncio.CancelledError):
            self.closed_early += 1
            raise
        finally:
            self.open -= 1

    async def _pieces(self, ask: SpeechJob) -> AsyncIterator[SoundPiece]:
        for word, wrong in TROUBLE.items():
            if ask.text == word:
                raise wrong()
        rate, at = ask.manner.rate or RATE, 0.0
        letters = {letter: ask.text.count(letter) for letter in UNSAID if letter in ask.text}
        read: Read | None = Read(2 * len(ask.text) + 1, letters)
        length = SENTENCE_SECONDS / ask.manner.speed
        for number, sentence in enumerate(s for s in ask.text.split(".") if s.strip()):
            count = math.ceil(length / PIECE_SECONDS)
            for turn in range(count):
                await asyncio.sleep(max(self.slow, 0.02 if ask.text.startswith("slow") else 0))
                if at >= ask.seconds:
                    raise TooLong(ask.seconds)
                if ask.text.startswith("late") and turn == 2:
                    raise TROUBLE[ask.text.split()[1]]()
                size = min(PIECE_SECONDS, length - turn * PIECE_SECONDS)
                words = tuple((word, number * length, (number + 1) * length) for word in sentence.split())
                yield SoundPiece(
                    samples=tone(at, size, rate),
                    rate=rate,
                    sentence=number,
                    text=sentence,
                    begins=number * length,
                    ends=(number + 1) * length,
                    words=words if turn == 0 else (),
                    last=turn == count - 1,
                    unsaid={letter: sentence.count(letter) for letter in letters if turn == 0 and letter in sentence},
                    read=read,
                )
                at, read = at + size, None


TROUBLE = {
    "gone": lambda: Gone(),
    "busy": lambda: Busy(7.0),
    "ending": lambda: Busy(1.0, ending=True),
    "tokens": lambda: TooManyTokens(20_000),
    "late": lambda: Late(900),
    "stuck": lambda: Stuck(),
    "hungry": lambda: NoRoom(),
    "unsayable": lambda: TextError("nothing in the text can be said by the voice ada: check text and language"),
    "unloadable": lambda: VoiceError("/secret/place/ada.voice is damaged: export it again"),
    "bug": lambda: KeyError("a text nobody may see"),
}


def tone(start: float, seconds: float, rate: int) -> bytes:
    times = start + np.arange(round(seconds * rate)) / rate
    return (8000 * np.sin(2 * np.pi * 440 * times)).astype("<i2").tobytes()


@dataclass
class Running:
    pool: Any
    site: Site
    base: str
    server: Any
    thread: threading.Thread
    wyoming: tuple[str, int] = ("", 0)  # where it speaks Wyoming, if it does

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.base.removeprefix("http://").partition(":")
        return host, int(port)

    def connect(self, *, seconds: float = 10.0) -> socket.socket:
        return socket.create_connection(self.place, timeout=seconds)

    def end(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        assert not self.thread.is_alive()


@contextmanager
def running(
    pool: Any = None, *, keys: tuple[bytes, ...] = (), refused: tuple[str, ...] = (), **settings: Any
) -> Iterator[Running]:
    chosen = ServeSettings.model_validate({"port": 0, "grace": 5.0, **settings})
    pool = pool or Tones()
    site = build(pool, settings=chosen, keys=keys, refused=RefusedWords.of(refused))
    held, made = listen(chosen.host, chosen.port), server(site, chosen)
    wyoming = listen(*chosen.wyoming_place) if chosen.wyoming_place else None
    thread = threading.Thread(target=lambda: asyncio.run(made.run_with_pool(held, wyoming=wyoming)), daemon=True)
    base = address(held)
    thread.start()
    until(lambda: made.started)
    here = Running(pool, site, base, made, thread, wyoming.getsockname()[:2] if wyoming else ("", 0))
    try:
        yield here
    finally:
        here.end()


def until(holds: Any, *, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.01)


def exchange(here: Running, data: bytes, *, seconds: float = 10.0) -> bytes:
    """Raw bytes out, everything that comes back until the other side closes."""
    with here.connect(seconds=seconds) as line:
        line.sendall(data)
        return drained(line)


def drained(line: socket.socket) -> bytes:
    got = b""
    while True:
        try:
            more = line.recv(65_536)
        except ConnectionResetError:
            return got
        if not more:
            return got
        got += more
