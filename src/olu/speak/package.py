"""What a voice package holds, from a folder or a zip, proved to be what was exported. Nothing is unpacked or run."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import NetworkError, VoiceError
from olu.core.files import Workspace, embedded_voice, is_embedded, is_inside
from olu.core.parse import BadData, from_json
from olu.networks.proof import LARGEST, ProvedNetwork, prove

NOISE = "noise"  # in the facts of a voice that was given another
SCHEMA = 3
OLDEST = 1  # packages without digests and without the decoder's context
TEXTS = ("voice.json", "vocabulary.json", "check.json", "language/frontend.json")
GRAPHS = {"encoder": "encoder.onnx", "decoder": "decoder.onnx"}  # of packages before schema 3, whose engine is latents
FILES = (*TEXTS, *GRAPHS.values())
LANGUAGE = re.compile(r"language/[^/\\:]+")
NUMBERS = re.compile(r"[a-z][a-z0-9_]{0,39}\.(onnx|npy)")  # graphs and arrays lie beside voice.json
DTYPES = frozenset(["float16", "float32", "int8", "int16", "int32", "int64", "uint8"])
MOST_NUMBERS = 64  # graphs and arrays
LARGEST_TEXT = 2**26
LARGEST_TEXTS = 2**28  # all files but graphs and arrays together: many small ones can swell too
MOST_FILES = 10_000
ZIP_ERRORS = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, RuntimeError, ValueError, LookupError)
BLOCK = 2**20  # bytes of a file gone through at a time
PACKED = 200  # nothing of a voice shrinks more than this
PACKED_FROM = 2**20  # bytes; smaller files may
REMEMBERED_FROM = (
    2**26
)  # bytes; the digest of a larger file is proved once, and then again when its size or time changes
MOST_REMEMBERED = 1000


@dataclass(frozen=True)
class Outline:
    """What a package says of itself."""

    where: str
    schema: int
    facts: dict[str, Any]
    check: dict[str, Any]

    @property
    def engine(self) -> Any:
        return self.facts.get("engine") if self.schema > 2 else "latents"


@dataclass(frozen=True)
class Package(Outline):
    vocabulary: dict[str, Any]
    frontend: dict[str, Any]
    graphs: dict[str, ProvedNetwork]
    arrays: dict[str, NDArray[Any]]  # of a folder they are mapped, not read


@dataclass(frozen=True)
class _Files:
    """The files of a package, whether it is a folder or a zip."""

    where: str
    folder: Path | None
    sizes: Mapping[str, int]
    open: Callable[[str], IO[bytes]]
    whole: bool  # networks are wanted too, not only what is said of them
    held: dict[str, bytes] = field(default_factory=dict)

    def bytes(self, name: str) -> bytes:
        """Read once: what is used is what was proved."""
        if name not in self.held:
            self.check([name])
            with self.open(name) as stream:
                self.held[name] = stream.read()
        return self.held[name]

    def json(self, name: str) -> dict[str, Any]:
        return _json(self.bytes(name), name, self.where)

    def check(self, names: Collection[str]) -> None:
        """They are there, lie inside of the package and are not too large."""
        if absent := next((name for name in names if name not in self.sizes), None):
            raise VoiceError(f"{self.where} is not a voice package (no {absent}): make one with 'olu export'")
        for name in names if self.folder else ():
            if not is_inside(self.folder, name):  # type: ignore[arg-type]
                raise VoiceError(f"{self.where}: {name!r:.80} points outside of it: do not use this package")
        total = sum(self.sizes[name] for name in names if not NUMBERS.fullmatch(name))
        if total > LARGEST_TEXTS:
            raise VoiceError(f"{self.where}: its language is too large for a voice ({total} bytes): export it again")
        for name in names:
            if self.sizes[name] > (LARGEST if NUMBERS.fullmatch(name) else LARGEST_TEXT):
                size = f"({self.sizes[name]} bytes)"
                raise VoiceError(f"{self.where}: {name:.80} is too large for a voice {size}: export the voice again")

    def digest(self, name: str) -> str:
        if self.folder is not None and self.sizes[name] >= REMEMBERED_FROM:
            return _remembered(self.folder / name, lambda: self._streamed(name))
        mapped = name.endswith(".npy") and self.folder is not None
        held = not NUMBERS.fullmatch(name) or (self.whole and not mapped)
        return hashlib.sha256(self.bytes(name)).hexdigest() if held else self._streamed(name)

    def _streamed(self, name: str) -> str:
        digest = hashlib.sha256()
        with self.open(name) as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
        return digest.hexdigest()


def read_outline(path: Path) -> Outline:
    """Proved as `read_package` does, a piece at a time: the networks, which may be large, are never held."""
    with _opened(path, whole=False) as files:
        return _outline(files)[0]


def read_package(path: Path) -> Package:
    with _opened(path, whole=True) as files:
        outline, numbers = _outline(files)
        return Package(
            **vars(outline),
            vocabulary=files.json("vocabulary.json"),
            frontend=_frontend(files),
            graphs={name: _network(files, row["file"]) for name, row in numbers["graphs"].items()},
            arrays={name: _array(files, row) for name, row in numbers["arrays"].items()},
        )


def read_frontend(path: Path) -> dict[str, Any]:
    """How a voice reads, without its networks; of a package that was proved before."""
    with _opened(path, whole=False) as files:
        return _frontend(files)


def _frontend(files: _Files) -> dict[str, Any]:
    language = {name: files.bytes(name) for name in files.sizes if LANGUAGE.fullmatch(name)}
    frontend = _json(language["language/frontend.json"], "language/frontend.json", files.where)
    return _with_files(frontend, language, files.where)


def _outline(files: _Files) -> tuple[Outline, dict[str, dict[str, Any]]]:
    """What it says of itself, with its graphs and arrays; everything that is used is there and is proved."""
    where = files.where
    files.check(TEXTS)
    facts = files.json("voice.json")
    schema = facts.get("schema")
    if type(schema) is not int or not OLDEST <= schema <= SCHEMA:
        raise VoiceError(f"{where} has schema {schema!r:.40}, this Olu knows {SCHEMA}: upgrade Olu or export again")
    numbers = (
        _numbers(facts, where) if schema > 2 else {"graphs": {n: {"file": f} for n, f in GRAPHS.items()}, "arrays": {}}
    )
    named = [row["file"] for rows in numbers.values() for row in rows.values()]
    used = {*TEXTS, *named, *(name for name in files.sizes if LANGUAGE.fullmatch(name))}
    files.check(sorted(used, key=lambda name: name not in TEXTS))
    check = files.json("check.json")
    if schema > 1:
        _prove(files, used, check.get("files"))
    return Outline(where, schema, facts, check), numbers


def _numbers(facts: dict[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """The graphs and arrays that voice.json names: {"encoder": {"file": "encoder.onnx", "inputs": [...]}, ...}."""
    found = {kind: facts.get(kind) for kind in ("graphs", "arrays")}
    for kind, rows in found.items():
        suffix = ".onnx" if kind == "graphs" else ".npy"
        for row in rows.values() if isinstance(rows, dict) and len(rows) <= MOST_NUMBERS else [None]:
            file = row.get("file") if isinstance(row, dict) else None
            if not isinstance(file, str) or not NUMBERS.fullmatch(file) or not file.endswith(suffix):
                raise VoiceError(f"{where}: voice.json is damaged (its {kind}): export the voice again")
    return found  # type: ignore[return-value]


def _prove(files: _Files, used: Collection[str], digests: Any) -> None:
    """Every file that is used is byte for byte what was exported."""
    where = files.where
    if not isinstance(digests, dict):
        raise VoiceError(f"{where}: check.json is damaged: export the voice again")
    absent = next((name for name in digests if LANGUAGE.fullmatch(name) and name not in files.sizes), None)
    if absent is not None:
        raise VoiceError(f"{where} is not a whole voice package (no {absent}): export it again")
    for name in sorted(set(used) - {"check.json"}):
        if name not in digests:
            raise VoiceError(f"{where}: {name:.80} was not exported with it: take it out, or export the voice again")
        if files.digest(name) != digests[name]:
            raise VoiceError(f"{where}: {name:.80} is damaged: export the voice again")


def _network(files: _Files, name: str) -> ProvedNetwork:
    try:
        return prove(files.bytes(name), name=name)
    except NetworkError as bad:
        raise VoiceError(f"{files.where}: {bad}") from None


def _array(files: _Files, row: Mapping[str, Any]) -> NDArray[Any]:
    """An .npy file of the type and shape that voice.json says; nothing pickled."""
    name = row["file"]
    try:
        if files.folder is not None:
            found: NDArray[Any] = np.load(files.folder / name, mmap_mode="r", allow_pickle=False)
        else:
            found = np.load(io.BytesIO(files.bytes(name)), allow_pickle=False)
        same = found.dtype.name in DTYPES and [found.dtype.name, list(found.shape)] == [row["dtype"], row["shape"]]
    except Exception:  # numpy raises many kinds for what is no array
        same = False
    if not same:
        raise VoiceError(f"{files.where}: {name:.80} is damaged: export the voice again")
    return found


def _json(data: bytes, name: str, where: str) -> dict[str, Any]:
    try:
        value = from_json(data)
    except BadData:
        raise VoiceError(f"{where}: {name} is damaged: export the voice again") from None
    if not isinstance(value, dict):
        raise VoiceError(f"{where}: {name} is damaged: export the voice again")
    return value


def _with_files(state: dict[str, Any], files: Mapping[str, bytes], where: str) -> dict[str, Any]:
    """The frontend's state with the language's own files, which lie beside it in the package, inside."""
    pack = state.get("pack")
    if not isinstance(pack, dict) or not isinstance(pack.get("files"), list):
        return state
    absent = next((name for name in pack["files"] if f"language/{name}" not in files), None)
    if absent is not None:
        raise VoiceError(f"{where} is not a whole voice package (no language/{absent!s:.60}): export it again")
    return {**state, "pack": {**pack, "files": {name: files[f"language/{name}"] for name in pack["files"]}}}


def graph_files(facts: Mapping[str, Any]) -> list[str]:
    """The files of the networks of a package and of their arrays, by what voice.json says."""
    rows = [row for kind in ("graphs", "arrays") for row in (facts.get(kind) or {}).values()]
    return [row["file"] for row in rows] or list(GRAPHS.values())


# ---------------------------------------------------------------- a folder or a zip


@contextmanager
def _opened(path: Path, *, whole: bool) -> Iterator[_Files]:
    if path.is_dir():
        try:
            yield _Files(str(path), path, _sizes_in(path), lambda name: (path / name).open("rb"), whole)
        except OSError as bad:
            raise VoiceError(f"{path} cannot be read ({bad.strerror}): check the disk and who may read it") from None
        return
    if not path.exists():
        raise VoiceError(f"{path} is not there: check the path, or make a voice with 'olu export'")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _safe(path, entries)
            sizes = {entry.filename: entry.file_size for entry in entries if _is_ours(entry.filename)}
            yield _Files(str(path), None, sizes, archive.open, whole)
    except VoiceError:
        raise
    except (*ZIP_ERRORS, OSError):
        raise VoiceError(f"{path} is not a voice package or is damaged: make one with 'olu export'") from None


def _sizes_in(path: Path) -> dict[str, int]:
    beside = path / "language"
    files = {file.name: file for file in path.iterdir()}
    files |= {f"language/{file.name}": file for file in (beside.iterdir() if beside.is_dir() else ())}
    return {name: file.stat().st_size for name, file in files.items() if _is_ours(name) and file.is_file()}


def _is_ours(name: str) -> bool:
    return name in TEXTS or bool(LANGUAGE.fullmatch(name) or NUMBERS.fullmatch(name))


def _safe(path: Path, entries: Collection[zipfile.ZipInfo]) -> None:
    """Refuse a zip with a name that leads outside, a link, a name twice, or a file that swells."""
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


# ---------------------------------------------------------------- digests of large files


def _remembered(file: Path, digest: Callable[[], str]) -> str:
    """The digest of a large file from the user's cache, where its size and time are still those it was proved with."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "olu" / "digests.json"
    info = file.stat()
    key = json.dumps([str(file.resolve()), info.st_size, info.st_mtime_ns])
    try:
        held = from_json(cache.read_bytes())
        known = held if isinstance(held, dict) else {}
    except (OSError, BadData):
        known = {}
    if not isinstance(known.get(key), str):
        known = {**dict(list(known.items())[1 - MOST_REMEMBERED :]), key: digest()}
        with suppress(OSError):
            cache.parent.mkdir(parents=True, exist_ok=True)
            partial = cache.with_name(f"digests.{os.getpid()}")
            partial.write_text(json.dumps(known), encoding="utf-8")
            partial.replace(cache)
    return str(known[key])


