"""Several people at the same clips: whose hands a clip is in, and where the last one stopped."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import OluError
from olu.core.files import Workspace, read_json, write_json
from olu.core.rows import from_row
from olu.core.workspace_lock import appending
from olu.corpus.corrections import now

LEASE_SECONDS = 20.0  # a page renews it while somebody writes; one that is gone lets go by itself
STOPPED = "review.json"  # in the workspace: for each list of clips, where somebody stopped
MOST_LISTS = 30


@dataclass(frozen=True)
class ClipLease:
    """That a clip is in somebody's hands until a time of this process's clock."""

    name: str
    tab: str
    until: float


class Leases:
    def __init__(self) -> None:
        self._held: dict[Path, dict[str, ClipLease]] = {}
        self._lock = threading.Lock()

    def take(self, ws: Workspace, id: str, *, name: str, tab: str) -> ClipLease:
        """The lease of a clip: one's own, renewed, or that of whoever has it."""
        with self._lock:
            here = self._live(ws)
            held = here.get(id)
            if held is not None and held.tab != tab:
                return held
            here[id] = ClipLease(name, tab, time.monotonic() + LEASE_SECONDS)
            return here[id]

    def release(self, ws: Workspace, id: str, *, tab: str) -> None:
        with self._lock:
            here = self._live(ws)
            if id in here and here[id].tab == tab:
                del here[id]

    def held(self, ws: Workspace) -> dict[str, dict[str, str]]:
        """Clip id -> who writes in it, and in which tab."""
        with self._lock:
            return {id: {"name": one.name, "tab": one.tab} for id, one in self._live(ws).items()}

    def _live(self, ws: Workspace) -> dict[str, ClipLease]:
        moment = time.monotonic()
        here = {id: one for id, one in self._held.get(ws.root, {}).items() if one.until > moment}
        self._held[ws.root] = here
        return here


@dataclass(frozen=True)
class StoppedAt:
    """The last clip that somebody looked at in a list of clips."""

    id: str
    by: str
    at: str


def stopped_at(ws: Workspace, query: str) -> StoppedAt | None:
    """Where the last person stopped in the list that an address asks for."""
    row = _rows(ws).get(query)
    try:
        return from_row(row, StoppedAt) if isinstance(row, dict) else None
    except ValueError:
        return None


def stop_at(ws: Workspace, query: str, id: str, *, by: str) -> None:
    with appending(ws):
        rows = {name: row for name, row in _rows(ws).items() if name != query}
        rows[query] = asdict(StoppedAt(id, by, now()))
        write_json(ws.root / STOPPED, dict(list(rows.items())[-MOST_LISTS:]))


def _rows(ws: Workspace) -> dict[str, Any]:
    path = ws.root / STOPPED
    try:
        held = read_json(path) if path.is_file() else {}
    except (OSError, OluError):  # it only says where somebody was
        return {}
    return held if isinstance(held, dict) else {}
