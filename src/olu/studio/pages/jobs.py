"""Jobs: what runs, waits and has ended; its log; stop; and the events that pages watch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from olu.core.errors import ConfigError
from olu.studio.follow import Look, News, Tail, Watch, digest, stream
from olu.studio.job_files import LIVE, NO_WORKSPACE, Job
from olu.studio.parity import same_as
from olu.studio.remedies import parts
from olu.studio.render import page
from olu.studio.roots import NotHere
from olu.studio.state import CurrentStudio, Studio, Who
from olu.studio.words import t

router = APIRouter()
MOST_WATCHED = 20
MOST_LOG = 128 * 1024  # bytes of a log that are sent at once
MOST_SHOWN = 200


class JobAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    verb: str = Field(max_length=40)
    ws: str = Field(NO_WORKSPACE, max_length=400)
    options: dict[str, Any] = Field(default_factory=dict)


class StopAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    at_once: bool = False


@router.post("/api/jobs")
@same_as("*")
def start(studio: CurrentStudio, who: Who, ask: JobAsk) -> dict[str, Any]:
    """Start any verb."""
    return studio.jobs.start(ask.ws, ask.verb, ask.options, who).row()


@router.post("/api/w/{ws}/jobs/{number}/stop")
@same_as("jobs")
def stop(studio: CurrentStudio, who: Who, ws: str, number: int, ask: StopAsk) -> dict[str, Any]:
    return studio.jobs.stop(ws, number, at_once=ask.at_once, who=who).row()


@router.post("/api/w/{ws}/jobs/{number}/again")
@same_as("*")
def again(studio: CurrentStudio, who: Who, ws: str, number: int) -> dict[str, Any]:
    """The same job once more."""
    return studio.jobs.again(ws, number, who).row()


@router.get("/api/w/{ws}/jobs/{number}")
def state(studio: CurrentStudio, ws: str, number: int) -> dict[str, Any]:
    job = studio.jobs.one(ws, number)
    return {**job.row(), "result": job.result() if job.over else None}


@router.get("/api/w/{ws}/jobs/{number}/log")
def log(studio: CurrentStudio, ws: str, number: int, start: int = Query(0, alias="from", ge=0)) -> dict[str, Any]:
    """The log from a byte on, and where the next part begins; of a long one only the end."""
    path = studio.jobs.one(ws, number).path("log")
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            at = start if size - start <= MOST_LOG else size - MOST_LOG
            file.seek(min(at, size))
            data = file.read(MOST_LOG)
    except OSError:
        return {"text": "", "next": 0, "cut": False}
    return {"text": data.decode("utf-8", "replace"), "next": min(at, size) + len(data), "cut": at > start}


@router.get("/api/w/{ws}/jobs/{number}/files/{name}")
def made(studio: CurrentStudio, ws: str, number: int, name: str) -> FileResponse:
    """A file that the verb wrote into the job's folder."""
    job = studio.jobs.one(ws, number)
    path = next((path for path in job.made() if path.name == name), None)
    if path is None:
        raise NotHere(t("job {n} has made no {name}", n=number, name=repr(name[:60])))
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


@router.get("/api/packs/{name}")
def packed(studio: CurrentStudio, name: str) -> FileResponse:
    """What `olu pack` made."""
    path = next((path for path in (studio.roots.own / "packs").glob("*.tar") if path.name == name), None)
    if path is None:
        raise NotHere(t("there is no pack {name}", name=repr(name[:60])))
    return FileResponse(path, filename=path.name, media_type="application/x-tar")


@router.get("/jobs")
def every(request: Request, studio: CurrentStudio) -> HTMLResponse:
    return page(request, "jobs.html", jobs=studio.jobs.all(), parted=_parted)


@router.get("/jobs/list")
def every_list(request: Request, studio: CurrentStudio) -> HTMLResponse:
    return page(request, "jobs_list.html", jobs=studio.jobs.all(), parted=_parted)


