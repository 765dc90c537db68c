"""Long work as a generator: it yields events while it runs and returns its summary; who runs it decides what to show.

A job can be left between two events (`close`): what it has finished by then is kept, nothing half-written stays.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from olu.core.words import json_safe

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Tick:
    """How far a job is: `done` of `total` (0: not known), and what it is at."""

    done: int
    total: int
    what: str = ""

    def row(self) -> dict[str, Any]:
        return {"event": "tick", "done": self.done, "total": self.total, "what": self.what}


@dataclass(frozen=True)
class Note:
    """A sentence for the person watching."""

    text: str

    def row(self) -> dict[str, Any]:
        return {"event": "note", "text": self.text}


@dataclass(frozen=True, kw_only=True)
class Report:
    """One step of a training. `step` counts finished steps; `tried` is the one this was, finished or not."""

    step: int
    tried: int
    rewinds: int  # before it
    steps: int
    epoch: int
    clips: int
    scores: Mapping[str, float] = field(default_factory=dict)  # of the validation after it, where there was one
    seconds: float = 0.0
    waited: float = 0.0  # of these seconds, for the batch
    memory: int = 0  # bytes of the device at most, where it can tell

    def parts(self) -> dict[str, dict[str, Any]]:
        """Of each part that was updated: losses, grad_norm, lr, and where it was measured the ratio of the update."""
        return {}

    def said(self) -> list[tuple[str, str]]:
        """Each guard that spoke, and its sentence."""
        return []

    def row(self) -> dict[str, Any]:
        return {
            "event": "report",
            "step": self.step,
            "steps": self.steps,
            "tried": self.tried,
            "rewinds": self.rewinds,
            "epoch": self.epoch,
            "clips": self.clips,
            "seconds": round(self.seconds, 4),
            "waited": round(self.waited, 4),
            "memory": self.memory,
            "parts": self.parts(),
            "scores": dict(self.scores),
            "guards": [{"guard": guard, "message": message} for guard, message in self.said()],
        }


Event = Tick | Note | Report
Job = Generator[Event, None, Result]


def finish(job: Job[Result]) -> Result:
    """Run a job to its end without looking at its events."""
    while True:
        try:
            next(job)
        except StopIteration as end:
            result: Result = end.value
            return result


def phase(name: str, job: Job[Result]) -> Job[Result]:
    """A job inside another one: its ticks say which it is."""
    while True:
        try:
            event = next(job)
        except StopIteration as end:
            result: Result = end.value
            return result
        if isinstance(event, Tick):
            event = Tick(event.done, event.total, f"{name}: {event.what}" if event.what else name)
        yield event


class EventLog:
    """The events of one command as JSON lines in a file that is made anew: docs/events.md has the schema.

    Each line is one write of the system, so that who reads along, or after a kill, finds whole lines.
    """

    def __init__(self, path: Path, *, verb: str, options: Mapping[str, Any], version: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        self._began = time.monotonic()
        self.result: Any = None  # the summary of what ran last
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._write({"event": "begin", "verb": verb, "options": options, "version": version, "started": now})

    def add(self, event: Event) -> None:
        self._write({**event.row(), "at": self._seconds()})

    def end(self, *, code: int, error: str = "") -> None:
        """The last line: the summary, what went wrong, or both."""
        told: dict[str, Any] = {"error": error} if error else {}
        told |= {"result": self.result} if not error or self.result is not None else {}
        self._write({"event": "end", "code": code, **told, "at": self._seconds()})
        os.close(self._file)

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _write(self, row: Mapping[str, Any]) -> None:
        line = json_safe(json.dumps(plain(row), ensure_ascii=False, allow_nan=False)) + "\n"
        left = line.encode("utf-8", "backslashreplace")
        with suppress(BrokenPipeError):  # whoever read along has gone: the work goes on
            while left:
                left = left[os.write(self._file, left) :]


def plain(value: Any) -> Any:
    """What JSON can hold of a value. It has no word for what is not a number: that is written as text, to be seen."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Enum):
        return value.name
    return value if value is None or isinstance(value, str | int) else str(value)
