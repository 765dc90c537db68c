"""stdout and stderr that are there to the end: closed from the start, or left by whoever read them, work goes on."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper
from typing import Any

GONE = (errno.EPIPE, errno.EIO, errno.EBADF)  # a pipe nobody reads, a terminal that was closed


def open_streams() -> None:
    """Every number from 0 to 2 is an open file, text is UTF-8, and nobody's leaving ends a command.

    A file of ours that got the number of a closed stderr would be written into by every library that writes there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # another encoding is no reason to end
            setattr(sys, name, Lasting(stream))


class Lasting:
    """A text stream: what is written after its reader has gone goes nowhere."""

    def __init__(self, stream: TextIOWrapper) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as failed:
            self._leave(failed)
            return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as failed:
            self._leave(failed)

    def _leave(self, failed: OSError) -> None:
        if failed.errno not in GONE:  # such as a full disk behind a redirection, which is told
            raise failed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
