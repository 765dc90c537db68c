"""olu runs"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from olu.cli.here import WS, workspace_here
from olu.cli.show import length, print_json, quoted, say, size, table, warn

if TYPE_CHECKING:
    from olu.core.files import Workspace
    from olu.stages.runs import RunDetail, RunRow

MOST_SETTINGS = 8  # that differ, in the table; --json has all
MOST_VALIDATIONS = 12
MOST_EVENTS = 10


def register(app: typer.Typer) -> None:
    @app.command()
    def runs(
        ws: Path = WS,
        run: str | None = typer.Argument(None, metavar="[RUN]", help="Show this one."),
        remove: str | None = typer.Option(None, "--remove", metavar="RUN", help="Remove this one, after a question."),
        yes: bool = typer.Option(False, "--yes", help="With --remove: do not ask."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Compare the runs of a workspace, or show one."""
        from dataclasses import asdict

        from olu.core.files import Workspace
        from olu.stages.runs import run_detail
        from olu.stages.runs import runs as stage

        if run is None and (here := workspace_here()) and (here / "runs" / ws).is_dir() and not ws.exists():
            ws, run = here, str(ws)
        space = Workspace.open(ws)
        if remove is not None or yes:
            _remove(space, remove, run=run, yes=yes, as_json=as_json)
            return
        if run is not None:
            detail = run_detail(space, run)
            print_json(asdict(detail)) if as_json else _one(detail)
            return
        rows = stage(space)
        if as_json:
            print_json({"runs": [asdict(row) for row in rows]})
        elif not rows:
            say(f"No runs yet. Next: olu train {quoted(ws)}")
        else:
            _all(rows)


def _remove(ws: Workspace, name: str | None, *, run: str | None, yes: bool, as_json: bool) -> None:
    from dataclasses import asdict

    from olu.core.errors import ConfigError
    from olu.stages.runs import removal, remove_run

    if name is None or run is not None:
        raise ConfigError("write 'olu runs WS --remove RUN', with --yes where nobody is to be asked")
    found = removal(ws, name)
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError(f"nobody is here to be asked whether {name} may go: add --yes to remove it")
        warn(f"{name}: {found.stands}, {size(found.bytes)}. It cannot be brought back.")
        sys.stderr.write(f"Remove {name}? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            say("Nothing was removed.")
            return
    remove_run(ws, name)
    print_json({"removed": asdict(found)}) if as_json else say(f"{name} was removed: {size(found.bytes)} given back.")


def _all(rows: list[RunRow]) -> None:
    columns = ["run", "state", "steps", "best", "time", "events"]
    table("", columns, [_cells(row) for row in rows])
    for row in rows:
        if row.fault:
            warn(f"{row.run} is damaged: {row.fault}")
    rows = [row for row in rows if not row.fault]
    keys = list(rows[0].differs) if rows else []
    if keys:
        say("Settings that differ:")
        lines = [[key, *(_short(row.differs[key]) for row in rows)] for key in keys[:MOST_SETTINGS]]
        table("", ["setting", *(row.run for row in rows)], lines)
        if len(keys) > MOST_SETTINGS:
            say(f"{len(keys) - MOST_SETTINGS} more: --json has all")


def _cells(row: RunRow) -> list[str]:
    if row.fault:
        return [row.run, row.state, *[""] * 4]
    happened = ", ".join(f"{number} {verdict.lower()}" for verdict, number in row.events.items()) or "none"
    steps, took = f"{row.step} of {row.steps}", length(row.hours * 3600, short=True)
    return [row.run, row.state, steps, _best(row.best), took, happened]


def _best(best: dict[str, Any] | None) -> str:
    return f"{best['metric']} {best['score']:.4g} at step {best['step']}" if best else "none yet"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 24 else text[:21] + "..."


def _one(detail: RunDetail) -> None:
    row = detail.row
    whence = f", from {row.started_from}" if row.started_from else ""
    kept = f", saved at step {row.saved}" if row.state in ("running", "unfinished") else ""
    took = length(row.hours * 3600)
    say(f"{row.run}: {row.state} at step {row.step} of {row.steps}{kept}, {took}{whence}")
    if detail.stopped:
        say(f"It stopped: {detail.stopped}")
    say(f"Best: {_best(row.best)}. Checkpoints: {', '.join(map(str, detail.checkpoints)) or 'none'}")
    if detail.validations:
        names = list(detail.validations[-1])
        shown = detail.validations[-MOST_VALIDATIONS:]
        table("", names, [[f"{one[name]:.5g}" if name in one else "" for name in names] for one in shown])
    for event in detail.events[-MOST_EVENTS:]:
        say(f"step {event['step']}: {event['guard']}: {event['message']}")
    if row.differs:
        say("Unlike other runs: " + ", ".join(f"{key} = {value}" for key, value in row.differs.items()))
    if detail.page:
        say(f"Page: {detail.page}")
