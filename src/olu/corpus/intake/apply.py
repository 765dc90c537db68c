"""What a plan says, written down: recordings first, the manifest last."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from olu.core.files import CAN_FLUSH_ALL, Workspace, flush_all, read_jsonl, whole, write_json, write_jsonl
from olu.core.job import Tick
from olu.corpus import doubts
from olu.corpus.intake.place import Workbench
from olu.corpus.intake.plan import ImportPlan, source_of
from olu.corpus.manifest import Corpus
from olu.corpus.rights import Rights, moved_rights, save_source
from olu.corpus.split import choose_sides

FEW = 100  # recordings that are flushed to the disk one by one


def apply_plan(
    bench: Workbench, plan: ImportPlan, *, asked: Mapping[str, Any], kept: list[doubts.Standing], anew: bool
) -> Iterator[Tick]:
    """Write what a plan says. `asked`: the import's options; `kept`: all doubts; `anew`: the manifest too."""
    ws = bench.ws
    yield from _copy_in(ws, plan)
    shown = [
        {"source": asked["source"], "where": one.where, "why": one.why.name.lower(), "problem": one.message}
        for one in plan.problems
    ]
    if plan.merge.fresh or shown != list(read_jsonl(ws.corpus / "problems.jsonl", lost=[])):
        write_jsonl(ws.corpus / "problems.jsonl", shown)
    if anew:
        clips = list(plan.merge.clips.values())
        plan.held.put_aside()
        write_jsonl(ws.corpus / "files.jsonl", plan.files.values())
        Corpus.save(ws, clips, list(plan.sources.values()), choose_sides(ws, clips))
    bench.remember()
    if plan.found.layout.name == "subtitles":
        doubts.save_timings(ws, plan.timings())
        doubts.save(ws, kept)
    rights = Rights(**asked.get("rights", {}))
    for name in sorted({plan.named.name, *map(source_of, plan.merge.seen)}):  # those that its recordings belong to
        save_source(ws, name, rights.over(moved_rights(ws, plan.merge.moved_from)))


def _copy_in(ws: Workspace, plan: ImportPlan) -> Iterator[Tick]:
    """Copy recordings into the workspace that shall lie there."""
    if not plan.copies:
        return
    write_origins(ws, plan.origins)
    many_files = len(plan.copies) > FEW and CAN_FLUSH_ALL
    for done, audio in enumerate(plan.copies, 1):
        inside = plan.merge.came_as[audio]
        with whole(ws.corpus / "audio" / audio, flush=not many_files) as part:
            if plan.found.ours:
                (plan.found.root / inside).rename(part)
            else:
                shutil.copyfile(plan.found.root / inside, part)
            mtime_ns = plan.merge.fresh[audio].mtime_ns
            os.utime(part, ns=(mtime_ns, mtime_ns))
        yield Tick(done, len(plan.copies), f"copying {inside}")
    if many_files:
        flush_all()


def write_origins(ws: Workspace, origins: dict[str, str]) -> None:
    write_json(ws.corpus / "audio" / "origins.json", origins)


def remove_unused(ws: Workspace, plan: ImportPlan) -> None:
    """Remove recordings of a stream that were written before it was known that no clip needs them."""
    used = {clip.audio for clip in plan.merge.clips.values()}
    for file in plan.found.written:
        if plan.named.audio(file) not in used:
            (ws.root / plan.named.home / file).unlink(missing_ok=True)
