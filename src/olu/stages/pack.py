"""One file of a workspace, to carry to another machine and back: nothing in it points out of it."""

from __future__ import annotations

import hashlib
import io as streams
import json
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, cast

from olu.audio import io
from olu.core.errors import AudioError, ConfigError, WorkspaceError
from olu.core.files import Workspace, hash_value, whole
from olu.core.job import Job, Note, Tick
from olu.core.told import Remedy
from olu.core.types import Clip
from olu.core.words import size
from olu.corpus.manifest import Corpus
from olu.families.runs import passed_over, voices
from olu.stages.import_ import STAGE as IMPORT
from olu.stages.verbs.voices import PackOptions
from olu.text.frontend import FILE as READING
from olu.text.frontend import lexicon_path, read_settings
from olu.text.language_data import load_lexicon
from olu.train.checkpoint import DAMAGED
from olu.train.run import Run

SCHEMA = 1
MANIFEST = "olu-pack.json"  # the last file: what was cut off before it has none
LEXICON = "packed-lexicon.tsv"
LEFT = (
    "voices",
    "evaluations",
    "runs",
    "tune",
    "features",
    "jobs",
    "uploads",
    "takes",
)  # folders that are not taken as a whole
Which = Literal["last", "all", "none"]


@dataclass(frozen=True)
class PackSummary:
    file: str
    bytes: int
    files: int
    audio_bytes: int
    runs: list[str]
    notes: list[str]

    def sentences(self, options: PackOptions) -> Iterator[str]:
        carried = f", with {', '.join(self.runs)}" if self.runs else ""
        yield f"{self.file}: {size(self.bytes)}, {size(self.audio_bytes)} of it sound, {self.files} files{carried}."
        yield f"Next, on the other machine: {Remedy('unpack', (Path(Path(self.file).name),))}"


def run(options: PackOptions) -> Job[PackSummary]:
    """`olu pack`"""
    if options.opus and options.features:
        raise ConfigError("--features has no effect with --opus: they are made anew from the smaller sound")
    which = cast(Which, options.runs)
    made = yield from pack(
        Workspace.open(options.ws), out=options.output, runs=which, features=options.features, opus=options.opus
    )
    yield from map(Note, made.notes)
    return made


@dataclass(frozen=True)
class _Item:
    """A file in the pack: made of bytes, or as it lies on disk."""

    name: str
    path: Path | None = None
    data: bytes | None = None
    mtime_ns: int = 0


def pack(
    ws: Workspace, *, out: Path | None = None, runs: Which = "last", features: bool = False, opus: bool = False
) -> Job[PackSummary]:
    """The corpus with the recordings its clips need, readings and stamps, and as many runs as asked for."""
    path = out or Path(f"{ws.name}.tar")
    if path.exists():
        raise WorkspaceError(f"{path} is there already: choose another name with -o")
    if path.resolve().is_relative_to(ws.root.resolve()):
        raise WorkspaceError(f"{path} lies inside the workspace: choose a place outside with -o")
    taken = _runs(ws, runs)
    corpus = Corpus.open(ws) if (ws.corpus / "clips.jsonl").exists() else None
    if corpus is not None:
        corpus.check_sources()
    sounds, absent = _to_take(corpus) if corpus else ([], [])
    notes = [*absent, *_said(ws, taken, features=features, which=runs, opus=opus)]
    with tempfile.TemporaryDirectory() as place, whole(path) as partial, tarfile.open(partial, "w") as tar:
        rows = []
        audio = _sounds(corpus, sounds, Path(place), opus=opus) if corpus else iter(())
        total, audio_bytes = len(sounds), 0
        rates: dict[str, int] = {}
        for done, (item, rate) in enumerate(audio, 1):
            rows.append(_add(tar, item))
            audio_bytes += rows[-1]["bytes"]
            rates[sounds[done - 1]] = rate
            yield Tick(done, total, item.name)
        for item in _files(ws, corpus, taken, features=features and not opus, rates=rates if opus else None):
            rows.append(_add(tar, item))
            yield Tick(total, total, item.name)
        facts = {"schema": SCHEMA, "name": ws.name, "language": ws.language, "opus": opus, "files": rows}
        _add(tar, _Item(MANIFEST, data=json.dumps(facts, ensure_ascii=False).encode()))
    return PackSummary(
        file=str(path),
        bytes=path.stat().st_size,
        files=len(rows),
        audio_bytes=audio_bytes,
        runs=[run.name for run in taken],
        notes=notes,
    )


