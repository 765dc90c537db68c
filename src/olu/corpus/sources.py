"""The sources of a corpus, and its clips as they were imported: nothing in them may lead out of a source's folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, line_blocks, read_json, read_rows
from olu.core.rows import corrupt_file, load_rows, schema_error
from olu.core.types import Clip
from olu.corpus.journal import FEW, lines_with


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One import: where its files lie. `olu import` writes it anew when the recordings have moved."""

    name: str
    root: str  # absolute, or relative to the workspace when the audio was copied
    layout: str


LANGUAGE = re.compile(rb'"language":\s*"([a-z]{3})"')
SOURCE = {"name": str, "root": str, "layout": str}


def read_sources(ws: Workspace) -> dict[str, Source]:
    path = ws.corpus / "sources.json"
    if not path.exists():
        raise corrupt_file(path, "it is not there")
    rows = read_json(path)
    if not isinstance(rows, list) or any(schema_error(row, SOURCE) or len(row) > len(SOURCE) for row in rows):
        raise corrupt_file(path, "it is no list of sources")
    for row in rows:
        if ".." in PurePosixPath(row["root"]).parts or "\0" in row["root"]:
            raise corrupt_file(path, f"the root {row['root']!r} of {row['name']} leads out of the workspace")
    return {row["name"]: Source(**row) for row in rows}


def free_name(sources: Iterable[str], clips: Iterable[Clip]) -> str:
    """A name for one more source: no other has it, nor a clip of one that is not listed."""
    taken = {*sources, *(clip.audio.partition("/")[0] for clip in clips)}
    return next(f"s{n}" for n in range(1, len(taken) + 2) if f"s{n}" not in taken)


def check_inside(clip: Clip) -> None:
    """A manifest may come from elsewhere: the recording of a clip lies inside its source."""
    if "\0" in clip.audio or ("." in clip.audio and ".." in clip.audio.split("/")):
        raise ValueError(f"{clip.audio!r} leads out of its source")


def clips_path(ws: Workspace) -> Path:
    return ws.corpus / "clips.jsonl"


def other_languages(ws: Workspace) -> list[str]:
    """Languages of clips beside the workspace's own, by a look at the bytes: stages ask whether they are stale."""
    found = {code for block in line_blocks(clips_path(ws)) for code in LANGUAGE.findall(block)}
    return sorted({code.decode() for code in found} - {ws.language})


def read_clips(ws: Workspace) -> tuple[Clip, ...]:
    """The clips as they were imported, without corrections: for whoever writes the manifest. Others open a Corpus."""
    path = clips_path(ws)
    if not path.exists():
        raise WorkspaceError(f"{ws.root} has no clips yet: run 'olu import {ws.root} SOURCE' first")
    return tuple(read_rows(path, Clip, check=check_inside))


def clips_named(ws: Workspace, ids: Collection[str]) -> dict[str, Clip]:
    """Those of these clips that exist, as imported: quick where they are few."""
    wanted, path = set(ids), clips_path(ws)
    if not wanted:
        return {}
    if len(wanted) <= FEW and path.exists():
        found: dict[str, Clip] = {}
        for clip in load_rows(((0, line) for line in lines_with(path, wanted)), path, Clip, check=check_inside):
            if clip.id in wanted:
                found[clip.id] = clip
            if len(found) == len(wanted):
                return found
    return {clip.id: clip for clip in read_clips(ws) if clip.id in wanted}
