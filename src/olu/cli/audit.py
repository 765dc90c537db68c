"""olu audit"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from olu.cli.doubts import show_doubts
from olu.cli.fix import check_dry, decided_row, fix_row, show_decided, show_fix, show_to_cut, take_back
from olu.cli.here import WS
from olu.cli.show import follow, followed, length, many, print_json, say, table, warn

if TYPE_CHECKING:
    from olu.audit.summary import AuditSummary


def register(app: typer.Typer) -> None:
    @app.command()
    def audit(
        ws: Path = WS,
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
        strict: bool = typer.Option(False, "--strict", help="Exit with code 2 when any clip has an error."),
        deep: bool = typer.Option(False, "--deep", help="Let networks listen too: voice, quality, speakers. Slow."),
        force: bool = typer.Option(False, "--force", help="Listen again even if the corpus has not changed."),
        fix: bool = typer.Option(False, "--fix", help="Decide what to leave out and what to trim."),
        dry: bool = typer.Option(False, "--dry-run", help="With --fix: show it, write nothing."),
        undo: bool = typer.Option(False, "--undo", help="Take back what --fix decided; a person's decisions stay."),
    ) -> None:
        """Listen to every clip and report what is wrong with which."""
        if undo:
            take_back(ws, alone=not (fix or dry or strict or force or deep), as_json=as_json)
            return
        check_dry(fix=fix, dry=dry)
        # the audit has threads of its own: numpy's would only wait for each other, at twice the cost
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from olu.core.files import Workspace
        from olu.stages.audit import audit as run
        from olu.stages.fix import fix as decide
        from olu.stages.status import status

        summary, busy = followed(run(Workspace.open(ws), force=force, deep=deep), label="listening")
        fixed = follow(decide(Workspace.open(ws), dry=dry), label="deciding") if fix else None
        if as_json:
            rest = {"fix": fix_row(fixed)} if fixed else {"decided": decided_row(ws)}
            print_json({**summary.row(), "report": str(summary.report), "marks": str(summary.marks), **rest})
        else:
            if fixed and not busy:
                _show_short(summary)
            else:
                _show(summary, told=fixed.other if fixed else ())
            if not busy and not fixed:
                say("The corpus has not changed since the last audit: nothing was done again (--force listens again).")
            if fixed:
                show_fix(fixed, ws)
            else:
                show_decided(ws)
                show_to_cut(summary, ws)
            found = status(Workspace.open(ws))
            show_doubts(found.doubts)
            say(f"Next: {found.next}")
        if strict and summary.clips_with_errors:
            have = "has errors" if summary.clips_with_errors == 1 else "have errors"
            of_all = f"{summary.clips_with_errors} of {many(summary.clips, 'clip')}"
            warn(f"olu: {of_all} {have}: see {summary.report}")
            raise typer.Exit(2)


def _show_short(summary: AuditSummary) -> None:
    """Before a fix of an audit that was shown when it was made."""
    say(_in_all(summary))
    say(f"Report: {summary.report}")


def _in_all(summary: AuditSummary) -> str:
    return (
        f"{many(summary.clips, 'clip')}, {length(summary.seconds)}, {many(summary.speakers, 'speaker')}; "
        f"{many(summary.clips_with_errors, 'clip')} with errors; {many(summary.clips_left, 'clip')} with a text and"
        f" without errors, {length(3600 * summary.hours_left)}"
    )


def _show(summary: AuditSummary, *, told: Sequence[str] = ()) -> None:
    """`told`: notes that stand elsewhere."""
    from olu.audit.checks import CHECKS

    rows, fine = [], 0
    for check in CHECKS:
        count = summary.counts.get(check.name)
        if count is None:  # only --deep looks at it
            continue
        if any(count.values()):
            rows.append([check.title, *(str(count[severity] or "-") for severity in ("error", "warn", "info"))])
        else:
            fine += 1
    if rows:
        table("", ["check", "errors", "warnings", "notes"], rows)
    if fine:
        say(f"{many(fine, 'check')} found nothing{' more' if rows else ''}.")
    for bad in summary.worst:
        say(f"{bad['severity']:5} {bad['check']}: {bad['id']}: {bad['message']}")
    say(_in_all(summary))
    for note in summary.notes:
        if note not in told:
            say(note)
    say(summary.verdict)
    if summary.start:
        say(summary.start)
    say(summary.wanted)
    say(summary.memory)
    say(f"Report: {summary.report}")
