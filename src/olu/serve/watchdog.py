"""Notices workers that hang: first what they run is ended, and where that does not help, they are."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from olu.serve.link import Link

TICKS = 6  # looks within the silence that a worker may keep
WARN = 3  # after so many its run is ended


class Tell(Protocol):
    def __call__(self, event: str, *, level: int, **facts: object) -> None: ...


async def watchdog(links: Callable[[], Sequence[Link]], *, silence: float, start: float, tell: Tell) -> None:
    """`silence`: seconds without a word; `start`: the same for a worker that has not said its first one.

    Looks are counted and not seconds: a front that was itself held up blames nobody.
    """
    while True:
        await asyncio.sleep(silence / TICKS)
        for link in list(links()):
            if link.heard is None and time.monotonic() - link.born < start:
                continue
            facts = {
                "pid": link.pid,
                "seconds": round(link.unanswered * silence / TICKS, 1),
                "requests": len(link.holds),
            }
            if link.unanswered == WARN:
                tell("worker is silent", level=logging.WARNING, **facts)
                link.send({"do": "halt"})
            if link.unanswered >= TICKS and not link.silent:
                tell("worker is killed: it stayed silent", level=logging.ERROR, **facts)
                link.kill()
            link.unanswered += 1
            link.send({"do": "ping"})
