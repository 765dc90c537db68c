"""Server-sent events: what files say, as they grow. The id of an event holds byte offsets, so a page that comes back
misses nothing and is told nothing twice."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from olu.core.parse import BadData, from_json

PAUSE = 0.5  # seconds between two looks, of all pages together
BEAT = 15.0  # seconds after which a silent line says that it lives
MOST = 512 * 1024  # bytes of a file that are read at a time


@dataclass
class Tail:
    """The lines of a file that grows, from an offset on; another file in its place begins anew."""

    path: Path
    offset: int = 0
    inode: int = 0

    @staticmethod
    def at(path: Path, place: str) -> Tail:
        """Behind a `place` of before; from the beginning where there is none, or nonsense."""
        offset, _, inode = place.partition(".")
        known = all(part.isascii() and part.isdecimal() and len(part) < 20 for part in (offset, inode))
        return Tail(path, int(offset), int(inode)) if known else Tail(path)

    @property
    def place(self) -> str:
        return f"{self.offset}.{self.inode}"

    def rows(self) -> tuple[list[dict[str, Any]], bool]:
        """New whole lines as JSON, and whether the file was replaced or cut since."""
        try:
            with self.path.open("rb") as file:
                held = os.fstat(file.fileno())
                reset = (self.inode not in (0, held.st_ino)) or held.st_size < self.offset
                self.inode = held.st_ino
                self.offset = 0 if reset else self.offset
                file.seek(self.offset)
                data = file.read(MOST)
        except OSError:
            return [], False
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        rows = []
        for line in whole.splitlines():
            try:
                row = from_json(line)
            except BadData:
                continue
            if isinstance(row, dict):
                rows.append(row)
        return rows, reset


@dataclass(frozen=True)
class News:
    """What is new to a page that stood at a place and had seen something; and where it stands afterwards."""

    events: Sequence[tuple[str, Any]] = ()
    place: str = ""  # how far files were read: stands in the ids of events, so that a page may come back to it
    seen: str = ""  # a digest of what is told as a whole when it has changed


Look = Callable[[str, str], News]  # of a place and what was seen; the same for the same, so pages share its answer


@dataclass(frozen=True)
class Watch:
    """One thing that pages watch."""

    name: str  # "job:17"
    look: Look
    ws: str = ""


@dataclass(frozen=True)
class PackedNews:
    events: tuple[bytes, ...]  # as they are sent, but for the id
    place: str
    seen: str


class Pulse:
    """One beat for all pages. Within a beat, what pages at the same place are to be told is read and packed once."""

    def __init__(self) -> None:
        self.over = False  # the studio ends: pages are told nothing more, else it would wait for them
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: asyncio.Event | None = None
        self._made: dict[tuple[str, ...], asyncio.Task[PackedNews]] = {}

    def _here(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # of another server in the same process
            self._loop, self._next, self._made = loop, None, {}
        return loop

    async def beat(self) -> None:
        """Wait for the next beat, which comes to all at once."""
        loop = self._here()
        if self._next is None:
            self._next = asyncio.Event()
            loop.call_later(PAUSE, self._strike)
        await self._next.wait()

    def _strike(self) -> None:
        self._made = {}
        if self._next is not None:
            self._next.set()
            self._next = None

    async def told(self, watch: Watch, place: str, seen: str) -> PackedNews:
        loop, key = self._here(), (watch.ws, watch.name, place, seen)
        task = self._made.get(key)
        if task is None:
            task = self._made[key] = loop.create_task(asyncio.to_thread(_pack, watch, place, seen))
        return await asyncio.shield(task)  # a page that leaves takes nothing from the others


def _pack(watch: Watch, place: str, seen: str) -> PackedNews:
    told = watch.look(place, seen)
    texts = (
        f"event: {event}\ndata: {json.dumps({'watch': watch.name, 'data': data}, ensure_ascii=False)}\n\n"
        for event, data in told.events
    )
    return PackedNews(tuple(text.encode("utf-8", "backslashreplace") for text in texts), told.place, told.seen)


async def stream(pulse: Pulse, watches: Sequence[Watch], after: str) -> AsyncIterator[bytes]:
    """What a page is sent as long as it stays; `after`: the id of the last event that it has seen."""
    held = dict(part.rpartition("=")[::2] for part in after.split(","))
    stands = {watch.name: (held.get(watch.name, ""), "") for watch in watches}
    silent = 0.0
    yield b"retry: 1000\n\n"
    while not pulse.over:
        sent = b""
        for watch in watches:
            told = await pulse.told(watch, *stands[watch.name])
            stands[watch.name] = told.place, told.seen
            if told.events:
                here = ",".join(f"{name}={place}" for name, (place, _) in stands.items() if place)
                sent += b"".join(told.events[:-1]) + f"id: {here}\n".encode() + told.events[-1]
        silent = 0.0 if sent else silent + PAUSE
        if sent:
            yield sent
        elif silent >= BEAT:
            silent = 0.0
            yield b": alive\n\n"
        await pulse.beat()


def digest(value: Any) -> str:
    """Short and the same for the same: what a page has seen."""
    return sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "backslashreplace")).hexdigest()[:16]
