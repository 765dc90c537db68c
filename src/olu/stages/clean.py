"""Give disk back: what can be made again, and leftovers of killed commands."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.core.exchange import OWNER, is_alive, take_back
from olu.core.files import Workspace, disk_bytes
from olu.core.words import size
from olu.features.store import is_read, release_claims
from olu.stages.verbs.machine import CleanOptions
from olu.train.run import Run


@dataclass(frozen=True)
class CleanSummary:
    removed: list[str]
    bytes: int
    aside: list[str]  # damaged checkpoints, which stay unless they are asked for
    back: list[str]  # folders that a killed command had moved aside
    used: list[str]  # features that a training or another command reads now

    def sentences(self, options: CleanOptions) -> Iterator[str]:
        for path in self.back:
            yield f"{path} was put back: a command was killed while it replaced it"
        yield f"{', '.join(self.removed) or 'nothing to remove'}: {size(self.bytes)} given back"
        if self.used:
            yield f"Kept: {', '.join(self.used)} (in use by a training or another command)"
        if self.aside:
            yield f"Kept: {', '.join(self.aside)} (damaged; --damaged removes them)"


def run(options: CleanOptions) -> CleanSummary:
    """`olu clean`"""
    return clean(Workspace.open(options.ws), damaged=options.damaged)


def clean(ws: Workspace, *, damaged: bool = False) -> CleanSummary:
    """Features and partial files; `damaged`: checkpoints put aside too. Clips, marks, readings, runs, voices stay.

    What a killed command had moved aside to put a new version in its place is put back, not removed.
    """
    back = take_back(sorted({path.parent for path in ws.root.rglob("*.old.partial")}))
    aside = [path for run in Run.all(ws.runs_folder) for path in run.checkpoints().damaged()]
    used, made = _features(ws)
    found = _removable([*made, *_partial(ws), *(aside if damaged else [])])
    freed = sum(disk_bytes(path) for path in found)
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if not used:
        ws.stamp_path("prepare").unlink(missing_ok=True)

    def inside(paths: list[Path]) -> list[str]:
        return [str(path.relative_to(ws.root)) for path in paths]

    return CleanSummary(
        inside(found), freed, inside([one for one in aside if one.exists()]), inside(back), inside(used)
    )


def _features(ws: Workspace) -> tuple[list[Path], list[Path]]:
    """Stores that somebody reads or writes now, and what may go: the whole folder where there is none."""
    release_claims()
    stores = sorted(ws.features.glob("*"))
    used = [store for store in stores if is_read(store) or _in_use(store)]
    return used, [store for store in stores if store not in used] if used else [ws.features]


def _partial(ws: Workspace) -> list[Path]:
    """What killed commands left half done, whole folders as one."""
    return [path for path in ws.root.rglob("*.partial") if not any(p.suffix == ".partial" for p in path.parents)]


def _removable(paths: Iterable[Path]) -> list[Path]:
    """The paths that are there and nobody writes now, without what lies in another of them."""
    found = [path for path in dict.fromkeys(paths) if path.exists() and not _in_use(path)]
    return [path for path in found if not any(above in found for above in path.parents)]


def _in_use(path: Path) -> bool:
    """A partial file carries the number of the process that writes it: another command may be at work.

    The only copy of something is never leftovers, whoever moved it aside.
    """
    owner = OWNER.fullmatch(path.name)
    if owner is None or os.name == "nt":  # Windows refuses to delete open files by itself
        return False
    if owner["old"] and not (path.parent / owner["name"]).exists():
        return True
    return is_alive(int(owner["pid"]))
