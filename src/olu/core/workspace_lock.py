"""One command at a time changes the corpus of a workspace: what two of them read and wrote would lose one's work.

Decisions and corrections have a lock of their own, held for the moment that one is written down: whoever reviews clips
does not wait for an import of films.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, lock

PATIENCE = 10.0  # seconds that a command waits for another
AFTER_WORK = 900.0  # seconds that one waits which has its work done and only to write it
PAUSE = 0.05
SHORT_PAUSE = 0.002  # where the lock is held for milliseconds

_thread = threading.local()


@contextmanager
def writing(ws: Workspace, *, patience: float | None = None) -> Iterator[None]:
    """Hold the claim to read and write `corpus/`; the system lets go of it when the process dies.

    Within one thread it may be held several times over, for stages call each other. Where the system knows no
    claims, or the workspace cannot be opened, everybody goes on: writing then says what is wrong.
    """
    with _held(ws.root, ws, patience=PATIENCE if patience is None else patience, pause=PAUSE):
        yield


@contextmanager
def appending(ws: Workspace) -> Iterator[None]:
    """Hold the lock of `decisions.jsonl` and `texts.jsonl`: within it no long work is done, nor `writing` begun."""
    ws.corpus.mkdir(parents=True, exist_ok=True)
    with _held(ws.corpus, ws, patience=PATIENCE, pause=SHORT_PAUSE):
        yield


@contextmanager
def _held(folder: Path, ws: Workspace, *, patience: float, pause: float) -> Iterator[None]:
    held: dict[Path, int] = _thread.__dict__.setdefault("held", {})
    place = folder.resolve()
    handle = None if place in held else _claim(folder, ws, patience=patience, pause=pause)
    held[place] = held.get(place, 0) + 1
    try:
        yield
    finally:
        held[place] -= 1
        if not held[place]:
            del held[place]
        if handle is not None:
            os.close(handle)


def _claim(folder: Path, ws: Workspace, *, patience: float, pause: float) -> int | None:
    """An open handle that holds the claim. The folder itself is claimed, so that nothing has to be written for it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return None
    end = time.monotonic() + patience
    while (got := lock(handle)) is False and time.monotonic() < end:
        time.sleep(pause)
    if got:
        return handle
    os.close(handle)
    if got is False:
        raise WorkspaceError(
            f"{ws.root} is being changed by another olu command: wait until it is done, then run this one again"
        )
    return None
