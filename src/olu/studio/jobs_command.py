"""`olu jobs`: what the studio runs and has run, in a terminal; a job is stopped from here as well as from a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError
from olu.core.files import workspace_here
from olu.core.told import Remedy, TextTable, Told, Verbatim
from olu.core.words import clock
from olu.stages.verbs.machine import JobsOptions
from olu.studio import job_files
from olu.studio.job_files import Job
from olu.studio.roots import Roots
from olu.studio.words import t

SHOWN = 20
LOG = 4096  # bytes of the log that are shown
STOPPING = "asked to end: it saves, or leaves what it has finished"


@dataclass(frozen=True)
class JobList:
    place: str
    jobs: list[dict[str, Any]]
    log: str = ""
    asked: bool = False  # somebody asked one to end

    def sentences(self, options: JobsOptions) -> Iterator[Told]:
        if not self.jobs:
            yield f"{self.place}: no jobs. A studio starts them: {Remedy('studio', (Path(self.place),))}"
            return
        rows = [_cells(job) for job in self.jobs[:SHOWN]]
        yield TextTable(["job", "workspace", "verb", "state", "how far"], rows, plain=True, right=(0,))
        if len(self.jobs) > SHOWN:
            yield f"... and {len(self.jobs) - SHOWN} older ones; --json has them all"
        if options.job is not None or options.stop is not None:
            yield self.jobs[0]["command"]
        if self.asked and self.jobs[0]["state"] in job_files.LIVE:
            yield STOPPING
        if self.log:
            yield Verbatim(self.log)


def run(options: JobsOptions) -> JobList:
    """`olu jobs`"""
    place = options.place or workspace_here() or Path()
    roots = Roots([place])
    if options.at_once and options.stop is None:
        raise ConfigError("--at-once has no effect without --stop N")
    number = options.stop if options.stop is not None else options.job
    found = _all(roots)
    if number is None:
        return JobList(str(place), [job.row() for job in found])
    job = _one(found, number, place)
    asked = options.stop is not None and not job.over
    if asked:
        job_files.ask_to_stop(job, at_once=options.at_once)
        job = job_files.read(job.folder, ws=job.ws)
    return JobList(str(place), [job.row()], log=_log(job) if options.stop is None else "", asked=asked)


def _all(roots: Roots) -> list[Job]:
    places = {job_files.NO_WORKSPACE: roots.own, **roots.places()}
    found = [
        job_files.read(folder, ws=ws)
        for ws, root in places.items()
        for folder in job_files.folders(root / job_files.FOLDER)
    ]
    return sorted(found, key=lambda job: (job.asked, job.number), reverse=True)


def _one(found: list[Job], number: int, place: Path) -> Job:
    held = [job for job in found if job.number == number]
    if not held:
        raise ConfigError(f"there is no job {number} in {place}: {Remedy('jobs', (place,))} lists them")
    if len(held) > 1:
        names = ", ".join(str(job.folder.parents[1]) for job in held)
        raise ConfigError(f"several workspaces have a job {number}: name one of {names}")
    return held[0]


def _cells(job: dict[str, Any]) -> list[str]:
    return [str(job["number"]), job["ws"], job["verb"], job["state"], job["said"] or how_far(job["tick"])]


def how_far(tick: dict[str, Any] | None) -> str:
    """Such as "9 of 40, episode9"; of a training its step."""
    if tick is None:
        return ""
    if tick.get("event") == "report":
        left = tick.get("steps", 0) - tick.get("step", 0)
        seconds = left * float(tick.get("seconds") or 0.0)
        facts = {"n": f"{tick.get('step', 0):,}", "all": f"{tick.get('steps', 0):,}"}
        if seconds < 1:
            return t("step {n} of {all}", **facts)
        return t("step {n} of {all}, about {time} left", **facts, time=clock(seconds))
    done, total, what = tick.get("done", 0), tick.get("total", 0), str(tick.get("what", ""))
    counted = t("{n} of {all}", n=f"{done:,}", all=f"{total:,}") if total else ""
    return ", ".join(filter(None, (counted, what)))


def _log(job: Job) -> str:
    try:
        data = job.path("log").read_bytes()[-LOG:]
    except OSError:
        return ""
    return data.decode("utf-8", "replace").strip()
