"""What a workspace holds when an import begins; of damaged files, what can be read, so that an import mends them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_json, read_jsonl, read_rows, whole
from olu.core.types import Clip
from olu.core.words import many
from olu.corpus import cuts
from olu.corpus.changed_files import RECORDING, lost, source_found
from olu.corpus.corrections import Correction, in_force
from olu.corpus.sources import Source, check_inside, free_name, read_sources


@dataclass(frozen=True, slots=True)
class HeldCorpus:
    """What a workspace holds before an import, read once: whoever plans looks at the disk no more."""

    ws: Workspace
    clips: tuple[Clip, ...]
    sources: dict[str, Source]
    origins: dict[str, str]  # of copied sources: name -> where they were copied from
    files: dict[str, dict[str, Any]]  # audio -> its row in files.jsonl
    lost: dict[Path, int]  # damaged files, and how many of their lines cannot be read
    cut: bool = False  # pieces of longer clips were among the clips
    gone: tuple[str, ...] = ()  # sources whose recordings are not where they were
    corrected: Mapping[str, Correction] = field(default_factory=dict)  # clip id -> the text that a person wrote

    @staticmethod
    def of(ws: Workspace) -> HeldCorpus:
        lines: dict[Path, list[WorkspaceError]] = {}
        path = ws.corpus / "clips.jsonl"
        clips = tuple(read_rows(path, Clip, check=check_inside, lost=lines.setdefault(path, [])))
        path = ws.corpus / "files.jsonl"
        files = {row["audio"]: row for row in read_jsonl(path, shape=RECORDING, lost=lines.setdefault(path, []))}
        known, copied = ws.corpus / "sources.json", ws.corpus / "audio" / "origins.json"
        sources: dict[str, Source] = {}
        try:
            sources = read_sources(ws) if known.exists() else {}
        except WorkspaceError as bad:
            lines[known] = [bad]
        origins = dict(read_json(copied, shape={})) if copied.exists() else {}
        cut = cuts.path(ws).exists() and cuts.path(ws).stat().st_size > 0
        outside = {name: one for name, one in sources.items() if Path(one.root).is_absolute()}  # copies never move
        gone = tuple(one.source.name for one in lost(ws, outside, clips, only_whole=True))
        faults = {path: len(bad) for path, bad in lines.items() if bad}
        return HeldCorpus(ws, clips, sources, origins, files, faults, cut, gone, in_force(ws))

    def name(self, root: Path, *, copy: bool, here: Mapping[str, str]) -> str:
        """The name a source got when it was imported in the same way before, or has moved from; else a free one.

        `here`: path inside the place that is imported -> hash of the recording.
        """
        roots = self.origins if copy else {source.name: source.root for source in self.sources.values()}
        same = [name for name, where in roots.items() if where == str(root)]
        if not same and not copy and (moved := source_found(self.clips, self.gone, self.files, here)):
            return moved
        return min(same, default=free_name({*self.sources, *self.origins}, self.clips))

    def known_as(self, origin: Path, files: Iterable[str]) -> dict[str, str]:
        """Of these files of a place, those that were imported before, from there or a folder around it, copied or not.

        File -> the recording it is in the corpus: its new clips take the place of the old ones.
        """
        homes = {
            name: Path(one.root) if Path(one.root).is_absolute() else Path(self.origins[name])
            for name, one in self.sources.items()
            if Path(one.root).is_absolute() or name in self.origins
        }
        there: dict[Path, str] = {}
        for audio in {clip.audio: None for clip in self.clips}:
            name, _, inside = audio.partition("/")
            if name in homes:
                there.setdefault(homes[name] / inside, audio)
        return {file: there[origin / file] for file in files if origin / file in there}

    def found_again(self, name: str, root: str) -> list[str]:
        """A note where the source that is imported now had moved."""
        old = self.sources.get(name)
        if old is None or old.root == root:
            return []
        return [f"the recordings of {name} had moved from {old.root} and were found again here"]

    def put_aside(self) -> None:
        """Keep what was damaged under another name, before it is written anew."""
        for path in self.lost:
            tries = (path.with_name(f"{path.name}.damaged{number or ''}") for number in range(1000))
            with whole(next(one for one in tries if not one.exists())) as partial:
                shutil.copyfile(path, partial)

    def notes(self, *, name: str) -> list[str]:
        """What was damaged, and what is still to be done about it; `name` is the source that is imported now."""
        notes = []
        for path, lines in self.lost.items():
            lost = f"{many(lines, 'line')} could not be read" if path.suffix == ".jsonl" else "it could not be read"
            kept = f"{path.name} was damaged and is written anew, the old one is kept beside it"
            notes.append(f"{kept}: {lost}")
        others = [source.root for source in self.sources.values() if source.name != name]
        if others or any(path.suffix == ".json" for path in self.lost):
            which = f" ({', '.join(others)})" if others else ""
            notes += ["import every other source again too" + which] if self.lost else []
        if self.cut and any(path.name == "clips.jsonl" for path in self.lost):
            notes.append("clips had been cut: run 'olu cut' with --undo, then align and cut again")
        return notes
