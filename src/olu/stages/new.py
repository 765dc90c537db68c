"""Make a workspace."""

from __future__ import annotations

from pathlib import Path

from olu.core.files import Workspace
from olu.corpus.rights import Rights, save_workspace
from olu.text.languages import resolve


def new_workspace(root: Path, *, language: str, rights: Rights | None = None) -> Workspace:
    """`rights` hold for all recordings that do not say otherwise when they are imported."""
    ws = Workspace.create(root, language=resolve(language))
    if rights is not None and rights != Rights():
        save_workspace(ws, rights)
    return ws
