"""A source as its readers see it: what somebody said of it, its files and texts, and its recordings by name."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from olu.audio.media import RECORDINGS, is_recording
from olu.corpus.readers import texts
from olu.corpus.readers.rows import (
    Guessed,
    Problem,
    Read,
    Row,
    TextLine,
    Timing,
    Tree,
    Why,
    exists,
    look,
    name_of,
    without_ending,
)

FOLDERS = ("wavs", "audio", "clips", "")
LOOKED_IN = "wavs/, audio/, clips/ and the folder itself"
ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a person says of a source beside its layout."""

    columns: Mapping[str, str] = field(default_factory=dict)  # kind -> the name it has in a header
    root: Path | None = None  # resolved: the one folder that absolute paths may lead into
    config: str | None = None  # of a Hugging Face dataset
    split: str | None = None
    encoding: str | None = None  # of tables, texts and subtitles
    film: str | None = None  # the one recording of the source that was named
    subtitles: Path | None = None  # resolved
    sounds: Path | None = None  # where the sound of films was written
    shift: float | None = None  # seconds to add to the times of subtitles
    stretch: float | None = None  # what they are multiplied with before
    in_sync: bool = False  # a person says that they fit
    remembered: Mapping[str, Timing] = field(default_factory=dict)  # hash of a recording -> what was said of it before

    def given(self) -> dict[str, Any]:
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name))}


PLAIN = Options()


@dataclass(frozen=True)
class SourceFolder:
    """A folder of recordings, looked at once."""

    path: Path
    options: Options = PLAIN
    home: Path | None = None  # the folder that nothing may lead out of, where that is not this one

    @cached_property
    def tree(self) -> Tree:
        return look(self.path)

    @cached_property
    def index(self) -> AudioIndex:
        return AudioIndex.of(self.path, self.tree, root=self.options.root)

    def lines(self, file: str) -> Iterator[TextLine | Problem | Guessed]:
        return texts.read_lines(self.path, file, encoding=self.options.encoding)

    def rows(self, file: str, row: Callable[[TextLine], Row | Problem]) -> Iterator[Read]:
        """A row for every line of a text."""
        for line in self.lines(file):
            yield row(line) if isinstance(line, TextLine) else line

    def row_beside(self, audio: str, text: str, *, speaker: str | None = None) -> Iterator[Read]:
        """A recording whose text lies in a file of its own."""
        return texts.row_beside(self.path, audio=audio, text=text, speaker=speaker, encoding=self.options.encoding)

    def glance(self, file: str) -> list[str]:
        """The first few lines of a text."""
        return texts.glance(self.path, file, encoding=self.options.encoding)

    def head(self, file: str) -> str:
        return next(iter(self.glance(file)), "")


