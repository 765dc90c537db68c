"""Runs: one of them as it goes, with curves, samples and what the guards said; and several side by side."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from olu.audio import io
from olu.core.errors import ConfigError
from olu.core.files import write_text
from olu.core.told import Remedy
from olu.core.words import clock
from olu.families.runs import kind_of
from olu.pages.media import packed
from olu.stages.runs import differing, remove_run, runs
from olu.stages.train import STOP
from olu.studio.follow import Look, News, digest
from olu.studio.pages.jobs import WATCHERS
from olu.studio.parity import same_as
from olu.studio.render import page
from olu.studio.roots import NotHere
from olu.studio.run_view import MOST_EVENTS, RunView, find_run, job_of, sentences_of
from olu.studio.state import CurrentStudio, Studio, Who
from olu.studio.words import t

router = APIRouter()
MOST_COMPARED = 6
CHECK_SECONDS = 1.5  # after which a run is looked at also where its files are as they were: its process may have ended
PNG = b"\x89PNG\r\n\x1a\n"
EXPLAINED = {
    "mel": "How far the sound is from the recording, as a mel spectrogram. Lower is better.",
    "kl": "How far what the text foretells is from what the recording holds. Lower is better.",
    "duration": "How well the lengths of the sounds are foretold. Lower is better.",
    "disc": "How well the discriminator tells recordings from the voice: it should neither win nor guess.",
    "heard": "The sum of the figures of hearing. Lower is better.",
}


def view_of(studio: Studio, ws: str, name: str) -> RunView:
    place = studio.workspace(ws)
    run = find_run(place, name)
    return RunView(place, run, studio.runs.of(run), job_of(studio.jobs.of(ws), run))


@router.get("/w/{ws}/runs")
def listed(request: Request, studio: CurrentStudio, ws: str, show: str = "") -> HTMLResponse:
    place = studio.workspace(ws)
    rows = runs(place, studio.runs.progress)
    whole = [row.run for row in rows if not row.fault]
    kinds = {name: kind_of(find_run(place, name)) for name in whole}
    alike = [name for name in whole if kinds[name] == "voice"] or whole
    asked = [name for name in show.split(",") if name in whole] if show else alike[-3:]
    views = [view_of(studio, ws, name) for name in asked[:MOST_COMPARED]]
    return page(
        request,
        "runs.html",
        ws=place,
        rows=rows[::-1],
        views=views,
        kinds=kinds,
        apart=_apart(views),
        shown=[view.run.name for view in views],
        sentences=list(sentences_of(views)),
        clock=clock,
        command=Remedy("runs", (place.root,)),
    )


def _apart(views: list[RunView]) -> tuple[list[tuple[str, list[Any]]], int]:
    """Settings in which the runs shown differ, by name; and how many only some of them have at all."""
    if len(views) < 2:
        return [], 0
    held = differing([view.run for view in views])
    whole = [view.settings() for view in views]
    keys = list(next(iter(held.values())))
    shared = [key for key in keys if all(key in one for one in whole)]
    return [(key, [held[view.run.name][key] for view in views]) for key in shared], len(keys) - len(shared)


@router.get("/w/{ws}/runs/{name}")
def one(request: Request, studio: CurrentStudio, ws: str, name: str) -> HTMLResponse:
    view = view_of(studio, ws, name)
    return page(request, "run.html", ws=view.ws, tab="runs", **_context(view))


@router.get("/w/{ws}/runs/{name}/part/{part}")
def part(request: Request, studio: CurrentStudio, ws: str, name: str, part: str) -> HTMLResponse:
    """A piece of the run's page, which is fetched again when something happened."""
    if part not in ("now", "samples", "events"):
        raise NotHere(t("there is nothing at this address"))

    def make() -> HTMLResponse:
        view = view_of(studio, ws, name)
        return page(request, f"run_{part}.html", ws=view.ws, tab="runs", **_context(view))

    if part != "now":  # which every page asks for once a second
        return make()
    folder = str(find_run(studio.workspace(ws), name).folder)
    row = studio.runs.told(folder, lambda: view_of(studio, ws, name).row())
    return HTMLResponse(studio.runs.part(folder, row, lambda: bytes(make().body)))


def _context(view: RunView) -> dict[str, Any]:
    if fault := view.run.fault:
        raise ConfigError(fault)
    said, odd = view.normal()
    events = view.events()
    return {
        "view": view,
        "stands": view.stands,
        "best": view.best,
        "pace": view.records.pace,
        "progress": view.records.progress,
        "clock": clock,
        "normal": said,
        "odd": odd,
        "about": view.reference().about,
        "events": events[:MOST_EVENTS],
        "more_events": max(0, len(events) - MOST_EVENTS),
        "steps_heard": view.sample_steps(),
        "again": Remedy("train", (view.ws.root,), {"resume": True, "run": view.run.name}),
        "exports": view.kind in ("voice", "vocoder"),
    }


