"""How the command line shows things: bars and tables to stderr or a person, JSON to stdout."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from olu.core.escape import json_safe, one_line
from olu.core.units import large, length, size

if TYPE_CHECKING:
    from olu.core.types import Work

__all__ = ("follow", "followed", "large", "length", "many", "print_json", "quoted", "say", "size", "table", "warn")

Result = TypeVar("Result")


def follow(work: Work[Result], *, label: str) -> Result:
    return followed(work, label=label)[0]


def followed(work: Work[Result], *, label: str) -> tuple[Result, bool]:
    """Run a stage with a progress bar on stderr, or plain lines where none can be drawn.

    Also says whether it had work to do.
    """
    from rich.console import Console
    from rich.progress import Progress

    from olu.cli.plain_progress import PlainProgress
    from olu.core.types import Note

    console = Console(stderr=True)
    lines = nullcontext() if console.is_terminal else PlainProgress(label)
    with lines as written, Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar, busy = progress.add_task(label, total=None), False
        while True:
            try:
                tick = next(work)
            except StopIteration as end:
                result: Result = end.value
                return result, busy
            busy = True
            if isinstance(tick, Note):
                console.print(tick.text, markup=False, highlight=False, soft_wrap=True)
                continue
            if written is not None:
                written.tick(tick)
            progress.update(
                bar,
                total=tick.total,
                completed=tick.done,
                description=label + (f": {one_line(tick.what)}" if tick.what else ""),
            )


def quoted(path: object) -> str:
    """A path as it can be pasted into a shell, and is taken for no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def write_texts(ws: object) -> str:
    """How clips without a text get one."""
    listed = f"""olu clips {quoted(ws)} --where 'text == ""' --csv todo.csv"""
    return f"{listed}, write the texts in it, olu correct {quoted(ws)} todo.csv"


def many(number: int, what: str) -> str:
    """A number and its noun, whose plural ends in s."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def print_json(value: Any) -> None:
    sys.stdout.write(json_safe(json.dumps(value, ensure_ascii=False)) + "\n")


def say(text: str) -> None:
    """One plain line on stdout, whatever the names in it hold."""
    sys.stdout.write(one_line(text) + "\n")


def warn(text: str) -> None:
    sys.stderr.write(one_line(text) + "\n")


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    shown = Table(*map(one_line, columns), title=title or None, title_justify="left")
    for row in rows:
        shown.add_row(*(escape(one_line(cell)) for cell in row))
    Console().print(shown)