@dataclass(frozen=True, slots=True)
class AudioIndex:
    """The recordings of a source by name and by name without ending: which of them a name in its metadata means."""

    source: Path
    names: dict[str, str]
    stems: dict[str, str]
    root: Path | None = None  # the one folder that absolute paths may lead into; names count from there, if given
    _near: dict[str, str] = field(default_factory=dict)  # a name, whatever its folder, ending and case -> a recording
    _listed: dict[str, frozenset[str]] = field(default_factory=dict)  # of folders that the look around does not enter

    @staticmethod
    def of(source: Path, tree: Tree, *, root: Path | None = None) -> AudioIndex:
        audio = tree.audio
        names = {unicodedata.normalize("NFC", name): name for name in audio}
        stems: dict[str, str] = {}
        for name in sorted(audio, key=lambda name: RECORDINGS.index(posixpath.splitext(name)[1].lower())):
            stems.setdefault(without_ending(name), name)
        return AudioIndex(source, names, stems, root)

    def find(self, id: str, *, near: str = "", folders: tuple[str, ...] = FOLDERS) -> str | None:
        """The recording an id names, seen from the folder `near` and from the top.

        One that leads elsewhere is handed on for the importer to refuse.
        """
        wanted = unicodedata.normalize("NFC", id.strip())
        for name in dict.fromkeys((wanted, wanted.replace("\\", "/"))) if wanted else ():
            if name.startswith("/") or (not near and ".." in name.split("/")):
                return name
            starts = [posixpath.join(above, folder) for above in dict.fromkeys((near, "")) for folder in folders]
            places = [posixpath.normpath(posixpath.join(start, name)) for start in starts]
            for place in places:
                if found := self.names.get(place) or self.stems.get(place):
                    return found
            if linked := next(filter(None, map(self._linked, places)), None):
                return linked
        return None

    def _linked(self, place: str) -> str:
        """A recording behind a linked folder, which the look around does not enter; nothing where there is none."""
        folder, _, last = place.rpartition("/")
        tries = [ending for ending in ("", *RECORDINGS) if last + ending in self._list(folder)]
        there = (place + ending for ending in tries if is_recording(last + ending))
        return next((name for name in there if exists(self.source / name)), "")

    def _list(self, folder: str) -> frozenset[str]:
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(one.name for one in (self.source / folder).iterdir())
            except (OSError, ValueError):
                self._listed[folder] = frozenset()
        return self._listed[folder]

    def take(
        self, name: str, *, where: str, near: str = "", folders: tuple[str, ...] = FOLDERS, hint: str = ""
    ) -> str | Problem:
        """The recording a row names, or why there is none."""
        name = name.strip()
        if ABSOLUTE.match(name):
            return self._absolute(name, where)
        found = self.find(name, near=near, folders=folders) if name else None
        if found is not None and self.root is not None:
            found = self._from_root(self.source / found)
        elif found is None and name and self.root is not None and is_recording(name) and exists(self.root / name):
            found = name
        return found if found is not None else self.missing(name, where=where, hint=hint)

    def missing(self, name: str, *, where: str, hint: str = "") -> Problem:
        """That a row names no recording, and which one of nearly that name there is."""
        if any(name and name in self._list(folder) for folder in FOLDERS):
            message = f"{name} is there, but its ending is not one of a sound file that is known: rename it"
            return Problem(where, message, Why.SOUND)
        if like := self._alike(name):
            return Problem(where, f"no audio for {name!r}{hint}, but there is {like}: write that name", Why.MISSING)
        message = f"no audio for {name!r}{hint}: put the file there or remove the line"
        return Problem(where, message, Why.MISSING, missing=name or "(no name)")

    def _alike(self, name: str) -> str:
        if not self._near:
            self._near.update((_bare(one), one) for one in reversed(self.stems.values()))
        wanted = unicodedata.normalize("NFC", name.strip()).replace("\\", "/")
        tries = (_bare(wanted), name_of(wanted).casefold())
        return next((self._near[one] for one in tries if one and one in self._near), "")

    def _absolute(self, name: str, where: str) -> str | Problem:
        if self.root is None:
            message = f"{name} is an absolute path: name the folder that may be read with --root DIR"
            return Problem(where, message, Why.OUTSIDE)
        found = self._from_root(Path(name))
        if found is None:
            message = f"{name} lies outside {self.root}, the folder given with --root: name another, or copy the file"
            return Problem(where, message, Why.OUTSIDE)
        if not exists(self.root / found):
            return Problem(where, f"{name} is not there: put it there or remove the line", Why.MISSING, missing=name)
        if not is_recording(found):
            message = f"{name} has no ending of a sound file ({', '.join(RECORDINGS[:8])} ...): rename it"
            return Problem(where, message, Why.SOUND)
        return found

    def _from_root(self, path: Path) -> str | None:
        """A path as seen from the root, or nothing where it lies outside."""
        assert self.root is not None
        shown = posixpath.relpath(posixpath.normpath(path.as_posix()), self.root.as_posix())
        return None if shown == ".." or shown.startswith("../") else shown


def is_inside_name(found: str | None) -> TypeGuard[str]:
    """Whether what `find` found lies in the source."""
    return found is not None and not found.startswith("/") and ".." not in found.split("/")


def _bare(name: str) -> str:
    """A name without folders and ending, in small letters."""
    return name_of(without_ending(name) if is_recording(name) else name).casefold()
