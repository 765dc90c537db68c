"""What a workspace says of the rights in its recordings."""

from __future__ import annotations

from dataclasses import asdict

from olu.core.files import Workspace
from olu.corpus.rights import Rights, of_workspace

__all__ = ["Rights", "known_rights"]


def known_rights(ws: Workspace) -> dict[str, str]:
    """What holds for the whole workspace, by name; nothing where nobody said."""
    return asdict(of_workspace(ws))
