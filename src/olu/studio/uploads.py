"""Uploads in pieces, into `WS/uploads/`: what broke off goes on where it was; what is whole is a folder to import."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import threading
import time
import unicodedata
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import OluError, WorkspaceError
from olu.core.files import Workspace, disk_bytes, write_json
from olu.core.parse import BadData, load_json
from olu.core.words import size
from olu.studio.roots import NotHere
from olu.studio.settings import StudioSettings
from olu.studio.words import t

FOLDER = "uploads"
ABOUT = "upload.json"
INSIDE = "files"  # of an upload: what was sent, under its own names
PART = ".part"  # a file that is not whole yet
MOST_PIECE = 64 * 2**20  # bytes of one request
MOST_FILES = 200_000
MOST_PARTS, LONGEST_NAME = 12, 200  # folders in each other; bytes of one name
ID = re.compile(r"[0-9]{8}-[0-9a-f]{8}")
FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')


class WrongOffset(OluError):
    """A piece that does not begin where the file ends: `offset` is where it does."""

    def __init__(self, offset: int) -> None:
        super().__init__(t("this piece begins elsewhere than the file ends: go on at {offset}", offset=offset))
        self.offset = offset


@dataclass(frozen=True)
class Upload:
    id: str
    name: str  # as the person knows it
    folder: Path  # what is imported
    files: int  # that were announced
    bytes: int
    at: str
    arrived: int = 0  # bytes

    @property
    def whole(self) -> bool:
        return self.arrived >= self.bytes


class Uploads:
    def __init__(self, settings: StudioSettings) -> None:
        self._settings = settings
        self._locks: dict[Path, threading.Lock] = {}

    def begin(self, ws: Workspace, *, name: str, files: int, bytes: int) -> Upload:
        """A place for files. One of the same name and size that is not whole yet is gone on with."""
        if not 1 <= files <= MOST_FILES:
            raise WorkspaceError(
                t("an upload has 1 to {n} files: put them into a zip, or send them in parts", n=f"{MOST_FILES:,}")
            )
        self._check_room(ws, bytes)
        shown = _clean(name)[:LONGEST_NAME] or "upload"
        for held in self.all(ws):
            if (held.name, held.files, held.bytes) == (shown, files, bytes):
                return held
        id = f"{time.strftime('%Y%m%d')}-{secrets.token_hex(4)}"
        place = ws.root / FOLDER / id
        (place / INSIDE).mkdir(parents=True)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        write_json(place / ABOUT, {"name": shown, "files": files, "bytes": bytes, "at": at})
        return self.one(ws, id)

    def all(self, ws: Workspace) -> list[Upload]:
        """The newest first."""
        place = ws.root / FOLDER
        found = [self.one(ws, path.name) for path in place.iterdir() if _is_upload(path)] if place.is_dir() else []
        return sorted(found, key=lambda one: one.at, reverse=True)

    def one(self, ws: Workspace, id: str) -> Upload:
        place = ws.root / FOLDER / id
        if not ID.fullmatch(id) or not _is_upload(place):
            raise NotHere(t("there is no upload {id} here: begin it again", id=repr(id[:40])))
        try:
            about = load_json(place / ABOUT)
        except (BadData, OSError):
            about = {}
        return Upload(
            id=id,
            name=str(about.get("name", id)),
            folder=place / INSIDE,
            files=int(about.get("files", 0)),
            bytes=int(about.get("bytes", 0)),
            at=str(about.get("at", "")),
            arrived=disk_bytes(place / INSIDE),
        )

    def offsets(self, ws: Workspace, id: str) -> dict[str, Any]:
        """File -> bytes that are here, and whether it is whole."""
        folder = self.one(ws, id).folder
        found: dict[str, Any] = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = path.relative_to(folder).as_posix()
                whole = not name.endswith(PART)
                found[name.removesuffix(PART)] = {"offset": path.stat().st_size, "whole": whole}
        return found

    async def put(
        self, ws: Workspace, id: str, name: str, *, offset: int, total: int, body: AsyncIterator[bytes]
    ) -> dict[str, Any]:
        """Write one piece of a file at its end; the last one makes it whole."""
        folder = self.one(ws, id).folder
        path = inside(folder, name)
        if not 0 <= total <= self._settings.most_upload:
            raise WorkspaceError(
                t("{name}: files of up to {size} are taken here", name=name[:80], size=size(self._settings.most_upload))
            )
        part = path.with_name(path.name + PART)
        lock = self._locks.setdefault(path, threading.Lock())
        if not lock.acquire(blocking=False):
            raise WorkspaceError(t("{name} is being sent already: wait for that piece", name=name[:80]))
        try:
            return await self._write(ws, path, part, offset=offset, total=total, body=body)
        finally:
            lock.release()
            self._locks.pop(path, None)

    async def _write(
        self, ws: Workspace, path: Path, part: Path, *, offset: int, total: int, body: AsyncIterator[bytes]
    ) -> dict[str, Any]:
        if path.exists():
            return {"offset": path.stat().st_size, "whole": True}
        part.parent.mkdir(parents=True, exist_ok=True)
        held = part.stat().st_size if part.exists() else 0
        if offset != held:
            raise WrongOffset(held)
        self._check_room(ws, total - held)
        end = min(total, held + MOST_PIECE)
        with part.open("ab") as file:
            async for data in body:
                if held + len(data) > end:
                    raise WorkspaceError(t("{name} has more bytes than was said: begin it again", name=path.name))
                file.write(data)
                held += len(data)
            file.flush()
            os.fsync(file.fileno())
        if held == total:
            part.replace(path)
        return {"offset": held, "whole": held == total}

    def remove(self, ws: Workspace, id: str) -> None:
        """Give the disk back. What was copied into the workspace stays; a source that lies here would be lost."""
        place = self.one(ws, id).folder.parent
        if is_source(ws, place):
            raise WorkspaceError(t("clips of this workspace lie in this upload: it stays"))
        shutil.rmtree(place)

    def _check_room(self, ws: Workspace, bytes: int) -> None:
        free = shutil.disk_usage(ws.root).free
        if bytes < 0 or free - bytes < self._settings.leave_free:
            raise WorkspaceError(
                t(
                    "there is no room for it: {size} are free on this disk, {wanted} are wanted",
                    size=size(free),
                    wanted=size(max(bytes, 0)),
                )
            )


def is_source(ws: Workspace, place: Path) -> bool:
    """Whether recordings of the corpus lie in a folder."""
    with contextlib.suppress(BadData, OSError, TypeError, KeyError):
        for row in load_json(ws.corpus / "sources.json"):
            if (ws.root / row["root"]).resolve().is_relative_to(place.resolve()):
                return True
    return False


def inside(folder: Path, name: str) -> Path:
    """Where a file of an upload lies: its own name, in folders of its own names, each of them a plain one."""
    parts = name.split("/")
    if not 1 <= len(parts) <= MOST_PARTS:
        raise WorkspaceError(t("{name} lies in too many folders: send it without some of them", name=repr(name[:80])))
    for part in parts:
        plain = unicodedata.normalize("NFC", part)
        if not part.strip() or part in (".", "..") or FORBIDDEN.search(part) or part.endswith((PART, ".partial")):
            raise WorkspaceError(t("{name} is no name for a file here: rename it", name=repr(name[:80])))
        if len(plain.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
            raise WorkspaceError(t("{name} is too long a name: rename it", name=repr(name[:80])))
    path = folder.joinpath(*parts)
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise WorkspaceError(t("a name holds half a letter: rename the file")) from None
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise WorkspaceError(t("{name} leads out of the upload: rename it", name=repr(name[:80])))
    return path


def _is_upload(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and (path / ABOUT).is_file()


def _clean(name: str) -> str:
    return FORBIDDEN.sub(" ", name).replace("/", " ").strip()
