"""Files written whole or not at all, hashes, JSON lines, what may be opened of a source, a workspace's paths."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from olu.core.errors import WorkspaceError
from olu.core.exchange import replace_folder, take_back
from olu.core.parse import BadData, load_json, load_toml
from olu.core.rows import Shape, corrupt_file, load_rows, schema_error

SCHEMA = 1
BLOCK = 2**20  # bytes
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
EMBEDDED = "embedded"  # the name of the voice inside this package
VOICES = Path(__file__).parents[1] / "voices"  # data of this package
Made = TypeVar("Made")
NO_FILES = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}
# A pipe that nobody writes into must not make us wait, and a link may come between the look and the opening.
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def whole(path: Path, *, flush: bool = True, new: bool = False) -> Iterator[Path]:
    """Yield a temporary name beside `path`; on success it is flushed to disk and renamed over `path`.

    `new`: what another process has put there meanwhile stays, and FileExistsError says so.
    Whoever writes thousands flushes them together, by `flush_all`, before anything names them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    _remove(partial)  # a killed process may have had our number
    try:
        yield partial
        if flush:
            _settle(partial)
        if path.is_dir() and partial.is_file():  # a file in the place of somebody's folder would be the end of it
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if new:
            _take_name(partial, path)
        elif path.is_dir():  # a folder cannot be renamed over a full folder
            replace_folder(partial, path)
        else:
            partial.replace(path)
        if flush:
            _flush(path.parent)
    except OSError as failed:
        if failed.filename == str(partial) or (failed.filename is None and failed.errno in FULL):
            failed.filename = str(path)  # a write that fails does not say where
        raise
    finally:
        _remove(partial)


def _take_name(folder: Path, path: Path) -> None:
    """Rename `folder` to `path`; FileExistsError where another process has taken that name."""
    try:
        folder.rename(path)
    except OSError as taken:
        if taken.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES) or not path.exists():
            raise
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None


CAN_FLUSH_ALL = hasattr(os, "sync")


def flush_all() -> None:
    """Flush all that was written to disk, in one call: one for each of thousands of files takes minutes."""
    if CAN_FLUSH_ALL:
        os.sync()


