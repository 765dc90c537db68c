"""Audit: the report as a page whose counts lead into the clips. Listening, fixing and undoing are jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from olu.audit.check import SEVERITIES
from olu.audit.checks import CHECKS
from olu.audit.summary import AuditSummary, is_little
from olu.audit.thresholds import Thresholds
from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_json
from olu.core.rows import corrupt_file
from olu.core.told import Remedy
from olu.corpus.decisions import load
from olu.pages.charts import histogram
from olu.stages.audit import STAGE, read_thresholds
from olu.stages.fix import WORDS
from olu.studio.render import page
from olu.studio.state import CurrentStudio, Studio
from olu.studio.tables import ClipQuery, has_clips
from olu.studio.words import t

router = APIRouter()
TITLES = {one.name: one.title for one in CHECKS}


def read_summary(ws: Workspace) -> AuditSummary | None:
    """What the last audit came to; nothing where there was none."""
    path = ws.audit_folder / "summary.json"
    if not path.exists():
        return None
    try:
        return AuditSummary.from_row(dict(read_json(path)), folder=ws.audit_folder)
    except (TypeError, ValueError):
        remedy = f"run 'olu audit {ws.root} --force'"
        raise corrupt_file(path, "it is no summary of an audit", remedy=remedy) from None


@router.get("/w/{ws}/audit")
def audit(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    found = studio.workspace(ws)
    facts: dict[str, Any] = {"empty": not has_clips(found), "summary": None, "wrong": ""}
    if not facts["empty"]:
        try:
            facts["summary"] = read_summary(found)
        except WorkspaceError as wrong:
            facts["wrong"] = str(wrong)
    if facts["summary"] is not None:
        facts |= _shown(studio, found, facts["summary"])
    command = str(Remedy("audit", (found.root,)))
    return page(request, "audit.html", ws=found, command=command, words=_spoken(WORDS), titles=_spoken(TITLES), **facts)


def _spoken(words: Mapping[str, str]) -> dict[str, str]:
    return {name: t(said) for name, said in words.items()}


def _shown(studio: Studio, ws: Workspace, summary: AuditSummary) -> dict[str, Any]:
    """Counts as the table of clips has them now, so that a link leads to as many as it says."""
    limits = read_thresholds(ws)
    rows, facets = studio.tables.of(ws).lengths()
    fixes = [one for one in load(ws) if one.by == "fix"]
    marked = [one for one in CHECKS if facets["marks"].get(one.name)]
    return {
        "limits": limits,
        "enough": _enough(summary.seconds_of_one or summary.seconds_left, limits),
        "checks": [_check(one, summary, facets["marks"][one.name], limits) for one in marked],
        "quiet": [one for one in CHECKS if one.name in summary.counts and not facets["marks"].get(one.name)],
        "absent": [one for one in CHECKS if one.name not in summary.counts],
        "lengths": histogram([seconds for seconds, _ in rows], unit=t("seconds"), limits=_edges(limits)),
        "rates": histogram([rate for _, rate in rows if rate is not None], unit=t("letters per second")),
        "decided": facets["decision"],
        "fixes": len(fixes),
        "by_worst": {one: facets["worst"].get(one, 0) for one in SEVERITIES},
        "errors": ClipQuery(where='worst == "error"').address(),
        "usable": ClipQuery(where='worst != "error" and decision != "drop" and letters > 0').address(),
        "undecided": {kind: ClipQuery(decision=(kind,)).address() for kind in facets["decision"]},
    }


def _enough(seconds: float, limits: Thresholds) -> str:
    """The colour of the verdict: too little, enough for a voice that is there already, enough for one from nothing."""
    return "error" if seconds < 60 * limits.enough_tune else "warn" if is_little(seconds, limits) else "good"


def _edges(limits: Thresholds) -> list[tuple[float, str]]:
    found = [(limits.duration_error_under, "error"), (limits.duration_warn_under, "warn")]
    return [*found, (limits.duration_warn_over, "warn"), (limits.duration_error_over, "error")]


def _check(check: Any, summary: AuditSummary, clips: int, limits: Thresholds) -> dict[str, Any]:
    counts = summary.counts.get(check.name, dict.fromkeys(SEVERITIES, 0))
    return {
        "title": check.title,
        "rule": check.rule(limits),
        "reason": check.reason,
        "fix": check.fix,
        "counts": counts,
        "clips": clips,
        "address": ClipQuery(check=(check.name,)).address(),
        "worst": next((name for name in SEVERITIES if counts[name]), "info"),
    }


@router.get("/api/w/{ws}/audit")
def state(studio: CurrentStudio, ws: str) -> dict[str, Any]:
    """The last audit, and whether it still holds: that looks at every recording's date."""
    found = studio.workspace(ws)
    if not has_clips(found):
        return {"state": "missing", "summary": None}
    summary = read_summary(found)
    return {"state": STAGE.state(found) if summary else "missing", "summary": summary.row() if summary else None}
