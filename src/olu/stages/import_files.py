"""The recordings of an import: looked at, copied, and written down."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from olu.core.errors import CorpusError
from olu.core.files import CAN_FLUSH_ALL, Workspace, flush_all, read_jsonl, whole, write_json, write_jsonl
from olu.core.types import Tick
from olu.core.words import many
from olu.corpus.intake.existing import Before
from olu.corpus.intake.merge import Merge
from olu.corpus.intake.probe import RecordingFacts, probe
from olu.corpus.manifest import Corpus
from olu.corpus.readers.audio_index import LOOKED_IN
from olu.corpus.readers.refusal import refusal
from olu.corpus.readers.rows import Problem, Row, look
from olu.corpus.sources import Source
from olu.stages.split import choose_sides

FEW = 100  # recordings that are flushed to the disk one by one


def probed_in(root: Path, rows: list[Row]) -> Iterator[tuple[Row, RecordingFacts | Problem]]:
    """Every row with what was found, in order; each file is read once, and several at a time."""
    first = {row.audio: row for row in reversed(rows)}
    files = [row for row in rows if first[row.audio] is row]
    found: dict[str, RecordingFacts | Problem] = {}
    pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))
    try:
        coming = pool.map(partial(probe, root), files)
        for row in rows:
            if row.audio not in found:
                found[row.audio] = next(coming)
            facts = found[row.audio]
            yield row, replace(facts, where=row.where) if isinstance(facts, Problem) else facts
    finally:
        pool.shutdown(cancel_futures=True)


def unusable(source: Path, problems: list[Problem]) -> CorpusError:
    """One sentence on why a source gave no clip."""
    missing = [problem for problem in problems if problem.missing]
    if not problems:
        return refusal(source)
    if len(missing) == len(problems):
        number = f"{len(missing)} recordings" if len(missing) > 1 else "one recording"
        there = len(look(source).audio)
        other = f" (it has {many(there, 'sound file')}, of other names)" if there else ""
        return CorpusError(
            f"{source} has metadata for {number} but no audio for any{other}: the first, {missing[0].missing!r}"
            f" ({missing[0].where}), is not in {LOOKED_IN}; put the audio there"
        )
    number = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return CorpusError(f"nothing in {source} can be used ({number}); the first is {problems[0]}")


def copy_in(
    ws: Workspace, root: Path, *, fresh: list[str], merge: Merge, origins: dict[str, str], move: bool
) -> Iterator[Tick]:
    """`fresh`: recordings of the corpus that lie in the workspace; `root` is where they come from."""
    if not fresh:
        return
    write_origins(ws, origins)
    many_files = len(fresh) > FEW and CAN_FLUSH_ALL
    for done, audio in enumerate(fresh, 1):
        inside = merge.came_as[audio]
        with whole(ws.corpus / "audio" / audio, flush=not many_files) as part:
            if move:
                (root / inside).rename(part)
            else:
                shutil.copyfile(root / inside, part)
            mtime_ns = merge.fresh[audio].mtime_ns
            os.utime(part, ns=(mtime_ns, mtime_ns))
        yield Tick(done, len(fresh), f"copying {inside}")
    if many_files:
        flush_all()


def write_problems(ws: Workspace, problems: list[Problem], *, source: str, anew: bool) -> None:
    shown = [{"source": source, "where": p.where, "why": p.why.name.lower(), "problem": p.message} for p in problems]
    if anew or shown != list(read_jsonl(ws.corpus / "problems.jsonl", lost=[])):
        write_jsonl(ws.corpus / "problems.jsonl", shown)


def write_corpus(ws: Workspace, before: Before, *, merge: Merge, sources: list[Source]) -> None:
    """What was found, the manifest last."""
    files = dict(before.files)
    lacking = {audio: facts for audio, (facts, _) in merge.seen.items() if audio not in files}
    for audio, facts in {**lacking, **merge.fresh}.items():
        row = {"audio": audio, "sha256": facts.sha256, "bytes": facts.bytes, "mtime_ns": facts.mtime_ns}
        files[audio] = row
    clips = list(merge.clips.values())
    named = {clip.audio for clip in clips}
    before.put_aside()
    write_jsonl(ws.corpus / "files.jsonl", (row for audio, row in files.items() if audio in named))
    Corpus.save(ws, clips, sources, choose_sides(ws, clips))


def write_origins(ws: Workspace, origins: dict[str, str]) -> None:
    write_json(ws.corpus / "audio" / "origins.json", origins)
