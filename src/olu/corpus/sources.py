"""The sources of a corpus, and the rows of its clips: nothing in them may lead out of a source's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from olu.corpus.shapes import SOURCE
from olu.damage import damaged, misfit
from olu.files import Workspace, read_json
from olu.types import Clip


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One import: where its files lie. `olu import` writes it anew when the recordings have moved."""

    name: str
    root: str  # absolute, or relative to the workspace when the audio was copied
    layout: str


def read_sources(ws: Workspace) -> dict[str, Source]:
    path = ws.corpus / "sources.json"
    if not path.exists():
        raise damaged(path, "it is not there")
    rows = read_json(path)
    if not isinstance(rows, list) or any(misfit(row, SOURCE) or len(row) > len(SOURCE) for row in rows):
        raise damaged(path, "it is no list of sources")
    for row in rows:
        if ".." in PurePosixPath(row["root"]).parts or "\0" in row["root"]:
            raise damaged(path, f"the root {row['root']!r} of {row['name']} leads out of the workspace")
    return {row["name"]: Source(**row) for row in rows}


def clip_of(row: dict[str, Any]) -> Clip:
    """A clip of a manifest, which may come from elsewhere: its recording lies inside its source."""
    audio = row["audio"]
    if "\0" in audio or ("." in audio and ".." in audio.split("/")):
        raise ValueError(f"{audio!r} leads out of its source")
    return Clip(**row)