def _settle(made: Path) -> None:
    """On the disk, every file and folder of it, and its files as open to others as it is itself.

    Some libraries write files that only their owner can read, whatever was asked of the system.
    """
    inside = sorted(made.rglob("*")) if made.is_dir() else []
    for path in [*inside, made]:
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            continue
        if path.is_file() and inside:
            mode = path.stat().st_mode
            if (wanted := mode | (made.stat().st_mode & 0o666)) != mode:
                path.chmod(wanted)
        _flush(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows cannot open a folder
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    with whole(path) as partial:
        partial.write_bytes(text.encode("utf-8", "surrogateescape"))


def write_bytes(path: Path, data: bytes) -> None:
    with whole(path) as partial:
        partial.write_bytes(data)


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_json(path: Path, *, shape: Shape | None = None) -> Any:
    """What a file holds. With a shape it is an object that has these keys."""
    try:
        value = load_json(path)
    except BadData as bad:
        raise corrupt_file(path, str(bad)) from None
    if shape is not None and (fault := schema_error(value, shape)):
        raise corrupt_file(path, fault)
    return value


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with whole(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_jsonl(
    path: Path, *, shape: Shape | None = None, lost: list[WorkspaceError] | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of a file; a missing file has none. With a shape, each has these keys."""
    return load_rows(enumerate(_lines(path), 1), path, shape or {}, lost=lost)


def read_rows(
    path: Path,
    kind: type[Made],
    *,
    check: Callable[[Made], None] | None = None,
    lost: list[WorkspaceError] | None = None,
) -> Iterator[Made]:
    """The rows of a file, as a dataclass; see `load_rows`."""
    return load_rows(enumerate(_lines(path), 1), path, kind, check=check, lost=lost)


def line_blocks(path: Path) -> Iterator[bytes]:
    """A file as blocks of whole lines, so that a large one is never held; a missing file has none."""
    if path.exists():
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                yield block + file.readline()


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file as bytes; only a real newline ends one, whatever the texts hold."""
    if path.exists():
        with path.open("rb") as lines:
            yield from lines


def hash_file(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def hash_value(value: Any) -> str:
    """A stable hash of anything JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def disk_bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file() and not p.is_symlink())


def is_embedded(text: str) -> bool:
    return text == EMBEDDED and not Path(text).exists()


def embedded_voice() -> Path | None:
    """The voice that comes with this package; none where it was built without one."""
    return next(iter(sorted(VOICES.glob("*.voice"))), None)


def _check_name(root: Path) -> None:
    """Refuse a path that is not UTF-8: it gets into pages and JSON, which know no other bytes."""
    try:
        str(root.resolve()).encode("utf-8")
    except UnicodeEncodeError:
        raise WorkspaceError(f"the path {root} is not valid UTF-8: rename the folder, or choose another") from None


@dataclass(frozen=True)
class Workspace:
    """One project folder. People may edit olu.toml; everything else is written by stages."""

    root: Path
    language: str
    name: str

    @staticmethod
    def create(root: Path, *, language: str, name: str | None = None) -> Workspace:
        _check_name(root)
        if (root / "olu.toml").exists():
            raise WorkspaceError(f"{root} is a workspace already: go on with 'olu status {root}'")
        if root.exists() and not root.is_dir():
            raise WorkspaceError(f"{root} is a file: name a folder that is empty or not there yet")
        if root.exists() and any(root.iterdir()):
            raise WorkspaceError(f"{root} is not empty: name a folder that is empty or not there yet")
        title = json.dumps(name or root.resolve().name, ensure_ascii=False)
        write_text(root / "olu.toml", f"schema = {SCHEMA}\nname = {title}\nlanguage = {json.dumps(language)}\n")
        return Workspace.open(root)

    @staticmethod
    def open(root: Path) -> Workspace:
        _check_name(root)
        root = root.absolute() if str(root).startswith("-") else root  # no advice may take it for an option
        path = root / "olu.toml"
        if root.is_file():
            raise WorkspaceError(f"{root} is a file: name the folder of a workspace")
        if not path.is_file():
            raise WorkspaceError(
                f"{root} is not a workspace (no olu.toml): make one with 'olu new {root} --language CODE'"
            )
        try:
            facts = load_toml(path)
        except BadData as bad:
            raise WorkspaceError(f"{path} cannot be read: {bad}") from None
        schema = facts.get("schema")
        if not isinstance(schema, int):
            raise WorkspaceError(f"{path} has no schema number: add the line 'schema = {SCHEMA}'")
        if schema > SCHEMA:
            raise WorkspaceError(f"{path} has schema {schema}, this Olu knows up to {SCHEMA}: upgrade Olu to open it")
        known = {"schema", "name", "language", "view", "rights"}
        for key in facts:
            if key not in known:
                raise WorkspaceError(f"{path}: unknown key {key!r}; known: {', '.join(sorted(known))}")
        if not isinstance(facts.get("language"), str):
            raise WorkspaceError(f'{path} names no language: add a line such as language = "swa"')
        take_back(root / folder for folder in ("voices", "runs", "features", "evaluations"))
        name = str(facts.get("name", root.resolve().name))
        if not name.strip() or any(mark in name for mark in "/\\"):
            raise WorkspaceError(f"{path}: name = {name!r} cannot be part of a file name: choose one without slashes")
        return Workspace(root=root, language=facts["language"], name=name)

    @property
    def corpus(self) -> Path:
        return self.root / "corpus"

    @property
    def audit_folder(self) -> Path:
        return self.root / "audit"

    @property
    def readings(self) -> Path:
        return self.root / "readings"

    @property
    def alignment(self) -> Path:
        return self.root / "alignment"

    @property
    def features(self) -> Path:
        return self.root / "features"

    @property
    def runs_folder(self) -> Path:
        return self.root / "runs"

    @property
    def voices(self) -> Path:
        return self.root / "voices"

    @property
    def evaluations(self) -> Path:
        return self.root / "evaluations"

    def stamp_path(self, stage: str) -> Path:
        return self.root / "stamps" / f"{stage}.json"

    def stamp(self, stage: str, *, inputs: str, options: dict[str, Any], summary: dict[str, Any]) -> None:
        """Record that `stage` is done for these inputs. Written last, so a killed stage is simply not done."""
        write_json(
            self.stamp_path(stage),
            {"stage": stage, "inputs": inputs, "options": options, "finished": int(time.time()), "summary": summary},
        )

    def stamped(self, stage: str) -> dict[str, Any] | None:
        path = self.stamp_path(stage)
        if not path.exists():
            return None
        try:
            stamp = read_json(path)
        except WorkspaceError:
            return None  # a damaged stamp only means the stage runs again
        shape = {"inputs": str, "options": dict, "summary": dict}
        return None if schema_error(stamp, shape) else dict(stamp)


def workspace_here() -> Path | None:
    """The folder one stands in, or one above it, that is a workspace."""
    place = Path.cwd()
    for above, folder in enumerate((place, *place.parents)):
        if (folder / "olu.toml").is_file():
            return Path(*[".."] * above) if above else Path()
    return None


class Refused(ValueError):
    """A file that is not opened or cannot be read, and why: words to stand behind its name."""


def is_inside(source: Path, file: str | Path) -> bool:
    """Whether a path leads nowhere but into `source` (or, in a download of the hub, to the files beside it)."""
    try:
        found, root = (source / file).resolve(), source.resolve()
    except (OSError, ValueError, RuntimeError):  # a link that leads in a circle leads nowhere
        return False
    return found.is_relative_to(root) or found.is_relative_to(_blobs(root))


def _blobs(root: Path) -> Path:
    """The folder in the hub's cache that holds the files a snapshot links to."""
    at = next((one for one in (root, *root.parents) if one.parent.name == "snapshots"), None)
    return at.parent.parent / "blobs" if at is not None else root


def fault_of(source: Path, file: str | Path) -> str:
    """Why a file of a source is not opened; nothing where it may be."""
    if not is_inside(source, file):
        return f"leads out of {source}: copy the file into it"
    try:
        return _no_file((source / file).stat().st_mode)
    except (OSError, ValueError) as bad:
        return f"cannot be read ({getattr(bad, 'strerror', None) or 'no such name'}): allow reading it"


def _no_file(mode: int) -> str:
    kind = stat.S_IFMT(mode)
    return "" if kind == stat.S_IFREG else f"is {NO_FILES.get(kind, 'no plain file')}: put a file in its place"


def read_inside(source: Path, file: str | Path, *, most: int, cut: bool = False) -> bytes:
    """What a text file of a source holds, or Refused. `cut`: only its beginning is wanted, of `most` bytes."""
    if fault := fault_of(source, file):
        raise Refused(fault)
    try:
        handle = os.open((source / file).resolve(), OPEN_FLAGS)
        with open(handle, "rb") as data:  # noqa: PTH123
            if fault := _no_file(os.fstat(handle).st_mode):
                raise Refused(fault)
            found = data.read(most if cut else most + 1)
    except OSError as bad:
        raise Refused(f"cannot be read ({bad.strerror}): allow reading it") from None
    if len(found) > most:
        raise Refused(f"has more than {most // 2**20} MiB, which no such text has: name the right folder")
    return found
