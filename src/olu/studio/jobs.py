"""The queue: jobs of all workspaces below the roots, begun as their lanes become free."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError
from olu.core.files import write_json
from olu.studio import job_files
from olu.studio.job_files import LIVE, NO_WORKSPACE, Job
from olu.studio.lanes import CORPUS, DEVICE, devices, lanes_of
from olu.studio.paths import checked
from olu.studio.roots import NotHere, Roots, StudioWorkspace
from olu.studio.verbs import argv, known_verb
from olu.studio.words import t

MOST_WAITING = 200


class Jobs:
    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._lock = threading.RLock()
        self._children: dict[Path, subprocess.Popen[bytes]] = {}
        self._over: dict[Path, Job] = {}  # which do not change any more
        self._look = True  # whether something may wait

    # ---- looking

    def folder(self, ws: str | StudioWorkspace) -> Path:
        if isinstance(ws, StudioWorkspace):
            return ws.root / job_files.FOLDER
        home = self._roots.own if ws in ("", NO_WORKSPACE) else self._roots.workspace(ws).root
        return home / job_files.FOLDER

    def all(self) -> list[Job]:
        """Every job, the newest first."""
        places = {NO_WORKSPACE: self._roots.own, **self._roots.places()}
        found = [job for ws, root in places.items() for job in self._in(root / job_files.FOLDER, ws)]
        return sorted(found, key=lambda job: (job.asked, job.number), reverse=True)

    def of(self, ws: str) -> list[Job]:
        """The jobs of one workspace, the newest first."""
        return self._in(self.folder(ws), ws)[::-1]

    def one(self, ws: str, number: int) -> Job:
        folder = self.folder(ws) / f"{number:04d}"
        if number < 1 or not (folder / "ask.json").is_file():
            raise NotHere(t("there is no job {n} here", n=number))
        return self._read(folder, ws)

    def live(self) -> list[Job]:
        """What runs or waits now, the newest first."""
        return [job for job in self.all() if not job.over]

    def _in(self, place: Path, ws: str) -> list[Job]:
        return [self._read(folder, ws) for folder in job_files.folders(place)]

    def _read(self, folder: Path, ws: str) -> Job:
        held = self._over.get(folder)
        if held is not None and held.ws == ws:
            return held
        job = job_files.read(folder, ws=ws)
        if job.over and folder not in self._children:
            self._over[folder] = job
        return job

    # ---- doing

    def start(self, ws: str, verb: str, options: Mapping[str, Any], who: str = "") -> Job:
        """Ask for a job; it begins as soon as its lanes are free."""
        told = known_verb(verb)
        home = None if ws in ("", NO_WORKSPACE) else self._roots.workspace(ws)
        if home is None and told.workspace and told.workspace not in options:
            raise ConfigError(t("'olu {verb}' is about a workspace: start it there", verb=verb))
        given = checked(told, options, roots=self._roots, ws=home)
        words = argv(told, given)
        about = str(given.get(told.workspace) or (home.root if home else ""))
        with self._lock:
            if sum(job.state == "waiting" for job in self.all()) >= MOST_WAITING:
                raise ConfigError(t("{n} jobs are waiting already: stop some of them first", n=MOST_WAITING))
            folder = job_files.new_folder(self.folder(home or NO_WORKSPACE))
            ask = {"verb": verb, "argv": words, "options": given, "who": who, "asked": job_files.now()}
            write_json(folder / "ask.json", {**ask, "lanes": lanes_of(verb, about=about), "events": told.job})
            self._look = True
            self.advance()
        return self.one(ws or NO_WORKSPACE, int(folder.name))

    def again(self, ws: str, number: int, who: str = "") -> Job:
        """The same job once more."""
        job = self.one(ws, number)
        return self.start(ws, job.verb, job.options, who)

    def stop(self, ws: str, number: int, *, at_once: bool = False, who: str = "") -> Job:
        """Ask a job to end; one that waits does not begin."""
        with self._lock:
            job_files.ask_to_stop(self.one(ws, number), at_once=at_once, who=who)
            self._look = True
            self.advance()
        return self.one(ws, number)

    def advance(self) -> None:
        """Begin every waiting job whose lanes are free, in the order in which they were asked for."""
        with self._lock:
            self._reap()
            if not self._look:
                return
            jobs = self.all()[::-1]
            held = [lane for job in jobs if job.state in LIVE for lane in job.lanes]
            used = {job.device for job in jobs if job.state in LIVE}
            waiting = [job for job in jobs if job.state == "waiting"]
            for job in waiting:
                if all(self._is_free(lane, held) for lane in job.lanes):
                    device = _device(job, used)
                    used.add(device)
                    self._begin(job, device=device)
                held += job.lanes  # also of one that waits: who came later does not overtake it
            self._look = bool(waiting)

    def _begin(self, job: Job, *, device: int | None) -> None:
        child = job_files.begin(job, device=device)
        if child is not None:
            self._children[job.folder] = child

    def _is_free(self, lane: str, held: list[str]) -> bool:
        if held.count(lane) >= (devices() if lane == DEVICE else 1):
            return False
        kind, _, root = lane.partition(" ")
        return kind != CORPUS or not root or not job_files.is_held(Path(root))  # a terminal may be at work there

    def _reap(self) -> None:
        """Write down how children ended: only their parent is told."""
        for folder, child in list(self._children.items()):
            code = child.poll()
            if code is not None:
                del self._children[folder]
                with suppress(OSError):  # a full disk, or the workspace was taken away
                    write_json(folder / "exit.json", job_files.seen_end(code))


def _device(job: Job, used: set[int | None]) -> int | None:
    """The GPU of a heavy job, where there are several to choose from."""
    if DEVICE not in job.lanes or devices() == 1:
        return None
    return next((number for number in range(devices()) if number not in used), None)
