"""The processes that speak: their start, the messages to and from them, their memory, and who notices that one hangs.

A worker is `python -m olu.serve.process`; its standard input is a socket to the front, with which it ends. A message is
a JSON object and, where there is sound, its bytes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from olu.serve.protocol import Message

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

HEAD = struct.Struct(">II")  # bytes of the object, bytes of sound
KEY_VARIABLE = "OLU_API_KEY"  # not for workers
COMMAND = ("-P", "-m", "olu.serve.process")
READ_AHEAD = 2**20  # bytes
LAST_SECONDS = 5.0  # for a worker to end by itself
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}  # each holds back 64 MB of what a worker may take, used or not
LEFT_TO_THE_FRONT = ("SIGINT", "SIGTERM", "SIGHUP")  # it decides when it is over, after it has finished
TICKS = 6  # looks within the silence that a worker may keep
WARN = 3  # after so many its run is ended
MEMORY_SHARE = 0.75  # of the machine's, for all workers together
LEAST_MEMORY = 1 << 30  # bytes a worker may take, however small the machine's share is
GROUPS = Path("/sys/fs/cgroup")


# ---------------------------------------------------------------- messages


def pack(message: Message, sound: bytes = b"") -> bytes:
    words = json.dumps(message).encode("ascii")
    return HEAD.pack(len(words), len(sound)) + words + sound


def read(pipe: BinaryIO) -> Message | None:
    """The next message that comes without sound; none when the other side has ended."""
    try:
        head = pipe.read(HEAD.size)
        if len(head) < HEAD.size:
            return None
        size, _ = HEAD.unpack(head)
        words = pipe.read(size)
    except OSError:
        return None
    found: Message | None = json.loads(words) if len(words) == size else None
    return found


async def receive(stream: asyncio.StreamReader) -> tuple[Message, bytes] | None:
    """The next message and its sound; none when the other side has ended, in the middle of one or not."""
    try:
        size, sound = HEAD.unpack(await stream.readexactly(HEAD.size))
        return json.loads(await stream.readexactly(size)), await stream.readexactly(sound)
    except (asyncio.IncompleteReadError, OSError):
        return None


# ---------------------------------------------------------------- as the front sees one


class Link:
    """One process; when it is gone, its messages end, and another link has to be made."""

    def __init__(
        self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process, self._reader, self._writer = process, reader, writer
        self.pid = process.pid
        self.born = time.monotonic()
        self.ready = False
        self.heard: float | None = None  # when it said something last
        self.unanswered = 0  # looks of the watchdog since then
        self.silent = False  # killed for it
        self.opening = ""  # the key of the voice it is opening now
        self.loaded: set[str] = set()
        self.holds: dict[int, int] = {}  # characters of each request it has not let go of yet

    @property
    def load(self) -> int:
        return sum(self.holds.values())

    @staticmethod
    async def start(
        *, batch: int, loaded: int, memory: int = 0, folder: str | None = None, lexicon: str | None = None
    ) -> Link:
        """`memory`: bytes it may take, 0 for as many as there are; `folder`: where it works, an empty one."""
        ours, theirs = socket.socketpair()
        command = [sys.executable, *COMMAND, str(batch), str(loaded), str(memory), *([lexicon] if lexicon else [])]
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


class Tell(Protocol):
    def __call__(self, event: str, *, level: int, **facts: object) -> None: ...


async def watchdog(links: Callable[[], Sequence[Link]], *, silence: float, start: float, tell: Tell) -> None:
    """Notices workers that hang: first what they run is ended, and where that does not help, they are.

    `silence`: seconds without a word; `start`: the same for a worker that has not said its first one. Looks are counted
    and not seconds: a front that was itself held up blames nobody.
    """
    while True:
        await asyncio.sleep(silence / TICKS)
        for link in list(links()):
            if link.heard is None and time.monotonic() - link.born < start:
                continue
            silent = round(link.unanswered * silence / TICKS, 1)
            facts = {"pid": link.pid, "seconds": silent, "requests": len(link.holds)}
            if link.unanswered == WARN:
                tell("worker is silent", level=logging.WARNING, **facts)
                link.send({"do": "halt"})
            if link.unanswered >= TICKS and not link.silent:
                tell("worker is killed: it stayed silent", level=logging.ERROR, **facts)
                link.kill()
            link.unanswered += 1
            link.send({"do": "ping"})


# ---------------------------------------------------------------- memory, so that one voice cannot take the machine's


def memory_share(workers: int) -> int:
    """Bytes for each worker; 0 where it is not known how much there is, or nothing can hold a process to it."""
    there = machine_memory()
    return max(LEAST_MEMORY, int(there * MEMORY_SHARE) // workers) if there and _can_hold() else 0


def machine_memory() -> int:
    """Bytes that this process could have: the machine's, or what a container or a service is given of them."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    return min([found, *_given()])


def _given() -> list[int]:
    """What the control groups of this process allow, the outer ones too."""
    try:
        own = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip().lstrip("/")
    except OSError:
        return []
    folder, found = GROUPS / own, list[int]()
    while folder.is_relative_to(GROUPS):
        try:
            told = (folder / "memory.max").read_text().strip()
        except OSError:
            told = "max"
        found += [int(told)] if told.isdecimal() and int(told) > 0 else []
        folder = folder.parent
    return found


def hold_memory(most: int) -> bool:
    """Hold this process to so many bytes more than it has now: what goes over is refused to whoever asks for it."""
    if not most or not _can_hold():
        return False
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = taken + most if hard == resource.RLIM_INFINITY else min(taken + most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    return True


def _can_hold() -> bool:
    return resource is not None and Path("/proc/self/statm").is_file()


# ---------------------------------------------------------------- the process itself


def main(batch: int, loaded: int, most: int, lexicon: str | None = None) -> None:
    from olu.serve.worker import Worker  # the front, which starts this, has no use for it

    for name in LEFT_TO_THE_FRONT:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    front = socket.socket(fileno=0)
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def send(message: Message, sound: bytes = b"", /) -> None:
        try:
            front.sendall(pack(message, sound))
        except OSError:
            os._exit(0)

    worker = Worker(send, batch=batch, loaded=loaded, lexicon=lexicon)

    def listen(pipe: BinaryIO) -> None:
        while (message := read(pipe)) is not None:
            worker.overhear(message)
            inbox.put(message)
        os._exit(0)  # in the middle of whatever it does: nobody is there to hear it

    threading.Thread(target=listen, args=(front.makefile("rb"),), daemon=True).start()
    hold_memory(most)
    while True:
        while not worker.busy or not inbox.empty():
            worker.hear(inbox.get())
        worker.step()


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]), int(given[1]), int(given[2]), next(iter(given[3:]), None))
