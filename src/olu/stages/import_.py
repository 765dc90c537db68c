"""Take recordings and their texts into a workspace: look at everything, then write, the manifest last."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from olu.corpus import readers
from olu.corpus.manifest import Corpus, Source, fingerprint
from olu.corpus.merge import Facts, Merge, printable, probe, sift
from olu.corpus.readers import ljspeech
from olu.corpus.readers.rows import Problem, Row
from olu.corpus.split import split
from olu.errors import CorpusError
from olu.files import Workspace, read_json, read_jsonl, whole, write_json, write_jsonl
from olu.stages.stage import Stage
from olu.types import Clip, Tick, Work

STAGE = Stage(
    name="import", command="olu import {ws} SOURCE", folder="corpus", inputs=lambda ws, options: fingerprint(ws)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSummary:
    """What one import did, and what the corpus holds after it."""

    layout: str
    why: str
    added: int
    already: int
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    clips: int
    seconds: float
    speakers: tuple[str, ...]
    language: str


@dataclass(frozen=True, slots=True)
class _Before:
    """What the workspace held when the import began."""

    clips: tuple[Clip, ...]
    sources: dict[str, Source]
    origins: dict[str, str]  # of copied sources: name -> where they were copied from

    @staticmethod
    def of(ws: Workspace) -> _Before:
        known, copied = ws.corpus / "sources.json", ws.corpus / "audio" / "origins.json"
        sources = {row["name"]: Source(**row) for row in read_json(known)} if known.exists() else {}
        clips = Corpus.open(ws).clips if (ws.corpus / "clips.jsonl").exists() else ()
        return _Before(clips, sources, dict(read_json(copied)) if copied.exists() else {})

    def name(self, root: Path, *, copy: bool) -> str:
        """The name a source got when it was imported in the same way before, or the next free one."""
        roots = self.origins if copy else {source.name: source.root for source in self.sources.values()}
        same = [name for name, where in roots.items() if where == str(root)]
        taken = {*self.sources, *self.origins, *(clip.audio.partition("/")[0] for clip in self.clips)}
        free = next(f"s{n}" for n in range(1, len(taken) + 2) if f"s{n}" not in taken)
        return min(same, default=free)


def import_source(
    ws: Workspace, source: Path, *, layout: str = "auto", speaker: str | None = None, copy: bool = False
) -> Work[ImportSummary]:
    """Add what is new in `source`. Its audio stays where it lies, unless `copy`."""
    if speaker is not None and not speaker.strip():
        raise CorpusError("the speaker's name is empty: write --speaker NAME, or leave it out")
    chosen, why = readers.choose(source, layout=layout)
    root = source.resolve()
    if printable(str(root)) != str(root):
        raise CorpusError(f"the path {printable(str(root))} is not valid UTF-8: rename the folder")
    rows, problems = sift(chosen.rows(root), root=root)
    if not rows:
        raise _nothing(source, problems)

    before = _Before.of(ws)
    name = before.name(root, copy=copy)
    home = f"corpus/audio/{name}" if copy else str(root)
    places = {name: ws.root / home, **{s.name: ws.root / s.root for s in before.sources.values()}}
    merge = Merge(before.clips, places=places)
    for done, (row, found) in enumerate(_probed(root, rows), 1):
        if isinstance(found, Problem):
            merge.problems.append(found)
        else:
            merge.take(row, found, source=name, language=ws.language, speaker=speaker)
        yield Tick(done, len(rows), row.audio)
    problems += merge.problems
    if not merge.added + merge.already:
        raise _nothing(source, problems)

    if copy:
        yield from _copy(ws, root, name=name, merge=merge, before=before)
    sources = dict(before.sources)
    if merge.fresh:
        sources[name] = Source(name=name, root=home, layout=chosen.name)
    _write(ws, merge=merge, sources=list(sources.values()), problems=problems, source=str(root))

    clips = list(merge.clips.values())
    summary = ImportSummary(
        layout=chosen.name,
        why=why,
        added=merge.added,
        already=merge.already,
        skipped=tuple(str(problem) for problem in problems),
        notes=merge.all_notes(),
        clips=len(clips),
        seconds=round(sum(clip.seconds for clip in clips), 3),
        speakers=tuple(sorted({clip.speaker for clip in clips})),
        language=ws.language,
    )
    if merge.fresh or STAGE.state(ws) != "fresh":
        options = {"source": str(root), "layout": layout, "speaker": speaker, "copy": copy}
        STAGE.stamp(ws, options, asdict(summary))
    return summary


def _probed(root: Path, rows: list[Row]) -> Iterator[tuple[Row, Facts | Problem]]:
    """Every row with what was found, in order; several files are read at once."""
    pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))
    try:
        yield from zip(rows, pool.map(partial(probe, root), rows), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)


def _nothing(source: Path, problems: list[Problem]) -> CorpusError:
    """One sentence on why a source gave no clip."""
    missing = [problem for problem in problems if problem.missing]
    if not problems:
        return readers.refusal(source)
    if len(missing) == len(problems):
        number = f"{len(missing)} recordings" if len(missing) > 1 else "one recording"
        return CorpusError(
            f"{source} has metadata for {number} but no audio for any: the first, {missing[0].missing!r}"
            f" ({missing[0].where}), is not in {ljspeech.LOOKED_IN}; put the audio there"
        )
    number = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return CorpusError(f"nothing in {source} can be used ({number}); the first is {problems[0]}")


def _copy(ws: Workspace, root: Path, *, name: str, merge: Merge, before: _Before) -> Iterator[Tick]:
    if not merge.fresh:
        return
    write_json(ws.corpus / "audio" / "origins.json", {**before.origins, name: str(root)})
    for done, audio in enumerate(merge.fresh, 1):
        inside = audio.partition("/")[2]
        with whole(ws.corpus / "audio" / name / inside) as part:
            shutil.copyfile(root / inside, part)
            mtime_ns = merge.fresh[audio].mtime_ns
            os.utime(part, ns=(mtime_ns, mtime_ns))
        yield Tick(done, len(merge.fresh), f"copying {inside}")


def _write(ws: Workspace, *, merge: Merge, sources: list[Source], problems: list[Problem], source: str) -> None:
    """What was found. When nothing is new nothing is written, so that no later stage looks stale."""
    shown = [{"source": source, "where": p.where, "problem": p.message} for p in problems]
    if merge.fresh or shown != list(read_jsonl(ws.corpus / "problems.jsonl")):
        write_jsonl(ws.corpus / "problems.jsonl", shown)
    if not merge.fresh and STAGE.state(ws) == "fresh":
        return
    files = {row["audio"]: row for row in read_jsonl(ws.corpus / "files.jsonl")}
    for audio, facts in merge.fresh.items():
        row = {"audio": audio, "sha256": facts.sha256, "bytes": facts.bytes, "mtime_ns": facts.mtime_ns}
        files[audio] = row
    clips = list(merge.clips.values())
    named = {clip.audio for clip in clips}
    write_jsonl(ws.corpus / "files.jsonl", (row for audio, row in files.items() if audio in named))
    Corpus.save(ws, clips, sources, split({clip.id: clip.text for clip in clips}))
