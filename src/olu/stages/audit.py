"""Listen to every clip once, say what is wrong with which, and write a page to look at."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from olu.audit.check import Finding, order
from olu.audit.checks import CHECKS
from olu.audit.hear import hear_all
from olu.audit.player import exhibit
from olu.audit.report import render
from olu.audit.summary import AuditSummary, row, summarise
from olu.audit.thresholds import Thresholds
from olu.config import check, read_toml
from olu.corpus.manifest import Corpus, fingerprint, recordings
from olu.errors import WorkspaceError
from olu.files import Workspace, hash_file, hash_value, write_json, write_jsonl, write_text
from olu.stages.stage import Stage
from olu.types import Tick, Work

AUDIT_VERSION = 2  # raise it when the same sound and thresholds would be judged differently
MOST_WORKERS = 4
THRESHOLDS = "thresholds.toml"  # in the workspace: what a person set otherwise


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    own = ws.root / THRESHOLDS
    written = hash_file(own) if own.exists() else ""
    return hash_value([fingerprint(ws), recordings(ws), options.get("thresholds"), AUDIT_VERSION, written])


STAGE = Stage(name="audit", command="olu audit {ws}", folder="audit", inputs=_inputs)


def read_thresholds(ws: Workspace) -> Thresholds:
    """The defaults, with the workspace's own file laid over them."""
    path = ws.root / THRESHOLDS
    return check(Thresholds, read_toml(path), where=str(path)) if path.exists() else Thresholds()


def audit(ws: Workspace, *, thresholds: Thresholds | None = None, force: bool = False) -> Work[AuditSummary]:
    limits = thresholds or read_thresholds(ws)
    options = {"thresholds": limits.model_dump()}
    earlier = None if force else STAGE.done(ws, options)
    if earlier is not None:
        summary = AuditSummary.from_row(earlier, folder=ws.audit)
        if all(path.exists() for path in (summary.marks, summary.report, summary.summary)):
            return summary

    corpus = Corpus.open(ws)
    corpus.check_sources()
    if len(corpus) == 0:
        raise WorkspaceError(f"{ws.root} has no clips: run 'olu import {ws.root} SOURCE' first")
    heard = []
    for one in hear_all(corpus, workers=min(MOST_WORKERS, os.cpu_count() or 1)):
        heard.append(one)
        yield Tick(len(heard), len(corpus))

    found = {one.name: list(one.look(heard, limits)) for one in CHECKS}
    worst_first: dict[str, list[Finding]] = {name: sorted(marks, key=order) for name, marks in found.items()}
    summary = summarise(heard, worst_first, limits=limits, folder=ws.audit)
    yield Tick(len(corpus), len(corpus), "writing the report")
    page = render(
        ws.name,
        heard=heard,
        findings=worst_first,
        summary=summary,
        thresholds=limits,
        play=partial(exhibit, corpus),
    )
    place = {clip.id: number for number, clip in enumerate(corpus)}
    rows = sorted((f for marks in found.values() for f in marks), key=lambda f: place[f.id])
    write_jsonl(summary.marks, map(row, rows))
    write_text(summary.report, page)
    write_json(summary.summary, summary.row())
    STAGE.stamp(ws, options, summary.row())
    return summary
