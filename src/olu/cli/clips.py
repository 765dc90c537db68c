"""olu clips"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from olu.cli.here import WS
from olu.cli.show import length, many, print_json, quoted, say
from olu.core.escape import one_line

if TYPE_CHECKING:
    from olu.stages.clips import ClipList

SHOWN = 40
CORRECTED = "* "  # before a text that is not the source's


def register(app: typer.Typer) -> None:
    @app.command()
    def clips(
        ws: Path = WS,
        where: str | None = typer.Option(
            None, "--where", metavar="EXPR", help="""Such as 'seconds > 20 and "clipping" in marks'."""
        ),
        sort: str | None = typer.Option(None, "--sort", metavar="COLUMN", help="-COLUMN: the largest first."),
        limit: int | None = typer.Option(None, "--limit", metavar="N", help=f"Default: {SHOWN} on a screen, else all."),
        csv: Path | None = typer.Option(None, "--csv", metavar="FILE", help="Write a CSV file; - for stdout."),
        ids: bool = typer.Option(False, "--ids", help="Print the ids only, one a line."),
        summary: bool = typer.Option(False, "--summary", help="How lengths are spread, instead of the clips."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """List, filter, sort and export the clips."""
        from olu.core.errors import ConfigError
        from olu.core.files import Workspace
        from olu.stages.clips import clips as stage
        from olu.stages.clips import print_csv, quantiles, write_csv

        asked = {"--csv": csv is not None, "--ids": ids, "--summary": summary, "--json": as_json}
        chosen = [name for name, wanted in asked.items() if wanted]
        if len(chosen) > 1 and set(chosen) != {"--summary", "--json"}:
            raise ConfigError(f"{' and '.join(chosen)} are different outputs: choose one")
        if summary and (sort is not None or limit is not None):
            raise ConfigError("--summary counts all the clips found: leave --sort and --limit out")
        screen = not chosen
        if summary:
            everything, spread = quantiles(Workspace.open(ws), expression=where)
            if as_json:
                print_json({**_facts(ws, everything), "quantiles": spread})
            else:
                _spread(everything, spread)
            return
        found = stage(
            Workspace.open(ws), expression=where, sort=sort, limit=SHOWN if screen and limit is None else limit
        )
        if as_json:
            print_json({**_facts(ws, found), "clips": list(found.rows)})
        elif csv is not None and str(csv) == "-":
            print_csv(found.rows, sys.stdout)
        elif csv is not None:
            write_csv(found.rows, csv)
            say(f"Wrote {many(len(found.rows), 'clip')} to {csv}.")
        elif ids:
            sys.stdout.writelines(f"{one_line(row['id'])}\n" for row in found.rows)
        else:
            _list(found, _all(ws, where=where, sort=sort))


def _facts(ws: Path, found: ClipList) -> dict[str, Any]:
    return {"workspace": str(ws), "total": found.total, "found": found.found, "seconds": found.seconds}


def _all(ws: Path, *, where: str | None, sort: str | None) -> str:
    """The command that writes down every clip of this list."""
    asked = [f"--where {shlex.quote(where)}"] if where is not None else []
    asked += [f"--sort={shlex.quote(sort)}"] if sort is not None else []
    return " ".join(["olu clips", quoted(ws), *asked, "--csv clips.csv"])


def _list(found: ClipList, everything: str) -> None:
    rows = []
    for row in found.rows:
        marks = f"{row['worst']}: {', '.join(row['marks'])}" if row["marks"] else "-"
        cells = [row["id"], row["speaker"], row["split"] or "-", f"{row['seconds']:.2f}", row["rate"], row["letters"]]
        cells += [_number(row["seconds_per_letter"]), _number(row["tokens"]), row["frames"], marks]
        text = " ".join(row["text"].split())
        text = f"{CORRECTED}{text}" if row["corrected"] else text
        rows.append([*(one_line(str(cell)) for cell in cells), row["decision"] or "-", text])
    _columns(["id", "speaker", "split", "seconds", "rate", "letters", "s/letter", "tokens", "frames"], rows)
    _count(found)
    if number := sum(bool(row["corrected"]) for row in found.rows):
        say(f"{CORRECTED.strip()} {many(number, 'text')} corrected; --json and --csv have the source's as well")
    if len(found.rows) < found.found:
        are = "is" if len(found.rows) == 1 else "are"
        say(f"{len(found.rows)} {are} shown; all of them: {everything}")


def _columns(measures: list[str], rows: list[list[str]]) -> None:
    """Ids whole, so that they can be copied; on a screen the end of each line is cut where the screen ends."""
    lines = [[*measures, "marks", "decision", "text"], *rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    right = range(3, len(measures))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in lines:
        cells = [c.rjust(w) if at in right else c.ljust(w) for at, (c, w) in enumerate(zip(line, widths, strict=True))]
        say("  ".join(cells).rstrip()[:width])


def _spread(found: ClipList, spread: dict[str, dict[str, float]]) -> None:
    names = {"seconds_per_letter": "s/letter"}
    points = next((list(points) for points in spread.values() if points), [])
    titles = {"0%": "least", "50%": "middle", "100%": "most"}
    lines = [["", *(titles.get(point, point) for point in points)]]
    for name, values in spread.items():
        if values:
            lines.append([names.get(name, name), *(f"{value:.4g}" for value in values.values())])
    for line in lines:
        say(f"{line[0]:8}" + "".join(cell.rjust(8) for cell in line[1:]))
    _count(found)


def _count(found: ClipList) -> None:
    of_all = "" if found.found == found.total else f"{found.found} of "
    say(f"{of_all}{many(found.total, 'clip')}, {length(found.seconds)}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
