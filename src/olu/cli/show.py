"""What the command line prints: sentences and tables for a person, JSON for a program.

stdout and stderr are there to the end: closed from the start, or left by whoever read them, work goes on.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import Any

from olu.core.told import Caution, TextTable, Told, Verbatim
from olu.core.words import json_safe, one_line

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
    """A text stream that outlives its reader: what is written after that goes nowhere."""

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


def print_json(value: Any) -> None:
    sys.stdout.write(json_safe(json.dumps(value, ensure_ascii=False)) + "\n")


def say(text: str) -> None:
    """One plain line on stdout, whatever the names in it hold."""
    sys.stdout.write(one_line(text) + "\n")


def warn(text: str) -> None:
    sys.stderr.write(one_line(text) + "\n")


def print_told(told: Iterable[Told]) -> None:
    """What a summary tells: results to stdout, cautions to stderr."""
    for one in told:
        if isinstance(one, Caution):
            warn(one.text)
        elif isinstance(one, Verbatim):
            sys.stdout.write(one.text)
        elif isinstance(one, TextTable):
            _columns(one) if one.plain else table(one.title, one.columns, one.rows)
        else:
            say(one)


def _columns(shown: TextTable) -> None:
    """Prints a table with whole cells, to be copied; on a screen each line ends where the screen does."""
    lines = [shown.columns, *([one_line(cell) for cell in row] for row in shown.rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(shown.columns))]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in lines:
        sides = ((cell.rjust if at in shown.right else cell.ljust)(widths[at]) for at, cell in enumerate(line))
        say("  ".join(sides).rstrip()[:width])


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    shown = Table(*map(one_line, columns), title=title or None, title_justify="left")
    for row in rows:
        shown.add_row(*(escape(one_line(cell)) for cell in row))
    Console().print(shown)
