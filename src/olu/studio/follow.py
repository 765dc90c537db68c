"""Server-sent events: what files say, as they grow. The id of an event holds byte offsets, so a page that comes back
misses nothing and is told nothing twice."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olu.core.parse import BadData, from_json

PAUSE = 0.4  # seconds between two looks
BEAT = 15.0  # seconds after which a silent line says that it lives
MOST = 512 * 1024  # bytes of a file that are read at a time


@dataclass
class Tail:
    """The lines of a file that grows, from an offset on; another file in its place begins anew."""

    path: Path
    offset: int = 0
    inode: int = 0

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


Look = Callable[[], list[tuple[str, Any]]]  # what is new, as (event, data)


@dataclass
class Watch:
    """One thing that a page watches: `look` says what is new, `tail` remembers how far was read."""

    name: str  # "job:17"
    look: Look
    tail: Tail | None = None


@dataclass
class Stream:
    watches: list[Watch]
    gone: Callable[[], Any]  # whether the page has left
    _last: dict[str, Any] = field(default_factory=dict)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        silent = 0.0
        yield b"retry: 1000\n\n"
        while not await self.gone():
            sent = False
            for watch in self.watches:
                for event, data in await asyncio.to_thread(watch.look):
                    sent = True
                    yield self._event(event, {"watch": watch.name, "data": data})
            silent = 0.0 if sent else silent + PAUSE
            if silent >= BEAT:
                silent = 0.0
                yield b": alive\n\n"
            await asyncio.sleep(PAUSE)

    def _event(self, event: str, data: Any) -> bytes:
        text = json.dumps(data, ensure_ascii=False)
        return f"id: {offsets(self.watches)}\nevent: {event}\ndata: {text}\n\n".encode("utf-8", "backslashreplace")


def offsets(watches: list[Watch]) -> str:
    """Where each file was read to: "job:17=2048.991,run:vits-003=0.0"."""
    return ",".join(f"{one.name}={one.tail.offset}.{one.tail.inode}" for one in watches if one.tail is not None)


def set_offsets(watches: list[Watch], last: str) -> None:
    """Go on behind an event that a page had seen."""
    held = dict(part.rpartition("=")[::2] for part in last.split(","))
    for watch in watches:
        offset, _, inode = held.get(watch.name, "").partition(".")
        if watch.tail is not None and offset.isdecimal() and inode.isdecimal():
            watch.tail.offset, watch.tail.inode = int(offset), int(inode)
