"""Readings of workspaces, held until a file that they are made of changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError
from olu.core.files import Workspace
from olu.core.types import Reading
from olu.stages.g2p import open_frontend
from olu.stages.lexicon import place, reader
from olu.studio.paths import check_workspace
from olu.studio.roots import Roots
from olu.studio.tables import Tables
from olu.text.frontend import FILE, AnyFrontend, read_settings

MOST = 4  # readings held: one of a large lexicon takes some megabytes
State = tuple[int, int] | None


class Readers:
    def __init__(self, roots: Roots, tables: Tables) -> None:
        self._roots, self._tables = roots, tables
        self._held: OrderedDict[Any, tuple[Any, AnyFrontend]] = OrderedDict()
        self._lock = threading.RLock()

    def of(self, ws: Workspace) -> AnyFrontend:
        """How a workspace reads. What its reading.toml names must lie within the roots: errors quote files."""
        with self._lock:
            check_workspace(ws, self._roots)
            settings = read_settings(ws)
            files = [ws.root / FILE, place(ws, settings), ws.readings / "frontend.json", ws.corpus / "clips.jsonl"]
            state = [_state(path) for path in files]
            return self._kept(ws.root, state, lambda: reader(ws, opened=self._tables.of(ws).corpus))

    def of_language(self, code: str) -> AnyFrontend:
        if "/" in code or "\\" in code:
            raise ConfigError(f"{code[:60]!r} is no code of a language, such as amh, ig or es")
        with self._lock:
            return self._kept(code, None, lambda: open_frontend(code))

    def _kept(self, key: Any, state: Any, make: Any) -> AnyFrontend:
        held = self._held.get(key)
        if held is None or held[0] != state:
            self._held[key] = held = (state, make())
        self._held.move_to_end(key)
        while len(self._held) > MOST:
            self._held.popitem(last=False)
        return held[1]


def _state(path: Path) -> State:
    try:
        held = path.stat()
    except OSError:
        return None
    return held.st_size, held.st_mtime_ns


def as_json(frontend: AnyFrontend, text: str) -> dict[str, Any]:
    """A text as it is read, and every rule that changed something on the way."""
    reading, trace = frontend.explain(text)
    return {**shown(reading), "steps": [asdict(step) for step in trace.steps], "kind": frontend.kind}


def shown(reading: Reading) -> dict[str, Any]:
    return {
        "text": reading.text,
        "normal": reading.normal,
        "symbols": reading.symbols(),
        "dropped": reading.dropped,
        "words": [
            {
                "text": word.text,
                "phones": word.phones,
                "tones": word.tones,
                "bearers": word.bearers,
                "stress": word.stress,
                "symbols": word.symbols(),
                "sure": reading.restored.get(at),
                "after": after,
            }
            for at, (word, after) in enumerate(zip(reading.words, reading.breaks[1:], strict=True))
        ],
        "read_by": reading.read_by,
    }
