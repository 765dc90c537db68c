"""Recordings that are not where they were imported from: which, where they probably lie now, and what to type."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.files import Workspace
from olu.core.types import Clip
from olu.corpus.again import import_again
from olu.corpus.changed_files import SHOWN, state_of, to_drop
from olu.corpus.sources import Source

SAMPLE = 8  # recordings by which a folder is known again
NEIGHBOURS = 300  # folders that are looked into at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Recordings of one source that are not there, of clips that nobody left out."""

    ws: Workspace
    source: Source
    audio: tuple[str, ...]
    clips: tuple[Clip, ...]
    whole: bool  # none of the source's recordings is there: its folder moved, or its disk is not there

    @property
    def root(self) -> Path:
        return self.ws.root / self.source.root

    def sentence(self, place: Path | None) -> str:
        """What is not there and what to do; `place`: where they seem to lie now."""
        number = "1 clip" if len(self.clips) == 1 else f"{len(self.clips)} clips"
        if not self.whole:
            names = [audio.rpartition("/")[2] for audio in self.audio]
            listed = ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
            are = "1 recording is" if len(names) == 1 else f"{len(names)} recordings are"
            again = f"where they were moved, run '{self.command(None)}' with their new place"
            return f"{are} not in {self.root} any more ({listed}; {number}): {again}, else {self._drop()}"
        there = f"the recordings of {self.source.name} are not at {self.root} any more ({number})"
        if place is not None:
            return f"{there}; they seem to lie in {place}: run '{self.command(place)}'"
        return f"{there}: run '{self.command(None)}' with their new place, bring them back, or {self._drop()}"

    def _drop(self) -> str:
        if len(self.clips) <= SHOWN or not self.whole:
            return to_drop(self.ws, [clip.id for clip in self.clips])
        place, inside = shlex.quote(str(self.ws.root)), shlex.quote(f'"{self.source.name}/" in audio')
        return f"leave them out: olu clips {place} --where {inside} --ids | olu drop {place} -"

    def command(self, place: Path | None) -> str:
        """The import that finds them again."""
        if place is None:
            return shlex.join(["olu", "import", str(self.ws.root), "NEWPLACE"])
        return import_again(self.ws, str(self.root), place=place)


def lost(
    ws: Workspace, sources: Mapping[str, Source], clips: Sequence[Clip], *, only_whole: bool = False
) -> list[Lost]:
    """For each source what is not there. `only_whole`: those of which nothing is, which one look at a file can tell."""
    mine: dict[str, dict[str, list[Clip]]] = {}
    for clip in clips:
        mine.setdefault(clip.audio.partition("/")[0], {}).setdefault(clip.audio, []).append(clip)
    found = []
    for name, by_audio in mine.items():
        if name not in sources:
            continue
        root = str(ws.root / sources[name].root).rstrip("/")
        if only_whole and any(_is_there(root, audio) for audio in by_audio):
            continue
        missing = [audio for audio in by_audio if not _is_there(root, audio)]
        if missing:
            of_these = tuple(clip for audio in missing for clip in by_audio[audio])
            whole = len(missing) == len(by_audio)
            found.append(Lost(ws=ws, source=sources[name], audio=tuple(missing), clips=of_these, whole=whole))
    return found


def _is_there(root: str, audio: str) -> bool:
    try:
        state_of(f"{root}/{audio.partition('/')[2]}")
    except OSError:
        return False
    return True


def place_now(gone: Lost, sizes: Mapping[str, int]) -> Path | None:
    """A folder near the old one, or beside the workspace, that holds what the old one held."""
    inside = [(audio.partition("/")[2], sizes[audio]) for audio in gone.audio if audio in sizes]
    step = max(1, len(inside) // SAMPLE)
    sample = inside[::step][:SAMPLE]
    tried = {gone.root}
    for place in _candidates(gone.root, gone.ws.root.resolve()):
        if sample and place not in tried and all(_has_size(place / name, size) for name, size in sample):
            return place
        tried.add(place)
    return None


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _candidates(root: Path, ws: Path) -> Iterator[Path]:
    """Where a workspace and its recordings moved together; where one folder of the path was renamed."""
    parts = root.parts[1:]
    for above in (ws, *ws.parents):
        for first in range(len(parts) - 1, -1, -1):
            yield above.joinpath(*parts[first:])
    there = next((one for one in root.parents if one.is_dir()), None)
    if there is None:
        return
    tail = root.relative_to(there).parts[1:]
    try:
        beside = sorted(one for one in there.iterdir() if one.is_dir())[:NEIGHBOURS]
    except OSError:
        return
    yield from (one.joinpath(*tail) for one in beside)
    yield from (one.joinpath(root.name) for one in beside)


def source_found(
    clips: Sequence[Clip],
    gone: Sequence[str],
    files: Mapping[str, Mapping[str, Any]],
    here: Mapping[str, str],
) -> str | None:
    """The source that lies here now: one that is gone, and most of whose recordings are here under their old names.

    `gone`: sources whose recordings are not there; `here`: path inside the new place -> hash of the recording.
    """
    counts: dict[str, list[bool]] = {name: [] for name in gone}
    for audio in {clip.audio for clip in clips}:
        name, _, inside = audio.partition("/")
        if name in counts:
            counts[name].append(audio in files and files[audio]["sha256"] == here.get(inside))
    most = max(counts, key=lambda name: sum(counts[name]), default=None)
    return most if most is not None and 2 * sum(counts[most]) > len(counts[most]) else None
