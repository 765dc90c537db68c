"""Make a workspace."""

from __future__ import annotations

from pathlib import Path

from olu.files import Workspace
from olu.text.languages import resolve


def new_workspace(root: Path, *, language: str) -> Workspace:
    return Workspace.create(root, language=resolve(language))
