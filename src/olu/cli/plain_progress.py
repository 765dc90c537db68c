"""How far a stage is where no bar can be drawn: a plain line for each phase, and now and then one in a long phase."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from olu.core.escape import one_line

if TYPE_CHECKING:
    from olu.core.types import Tick

QUIET = 10.0  # seconds: what ends sooner has nothing to tell
EVERY = 30.0  # seconds between lines of one phase
APART = 3.0  # seconds between any two lines: phases may be short
LOOK = 0.5


class PlainProgress:
    """Written by a thread of its own: a stage may work for minutes between two ticks."""

    def __init__(self, label: str, *, began: float | None = None) -> None:
        self.label, self.began = label, time.monotonic() if began is None else began
        self._now: Tick | None = None
        self._said: Tick | None = None
        self._phase, self._said_phase, self._said_at = 0, -1, self.began
        self._ended = threading.Event()
        self._writer = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> PlainProgress:
        self._writer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._writer.join()

    def tick(self, tick: Tick | None) -> None:
        """Where it is; nothing where something else tells it from now on."""
        if tick is not None and self._now is not None and _is_new(self._now, tick):
            self._phase += 1
        self._now = tick

    def due(self, at: float) -> str | None:
        """The line to write now, if there is one."""
        tick, phase = self._now, self._phase
        if tick is not None and tick is self._said and 0 < tick.total <= tick.done:
            return None  # it is over: what goes on now says nothing of itself
        waits = at - self._said_at < (EVERY if phase == self._said_phase else APART)
        if tick is None or at - self.began < QUIET or waits:
            return None
        self._said_phase, self._said_at, self._said = phase, at, tick
        what = ": ".join(part for part in (self.label, one_line(tick.what)) if part)
        count = f"{tick.done} of {tick.total}" if tick.total else ""
        return ", ".join(part for part in (what, count) if part) or None

    def _write(self) -> None:
        while not self._ended.wait(LOOK):
            if line := self.due(time.monotonic()):
                with suppress(OSError):  # the terminal may be closed
                    sys.stderr.write(line + "\n")
                    sys.stderr.flush()


def _is_new(before: Tick, tick: Tick) -> bool:
    """Another count began: it fell, or has another end, and is none whose end is not known and moves with it."""
    moves = tick.total == tick.done == before.done + 1 == before.total + 1
    return tick.done < before.done or (tick.total != before.total and not moves)
