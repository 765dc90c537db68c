"""A training on the terminal: a bar and its figures where one can be drawn, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from olu.core.escape import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from olu.train.report import Report

Result = TypeVar("Result")
EVERY = 25  # steps between lines where no bar can be drawn
REFRESH = 4  # times a second at most


def watch(work: Generator[Any, None, Result]) -> Result:
    """Show a training as it goes, and return what it returns."""
    from rich.console import Console

    from olu.core.types import Note, Tick

    screen = Screen(Console(stderr=True))
    with screen:
        while True:
            try:
                event = next(work)
            except StopIteration as end:
                result: Result = end.value
                return result
            with suppress(OSError):  # a terminal that was closed ends no training: the signal it sends does, well
                if isinstance(event, Note):
                    screen.say(event.text)
                elif isinstance(event, Tick):
                    screen.tick(event)
                else:
                    screen.report(event)


class Screen:
    def __init__(self, console: Console) -> None:
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        from olu.cli.plain_progress import PlainProgress
        from olu.train.view.pace import Pace

        self.console, self.pace = console, Pace()
        self._first = os.environ.get("RANK", "0") == "0"  # of several processes one tells
        self.drawn = console.is_terminal and self._first
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(*columns, console=console)
        self._bar = self._progress.add_task("", total=None)
        self._figures: list[tuple[str, str]] = []
        self._lines = (
            PlainProgress("") if not console.is_terminal and self._first else None
        )  # for what comes before the steps
        self._live = Live(
            get_renderable=self._picture, console=console, transient=True, refresh_per_second=REFRESH, screen=False
        )

    def __enter__(self) -> Screen:
        if self.drawn:
            self._live.start()
        if self._lines:
            self._lines.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.drawn:
            with suppress(OSError):
                self._live.stop()
        if self._lines:
            self._lines.__exit__(*exc)

    def say(self, text: str) -> None:
        self.console.print(one_line(text), markup=False, highlight=False, soft_wrap=True)

    def tick(self, tick: Any) -> None:
        self._figures = []
        if self._lines:
            self._lines.tick(tick)
        self._progress.update(self._bar, total=tick.total or None, completed=tick.done, description=one_line(tick.what))

    def report(self, report: Report) -> None:
        if self._lines:
            self._lines.tick(None)
        self.pace.add(report)
        self._figures = figures(report, self.pace)
        self._progress.update(self._bar, total=report.steps, completed=report.step, description="step")
        if not self.drawn and (report.step % EVERY == 0 or report.step == 1):
            sys.stderr.write(f"step {report.step}  {line(self._figures)}\n")
        for event in report.events:
            self.say(f"step {report.tried}: {event.guard}: {event.message}")
        if report.scores:
            scores = "  ".join(f"{name} {value:.4g}" for name, value in report.scores.items())
            self.say(f"step {report.step}: validation  {scores}")

    def _picture(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        for name, text in self._figures:
            grid.add_row(Text(name, style="dim"), Text(text))
        return Group(self._progress, grid)


def figures(report: Report, pace: Any) -> list[tuple[str, str]]:
    """What each line of the view is about, and the line."""
    from olu.train.view.pace import clock, gpu_use

    losses = {name: value for seen in report.seen for name, value in seen.losses.items()}
    rows = [
        ("losses", "  ".join(f"{name} {value:.3g}" for name, value in losses.items())),
        ("rate", "  ".join(f"{seen.part} {seen.lr:.3g}" for seen in report.seen)),
        ("norm", "  ".join(f"{seen.part} {seen.grad_norm:.3g}" for seen in report.seen)),
        ("speed", f"{pace.clips_per_second:.3g} clips/s, {pace.waiting:.0%} waiting for data"),
        ("left", clock(pace.seconds_left)),
    ]
    if report.memory:
        busy = gpu_use()
        use = f", {busy}% busy" if busy is not None else ""
        rows.insert(4, ("GPU", f"{report.memory / 2**30:.1f} GiB at most{use}"))
    return rows if report.seen else rows[3:]


def line(rows: list[tuple[str, str]]) -> str:
    """All of it in one line; what speaks for itself without its name."""
    plain = ("losses", "speed")
    return "  |  ".join(text if name in plain else f"{name} {text}" for name, text in rows)
