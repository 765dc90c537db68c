"""What there is to export, in which formats, under which rights; and packages as zips, sent as they are read."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import OluError
from olu.core.files import Workspace, disk_bytes
from olu.corpus.manifest import Corpus
from olu.corpus.rights import Rights, of_workspace
from olu.export.formats import VOICE
from olu.export.rights import ExportTerms
from olu.export.subject import terms_of
from olu.families import family
from olu.families.runs import kind_of, runs_of, whole_runs
from olu.speak.package import voice_json
from olu.studio.roots import NotHere
from olu.studio.words import t
from olu.train.run import Run

PIECE = 2**18  # bytes
WEIGHT_BYTES = 2  # of a number in a package; a checkpoint has 4
ENDINGS = (".voice", ".vocoder", ".zip")

OWN_PACKAGE = "Olu's own package: everything it needs to speak"
VOCODER_PACKAGE = "a package of the vocoder alone: voices hold a copy of it"


@dataclass(frozen=True)
class ExportFormat:
    name: str
    what: str
    loses: str


@dataclass(frozen=True)
class ExportRun:
    """A run that can be exported, at which steps, as what."""

    run: Run
    kind: str
    steps: tuple[int, ...]  # the newest first
    best: int | None
    formats: tuple[ExportFormat, ...]
    vocoders: tuple[str, ...]  # runs of vocoders, where it needs one
    about_bytes: int  # of the weights as a package holds them, with what only training needs


def exportable(ws: Workspace) -> list[ExportRun]:
    found = []
    for run in whole_runs(ws)[::-1]:
        kind, steps = kind_of(run), run.checkpoints().steps()
        if kind == "listener" or not steps:
            continue
        with suppress(OluError, OSError):
            best = run.best_step()
            found.append(
                ExportRun(run, kind, tuple(steps[::-1]), best, formats_of(run), _vocoders(ws, run), _bytes(run, best))
            )
    return found


def formats_of(run: Run) -> tuple[ExportFormat, ...]:
    """The package, then those of other programs that its family writes."""
    own = ExportFormat(VOICE, OWN_PACKAGE, "nothing")
    speaks = family(run.recipe.family).speaks
    if kind_of(run) == "vocoder" or speaks is None:
        return (ExportFormat(VOICE, VOCODER_PACKAGE, "nothing"),)
    return (own, *(ExportFormat(one.name, one.what, one.loses) for one in speaks.formats))


def _vocoders(ws: Workspace, run: Run) -> tuple[str, ...]:
    speaks = family(run.recipe.family).speaks
    needs = speaks.needs if speaks else ()
    return tuple(one.name for one in runs_of(ws, "vocoder")[::-1]) if "vocoder" in needs else ()


def _bytes(run: Run, step: int | None) -> int:
    try:
        return (run.checkpoints_folder / f"step-{step}" / "weights.safetensors").stat().st_size * WEIGHT_BYTES // 4
    except OSError:
        return 0


@dataclass(frozen=True)
class HeldRights:
    """What is said of the recordings, what of it is missing, and what that means for an export."""

    own: Rights
    terms: ExportTerms | None
    fault: str = ""

    @property
    def missing(self) -> list[str]:
        return self.terms.notes() if self.terms else []


def rights_of(ws: Workspace, run: Run | None) -> HeldRights:
    own = of_workspace(ws)
    if run is None:
        return HeldRights(own, None)
    try:
        return HeldRights(own, terms_of(Corpus.open(ws), run, licence="", override=""))
    except OluError as bad:
        return HeldRights(own, None, str(bad))


@dataclass(frozen=True)
class Exported:
    """A package that lies in the workspace."""

    path: Path
    bytes: int
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def speaks(self) -> bool:
        return self.path.name.endswith((".voice", ".zip")) or (self.path / "voice.json").is_file()

    @property
    def licence(self) -> str:
        return str(self.facts.get("licence") or "")

    @property
    def consent(self) -> str:
        return str(self.facts.get("consent") or "")

    @property
    def run(self) -> str:
        told = self.facts.get("facts")
        if not isinstance(told, dict) or not told.get("run"):
            return ""
        return str(told["run"]) if told.get("step") is None else f"{told['run']}, {t('step {n}', n=told['step'])}"


def exported(ws: Workspace) -> list[Exported]:
    """What was exported into the workspace, the newest first."""
    paths = [path for path in ws.voices.glob("*") if not path.name.startswith(".") and not path.is_symlink()]
    paths = [path for path in paths if path.is_dir() or path.name.endswith(ENDINGS)]
    paths.sort(key=lambda path: -path.stat().st_mtime)
    return [Exported(path, disk_bytes(path), _facts(path)) for path in paths]


def _facts(path: Path) -> dict[str, Any]:
    with suppress(OluError, OSError):
        return dict(voice_json(path))
    return {}


def find_exported(ws: Workspace, name: str) -> Path:
    """By a name that is compared with those that are there."""
    found = next((one.path for one in exported(ws) if one.name == name), None)
    if found is None:
        raise NotHere(t("there is no export {name} here: go back to the list", name=repr(name[:80])))
    return found


class _Held(io.RawIOBase):
    """A file that a zip is written to and that is taken away piece by piece."""

    def __init__(self) -> None:
        self._data, self._at = bytearray(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._data += data
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def take(self) -> bytes:
        data = bytes(self._data)
        self._data.clear()
        return data


def zipped(folder: Path) -> Iterator[bytes]:
    """The files of a package as a zip, as they are read: networks do not become smaller, so nothing is packed."""
    held = _Held()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        for path in _files(folder):
            inside = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
            inside.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(inside, "w", force_zip64=True) as target:
                while piece := source.read(PIECE):
                    target.write(piece)
                    yield held.take()
            yield held.take()
    yield held.take()


def _files(folder: Path) -> Iterator[Path]:
    """Plain files only: a link inside could lead anywhere."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not (Path(place) / name).is_symlink())
        yield from (path for name in sorted(names) if not (path := Path(place) / name).is_symlink() and path.is_file())
