"""Evaluate: start one, and its figures with intervals and trust, sentence by sentence to hear."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from olu.audio import io
from olu.core.errors import OluError
from olu.core.files import Workspace
from olu.core.told import Remedy
from olu.evaluate.evaluation import FILE, Evaluation, load
from olu.evaluate.report import sentence_figures, shown_figures, worst_first
from olu.families.runs import kind_of, whole_runs
from olu.pages.media import packed
from olu.studio.render import page
from olu.studio.roots import NotHere
from olu.studio.state import CurrentStudio
from olu.studio.words import t
from olu.train.run import Run

router = APIRouter()
SHOWN = 24  # sentences with players, unless all are asked for


@dataclass(frozen=True)
class ListedEvaluation:
    """An evaluation in the list, or why it cannot be read."""

    name: str
    made: str = ""
    evaluation: Evaluation | None = None
    fault: str = ""


def _all(ws: Workspace) -> list[ListedEvaluation]:
    found = []
    for path in sorted(ws.evaluations.glob(f"*/{FILE}"), key=lambda one: -one.stat().st_mtime):
        try:
            held = load(path.parent)
            found.append(ListedEvaluation(path.parent.name, str(held.facts.get("made", "")), held))
        except OluError as bad:
            found.append(ListedEvaluation(path.parent.name, fault=str(bad)))
    return found


@router.get("/w/{ws}/evaluate")
def listed(request: Request, studio: CurrentStudio, ws: str, run: str = "") -> HTMLResponse:
    place = studio.workspace(ws)
    runs = [one for one in whole_runs(place) if kind_of(one) != "listener" and one.checkpoints().steps()][::-1]
    going = [job for job in studio.jobs.of(ws) if job.verb == "evaluate" and not job.over]
    return page(
        request,
        "evaluate.html",
        ws=place,
        found=_all(place),
        runs=[(one, one.checkpoints().steps()[::-1], _best(one)) for one in runs],
        chosen=run,
        going=going,
        command=Remedy("evaluate", (place.root,)),
    )


def _best(run: Run) -> int | None:
    with suppress(OluError, OSError):
        return run.best_step()
    return None


@router.get("/w/{ws}/evaluate/{name}")
def one(request: Request, studio: CurrentStudio, ws: str, name: str, all: bool = False) -> HTMLResponse:
    place = studio.workspace(ws)
    evaluation = load(_folder(place, name))
    items = worst_first(evaluation)
    return page(
        request,
        "evaluated.html",
        ws=place,
        tab="evaluate",
        name=name,
        **shown_figures(evaluation),
        sentences=[sentence_figures(evaluation, item) for item in (items if all else items[:SHOWN])],
        rest=0 if all else max(0, len(items) - SHOWN),
        subject=evaluation.subject,
    )


def _folder(ws: Workspace, name: str) -> Path:
    found = next((path.parent for path in ws.evaluations.glob(f"*/{FILE}") if path.parent.name == name), None)
    if found is None:
        raise NotHere(t("there is no evaluation {name} here: go back to the list", name=repr(name[:80])))
    return found


@router.get("/api/w/{ws}/evaluations")
def rows(studio: CurrentStudio, ws: str) -> dict[str, Any]:
    found = _all(studio.workspace(ws))
    told = [
        {"name": one.name, "level": one.evaluation.level if one.evaluation else "", "fault": one.fault} for one in found
    ]
    return {"evaluations": told}


@router.get("/api/w/{ws}/evaluations/{name}")
def row(studio: CurrentStudio, ws: str, name: str) -> dict[str, Any]:
    return load(_folder(studio.workspace(ws), name)).row()


@router.get("/api/w/{ws}/evaluations/{name}/sounds/{number}")
def sound(studio: CurrentStudio, ws: str, name: str, number: int) -> Response:
    """A sentence as it was spoken, by its place in the evaluation; packed anew."""
    folder = _folder(studio.workspace(ws), name)
    items = load(folder).items
    if not 0 <= number < len(items):
        raise NotHere(t("there is no such sentence"))
    path = (folder / items[number].wav).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise NotHere(t("this sound is not here any more"))
    headers = {"Cache-Control": "private, max-age=600"}
    return Response(packed(io.read(path), "WAV", "PCM_16"), media_type="audio/wav", headers=headers)
