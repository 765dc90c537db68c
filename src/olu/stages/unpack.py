"""A packed workspace laid out again, or the runs of one taken back into the workspace it came from."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_jsonl, whole
from olu.core.job import Job, Note, Tick
from olu.core.parse import load_json
from olu.core.told import Remedy
from olu.core.words import size as in_units
from olu.corpus.readers.archive import BadHeader, open_tar
from olu.corpus.readers.source import ABSOLUTE
from olu.stages.pack import MANIFEST, SCHEMA
from olu.stages.verbs.voices import UnpackOptions
from olu.train.run import Run

CHUNK = 2**20


@dataclass(frozen=True)
class UnpackSummary:
    workspace: str
    files: int
    bytes: int
    merged: bool  # only runs were taken, into a workspace that was there
    runs: list[str]
    notes: list[str]

    def sentences(self, options: UnpackOptions) -> Iterator[str]:
        what = f"took {', '.join(self.runs) or 'nothing new'}" if self.merged else f"{self.files} files, all as packed"
        yield f"{self.workspace}: {what}. Next: {Remedy('status', (Path(self.workspace),))}"


def run(options: UnpackOptions) -> Job[UnpackSummary]:
    """`olu unpack`"""
    made = yield from unpack(options.file, into=options.ws)
    yield from map(Note, made.notes)
    return made


def unpack(file: Path, *, into: Path | None = None) -> Job[UnpackSummary]:
    """Everything is written beside, checked against its hashes, and only then put in place."""
    if not file.is_file():
        raise WorkspaceError(f"{file} is not there: name a file that 'olu pack' made")
    target = into or Path(file.stem)
    if (target / "olu.toml").is_file():
        return (yield from _merge(file, Workspace.open(target)))
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise WorkspaceError(f"{target} is there and is no workspace: name an empty or new folder")
    with whole(target) as partial:
        facts = yield from _lay_out(file, partial)
    names = [run.name for run in Run.all(target / "runs")]
    return _summary(facts, target, merged=False, runs=names, notes=[])


def _merge(file: Path, ws: Workspace) -> Job[UnpackSummary]:
    """The runs that this workspace does not have, or not so far."""
    place = ws.root / f".unpacked.{os.getpid()}.partial"
    shutil.rmtree(place, ignore_errors=True)
    taken: list[str] = []
    notes: list[str] = []
    try:
        facts = yield from _lay_out(file, place)
        if facts["language"] != ws.language or not _same_clips(place, ws):
            raise WorkspaceError(f"{file} is of another workspace than {ws.root}: unpack it into a folder of its own")
        for run in Run.all(place / "runs"):
            name, note = _take(run, ws)
            taken += [name] if name else []
            notes += [note] if note else []
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return _summary(facts, ws.root, merged=True, runs=taken, notes=notes)


def _same_clips(place: Path, ws: Workspace) -> bool:
    """Whether both have clips in common: more may have been imported since."""

    def ids(root: Path) -> set[str]:
        return {row["id"] for row in read_jsonl(root / "corpus" / "clips.jsonl", shape={"id": str})}

    here, there = ids(ws.root), ids(place)
    return bool(here & there) or here == there


def _take(run: Run, ws: Workspace) -> tuple[str, str]:
    """The name it gets here and what to say; a run that went on in both places is kept twice."""
    mine = Run(ws.runs_folder / run.name)
    name = run.name
    if run.fault:
        return "", f"{name} is damaged in the pack and was not taken: mend it where it came from and pack it again"
    if (mine.folder / "recipe.toml").is_file():
        if mine.is_locked():
            raise WorkspaceError(f"{mine.name} is being trained here: stop it first")
        same = not mine.fault and mine.document("facts.json") == run.document("facts.json")
        ahead, here = _last(run), _last(mine)
        if same and ahead == here and mine.result == run.result:
            return "", f"{name} is here already"
        if same and ahead < here:
            return "", f"{name} is farther here (step {here}) than in the pack ({ahead}): ours stays"
        if not same:
            taken = {int(one.name.rpartition("-")[2]) for one in Run.all(ws.runs_folder)}
            name = f"{run.name.rpartition('-')[0]}-{max(taken, default=0) + 1:03d}"
    with whole(ws.runs_folder / name) as partial:
        shutil.copytree(run.folder, partial)
    return name, "" if name == run.name else f"another {run.name} is here: the packed one became {name}"


def _last(run: Run) -> int:
    return max(run.checkpoints().steps(), default=0)


def _lay_out(file: Path, place: Path) -> Job[dict[str, Any]]:
    """Write every file and hash it; a pack that is cut, changed or leads out of its folder is refused whole."""
    place.mkdir(parents=True)
    seen: dict[str, str] = {}
    size = file.stat().st_size
    room = shutil.disk_usage(place).free
    if size > room:
        raise WorkspaceError(f"{file} needs {in_units(size)}, and {in_units(room)} are free at {place.parent}")
    try:
        with file.open("rb") as data, open_tar(data) as tar:
            for info in tar:
                target = _target(info, place, file)
                if info.name in seen:
                    raise WorkspaceError(f"{file} holds {info.name} twice: it was not made by 'olu pack'")
                seen[info.name] = _write(tar, info, target)
                yield Tick(min(info.offset_data + info.size, size), size, info.name)
    except (FileExistsError, NotADirectoryError):
        raise WorkspaceError(f"{file} has a file and a folder of one name: it was not made by 'olu pack'") from None
    except (tarfile.TarError, BadHeader, EOFError, OSError) as bad:
        if isinstance(bad, OSError) and bad.errno is not None:
            raise
        raise WorkspaceError(f"{file} is damaged or no pack ({bad}): copy it again") from None
    if MANIFEST not in seen:
        raise WorkspaceError(f"{file} breaks off, or was not made by 'olu pack': copy it again")
    return _checked(file, place, seen)


def _checked(file: Path, place: Path, seen: dict[str, str]) -> dict[str, Any]:
    try:
        facts = load_json(place / MANIFEST)
        rows = {str(row["path"]): (row["sha256"], int(row["mtime_ns"]), int(row["bytes"])) for row in facts["files"]}
        schema, _ = facts["schema"], facts["language"]
    except (ValueError, KeyError, TypeError):
        raise WorkspaceError(f"{file}: {MANIFEST} is damaged: copy it again") from None
    if schema != SCHEMA:
        raise WorkspaceError(f"{file} has schema {schema}, this Olu knows {SCHEMA}: use the Olu that packed it")
    for name, (digest, mtime_ns, _) in rows.items():
        if seen.get(name) != digest:
            raise WorkspaceError(f"{file}: {name} is not as it was packed: copy the file again")
        if mtime_ns:
            os.utime(place / name, ns=(mtime_ns, mtime_ns))
    if strange := sorted(set(seen) - set(rows) - {MANIFEST}):
        raise WorkspaceError(f"{file} holds {strange[0]}, which its list has not: it was changed after packing")
    (place / MANIFEST).unlink()
    return dict(facts)


def _target(info: tarfile.TarInfo, place: Path, file: Path) -> Path:
    parts = info.name.replace("\\", "/").split("/")
    if ABSOLUTE.match(info.name) or any(part in ("", ".", "..") for part in parts) or "\0" in info.name:
        raise WorkspaceError(f"{file}: {info.name!r} leads out of the pack: nothing was unpacked")
    if not info.isreg() or info.issparse():  # holes could grow to any size
        raise WorkspaceError(f"{file}: {info.name!r} is no plain file: nothing was unpacked")
    return place.joinpath(*parts)


def _write(tar: tarfile.TarFile, info: tarfile.TarInfo, target: Path) -> str:
    digest = hashlib.sha256()
    target.parent.mkdir(parents=True, exist_ok=True)
    data = tar.extractfile(info)
    assert data is not None
    with data, target.open("xb") as out:
        while chunk := data.read(CHUNK):
            digest.update(chunk)
            out.write(chunk)
    return digest.hexdigest()


def _summary(facts: dict[str, Any], root: Path, *, merged: bool, runs: list[str], notes: list[str]) -> UnpackSummary:
    return UnpackSummary(
        workspace=str(root),
        files=len(facts["files"]),
        bytes=sum(row["bytes"] for row in facts["files"]),
        merged=merged,
        runs=runs,
        notes=notes,
    )
