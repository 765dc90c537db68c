"""One command at a time changes the corpus of a workspace: what two of them read and wrote would lose one's work."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olu.errors import WorkspaceError
from olu.files import Workspace, lock

PATIENCE = 10.0  # seconds that a command waits for another
AFTER_WORK = 900.0  # seconds that one waits which has its work done and only to write it
PAUSE = 0.05

_thread = threading.local()


@contextmanager
def writing(ws: Workspace, *, patience: float | None = None) -> Iterator[None]:
    """Hold the claim to read and write `corpus/`; the system lets go of it when the process dies.

    Within one thread it may be held several times over, for stages call each other. Where the system knows no
    claims, or the workspace cannot be opened, everybody goes on: writing then says what is wrong.
    """
    held: dict[Path, int] = _thread.__dict__.setdefault("held", {})
    root = ws.root.resolve()
    handle = None if root in held else _claim(ws, PATIENCE if patience is None else patience)
    held[root] = held.get(root, 0) + 1
    try:
        yield
    finally:
        held[root] -= 1
        if not held[root]:
            del held[root]
        if handle is not None:
            os.close(handle)


def _claim(ws: Workspace, patience: float) -> int | None:
    """An open handle that holds the claim. The folder itself is claimed, so that nothing has to be written for it."""
    try:
        handle = os.open(ws.root, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return None
    end = time.monotonic() + patience
    while (got := lock(handle)) is False and time.monotonic() < end:
        time.sleep(PAUSE)
    if got:
        return handle
    os.close(handle)
    if got is False:
        raise WorkspaceError(
            f"{ws.root} is being changed by another olu command: wait until it is done, then run this one again"
        )
    return None
