"""Jobs: what runs, waits and has ended; its log; stop; and the events that pages watch."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from olu.core.errors import ConfigError
from olu.studio.follow import Stream, Tail, Watch, set_offsets
from olu.studio.job_files import NO_WORKSPACE
from olu.studio.parity import same_as
from olu.studio.render import page
from olu.studio.state import CurrentStudio, Studio

router = APIRouter()
MOST_WATCHED = 20


class Ask(BaseModel):
    model_config = ConfigDict(extra="forbid")
    verb: str = Field(max_length=40)
    ws: str = Field(NO_WORKSPACE, max_length=400)
    options: dict[str, Any] = Field(default_factory=dict)


class StopAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    at_once: bool = False


@router.post("/api/jobs")
@same_as("*")
def start(studio: CurrentStudio, ask: Ask) -> dict[str, Any]:
    return studio.jobs.start(ask.ws, ask.verb, ask.options).row()


@router.post("/api/w/{ws}/jobs/{number}/stop")
@same_as("jobs")
def stop(studio: CurrentStudio, ws: str, number: int, ask: StopAsk) -> dict[str, Any]:
    return studio.jobs.stop(ws, number, at_once=ask.at_once).row()


@router.get("/api/w/{ws}/jobs/{number}")
def state(studio: CurrentStudio, ws: str, number: int) -> dict[str, Any]:
    job = studio.jobs.one(ws, number)
    return {**job.row(), "result": job.result() if job.over else None}


@router.get("/w/{ws}/jobs")
def of_workspace(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    return page(request, "jobs.html", ws=studio.workspace(ws), jobs=studio.jobs.of(ws))


@router.get("/w/{ws}/jobs/{number}")
def one(request: Request, studio: CurrentStudio, ws: str, number: int) -> HTMLResponse:
    return page(request, "job.html", ws=studio.workspace(ws), tab="jobs", job=studio.jobs.one(ws, number))


@router.get("/jobs/{number}")
def own(request: Request, studio: CurrentStudio, number: int) -> HTMLResponse:
    return page(request, "job.html", tab="jobs", job=studio.jobs.one(NO_WORKSPACE, number))


@router.get("/api/events")
async def events(request: Request, studio: CurrentStudio, watch: str, ws: str = NO_WORKSPACE) -> StreamingResponse:
    names = watch.split(",")
    if len(names) > MOST_WATCHED:
        raise ConfigError(f"a page may watch {MOST_WATCHED} things at a time")
    watches = [_watch(studio, ws, name) for name in names]
    set_offsets(watches, request.headers.get("last-event-id", ""))
    stream = Stream(watches, request.is_disconnected)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _watch(studio: Studio, ws: str, name: str) -> Watch:
    """What a name such as job:17 stands for. Pages add kinds of their own to WATCHERS."""
    kind, _, what = name.partition(":")
    if kind not in WATCHERS:
        raise ConfigError(f"{name[:60]!r} cannot be watched; known: {', '.join(WATCHERS)}")
    made: Watch = WATCHERS[kind](studio, ws, name, what)
    return made


def _job(studio: Studio, ws: str, name: str, what: str) -> Watch:
    if not what.isdecimal():
        raise ConfigError(f"{what[:60]!r} is no job's number")
    job = studio.jobs.one(ws, int(what))
    tail = Tail(job.path("events"))
    last: list[Any] = [None]

    def look() -> list[tuple[str, Any]]:
        """Notes one by one; of ticks and reports, which are many, the last; the job where it has changed."""
        rows, _ = tail.rows()
        told = [("note", row) for row in rows if row.get("event") == "note"]
        row = studio.jobs.one(ws, int(what)).row()
        if row != last[0]:
            last[0] = row
            told.append(("job", row))
        return told

    return Watch(name, look, tail)


WATCHERS: dict[str, Any] = {"job": _job}
