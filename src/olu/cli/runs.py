"""olu runs"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from olu.cli.show import print_json, quoted, say, table, warn

if TYPE_CHECKING:
    from olu.stages.runs import RunDetail, RunRow

MOST_SETTINGS = 8  # that differ, in the table; --json has all
MOST_VALIDATIONS = 12
MOST_EVENTS = 10


def register(app: typer.Typer) -> None:
    @app.command()
    def runs(
        ws: Path = typer.Argument(..., metavar="WS"),
        run: str | None = typer.Argument(None, metavar="[RUN]", help="Show this one."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Compare the runs of a workspace, or show one."""
        from dataclasses import asdict

        from olu.files import Workspace
        from olu.stages.runs import run_detail
        from olu.stages.runs import runs as stage

        space = Workspace.open(ws)
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


def _all(rows: list[RunRow]) -> None:
    columns = ["run", "state", "steps", "best", "hours", "events"]
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
        return [row.run, row.state, "", "", "", ""]
    happened = ", ".join(f"{number} {verdict.lower()}" for verdict, number in row.events.items()) or "none"
    return [row.run, row.state, f"{row.step} of {row.steps}", _best(row.best), f"{row.hours:.2f}", happened]


def _best(best: dict[str, Any] | None) -> str:
    return f"{best['metric']} {best['score']:.4g} at step {best['step']}" if best else "none yet"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 24 else text[:21] + "..."


def _one(detail: RunDetail) -> None:
    row = detail.row
    whence = f", from {row.started_from}" if row.started_from else ""
    say(f"{row.run}: {row.state} at step {row.step} of {row.steps}, {row.hours:.2f} hours{whence}")
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
