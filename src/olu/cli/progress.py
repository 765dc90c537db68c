"""A job on the terminal: a bar and its figures where one can be drawn, a plain line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from olu import __version__
from olu.core.errors import ConfigError
from olu.core.job import Event, EventLog, Job, Note, Report, Tick
from olu.core.words import clock, one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from olu.train.view.history import Pace

Result = TypeVar("Result")
QUIET = 10.0  # seconds: what ends sooner has nothing to tell
EVERY = 30.0  # seconds between lines of one phase
APART = 3.0  # seconds between any two lines: phases may be short
LOOK = 0.5
STEPS_APART = 25  # between the lines of a training where no bar can be drawn
REFRESH = 4  # times a second at most
PLAIN = ("losses", "speed")  # figures that speak for themselves without their name

_logs: list[EventLog] = []  # where --events asked for one


def record_in(log: EventLog | None) -> None:
    """Write events into this log too, from now on; None: no longer."""
    _logs[:] = [] if log is None else [log]


def is_recorded() -> bool:
    """Whether --events asks for what a command tells."""
    return bool(_logs)


def begin_record(path: Path | None, *, verb: str, options: Mapping[str, Any]) -> None:
    """The first line of --events, where a file is named. Of several processes one tells."""
    if str(path) == "-":
        raise ConfigError("--events: name a file; what a command prints and what it tells do not mix")
    if path is not None and os.environ.get("RANK", "0") == "0":
        record_in(EventLog(path, verb=verb, options=options, version=__version__))


def record_result(result: Any) -> None:
    """What the last line of --events tells."""
    for log in _logs:
        log.result = result


def end_record(*, code: int, error: str = "") -> None:
    """The last line of --events, where there is such a file."""
    for log in _logs:
        with suppress(OSError):
            log.end(code=code, error=error)
    record_in(None)


def logged(job: Job[Result]) -> Job[Result]:
    """The same job; its events and what it returns are recorded where --events asks for that."""
    while True:
        try:
            event = next(job)
        except StopIteration as end:
            result: Result = end.value
            record_result(result)
            return result
        for log in _logs:
            log.add(event)
        yield event


def follow(job: Job[Result], *, label: str = "") -> Result:
    """Run a job and show how far it is; returns what it returns."""
    return followed(job, label=label)[0]


def followed(job: Job[Result], *, label: str = "") -> tuple[Result, bool]:
    """Also says whether it had work to do: whether it told anything."""
    from rich.console import Console

    told, busy = logged(job), False
    with Screen(Console(stderr=True), label=label) as screen:
        while True:
            try:
                event = next(told)
            except StopIteration as end:
                result: Result = end.value
                return result, busy
            busy = True
            with suppress(OSError):  # a terminal that was closed ends no job: the signal it sends does, well
                screen.show(event)


def follow_server(job: Job[Result], *, quiet: bool) -> Result:
    """Run a server to its end. Its address is a result of its own, printed as soon as it can be reached there."""
    told = logged(job)
    first = next(told)
    if not quiet and isinstance(first, Tick):
        sys.stdout.write(f"{one_line(first.what)} (Ctrl-C ends it)\n")
        sys.stdout.flush()
    while True:
        try:
            event = next(told)
        except StopIteration as end:
            result: Result = end.value
            return result
        if isinstance(event, Note):
            sys.stderr.write(one_line(event.text) + "\n")


class Screen:
    """Stderr: a bar, and under it the figures of a training; or lines."""

    def __init__(self, console: Console, *, label: str = "") -> None:
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self.console, self.label = console, label
        self.pace: Pace | None = None
        self._first = os.environ.get("RANK", "0") == "0"  # of several processes one tells
        self.drawn = console.is_terminal and self._first
        columns = Progress.get_default_columns() if label else ()
        self._progress = Progress(
            *(columns or (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())), console=console
        )
        self._bar = self._progress.add_task(label, total=None)
        self._figures: list[tuple[str, str]] = []
        self._lines = PlainProgress(label) if not console.is_terminal and self._first else None
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

    def show(self, event: Event) -> None:
        if isinstance(event, Note):
            self.say(event.text)
        elif isinstance(event, Tick):
            self.tick(event)
        else:
            self.report(event)

    def say(self, text: str) -> None:
        self.console.print(one_line(text), markup=False, highlight=False, soft_wrap=True)

    def tick(self, tick: Tick) -> None:
        self._figures = []
        if self._lines:
            self._lines.tick(tick)
        described = ": ".join(part for part in (self.label, one_line(tick.what)) if part)
        self._progress.update(self._bar, total=tick.total or None, completed=tick.done, description=described)

    def report(self, report: Report) -> None:
        from olu.train.view.history import Pace

        if self._lines:
            self._lines.tick(None)
        self.pace = self.pace or Pace()
        self.pace.add(report)
        self._figures = figures(report, self.pace)
        self._progress.update(self._bar, total=report.steps, completed=report.step, description="step")
        if not self.drawn and (report.step % STEPS_APART == 0 or report.step == 1):
            sys.stderr.write(f"step {report.step}  {line(self._figures)}\n")
        for guard, message in report.said():
            self.say(f"step {report.tried}: {guard}: {message}")
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
    from olu.train.view.history import gpu_use

    parts = report.parts()
    losses = {name: value for part in parts.values() for name, value in part["losses"].items()}
    rows = [
        ("losses", "  ".join(f"{name} {value:.3g}" for name, value in losses.items())),
        ("rate", "  ".join(f"{name} {part['lr']:.3g}" for name, part in parts.items())),
        ("norm", "  ".join(f"{name} {part['grad_norm']:.3g}" for name, part in parts.items())),
        ("speed", f"{pace.clips_per_second:.3g} clips/s, {pace.waiting:.0%} waiting for data"),
        ("left", clock(pace.seconds_left)),
    ]
    if report.memory:
        busy = gpu_use()
        use = f", {busy}% busy" if busy is not None else ""
        rows.insert(4, ("GPU", f"{report.memory / 2**30:.1f} GiB at most{use}"))
    return rows if parts else rows[3:]


def line(rows: list[tuple[str, str]]) -> str:
    """The rows of figures in one line."""
    return "  |  ".join(text if name in PLAIN else f"{name} {text}" for name, text in rows)


class PlainProgress:
    """A line for each phase, and now and then one in a long phase.

    Written by a thread of its own: a stage may work for minutes between two ticks.
    """

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
        """Take in how far a job is; nothing where something else tells it from now on."""
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
    """Whether a tick begins another count. One whose end is unknown and grows with it goes on."""
    moves = tick.total == tick.done == before.done + 1 == before.total + 1
    return tick.done < before.done or (tick.total != before.total and not moves)
