"""What was asked and how it went: JSON lines, without texts unless wished for, and numbers for Prometheus."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO
from uuid import uuid4

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

NAME = "olu.serve"
CLIENT_LEFT = 499  # nobody is there to see it: for the log and the numbers
# What steers a terminal or ends a line for some readers; JSON leaves it as it is.
UNSEEN = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
UNSAID_WORDS = (  # of uvicorn: of a sound that we broke off, and of upgrades, which are answered as if nobody had asked
    "ASGI callable returned without completing response.",
    "Unsupported upgrade request.",
    "No supported WebSocket library detected.",
)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = ("GET", "POST", "HEAD", "OPTIONS")
WHOLE = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
FIRST = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass
class Trace:
    """One request on its way."""

    client: str
    method: str
    path: str
    request: str = field(default_factory=lambda: uuid4().hex)
    started: float = field(default_factory=time.perf_counter)
    status: int = 0
    bytes: int = 0
    code: str = ""  # of the error, where there was one
    voice: str = ""
    format: str = ""
    characters: int = 0
    text: str = ""  # shown only where wished for
    first: float | None = None  # seconds to the first byte of sound
    spoken: float = 0.0  # seconds of sound
    unsaid: int = 0  # letters that the voice does not have
    left: bool = False  # the client went away
    broken: bool = False  # the sound ended too early

    def row(self, *, texts: bool) -> dict[str, Any]:
        row: dict[str, Any] = {
            "request": self.request,
            "client": self.client,
            "method": self.method[:20],
            "path": self.path[:200],
            "status": CLIENT_LEFT if self.left else self.status,
            "seconds": round(self.seconds, 4),
            "bytes": self.bytes,
        }
        if self.characters:
            row |= {"voice": self.voice, "format": self.format, "characters": self.characters}
            row |= {"first_byte": None if self.first is None else round(self.first, 4), "spoken": round(self.spoken, 3)}
        row |= {"unsaid": self.unsaid} if self.unsaid else {}
        row |= {"code": self.code} if self.code else {}
        row |= {"broken": True} if self.broken else {}
        return row | ({"text": self.text} if texts and self.text else {})

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started


class Log:
    """Events with their facts. A failure of ours is told by its place: its words may hold a text."""

    def __init__(self, *, texts: bool) -> None:
        self.texts = texts
        self._logger = logging.getLogger(NAME)

    def event(self, event: str, *, level: int = logging.INFO, **facts: Any) -> None:
        self._logger.log(level, event, extra={"facts": facts})

    def done(self, trace: Trace) -> None:
        bad = trace.status >= 500 or trace.broken
        self.event("request", level=logging.ERROR if bad else logging.INFO, **trace.row(texts=self.texts))

    def failed(self, wrong: BaseException, *, request: str) -> None:
        words = {"message": str(wrong)} if self.texts else {}
        frames = traceback.extract_tb(wrong.__traceback__)
        where = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
        kind = type(wrong).__name__
        self.event("failure", level=logging.ERROR, request=request, kind=kind, where=where, **words)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = getattr(record, "facts", {})
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        row = {"time": at, "level": record.levelname.lower(), "event": record.getMessage(), **facts}
        if record.exc_info and record.exc_info[1] is not None:
            row["kind"] = type(record.exc_info[1]).__name__
        line = json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace").decode()
        return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def _worth_saying(record: logging.LogRecord) -> bool:
    """Whether to log a line of uvicorn's: not of sounds we broke off, nor of upgrades."""
    cancelled = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not record.getMessage().startswith(UNSAID_WORDS) and not cancelled


def to_stream(stream: TextIO | None = None) -> None:
    """Everything the server has to say, its own and uvicorn's warnings, as lines on stderr."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_worth_saying)
    for name, level in ((NAME, logging.INFO), ("uvicorn.error", logging.WARNING), ("asyncio", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class Metrics:
    """Labels come from closed sets, so that no client can make them many."""

    def __init__(self, state: Callable[[], dict[str, float]]) -> None:
        self._registry = held = CollectorRegistry()
        self._requests = Counter("olu_requests", "Requests", ["method", "path", "status"], registry=held)
        self._errors = Counter("olu_errors", "Refused or failed requests by code", ["code"], registry=held)
        self._whole = Histogram("olu_request_seconds", "Whole requests", ["path"], buckets=WHOLE, registry=held)
        self._first = Histogram("olu_first_byte_seconds", "To the first byte of sound", buckets=FIRST, registry=held)
        self._spoken = Counter("olu_spoken_seconds", "Sound given out", ["format"], registry=held)
        self._characters = Counter("olu_characters", "Characters asked for", registry=held)
        self._left = Counter("olu_clients_left", "Clients that went away early", registry=held)
        self._broken = Counter("olu_broken_sounds", "Sounds that ended too early", registry=held)
        held.register(Pooled(state))
        ProcessCollector(registry=held)
        self.requests, self.seconds = 0, 0.0

    def done(self, trace: Trace, *, path: str) -> None:
        method = trace.method if trace.method in METHODS else "other"
        status = CLIENT_LEFT if trace.left else trace.status
        self._requests.labels(method, path, str(status)).inc()
        self._whole.labels(path).observe(trace.seconds)
        if trace.code:
            self._errors.labels(trace.code).inc()
        if trace.first is not None:
            self._first.observe(trace.first)
        if trace.spoken:
            self._spoken.labels(trace.format).inc(trace.spoken)
        self._characters.inc(trace.characters)
        self._left.inc(trace.left)
        self._broken.inc(trace.broken)
        self.requests += 1
        self.seconds += trace.spoken

    def page(self) -> bytes:
        return generate_latest(self._registry)


class Pooled(Collector):
    """What the pool says of itself at the moment of asking."""

    def __init__(self, state: Callable[[], dict[str, float]]) -> None:
        self._state = state

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, value in sorted(self._state().items()):
            yield GaugeMetricFamily(f"olu_pool_{name}", f"The pool's {name.replace('_', ' ')}", value=value)
