"""Give disk back: what can be made again, and leftovers of killed commands."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from olu.files import Workspace, disk_bytes
from olu.train.run import Run


@dataclass(frozen=True)
class CleanSummary:
    removed: list[str]
    bytes: int
    aside: list[str]  # damaged checkpoints, which stay unless they are asked for


def clean(ws: Workspace, *, damaged: bool = False) -> CleanSummary:
    """Features and partial files; `damaged`: checkpoints put aside too. Clips, marks, readings, runs, voices stay."""
    aside = [path for run in Run.all(ws.runs) for path in run.checkpoints().damaged()]
    partial = [path for path in ws.root.rglob("*.partial") if not any(p.suffix == ".partial" for p in path.parents)]
    found = [
        path for path in (ws.features, *partial, *(aside if damaged else [])) if path.exists() and not _in_use(path)
    ]
    freed = sum(disk_bytes(path) for path in found)
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    ws.stamp_path("prepare").unlink(missing_ok=True)
    left = [str(path.relative_to(ws.root)) for path in aside if path.exists()]
    return CleanSummary([str(path.relative_to(ws.root)) for path in found], freed, left)


def _in_use(path: Path) -> bool:
    """A partial file carries the number of the process that writes it: another command may be at work."""
    owner = re.search(r"\.(\d+)(?:\.old)?\.partial$", path.name)
    if owner is None or os.name == "nt":  # Windows refuses to delete open files by itself
        return False
    try:
        os.kill(int(owner[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
