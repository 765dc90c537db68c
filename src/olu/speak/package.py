"""What a voice package holds, from a folder or a zip, proved to be what was exported. Nothing is unpacked or run."""

from __future__ import annotations

import hashlib
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from olu.core.errors import NetworkError, VoiceError
from olu.core.inside import is_inside
from olu.core.parse import BadData, from_json
from olu.networks.proof import LARGEST, ProvedNetwork, prove

SCHEMA = 2
OLDEST = 1  # packages without digests and without the decoder's context
GRAPHS = ("encoder.onnx", "decoder.onnx")
FILES = ("voice.json", "vocabulary.json", "check.json", "language/frontend.json", *GRAPHS)
LANGUAGE = re.compile(r"language/[^/\\:]+")
LARGEST_TEXT = 2**26
LARGEST_TEXTS = 2**28  # all files but the graphs together: many small ones can swell too
MOST_FILES = 10_000
ZIP_ERRORS = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, RuntimeError, ValueError, LookupError)
BLOCK = 2**20  # bytes of a file gone through at a time
PACKED = 200  # nothing of a voice shrinks more than this
PACKED_FROM = 2**20  # bytes; smaller files may


@dataclass(frozen=True)
class Package:
    where: str
    schema: int
    facts: dict[str, Any]
    vocabulary: dict[str, Any]
    frontend: dict[str, Any]
    check: dict[str, Any]
    encoder: ProvedNetwork
    decoder: ProvedNetwork


@dataclass(frozen=True)
class Outline:
    """What a package says of itself."""

    schema: int
    facts: dict[str, Any]
    check: dict[str, Any]


@dataclass(frozen=True)
class _Held:
    """The files of a package, and their digests. Of a file that was only gone through there is no more than that."""

    files: dict[str, bytes]
    digests: dict[str, str]


def read_outline(path: Path) -> Outline:
    """Proved as `read_package` does, a piece at a time: the networks, which may be large, are never held."""
    return _outline(_held(path, whole=False), str(path))


def read_package(path: Path) -> Package:
    where = str(path)
    held = _held(path, whole=True)
    outline, files = _outline(held, where), held.files
    check = outline.check
    return Package(
        where=where,
        schema=outline.schema,
        facts=outline.facts,
        vocabulary=_json(files, "vocabulary.json", where),
        frontend=_with_files(_json(files, "language/frontend.json", where), files, where),
        check=check,
        encoder=_network(files, "encoder.onnx", where),
        decoder=_network(files, "decoder.onnx", where),
    )


def _held(path: Path, *, whole: bool) -> _Held:
    return _folder(path, whole=whole) if path.is_dir() else _zip(path, whole=whole)


def _outline(held: _Held, where: str) -> Outline:
    facts = _json(held.files, "voice.json", where)
    schema = facts.get("schema")
    if type(schema) is not int or not OLDEST <= schema <= SCHEMA:
        raise VoiceError(f"{where} has schema {schema!r:.40}, this Olu knows {SCHEMA}: upgrade Olu or export again")
    check = _json(held.files, "check.json", where)
    if schema > 1:
        _prove(held.digests, check.get("files"), where)
    return Outline(schema, facts, check)


def _taken(names: Collection[str], opened: Callable[[str], IO[bytes]], *, whole: bool) -> _Held:
    held = _Held({}, {})
    for name in sorted(names):
        digest = hashlib.sha256()
        with opened(name) as stream:
            if whole or name not in GRAPHS:
                held.files[name] = stream.read()
                digest.update(held.files[name])
            else:
                while block := stream.read(BLOCK):
                    digest.update(block)
        held.digests[name] = digest.hexdigest()
    return held


def _prove(files: dict[str, str], digests: Any, where: str) -> None:
    """Every file that is used is byte for byte what was exported."""
    if not isinstance(digests, dict):
        raise VoiceError(f"{where}: check.json is damaged: export the voice again")
    absent = next((name for name in digests if LANGUAGE.fullmatch(name) and name not in files), None)
    if absent is not None:
        raise VoiceError(f"{where} is not a whole voice package (no {absent}): export it again")
    for name, digest in files.items():
        if name == "check.json":
            continue
        if name not in digests:
            raise VoiceError(f"{where}: {name:.80} was not exported with it: take it out, or export the voice again")
        if digest != digests[name]:
            raise VoiceError(f"{where}: {name:.80} is damaged: export the voice again")


