"""What people said of the times of subtitles, kept for the next import of the same recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olu.core.damage import Shape
from olu.core.files import Workspace, read_jsonl, write_jsonl
from olu.corpus.readers.rows import Timing

NUMBER = (int, float)
SHAPE: Shape = {"sha256": str, "audio": str, "shift": NUMBER, "stretch": NUMBER, "in_sync": bool, "starts": list}


def load(ws: Workspace) -> dict[str, Timing]:
    """Hash of a recording -> what holds for it."""
    return {row["sha256"]: _timing(row) for row in read_jsonl(ws.corpus / "timings.jsonl", shape=SHAPE)}


def renew(ws: Workspace, used: Mapping[str, Timing]) -> None:
    """What an import has used takes the place of what was kept; times as they are written need no keeping."""
    before = load(ws)
    after = {hash: one for hash, one in {**before, **used}.items() if not one.is_plain}
    if after != before:
        write_jsonl(ws.corpus / "timings.jsonl", (_row(hash, one) for hash, one in after.items()))


def _timing(row: dict[str, Any]) -> Timing:
    kept = {name: row[name] for name in ("audio", "shift", "stretch", "in_sync")}
    return Timing(**kept, starts=tuple(row["starts"]))


def _row(hash: str, one: Timing) -> dict[str, Any]:
    said = {"audio": one.audio, "shift": one.shift, "stretch": one.stretch, "in_sync": one.in_sync}
    return {"sha256": hash, **said, "starts": list(one.starts)}