# ---------------------------------------------------------------- for scripts and programs


@router.get("/api/w/{ws}/runs")
def rows(studio: CurrentStudio, ws: str) -> dict[str, Any]:
    return {"runs": [asdict(row) for row in runs(studio.workspace(ws), studio.runs.progress)]}


@router.get("/api/w/{ws}/runs/{name}")
def state(studio: CurrentStudio, ws: str, name: str) -> dict[str, Any]:
    return view_of(studio, ws, name).row()


@router.get("/api/w/{ws}/runs/{name}/metrics")
def metrics(request: Request, studio: CurrentStudio, ws: str, name: str) -> dict[str, Any]:
    """The curves, thinned; or, `from` the place of an earlier answer, the steps since then one by one."""
    place = request.query_params.get("from", "")[:60]
    return (_since(studio, ws, name, place) if place else None) or view_of(studio, ws, name).curves()


def _since(studio: Studio, ws: str, name: str, place: str) -> dict[str, Any] | None:
    found = studio.runs.of(find_run(studio.workspace(ws), name)).since(place)
    if found is None:
        return None
    at, rows = found
    told = [{"step": row.step, "rewinds": row.rewinds, "figures": row.figures} for row in rows]
    return {"place": at, "rows": told}


@router.get("/api/w/{ws}/runs/{name}/samples")
def samples(studio: CurrentStudio, ws: str, name: str) -> dict[str, Any]:
    view = view_of(studio, ws, name)
    return {
        "steps": {
            step: [{"name": one.name, "text": one.text, "pictures": one.pictures} for one in view.samples(step)]
            for step in view.sample_steps()
        }
    }


@router.get("/api/w/{ws}/runs/{name}/samples/{step}/{file}")
def sample(studio: CurrentStudio, ws: str, name: str, step: int, file: str) -> Response:
    """A sample's sound, packed anew, or a picture of it."""
    path = view_of(studio, ws, name).sample_file(step, file)
    keep = {"Cache-Control": "private, max-age=600"}
    if path.suffix == ".wav":
        return Response(packed(io.read(path), "WAV", "PCM_16"), media_type="audio/wav", headers=keep)
    data = path.read_bytes()
    if path.suffix != ".png" or not data.startswith(PNG):
        raise NotHere(t("this is neither a sound nor a picture"))
    return Response(data, media_type="image/png", headers=keep)


@router.post("/api/w/{ws}/runs/{name}/stop")
@same_as("jobs")
def stop(studio: CurrentStudio, who: Who, ws: str, name: str) -> dict[str, Any]:
    """End a training after its step in hand, saved: by its job, or by a file where a terminal began it."""
    view = view_of(studio, ws, name)
    if view.stands.state != "running":
        raise ConfigError(t("{name} is not being trained now", name=name))
    if view.job is not None:
        studio.jobs.stop(ws, view.job.number, who=who)
    else:
        write_text(view.run.folder / STOP, "asked for in the studio\n")
    return view_of(studio, ws, name).row()


class RemoveAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    run: str = Field(max_length=200)  # named once more: it cannot be taken back


@router.post("/api/w/{ws}/runs/{name}/remove")
@same_as("runs")
def remove(studio: CurrentStudio, ws: str, name: str, ask: RemoveAsk) -> dict[str, Any]:
    place = studio.workspace(ws)
    run = find_run(place, name)
    if ask.run != name:
        raise ConfigError(t("the name does not fit: nothing was removed"))
    gone = remove_run(place, run.name)
    return {"run": gone.run, "bytes": gone.bytes}


def _watch(studio: Studio, ws: str, what: str) -> Look:
    """How a run stands whenever that has changed; to a page that says up to where it has the figures, those since."""
    folder = find_run(studio.workspace(ws), what).folder

    def look(place: str, seen: str) -> News:
        files = f"{digest(_files(folder))}.{time.monotonic() // CHECK_SECONDS:.0f}"
        told, _, before = seen.partition("/")
        if files == before:
            return News(place=place, seen=seen)
        row = view_of(studio, ws, what).row()
        now = digest(row)
        if now == told:
            return News(place=place, seen=f"{now}/{files}")
        if place and (found := _since(studio, ws, what, place)) is not None:
            row |= {"from": place, **found}
            place = found["place"]
        return News([("run", row)], place, f"{now}/{files}")

    return look


def _files(folder: Path) -> list[tuple[int, int]]:
    """When the files of a run changed last: cheap, as it is looked at twice a second."""
    found = []
    for name in ("metrics.jsonl", "events.jsonl", "best.json", "result.json", "samples", "checkpoints"):
        with suppress(OSError):
            held = (folder / name).stat()
            found.append((held.st_mtime_ns, held.st_size))
    return found


WATCHERS["run"] = _watch