def _runs(ws: Workspace, which: Which) -> list[Run]:
    if which not in ("last", "all", "none"):
        raise WorkspaceError(f"--runs {which!r} is none of last, all, none")
    taken = Run.all(ws.runs_folder) if which == "all" else voices(ws)[-1:] if which == "last" else []
    for run in taken:
        if run.is_locked():
            raise WorkspaceError(f"{run.name} is being trained now: stop it first, or pack with --runs none")
    return taken


def _said(ws: Workspace, runs: list[Run], *, features: bool, which: Which, opus: bool) -> list[str]:
    """Sentences on what the pack leaves out, or holds damaged."""
    faults = {run.name: run.fault for run in runs}
    whole = [run for run in runs if not faults[run.name]]
    bases = {run.recipe.base for run in whole if run.recipe.base and not run.checkpoints().steps()}
    said = [f"the base {base} is not in the pack: bring it along" for base in sorted(bases)]
    said += [f"{name} is packed as it is, damaged: {fault}" for name, fault in faults.items() if fault]
    if features and not ws.features.exists():
        said.append("there are no features to take: 'olu prepare' makes them")
    if which == "last":
        said += passed_over(ws, next(iter(runs), None), kind="voice")
    return [*said, *(["the sound was made smaller with Opus, which loses a little of it"] if opus else [])]


def _to_take(corpus: Corpus) -> tuple[list[str], list[str]]:
    """The recordings to pack, and a sentence on those that are not there, whose clips were all left out.

    A workspace may come from elsewhere: only sound is taken, and only from inside the folders it was imported from.
    """
    clips: dict[str, list[Clip]] = {}
    for clip in corpus:
        clips.setdefault(clip.audio, []).append(clip)
    taken, absent = [], []
    for audio, held in sorted(clips.items()):
        path = corpus.locate(held[0])
        if not path.is_file() and all(corpus.is_dropped(clip) for clip in held):
            absent.append(path.name)
            continue
        _check_sound(path, corpus.root_of(audio), clip=held[0])
        taken.append(audio)
    number = "1 recording is" if len(absent) == 1 else f"{len(absent)} recordings are"
    told = f"{number} not there and not in the pack ({absent[0]}): all clips in it were left out" if absent else ""
    return taken, [told] if told else []


def _check_sound(path: Path, root: Path, *, clip: Clip) -> None:
    if not path.is_file():
        raise WorkspaceError(f"clip {clip.id}: {path} is not there: bring it back, or drop the clip")
    if not path.resolve().is_relative_to(root.resolve()):
        raise WorkspaceError(f"clip {clip.id}: {path} leads out of {root}: nothing was packed")
    try:
        io.header(path)
    except AudioError as bad:
        raise WorkspaceError(f"clip {clip.id}: {bad}; nothing was packed: bring it back, or drop the clip") from None


def _sounds(corpus: Corpus, sounds: list[str], place: Path, *, opus: bool) -> Iterator[tuple[_Item, int]]:
    """Every recording that a clip lies in, once, under corpus/audio; and its rate there."""
    first = {clip.audio: clip for clip in corpus}
    for audio in sounds:
        path = corpus.locate(first[audio])
        mtime = path.stat().st_mtime_ns
        if not opus:
            yield _Item(f"corpus/audio/{audio}", path=path, mtime_ns=mtime), first[audio].rate
            continue
        small = place / "sound.opus"
        io.write(small, io.read(path))
        yield _Item(f"corpus/audio/{audio}.opus", data=small.read_bytes(), mtime_ns=mtime), io.header(small).rate


