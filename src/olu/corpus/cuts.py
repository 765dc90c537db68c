"""Which long clips were cut into which short ones: corpus/cuts.jsonl. The long ones are set aside and stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from olu.core.files import Workspace, read_jsonl, write_jsonl


def path(ws: Workspace) -> Path:
    return ws.corpus / "cuts.jsonl"


def load(ws: Workspace) -> dict[str, list[str]]:
    """The clips that were cut, each with the ids of its pieces."""
    return {row["id"]: row["clips"] for row in read_jsonl(path(ws), shape={"id": str, "clips": list[str]})}


def save(ws: Workspace, cuts: Mapping[str, Sequence[str]]) -> None:
    write_jsonl(path(ws), ({"id": id, "clips": list(ids)} for id, ids in cuts.items()))
