"""Recordings that are no longer what was imported, or not where they were: which, and the import that takes them again.

A change is seen by size and date, and a recording is read only where its date differs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, hash_file, read_json, read_jsonl, write_jsonl
from olu.core.types import Clip
from olu.core.words import first_names
from olu.corpus.sources import Source

FLAGS = ("layout", "speaker", "columns", "config", "split", "shift")  # as the stamp of an import keeps them
PATHS = ("root", "subtitles")


def import_again(ws: Workspace, root: str, *, place: Path | None = None) -> str:
    """The command for the source that lies at `root`; `place`: where it lies now.

    SOURCE stands where nobody knows it; the options are known of the workspace's last import only.
    """
    stamp = ws.stamped("import")
    asked: dict[str, Any] = stamp["options"] if stamp else {}
    old = Path(root) if Path(root).is_absolute() else origins(ws, there=True).get(Path(root).name)
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


def origins(ws: Workspace, *, there: bool = False) -> dict[str, Path]:
    """Of copied sources: name -> where they were copied from; `there`: of those that still lie there."""
    try:
        known = read_json(ws.corpus / "audio" / "origins.json", shape={})
    except (OSError, WorkspaceError):
        return {}
    places = {name: Path(str(origin)) for name, origin in known.items()}
    return {name: origin for name, origin in places.items() if not there or origin.exists()}


FILE = "hashes.jsonl"  # of recordings whose date differs from that of the import: each is read once
RECORDING = {"audio": str, "sha256": str, "bytes": int, "mtime_ns": int}  # a row of files.jsonl and of hashes.jsonl
SHOWN = 3

_known: dict[tuple[str, int, int], str] = {}  # path, size and date -> hash, for as long as this process lives


class ChangeWatch:
    """What the import wrote down of each recording, beside what lies there now."""

    def __init__(self, ws: Workspace, *, imported: Mapping[str, dict[str, Any]] | None = None) -> None:
        """`imported`: what an import would write down, where nothing shall be written."""
        self.path, self.dry = ws.corpus / FILE, imported is not None
        self.imported = imported if imported is not None else _imported(ws.corpus / "files.jsonl")
        self.hashed: dict[str, dict[str, Any]] = {}
        with suppress(OSError):  # what cannot be read of it is made again
            self.hashed = {row["audio"]: row for row in read_jsonl(self.path, shape=RECORDING, lost=[])}
        self.news = False

    def has_changed(self, audio: str, path: str) -> bool:
        """Whether other bytes lie there than were imported; what is gone, or was never written down, has not."""
        try:
            return audio in self.imported and self.is_other(audio, path, state_of(path))
        except OSError:
            return False  # whoever reads it says why

    def is_other(self, audio: str, path: str, state: os.stat_result) -> bool:
        """The same of a recording whose size and date were looked up."""
        row = self.imported.get(audio)
        if row is None or (state.st_size, state.st_mtime_ns) == (row["bytes"], row["mtime_ns"]):
            return False
        return state.st_size != row["bytes"] or self._hash(audio, path, state.st_mtime_ns) != str(row["sha256"])

    def imported_hash(self, audio: str, path: str, state: os.stat_result) -> str:
        """The hash of what was imported, where the same bytes lie there still; "" where others do or nobody knows."""
        row = self.imported.get(audio)
        return "" if row is None or self.is_other(audio, path, state) else str(row["sha256"])

    def _hash(self, audio: str, path: str, mtime_ns: int) -> str:
        size = self.imported[audio]["bytes"]
        row = self.hashed.get(audio)
        if row is not None and (row["bytes"], row["mtime_ns"]) == (size, mtime_ns):
            return str(row["sha256"])
        key = (path, size, mtime_ns)
        if key not in _known:
            _known[key] = hash_file(Path(path))
        self.hashed[audio] = {"audio": audio, "sha256": _known[key], "bytes": size, "mtime_ns": mtime_ns}
        self.news = True
        return _known[key]

    def remember(self) -> None:
        """Write the hashes down, so that copied recordings with other dates are not read at every command."""
        if self.news and not self.dry:
            with suppress(OSError):  # a workspace one may only read is read again
                write_jsonl(self.path, [row for audio, row in self.hashed.items() if audio in self.imported])
            self.news = False


def state_of(path: str) -> os.stat_result:
    """Size, date and kind of a file by its path as text: to make a Path takes longer than to look."""
    return os.stat(path)  # noqa: PTH116


def _imported(path: Path) -> Mapping[str, dict[str, Any]]:
    if not path.exists():
        return {}
    state = path.stat()
    return _rows(path, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=1)  # one command asks several times, and a large corpus takes a while
def _rows(path: Path, *state: int) -> Mapping[str, dict[str, Any]]:
    return {row["audio"]: row for row in read_jsonl(path, shape=RECORDING) if row["bytes"]}


def is_other(path: Path, *, sha256: str, bytes: int, mtime_ns: int) -> bool:
    """Whether a copy that lies there is no longer what was copied."""
    if not path.is_file():
        return False
    state = path.stat()
    return state.st_size != bytes or (state.st_mtime_ns != mtime_ns and hash_file(path) != sha256)


def to_import(ws: Workspace, roots: Iterable[str]) -> str:
    """The import that takes changed recordings in."""
    commands = [f"'{import_again(ws, root)}'" for root in sorted(set(roots))]
    return f"run {' and '.join(commands)} again"


def to_drop(ws: Workspace, ids: Sequence[str]) -> str:
    """What to do with clips whose recording no import can take any more."""
    place = shlex.quote(str(ws.root))
    if len(ids) <= SHOWN:
        return f"leave {'it' if len(ids) == 1 else 'them'} out: olu drop {place} {shlex.join(ids)}"
    listed = f"olu clips {place} --where '\"unreadable\" in marks' --ids"
    return f"leave them out: olu drop {place} ID ..., with the ids that {listed} lists after an audit"


def told(names: Sequence[str], remedy: str, *, imported: bool) -> str:
    """One sentence on changed recordings; `imported`: an import was just made, and has not taken them."""
    one = len(names) == 1
    number, be, them = ("1 recording", "is", "it") if one else (f"{len(names)} recordings", "are", "them")
    listed = first_names(names, SHOWN)
    since = f"changed since {'it was' if one else 'they were'} imported and {be} left out ({listed})"
    return f"{number} {since}{f', and this import did not take {them}' if imported else ''}: {remedy}"


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
            listed = first_names(names, SHOWN)
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
    """Folders where the recordings may lie now: moved with the workspace, or one folder renamed."""
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
    clips: Sequence[Clip], gone: Sequence[str], files: Mapping[str, Mapping[str, Any]], here: Mapping[str, str]
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
