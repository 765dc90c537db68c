"""Lock files: one command at a time changes the corpus of a workspace, for two at once would lose one's work.

Decisions and corrections have a lock of their own, held for the moment that one is written down: whoever reviews clips
does not wait for an import of films. The system lets go of a lock when its process dies, on Windows too.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace
from olu.core.parse import BadData, from_json

PATIENCE = 10.0  # seconds that a command waits for another
AFTER_WORK = 900.0  # seconds that one waits which has its work done and only to write it
PAUSE = 0.05
SHORT_PAUSE = 0.002  # where the lock is held for milliseconds
LOCK = ".lock"  # in a folder that is locked: who holds it

_thread = threading.local()


class LockHeld(Exception):
    """Another process holds the lock; the text says which one, where that is known."""


def try_lock(handle: int) -> bool | None:
    """Lock an open file until it is closed or the process dies. False: another has it. None: this disk has no locks."""
    from filelock import lock_descriptor

    try:
        return lock_descriptor(handle, blocking=False)
    except OSError:
        return None


@contextmanager
def locked(path: Path, *, patience: float = 0.0, pause: float = PAUSE) -> Iterator[None]:
    """Hold the lock of a folder, or of a lock file, or raise LockHeld after so many seconds.

    Where there are no locks, or it cannot be opened, everybody goes on: writing then says what is wrong.
    """
    place, note = _place(path), _note(path)
    try:
        handle = os.open(place, os.O_RDONLY if place.is_dir() else os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + patience
        while (got := try_lock(handle)) is False and time.monotonic() < end:
            time.sleep(pause)
        if got is False:
            raise LockHeld(_holder(note))
        about = {"pid": os.getpid(), "host": socket.gethostname(), "command": _command()}
        data = f" {json.dumps(about)}\n".encode()  # Windows lets others read all but the first byte of a locked file
        with suppress(OSError):  # a full disk, or one that can only be read
            if place == note:
                os.ftruncate(handle, os.write(handle, data))
            else:
                note.write_bytes(data)
        try:
            yield
        finally:
            if place != note:
                with suppress(OSError):
                    note.unlink()
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether a process holds this lock now; where there are no locks it cannot be told."""
    try:
        handle = os.open(_place(path), os.O_RDONLY)
    except OSError:
        return False
    try:
        return try_lock(handle) is False
    finally:
        os.close(handle)


def _place(path: Path) -> Path:
    """What is locked: the folder itself, so that no file has to stay in it. Windows opens no folders."""
    return _note(path) if os.name == "nt" else path


def _note(path: Path) -> Path:
    """The file in which the holder of a lock says who it is."""
    return path / LOCK if path.is_dir() else path


def _command() -> str:
    """What this process was started as, without its paths."""
    ours = Path(sys.argv[0]).stem in ("olu", "__main__") and len(sys.argv) > 1
    return f"olu {sys.argv[1]}" if ours else "a program"


def _holder(path: Path) -> str:
    """Who holds a lock, in brackets behind a blank; nothing where its note cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(1)
            row = from_json(file.read())
        return f" ({row['command']}, process {row['pid']} on {row['host']})"
    except (OSError, BadData, LookupError, TypeError):
        return ""


@contextmanager
def writing(ws: Workspace, *, patience: float | None = None) -> Iterator[None]:
    """Hold the lock to read and write `corpus/`. Within one thread it may be held several times over: stages nest."""
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
    held: set[Path] = _thread.__dict__.setdefault("held", set())
    place = folder.resolve()
    if place in held:
        yield
        return
    try:
        with locked(folder, patience=patience, pause=pause):
            held.add(place)
            try:
                yield
            finally:
                held.remove(place)
    except LockHeld as other:
        raise WorkspaceError(
            f"{ws.root} is being changed by another olu command: wait until it is done, then run this one again{other}"
        ) from None
