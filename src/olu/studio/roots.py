"""The folders given at start: workspaces are found below them, and no path leads out of them."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from olu.core.errors import OluError, WorkspaceError
from olu.core.files import Workspace
from olu.studio.words import t

OWN = ".olu-studio"  # in the first root: jobs of no workspace, the studio's lock
DEPTH = 4  # folders below a root that are looked into
MOST_FOLDERS = 5000
FRESH = 1.0  # seconds


class NotHere(OluError):
    """What is asked for does not lie here."""


@dataclass(frozen=True)
class StudioWorkspace(Workspace):
    """A workspace and its name in addresses."""

    slug: str = ""

    @property
    def address(self) -> str:
        return f"/w/{quote(self.slug)}"


class Roots:
    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))
        self._held: dict[str, Path] = {}
        self._looked = -FRESH

    @property
    def own(self) -> Path:
        """Where the studio keeps what belongs to no workspace."""
        return self.folders[0] / OWN

    def places(self, *, anew: bool = False) -> dict[str, Path]:
        """The folders of all workspaces, by their names in addresses. They are looked for once a second at most."""
        if anew or time.monotonic() - self._looked > FRESH:
            self._held, self._looked = self._look(), time.monotonic()
        return self._held

    def _look(self) -> dict[str, Path]:
        found = list(self._found())
        plain = [_slug(self._relative(path)) for path in found]
        often = Counter(plain)
        return {
            slug if often[slug] == 1 else f"{slug}-{_mark(path)}": path for slug, path in zip(plain, found, strict=True)
        }

    def workspace(self, slug: str) -> StudioWorkspace:
        path = self.places().get(slug) or self.places(anew=True).get(slug)
        if path is None:
            raise NotHere(t("there is no workspace {slug} here: go back to the list", slug=repr(slug[:80])))
        held = Workspace.open(path)
        return StudioWorkspace(held.root, held.language, held.name, slug)

    def slug_of(self, path: Path, *, anew: bool = True) -> str:
        """The name in addresses of the workspace in this folder; nothing where it is none of these."""
        wanted = path.resolve()
        return next((slug for slug, place in self.places(anew=anew).items() if place == wanted), "")

    def inside(self, path: str | Path) -> Path:
        """The real path, links followed; refused where it leads out of the roots."""
        text = str(path)
        if not text or "\0" in text:
            raise WorkspaceError(t("this is no path: choose a file or a folder"))
        whole = Path(text) if Path(text).is_absolute() else self.folders[0] / text
        try:
            found = whole.resolve()
        except (OSError, RuntimeError):
            raise WorkspaceError(t("{text} leads nowhere: choose another path", text=text[:200])) from None
        if not any(found.is_relative_to(root) for root in self.folders):
            raise WorkspaceError(
                t(
                    "{text} lies outside the folders of this studio: put it into one, or start it with that folder",
                    text=text[:200],
                )
            )
        return found

    def _relative(self, path: Path) -> str:
        root = next(root for root in self.folders if path.is_relative_to(root))
        return path.name if path == root else path.relative_to(root).as_posix()

    def _found(self) -> Iterator[Path]:
        seen: set[Path] = set()
        for root in self.folders:
            for path in _below(root):
                if path not in seen:
                    seen.add(path)
                    yield path


def _below(root: Path) -> Iterator[Path]:
    """Workspaces at or below a folder, the nearest first; nothing inside a workspace is looked at, nor any link."""
    level, looked = [root], 0
    for _ in range(DEPTH + 1):
        following: list[Path] = []
        for folder in level:
            if (folder / "olu.toml").is_file():
                yield folder
                continue
            looked += 1
            if looked > MOST_FOLDERS:
                return
            following += _folders(folder)
        level = following


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")]
    except OSError:
        return []
    return [folder / name for name in sorted(names)]


def _slug(relative: str) -> str:
    """Letters and digits of any script as they are, the rest as hyphens."""
    return re.sub(r"[^\w.]+", "-", relative).strip("-.") or "workspace"


def _mark(path: Path) -> str:
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:6]