@router.get("/w/{ws}/jobs")
def of_workspace(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    return page(request, "jobs.html", ws=studio.workspace(ws), jobs=studio.jobs.of(ws), parted=_parted)


@router.get("/w/{ws}/jobs/list")
def list_of_workspace(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    jobs = studio.jobs.of(ws)
    return page(request, "jobs_list.html", ws=studio.workspace(ws), jobs=jobs, parted=_parted)


@router.get("/w/{ws}/jobs/{number}")
def one(request: Request, studio: CurrentStudio, ws: str, number: int) -> HTMLResponse:
    return _job_page(request, studio, ws, number, "job.html")


@router.get("/w/{ws}/jobs/{number}/now")
def one_now(request: Request, studio: CurrentStudio, ws: str, number: int) -> HTMLResponse:
    """The part of the page that changes."""
    return _job_page(request, studio, ws, number, "job_now.html")


@router.get("/jobs/{number}")
def own(request: Request, studio: CurrentStudio, number: int) -> HTMLResponse:
    return _job_page(request, studio, NO_WORKSPACE, number, "job.html")


@router.get("/jobs/{number}/now")
def own_now(request: Request, studio: CurrentStudio, number: int) -> HTMLResponse:
    return _job_page(request, studio, NO_WORKSPACE, number, "job_now.html")


def _job_page(request: Request, studio: Studio, ws: str, number: int, template: str) -> HTMLResponse:
    held = None if ws == NO_WORKSPACE else studio.workspace(ws)
    job = studio.jobs.one(ws, number)
    waits = _waits_for(studio, job) if job.state == "waiting" else None
    return page(
        request,
        template,
        ws=held,
        tab="jobs",
        job=job,
        said=parts(held, job.said),
        result=job.result() if job.over else None,
        made=job.made() if job.over else [],
        packs=_packs(job, studio),
        waits=waits,
    )


def _waits_for(studio: Studio, job: Job) -> Job | None:
    """The job that has a lane this one needs."""
    earlier = (other for other in studio.jobs.live()[::-1] if other.folder != job.folder and other.asked <= job.asked)
    return next((other for other in earlier if set(other.lanes) & set(job.lanes)), None)


def _packs(job: Job, studio: Studio) -> list[str]:
    path = Path(str(job.options.get("output", "")))
    return [path.name] if job.verb == "pack" and path.parent == studio.roots.own / "packs" and path.is_file() else []


def _parted(jobs: list[Job]) -> list[tuple[str, list[Job]]]:
    """What runs, what waits in the order in which it will begin, what has ended; apart, plans of the page Train, which
    makes one for each value that somebody changes."""
    running = [job for job in jobs if job.state in LIVE]
    waiting = [job for job in jobs if job.state == "waiting"][::-1]
    tried = [job for job in jobs if job.state == "done" and job.verb == "plan" and job.options.get("only_print")]
    apart = {job.folder for job in tried}
    ended = [job for job in jobs if job.over and job.folder not in apart]
    return [
        ("Running", running),
        ("Waiting", waiting),
        ("Ended", ended[:MOST_SHOWN]),
        ("Plans that were tried", tried[:MOST_SHOWN]),
    ]


@router.get("/api/events")
async def events(
    request: Request, studio: CurrentStudio, watch: str, ws: str = NO_WORKSPACE, after: str = ""
) -> StreamingResponse:
    """Server-sent events of what a page watches; `after`: the id of the last event that it has seen."""
    names = watch.split(",")
    if len(names) > MOST_WATCHED:
        raise ConfigError(t("a page may watch {n} things at a time", n=MOST_WATCHED))
    watches = [Watch(name, _look(studio, ws, name), ws) for name in dict.fromkeys(names)]
    told = stream(studio.pulse, watches, request.headers.get("last-event-id", after))
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _look(studio: Studio, ws: str, name: str) -> Look:
    """What a name such as job:17 stands for. Pages add kinds of their own to WATCHERS."""
    kind, _, what = name.partition(":")
    if kind not in WATCHERS:
        raise ConfigError(
            t("{name} cannot be watched; known: {names}", name=repr(name[:60]), names=", ".join(WATCHERS))
        )
    made: Look = WATCHERS[kind](studio, ws, what)
    return made


def _job(studio: Studio, ws: str, what: str) -> Look:
    if not what.isdecimal():
        raise ConfigError(t("{what} is no job's number", what=repr(what[:60])))
    path = studio.jobs.one(ws, int(what)).path("events")

    def look(place: str, seen: str) -> News:
        """Notes one by one; of ticks and reports, which are many, the last; the job where it has changed."""
        tail = Tail.at(path, place)
        rows, _ = tail.rows()
        told: list[tuple[str, Any]] = [("note", row) for row in rows if row.get("event") == "note"]
        row = studio.jobs.one(ws, int(what)).row()
        now = digest(row)
        return News([*told, ("job", row)] if now != seen else told, tail.place, now)

    return look


def _all_jobs(studio: Studio, ws: str, what: str) -> Look:
    """All jobs, or those of one workspace: tells that something has changed, and the page asks for it."""

    def look(place: str, seen: str) -> News:
        found = studio.jobs.all() if ws == NO_WORKSPACE else studio.jobs.of(ws)
        now = digest([(job.ws, job.number, job.state, job.tick) for job in found])
        return News([("changed", {"jobs": len(found)})] if seen not in ("", now) else [], seen=now)

    return look


WATCHERS: dict[str, Any] = {"job": _job, "jobs": _all_jobs}