def _network(files: dict[str, bytes], name: str, where: str) -> ProvedNetwork:
    try:
        return prove(files[name], name=name)
    except NetworkError as bad:
        raise VoiceError(f"{where}: {bad}") from None


def _json(files: dict[str, bytes], name: str, where: str) -> dict[str, Any]:
    try:
        value = from_json(files[name])
    except BadData:
        raise VoiceError(f"{where}: {name} is damaged: export the voice again") from None
    if not isinstance(value, dict):
        raise VoiceError(f"{where}: {name} is damaged: export the voice again")
    return value


def _with_files(state: dict[str, Any], files: dict[str, bytes], where: str) -> dict[str, Any]:
    """The frontend's state with the language's own files, which lie beside it in the package, inside."""
    pack = state.get("pack")
    if not isinstance(pack, dict) or not isinstance(pack.get("files"), list):
        return state
    absent = next((name for name in pack["files"] if f"language/{name}" not in files), None)
    if absent is not None:
        raise VoiceError(f"{where} is not a whole voice package (no language/{absent!s:.60}): export it again")
    return {**state, "pack": {**pack, "files": {name: files[f"language/{name}"] for name in pack["files"]}}}


def _folder(path: Path, *, whole: bool) -> _Held:
    absent = next((name for name in FILES if not (path / name).is_file()), None)
    if absent is not None:
        raise VoiceError(f"{path} is not a voice package (no {absent}): make one with 'olu export'")
    beside = [f"language/{file.name}" for file in (path / "language").iterdir() if file.is_file()]
    names = {*FILES, *beside}
    if outside := next((name for name in sorted(names) if not is_inside(path, name)), None):
        raise VoiceError(f"{path}: {outside!r:.80} points outside of it: do not use this package")
    _sizes(path, {name: (path / name).stat().st_size for name in names})
    try:
        return _taken(names, lambda name: (path / name).open("rb"), whole=whole)
    except OSError as bad:
        raise VoiceError(f"{path} cannot be read ({bad.strerror}): check the disk and who may read it") from None


def _zip(path: Path, *, whole: bool) -> _Held:
    if not path.exists():
        raise VoiceError(f"{path} is not there: check the path, or make a voice with 'olu export'")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _safe(path, entries)
            sizes = {entry.filename: entry.file_size for entry in entries}
            absent = next((name for name in FILES if name not in sizes), None)
            if absent is not None:
                raise VoiceError(f"{path} is not a voice package (no {absent}): make one with 'olu export'")
            names = {*FILES, *(name for name in sizes if LANGUAGE.fullmatch(name))}
            _sizes(path, {name: sizes[name] for name in names})
            return _taken(names, archive.open, whole=whole)
    except VoiceError:
        raise
    except (*ZIP_ERRORS, OSError):
        raise VoiceError(f"{path} is not a voice package or is damaged: make one with 'olu export'") from None


def _safe(path: Path, entries: Collection[zipfile.ZipInfo]) -> None:
    """No name that would leave the package, no link, no name twice, nothing that swells."""
    if len(entries) > MOST_FILES or len({entry.filename for entry in entries}) != len(entries):
        raise VoiceError(f"{path} is not a voice package (too many files, or one twice): make one with 'olu export'")
    for entry in entries:
        parts = re.split(r"[/\\]", entry.filename)
        if ".." in parts or parts[0] == "" or ":" in parts[0] or stat.S_ISLNK(entry.external_attr >> 16):
            raise VoiceError(f"{path}: {entry.filename!r:.80} points outside of it: do not use this package")
        if entry.file_size > PACKED_FROM and entry.file_size > PACKED * max(1, entry.compress_size):
            raise VoiceError(
                f"{path}: {entry.filename!r:.80} unpacks to far more than it holds: do not use this package"
            )


def _sizes(path: Path, sizes: dict[str, int]) -> None:
    total = sum(size for name, size in sizes.items() if name not in GRAPHS)
    if total > LARGEST_TEXTS:
        raise VoiceError(f"{path}: its language is too large for a voice ({total} bytes): export the voice again")
    for name, size in sizes.items():
        if size > (LARGEST if name in GRAPHS else LARGEST_TEXT):
            raise VoiceError(f"{path}: {name:.80} is too large for a voice ({size} bytes): export the voice again")
