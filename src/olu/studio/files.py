"""What lies below the roots, to choose from: folders and files, never anything outside."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import WorkspaceError
from olu.studio.roots import Roots
from olu.studio.words import t

MOST = 1000


@dataclass(frozen=True)
class FolderEntry:
    name: str
    path: str
    folder: bool
    bytes: int
    workspace: bool = False


def listing(roots: Roots, at: str) -> dict[str, Any]:
    """A folder: where it is, the folder above it where that is inside the roots too, and what it holds."""
    if not at:
        if len(roots.folders) > 1:
            entries = [FolderEntry(str(root), str(root), folder=True, bytes=0) for root in roots.folders]
            return {"at": "", "above": None, "entries": [asdict(one) for one in entries], "more": 0}
        at = str(roots.folders[0])
    folder = roots.inside(at)
    if not folder.is_dir():
        raise WorkspaceError(t("{name} is no folder: choose another", name=folder.name))
    try:
        with os.scandir(folder) as found:
            entries = [one for item in found if (one := _entry(roots, item)) is not None]
    except OSError as bad:
        raise WorkspaceError(
            t("{name} cannot be read ({why}): choose another", name=folder.name, why=bad.strerror)
        ) from None
    entries.sort(key=lambda one: (not one.folder, one.name.casefold()))
    above = None if folder in roots.folders else str(folder.parent)
    if folder in roots.folders and len(roots.folders) > 1:
        above = ""
    more = max(0, len(entries) - MOST)
    return {"at": str(folder), "above": above, "entries": [asdict(one) for one in entries[:MOST]], "more": more}


def _entry(roots: Roots, item: os.DirEntry[str]) -> FolderEntry | None:
    """One thing in a folder; nothing of what is hidden, leads out, or has a name that is no text."""
    try:
        item.name.encode("utf-8")
    except UnicodeEncodeError:
        return None
    if item.name.startswith("."):
        return None
    try:
        if item.is_symlink():
            roots.inside(item.path)
        folder = item.is_dir()
        size = 0 if folder else item.stat().st_size
    except (OSError, WorkspaceError):
        return None
    is_workspace = folder and (Path(item.path) / "olu.toml").is_file()
    return FolderEntry(item.name, item.path, folder=folder, bytes=size, workspace=is_workspace)
