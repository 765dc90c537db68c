"""How a server is asked to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from olu.core.halt import NAMES


@contextmanager
def ended_by_signals(end: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """A signal asks for the end, as with uvicorn; but a server that was asked to end and did so was not killed.

    A terminal that closes asks for the end too, unless that was to be ignored (nohup).
    """
    if threading.current_thread() is not threading.main_thread():  # only there can signals be heard
        yield
        return
    named = [getattr(signal, name) for name in NAMES]
    heard = [number for number in named if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
