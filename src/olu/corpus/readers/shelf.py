"""The recordings of a source, and which of them a name in its metadata means."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from olu.audio.io import SUFFIXES
from olu.corpus.readers.rows import Problem, exists, is_audio, look, without_ending

FOLDERS = ("wavs", "audio", "clips", "")
LOOKED_IN = "wavs/, audio/, clips/ and the folder itself"
ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")


@dataclass(frozen=True, slots=True)
class Shelf:
    """The recordings of a source by name and by name without ending."""

    source: Path
    names: dict[str, str]
    stems: dict[str, str]
    root: Path | None = None  # the one folder that absolute paths may lead into; names count from there, if given

    @staticmethod
    def of(source: Path, *, root: Path | None = None) -> Shelf:
        audio = look(source).audio
        names = {unicodedata.normalize("NFC", name): name for name in audio}
        stems: dict[str, str] = {}
        for ending in SUFFIXES:
            for name in audio:
                if name.lower().endswith(ending):
                    stems.setdefault(without_ending(name), name)
        return Shelf(source, names, stems, root)

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
            for place in places:  # behind a linked folder, which the look around does not enter
                for ending in ("", *SUFFIXES):
                    if is_audio(place + ending) and exists(self.source / (place + ending)):
                        return place + ending
        return None

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
        elif found is None and name and self.root is not None and is_audio(name) and exists(self.root / name):
            found = name
        if found is not None:
            return found
        message = f"no audio for {name!r}{hint}: put the file there or remove the line"
        return Problem(where=where, message=message, missing=name or "(no name)")

    def _absolute(self, name: str, where: str) -> str | Problem:
        if self.root is None:
            message = f"{name} is an absolute path: name the folder that may be read with --root DIR"
            return Problem(where=where, message=message)
        found = self._from_root(Path(name))
        if found is None:
            message = f"{name} lies outside {self.root}, the folder given with --root: name another, or copy the file"
            return Problem(where=where, message=message)
        if not is_audio(found) or not exists(self.root / found):
            return Problem(where=where, message=f"{name} is not there: put it there or remove the line", missing=name)
        return found

    def _from_root(self, path: Path) -> str | None:
        """A path as seen from the root, or nothing where it lies outside."""
        assert self.root is not None
        shown = posixpath.relpath(posixpath.normpath(path.as_posix()), self.root.as_posix())
        return None if shown == ".." or shown.startswith("../") else shown
