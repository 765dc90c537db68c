"""A request to end: a signal, or a file. What is being made ends at its next safe place, and is kept.

While `heeded` is open, Ctrl-C, SIGTERM, SIGHUP and SIGBREAK are only noted, and whoever works asks between two steps. A
second Ctrl-C ends at once, as it would have without this.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # Windows has the last and not the one before it
NAMES = tuple(name for name in SIGNALS if hasattr(signal, name))
STOP_FILE = 100  # beyond every signal
TWICE = 0.3  # seconds: a wrapper may pass on the Ctrl-C that came here too
WORDS = {
    "SIGINT": "by Ctrl-C",
    "SIGTERM": "by SIGTERM",
    "SIGHUP": "because its terminal was closed",
    "SIGBREAK": "by Ctrl-Break",
}

_listeners: list[Callable[[str], None]] = []


class Halt(BaseException):
    """Ends the whole verb. Not an Exception: no stage may take it for a failure that it can pass over."""

    def __init__(self, message: str, *, asked: int) -> None:
        super().__init__(message)
        self.code = 0 if asked == STOP_FILE else 128 + asked


def announce_to(tell: Callable[[str], None]) -> None:
    """From now on `tell` says to a person that a request was heard, from within a signal handler."""
    _listeners[:] = [tell]


def why(asked: int) -> str:
    return "by the file 'stop'" if asked == STOP_FILE else WORDS[signal.Signals(asked).name]


class Request:
    """Called, it says what was asked for since: 0 nothing, else a signal's number or STOP_FILE."""

    def __init__(self, file: Path | None, *, wait: bool) -> None:
        self.file, self.wait, self.signal, self.at = file, wait, 0, 0.0

    def __call__(self) -> int:
        return self.signal or (STOP_FILE if self.file is not None and self.file.exists() else 0)

    def note(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self.signal and number == signal.SIGINT and not self.wait and now - self.at > TWICE:
            raise KeyboardInterrupt
        if not self.signal:
            self.signal, self.at = number, now
            for tell in _listeners:
                tell("stopping after the step in hand; Ctrl-C again ends at once")


@contextmanager
def heeded(file: Path | None = None, *, wait: bool = False) -> Iterator[Request]:
    """Notes signals, or that `file` appears, as a request to end. `wait`: a second Ctrl-C ends nothing either."""
    request = Request(file, wait=wait)
    if threading.current_thread() is not threading.main_thread():  # only there can signals be heard
        yield request
        return
    numbers = [getattr(signal, name) for name in NAMES]
    before = {number: signal.getsignal(number) for number in numbers}
    heard = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}  # nohup ignores one
    for number in heard:
        signal.signal(number, request.note)
    try:
        yield request
    finally:
        for number, old in heard.items():
            signal.signal(number, old)
