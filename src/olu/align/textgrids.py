"""Many TextGrids at once: a folder of them, or a tar or zip, read and written."""

from __future__ import annotations

import io
import tarfile
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from olu.align.textgrid import TextGrid, from_alignment, render
from olu.core.errors import CorpusError
from olu.core.files import whole, write_text
from olu.core.types import Alignment, Clip, finish
from olu.corpus.readers import archive
from olu.corpus.readers.rows import look

Grids = Iterable[tuple[str, TextGrid]]  # clip id and grid

ENDING = ".textgrid"
NO_TONES: Mapping[str, Sequence[str]] = {}
TARS = {".tar.gz": "w:gz", ".tgz": "w:gz", ".tar": "w", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}


def read_all(source: Path) -> dict[str, bytes]:
    """Path inside, with forward slashes -> what the file holds. Nothing of an archive is written outside."""
    if source.is_dir():
        found = {file: (source / file).read_bytes() for file in look(source).files if file.lower().endswith(ENDING)}
    elif archive.is_archive(source):
        with tempfile.TemporaryDirectory() as folder:
            finish(archive.unpack(source, into=Path(folder) / "grids"))
            return read_all(Path(folder) / "grids")
    elif source.is_file() and source.name.lower().endswith(ENDING):
        found = {source.name: source.read_bytes()}
    else:
        raise CorpusError(f"{source} is neither a folder nor a tar or zip of TextGrids: check the path")
    if not found:
        raise CorpusError(f"{source} holds no file that ends in .TextGrid: check the path")
    return found


def match(files: Iterable[str], clips: Iterable[Clip]) -> tuple[dict[str, str], list[str]]:
    """Clip id -> file, by the clip's id or by its recording's name; and the files that belong to no clip."""
    ids, stems, homes = {}, dict[str, list[Clip]](), dict[str, list[Clip]]()
    for clip in clips:
        ids[_same_form(clip.id)] = clip
        path = PurePosixPath(_same_form(clip.audio))
        stems.setdefault(path.stem, []).append(clip)
        homes.setdefault(f"{path.parent.name}/{path.stem}", []).append(clip)
        homes.setdefault(f"{clip.speaker}/{path.stem}", []).append(clip)
    found, left = dict[str, str](), list[str]()
    for file in files:
        path = PurePosixPath(_same_form(file))
        stem = path.name[: -len(ENDING)]
        named = [ids[stem]] if stem in ids else stems.get(stem, [])
        if len(named) > 1:  # the same name in several folders
            named = [clip for clip in homes.get(f"{path.parent.name}/{stem}", []) if clip in named]
        one = named[0] if len({clip.id for clip in named}) == 1 else None
        if one is None or one.id in found:
            left.append(file)
        else:
            found[one.id] = file
    return found, left


def write_all(target: Path, alignments: Iterable[Alignment], *, tones: Mapping[str, Sequence[str]] = NO_TONES) -> int:
    """One .TextGrid per clip into a folder, or into a tar or zip by the target's ending; returns how many.

    `tones`: by clip, of each of its phones.
    """
    grids = ((one.id, from_alignment(one, tones=tones.get(one.id, ()))) for one in alignments)
    name = target.name.lower()
    mode = next((mode for ending, mode in TARS.items() if name.endswith(ending)), None)
    if mode is None and not name.endswith(".zip"):
        return _into_folder(target, grids)
    if target.is_dir():
        raise CorpusError(f"{target} is a folder: name a file, or a folder without that ending")
    with whole(target) as partial:
        return _into_tar(partial, mode, grids) if mode else _into_zip(partial, grids)


def _into_folder(target: Path, grids: Grids) -> int:
    if target.is_file():
        raise CorpusError(f"{target} is a file: name a folder, or a file that ends in .tar.gz")
    files = dict(_rendered(grids))
    for file, data in files.items():
        write_text(target / file, data.decode())
    return len(files)


def _into_tar(partial: Path, mode: str, grids: Grids) -> int:
    with tarfile.open(str(partial), mode) as packed:  # type: ignore[call-overload]
        for file, data in _rendered(grids):
            info = tarfile.TarInfo(file)
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))
        return len(packed.getmembers())


def _into_zip(partial: Path, grids: Grids) -> int:
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed:
        for file, data in _rendered(grids):
            packed.writestr(zipfile.ZipInfo(file), data, zipfile.ZIP_DEFLATED)
        return len(packed.namelist())


def _rendered(grids: Grids) -> Iterator[tuple[str, bytes]]:
    for id, grid in grids:
        yield f"{id}.TextGrid", render(grid).encode()


def _same_form(name: str) -> str:
    return unicodedata.normalize("NFC", name)
