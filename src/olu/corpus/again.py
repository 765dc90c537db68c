"""The import that brought recordings, as it can be typed once more: from the same place, or from a new one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_json

FLAGS = ("layout", "speaker", "columns", "config", "split", "shift")  # as the stamp of an import keeps them
PATHS = ("root", "subtitles")


def import_again(ws: Workspace, root: str, *, place: Path | None = None) -> str:
    """The command for the source that lies at `root`; `place`: where it lies now.

    SOURCE stands where nobody knows it; the options are known of the workspace's last import only.
    """
    stamp = ws.stamped("import")
    asked: dict[str, Any] = stamp["options"] if stamp else {}
    old = Path(root) if Path(root).is_absolute() else _origin(ws, Path(root).name)
    new = place or old
    if new is None:
        return shlex.join(["olu", "import", str(ws.root), "SOURCE"])
    source = Path(str(asked.get("source", "")))
    if old is None or not source.is_relative_to(old):
        return shlex.join(["olu", "import", str(ws.root), str(new)])
    known = [(name, asked[name]) for name in FLAGS if asked.get(name) is not None]
    flags = [f"--{name}={value}" for name, value in known if (name, value) != ("layout", "auto")]
    flags += [f"--{name}={_there(Path(asked[name]), old, new)}" for name in PATHS if asked.get(name)]
    flags += ["--copy"] if asked.get("copy") else []
    return shlex.join(["olu", "import", str(ws.root), str(_there(source, old, new)), *flags])


def _there(path: Path, old: Path, new: Path) -> Path:
    return new / path.relative_to(old) if path.is_relative_to(old) else path


def _origin(ws: Workspace, name: str) -> Path | None:
    """Where a copied source was copied from."""
    origin = origins(ws).get(name)
    return origin if origin is not None and origin.exists() else None


def origins(ws: Workspace) -> dict[str, Path]:
    """Of copied sources: name -> where they were copied from."""
    try:
        known = read_json(ws.corpus / "audio" / "origins.json", shape={})
    except (OSError, WorkspaceError):
        return {}
    return {name: Path(str(origin)) for name, origin in known.items()}
