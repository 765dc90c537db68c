"""`olu status` of the workspaces, held until something of a workspace has changed."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from olu.core.errors import OluError
from olu.core.files import Workspace

if TYPE_CHECKING:
    from olu.stages.status import Status

LOOKED = ("", "corpus", "stamps", "runs", "voices", "readings", "audit")  # folders whose change is a change
FILES = ("olu.toml", "corpus/clips.jsonl", "corpus/decisions.jsonl", "corpus/texts.jsonl", "corpus/sources.json")
LONGEST = 20.0  # seconds: recordings may change, which no folder of ours tells


@dataclass
class HeldStatus:
    state: tuple[int, ...]
    at: float
    status: Status | None
    fault: str = ""


class Statuses:
    def __init__(self) -> None:
        self._held: dict[Path, HeldStatus] = {}
        self._lock = threading.Lock()

    def of(self, ws: Workspace) -> HeldStatus:
        """How a workspace stands; its fault as a sentence where that cannot be told."""
        state = _state(ws.root)
        held = self._held.get(ws.root)
        if held is not None and held.state == state and time.monotonic() - held.at < LONGEST:
            return held
        with self._lock:
            from olu.stages.status import status

            try:
                made = HeldStatus(state, time.monotonic(), status(ws))
            except OluError as bad:
                made = HeldStatus(state, time.monotonic(), None, str(bad))
            self._held[ws.root] = made
            return made


def _state(root: Path) -> tuple[int, ...]:
    return tuple(_changed(root / name) for name in (*LOOKED, *FILES))


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
