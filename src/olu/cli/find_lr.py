"""olu train --find-lr, as people see it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from olu.cli.show import print_json, say, table

if TYPE_CHECKING:
    from olu.stages.find_lr import RateSummary

BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 60
ROWS = 12


def find_rate_of(
    ws: Path, *, recipe: Path | None, changes: list[str], base: Path | None, device: str | None, as_json: bool
) -> None:
    from olu.cli.progress import follow
    from olu.core.files import Workspace
    from olu.stages.find_lr import find_lr

    summary = follow(find_lr(Workspace.open(ws), recipe=recipe, overrides=changes, base=base, device=device))
    print_json(summary.row()) if as_json else tell(summary)


def tell(summary: RateSummary) -> None:
    """The curve as a line of bars and a short table, then what it says."""
    from math import isfinite

    points = [point for point in summary.points if isfinite(point.smooth)]
    if points:
        shown = points[:: max(1, len(points) // COLUMNS)]
        say(f"{shown[0].rate:.0e} {spark([point.smooth for point in shown])} {shown[-1].rate:.0e}")
        rows = [[f"{p.rate:.1e}", f"{p.smooth:.4g}"] for p in points[:: max(1, len(points) // ROWS)]]
        table("", ["rate", f"{summary.loss}, smoothed"], rows)
    found = summary.finding
    if found.rate is None:
        say(f"No suggestion: {found.why}.")
    else:
        say(f"Suggested rate: {found.rate:g} (the recipe has {summary.planned:g}): {found.why}.")
    say(f"Nothing was kept of this training. Page: {summary.page}")
    say(f"Next: {summary.command}")


def spark(values: list[float]) -> str:
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(BARS[min(len(BARS) - 1, int((value - low) / span * len(BARS)))] for value in values)
