"""What the MP3 decoder writes on the terminal by itself, caught, so that it can be said of the file it is about.

libmpg123 prints every damaged frame to C's stderr, and soundfile has no switch for it. That stream, and not the
file descriptor, is exchanged while an MP3 is decoded: what Python writes goes its own way, progress bars too. With
other C libraries than glibc nothing is caught.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")

OWN = b"libmpg123"
PLAIN = (b"Note: ", b"Warning: ", b"\n")  # what it says without its name
STDERR = 2
MOST = 1 << 16


class Ear:
    """Stands in for stderr while somebody decodes, and keeps what a decoder complains of."""

    def __init__(self) -> None:
        self.libc: Any = ctypes.CDLL(None)
        self.libc.gnu_get_libc_version  # noqa: B018  (elsewhere the stream may lie where nobody may write)
        self.stream = ctypes.c_void_p.in_dll(self.libc, "stderr")
        self.own = self.stream.value
        self.caught = os.memfd_create("olu-stderr")
        self.libc.fdopen.restype = ctypes.c_void_p
        self.other = self.libc.fdopen(self.caught, b"a")
        if not self.other:
            raise OSError("no stream")
        self.libc.setvbuf(ctypes.c_void_p(self.other), None, 2, ctypes.c_size_t(0))  # 2: without a buffer
        self.state = threading.Condition()
        self.inside = 0  # threads that decode
        self.alone = False  # one of them wants to be
        self.began = 0  # how many have decoded so far

    def listen(self, use: Callable[[], Result]) -> tuple[Result, str]:
        """What `use` makes, and what was said of it: where others decoded meanwhile, it is done again alone."""
        made, said, shared = self._with(use, alone=False)
        if said and shared:
            made, said, _ = self._with(use, alone=True)
        return made, said

    def _with(self, use: Callable[[], Result], *, alone: bool) -> tuple[Result, str, bool]:
        with self.state:
            self.state.wait_for(lambda: not self.alone and (not alone or not self.inside))
            self.alone = alone
            others = self.inside
            self.inside += 1
            self.began += 1
            mine, start = self.began, os.fstat(self.caught).st_size
            self.stream.value = self.other
        try:
            made = use()
        finally:
            with self.state:
                said = self._said(start)
                shared = bool(others) or self.began != mine
                self.inside -= 1
                self.alone = False if alone else self.alone
                if not self.inside:
                    self.stream.value = self.own
                    self._empty()
                self.state.notify_all()
        return made, said, shared

    def _said(self, start: int) -> str:
        lines = os.pread(self.caught, MOST, start).split(b"\n")
        found = next((line for line in lines if OWN in line), b"")
        return found.rpartition(b"error: ")[2].decode("utf-8", "replace").strip()[:120]

    def _empty(self) -> None:
        """Hand on what somebody else wrote in the meantime, and forget the rest."""
        text = os.pread(self.caught, MOST, 0)
        for line in text.splitlines(keepends=True):
            if OWN not in line and not line.startswith(PLAIN):
                with suppress(OSError):
                    os.write(STDERR, line)
        os.ftruncate(self.caught, 0)


@cache
def _ear() -> Ear | None:
    if sys.platform != "linux":
        return None
    try:
        return Ear()
    except (OSError, AttributeError, ValueError):
        return None


def overheard(use: Callable[[], Result]) -> tuple[Result, str]:
    """What `use` makes of an MP3, and what its decoder complained of; nothing where all was well."""
    ear = _ear()
    return ear.listen(use) if ear is not None else (use(), "")


def is_mpeg(start: bytes) -> bool:
    """Whether a file begins as an MP3 does."""
    return start.startswith(b"ID3") or (len(start) > 1 and start[0] == 0xFF and start[1] & 0xE6 == 0xE2)
