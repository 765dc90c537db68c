"""How the command line shows things: tables for a person, JSON for a program."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from olu.cli.progress import follow, followed
from olu.core.told import Caution, TextTable, Told, Verbatim, quoted, write_texts
from olu.core.words import json_safe, large, length, many, one_line, size

__all__ = (
    "follow",
    "followed",
    "large",
    "length",
    "many",
    "print_json",
    "print_told",
    "quoted",
    "say",
    "size",
    "table",
    "warn",
    "write_texts",
)


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
    """Cells whole, so that they can be copied; on a screen the end of each line is cut where the screen ends."""
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
