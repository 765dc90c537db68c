"""`olu align --base`: what an alignment begins with, where another language has a recogniser already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from olu.core.errors import ConfigError
from olu.core.files import Workspace
from olu.families.runs import RECOGNISER, runs_of
from olu.train.run import Run, run_as_base

if TYPE_CHECKING:
    from olu.align.borrowed import BorrowedEar


def base_run(place: Path) -> Run:
    """The recogniser that another is trained from: a run, or the newest finished one of a workspace."""
    if not _is_workspace(place):
        return run_as_base(place, family=RECOGNISER, what="run of a recogniser", instead="an aligned workspace, or ")
    heard = [run for run in runs_of(Workspace.open(place), "listener") if run.finished]
    if not heard:
        raise ConfigError(f"--base {place}: it has no recogniser that is trained: run 'olu align {place}' first")
    return heard[-1]


def base_ear(place: Path, *, device: str) -> BorrowedEar:
    """What a flat start hears by first: the frames that a workspace learnt when it was aligned."""
    from olu.align.borrowed import BorrowedEar
    from olu.align.frames import FrameModel

    root = place if _is_workspace(place) else place.parent.parent  # a run lies in runs/ of its workspace
    if not _is_workspace(root):
        raise ConfigError(f"--base {place} is no workspace: name one of another language that 'olu align' has aligned")
    ws = Workspace.open(root)
    if not (ws.alignment / "frames" / "frames.json").is_file():
        raise ConfigError(
            f"--base {place}: it has no alignment of its own to hear by: run 'olu align {root}' first, or name another"
        )
    return BorrowedEar(FrameModel.load(ws.alignment / "frames", device=device), f"{ws.name} ({ws.language})")


def _is_workspace(place: Path) -> bool:
    return (place / "olu.toml").is_file()
