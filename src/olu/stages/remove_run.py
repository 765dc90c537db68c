"""Remove a run, unless something was made from it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.core.errors import OluError, WorkspaceError
from olu.core.files import Workspace, disk_bytes, write_text
from olu.families.runs import kind_of
from olu.stages.align import STAGE as ALIGN
from olu.stages.run_state import run_state
from olu.train.run import HEARD_BY, Run

SHOWN = 3
READ_AT_MOST = 2**24  # bytes of a card or an evaluation


@dataclass(frozen=True)
class Removal:
    run: str
    bytes: int
    stands: str  # how far it was


def removal(ws: Workspace, name: str) -> Removal:
    """What would be removed; an error where it may not be."""
    run = Run.named(ws.runs_folder, name)
    if run.is_locked():
        raise WorkspaceError(f"{name} is being trained now: stop it first")
    if made := list(dict.fromkeys(_made_from(ws, run))):
        listed = ", ".join(made[:SHOWN]) + (f" and {len(made) - SHOWN} more" if len(made) > SHOWN else "")
        were = "was" if len(made) == 1 else "were"
        raise WorkspaceError(f"{name} stays: {listed} {were} made with it; remove {_them(made)} first if you can")
    return Removal(name, disk_bytes(run.folder), run_state(run).sentence())


def remove_run(ws: Workspace, name: str) -> Removal:
    """Out of sight first, so that it is never seen half removed. Its number is not given again."""
    found = removal(ws, name)
    folder = Run.named(ws.runs_folder, name).folder
    gone = folder.with_name(f".{name}.gone.partial")
    shutil.rmtree(gone, ignore_errors=True)
    folder.rename(gone)
    write_text(folder / "removed.txt", f"{name} was removed. This folder keeps its number from being given again.\n")
    shutil.rmtree(gone)
    return found


def _them(made: list[str]) -> str:
    return "it" if len(made) == 1 else "these"


def _made_from(ws: Workspace, run: Run) -> Iterator[str]:
    """Everything in the workspace that was made from a run or with its ears."""
    named = re.compile(rf"(?<![\w-]){re.escape(run.name)}(?![\w-])")
    for voice in sorted(path for path in ws.voices.glob("*") if path.is_dir() and not path.name.startswith(".")):
        if any(named.search(_text(voice / file)) for file in ("voice.json", "README.md")):
            yield f"voices/{voice.name}"
    for other in Run.all(ws.runs_folder):
        if other.name != run.name and _needs(other, run, named):
            yield other.name
    if not _speaks(run):
        for file in sorted(ws.evaluations.glob("*/evaluation.json")):
            if named.search(_text(file)):
                yield f"evaluations/{file.parent.name}"
        stamp = ws.stamped(ALIGN.name)
        if stamp and named.search(str(stamp["summary"].get("made_by", ""))):
            yield "alignment"


def _needs(other: Run, run: Run, named: re.Pattern[str]) -> bool:
    try:
        facts, base = other.document("facts.json"), other.recipe.base
    except (OluError, OSError):  # a damaged one cannot tell: what its files still say decides
        return any(named.search(_text(other.folder / file)) for file in ("facts.json", "recipe.toml"))
    if any(named.search(str(facts.get(key) or "")) for key in ("from", HEARD_BY)):
        return True
    return bool(base) and Path(str(base)).resolve().is_relative_to(run.folder.resolve())


def _speaks(run: Run) -> bool:
    try:
        return kind_of(run) == "voice"
    except (OluError, OSError):
        return False  # a damaged one may have been a recogniser


def _text(path: Path) -> str:
    try:
        with path.open("rb") as data:
            return data.read(READ_AT_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