def _files(
    ws: Workspace, corpus: Corpus | None, runs: list[Run], *, features: bool, rates: dict[str, int] | None
) -> Iterator[_Item]:
    """All that is not sound. Where the recordings lie is written anew."""
    made = [*(_made(corpus, rates) if corpus else []), *_lexicon(ws)]
    yield from made
    anew = {item.name for item in made}
    loose = sorted(ws.root.iterdir())
    places = [place for place in loose if place.is_dir() and place.name not in LEFT]
    places += [*(run.folder for run in runs), *filter(Path.exists, [ws.features] if features else [])]
    homes = (ws.root.resolve(), ws.runs_folder.resolve())  # runs may lie on a larger disk
    inside = (file for place in places for file in sorted(place.rglob("*")))
    for path in filter(Path.is_file, [*loose, *inside]):
        name = path.relative_to(ws.root).as_posix()
        if name in anew or not _is_ours(name):
            continue
        if not any(map(path.resolve().is_relative_to, homes)):
            raise WorkspaceError(f"{path} leads out of the workspace to {path.resolve()}: put the file itself there")
        yield _Item(name, path=path, mtime_ns=path.stat().st_mtime_ns)


def _lexicon(ws: Workspace) -> Iterator[_Item]:
    """The lexicon that lies outside of the workspace, and the settings that name its new place."""
    lexicon = lexicon_path(ws, read_settings(ws))
    if lexicon is not None and not lexicon.resolve().is_relative_to(ws.root.resolve()):
        load_lexicon(lexicon)  # a workspace from elsewhere may name any file here: only a lexicon is taken
        text = (ws.root / READING).read_text(encoding="utf-8")
        given = json.dumps(read_settings(ws).lexicon, ensure_ascii=False)
        yield _Item(READING, data=text.replace(given, json.dumps(LEXICON)).encode())
        yield _Item(LEXICON, path=lexicon)


def _is_ours(name: str) -> bool:
    """Whether a file goes into the pack: no recordings, leftovers, locks or damaged checkpoints."""
    parts = name.split("/")
    if name.startswith("corpus/audio/") or parts[-1] == "lock" or name == MANIFEST:
        return False
    if parts[0] == "runs" and any(part.startswith("step-") and DAMAGED in part for part in parts):
        return False
    return not any(part.startswith(".") or part.endswith(".partial") for part in parts)


def _made(corpus: Corpus, rates: dict[str, int] | None) -> list[_Item]:
    inside = [replace(one, root=f"corpus/audio/{one.name}") for one in corpus.sources.values()]
    made = [_Item("corpus/sources.json", data=_json([asdict(one) for one in inside]))]
    if rates is not None:
        whole = map(corpus.as_imported, corpus)
        clips = [replace(clip, audio=f"{clip.audio}.opus", rate=rates[clip.audio]) for clip in whole]
        lines = "".join(json.dumps(asdict(clip), ensure_ascii=False) + "\n" for clip in clips)
        made.append(_Item("corpus/clips.jsonl", data=lines.encode()))
        made += _stamp(corpus.ws, lines.encode())
    return made


def _stamp(ws: Workspace, clips: bytes) -> list[_Item]:
    """The stamp of an import that is done for the clips as they are in the pack."""
    held = ws.stamped(IMPORT.name)
    if held is None or IMPORT.state(ws) != "fresh":
        return []
    inputs = hash_value(hashlib.sha256(clips).hexdigest())
    return [_Item(ws.stamp_path(IMPORT.name).relative_to(ws.root).as_posix(), data=_json({**held, "inputs": inputs}))]


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


class _Hashed:
    """A file that is hashed as it is read."""

    def __init__(self, data: IO[bytes]) -> None:
        self._data, self.digest = data, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        found = self._data.read(size)
        self.digest.update(found)
        return found


def _add(tar: tarfile.TarFile, item: _Item) -> dict[str, Any]:
    info = tarfile.TarInfo(item.name)
    info.size = len(item.data) if item.data is not None else (item.path or Path()).stat().st_size
    info.mtime = item.mtime_ns // 1_000_000_000
    info.mode = 0o644
    opened = streams.BytesIO(item.data) if item.data is not None else (item.path or Path()).open("rb")
    with opened as data:
        hashed = _Hashed(data)
        tar.addfile(info, hashed)
    return {"path": item.name, "sha256": hashed.digest.hexdigest(), "bytes": info.size, "mtime_ns": item.mtime_ns}