# ---------------------------------------------------------------- where a voice lies that a person named


def voice_place(place: Path) -> Path:
    """`embedded` names the voice inside Olu, where nothing here has that name; else the place itself."""
    if not is_embedded(place.as_posix()):
        return place
    if (own := embedded_voice()) is None:
        raise VoiceError("which voice? This Olu was built without one of its own: name a voice or a workspace")
    return own


def package_place(place: Path) -> Path:
    """As `voice_place`; of a workspace the newest voice that was exported into it."""
    place = voice_place(place)
    if not (place / "olu.toml").is_file():
        return place
    found = list(Workspace.open(place).voices.glob("*.voice/voice.json"))
    if not found:
        raise VoiceError(f"{place} has no voice yet: make one with 'olu export {place} --to voice'")
    return max(found, key=lambda path: path.stat().st_mtime).parent


def voice_json(place: Path) -> dict[str, Any]:
    """What a voice package says of itself; nothing for other checkpoints."""
    try:
        if place.is_dir():
            data = (place / "voice.json").read_bytes() if (place / "voice.json").is_file() else b"{}"
        else:
            with zipfile.ZipFile(place) as archive:
                data = archive.read("voice.json")
        held = from_json(data)
    except (ValueError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
        return {}
    return held if isinstance(held, dict) else {}
