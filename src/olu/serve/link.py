"""A worker process as the front sees it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from olu.serve.settings import KEY_VARIABLE
from olu.serve.wire import Message, pack, receive

COMMAND = ("-P", "-m", "olu.serve.process")
READ_AHEAD = 2**20  # bytes
LAST_SECONDS = 5.0  # for a worker to end by itself
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}  # each holds back 64 MB of what a worker may take, used or not


class Link:
    """One process; when it is gone, its messages end, and another link has to be made."""

    def __init__(
        self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process, self._reader, self._writer = process, reader, writer
        self.born = time.monotonic()
        self.ready = False
        self.heard: float | None = None  # when it said something last
        self.unanswered = 0  # looks of the watchdog since then
        self.silent = False  # killed for it
        self.opening = ""  # the key of the voice it is opening now
        self.loaded: set[str] = set()
        self.holds: dict[int, int] = {}  # characters of each request it has not let go of yet

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def load(self) -> int:
        return sum(self.holds.values())

    @staticmethod
    async def start(*, batch: int, loaded: int, memory: int = 0, folder: str | None = None) -> Link:
        """`memory`: bytes it may take, 0 for as many as there are; `folder`: where it works, an empty one."""
        ours, theirs = socket.socketpair()
        command = [sys.executable, *COMMAND, str(batch), str(loaded), str(memory)]
        given: dict[str, Any] = {"stdout": subprocess.DEVNULL, "env": _environment(), "cwd": folder}
        try:
            with theirs:
                process = subprocess.Popen(command, stdin=theirs.fileno(), **given)
        except BaseException:
            ours.close()
            raise
        reader, writer = await asyncio.open_connection(sock=ours, limit=READ_AHEAD)
        return Link(process, reader, writer)

    def send(self, message: Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(pack(message))

    async def messages(self) -> AsyncIterator[tuple[Message, bytes]]:
        while (found := await receive(self._reader)) is not None:
            self.heard, self.unanswered = time.monotonic(), 0
            yield found

    def kill(self) -> None:
        """At once, whatever it does; its messages end with it."""
        self.silent = True
        self._process.kill()

    async def end(self) -> None:
        """Close the line, on which the process ends; kill it where it does not."""
        self._writer.close()
        try:
            await asyncio.to_thread(self._process.wait, LAST_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


def _environment() -> dict[str, str]:
    """Ours without the key; places that Python looks in are named in full, since a worker works in another folder."""
    env = {name: value for name, value in os.environ.items() if name != KEY_VARIABLE} | ONE_THREAD | FEW_ARENAS
    if given := env.get("PYTHONPATH"):
        env["PYTHONPATH"] = os.pathsep.join(str(Path(place).absolute()) for place in given.split(os.pathsep) if place)
    return env
