"""Jobs: the verb itself in a process and session of its own, told by files alone, so that nothing hangs on a server.

WS/jobs/0017/ask.json      verb, argv, options, who, when: a job that waits is this file alone
             started.json  process, when, device
             events.jsonl  what --events wrote         log.txt   stderr        summary.json  what --json printed
             lock          held by the job as long as it lives
             stop          somebody asked it to end    exit.json how it ended, from whoever saw it
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from olu.core.errors import ConfigError
from olu.core.files import write_json
from olu.core.parse import BadData, from_json, load_json
from olu.core.workspace_lock import is_locked, try_lock
from olu.studio.lanes import DEVICE, devices, lanes_of
from olu.studio.roots import NO_WORKSPACE, NotHere, Roots, StudioWorkspace
from olu.studio.verbs import argv, known_verb, shown_command

FOLDER = "jobs"
State = Literal["waiting", "running", "stopping", "done", "failed", "stopped", "lost"]
ENDED = ("done", "failed", "stopped", "lost")
TAIL = 256 * 1024  # bytes of the events that are looked at for how far a job is
INTERRUPTED = 130
FILES = {"events": "events.jsonl", "log": "log.txt", "summary": "summary.json"}


@dataclass(frozen=True)
class Job:
    """One job as its files tell it now."""

    number: int
    folder: Path
    ws: str  # its workspace's name in addresses; "-" for none
    verb: str
    argv: tuple[str, ...]
    options: Mapping[str, Any]
    who: str
    asked: str
    lanes: tuple[str, ...]
    state: State
    started: str = ""
    ended: str = ""
    code: int | None = None
    said: str = ""  # one sentence on how it ended
    tick: Mapping[str, Any] | None = None  # the last event that tells how far it is
    device: int | None = None
    pid: int = 0

    @property
    def address(self) -> str:
        return f"/jobs/{self.number}" if self.ws == NO_WORKSPACE else f"/w/{self.ws}/jobs/{self.number}"

    @property
    def command(self) -> str:
        return shown_command(self.argv)

    @property
    def over(self) -> bool:
        return self.state in ENDED

    def row(self) -> dict[str, Any]:
        """What a page is told of it."""
        return {
            "number": self.number,
            "ws": self.ws,
            "address": self.address,
            "verb": self.verb,
            "command": self.command,
            "state": self.state,
            "who": self.who,
            "asked": self.asked,
            "started": self.started,
            "ended": self.ended,
            "code": self.code,
            "said": self.said,
            "tick": dict(self.tick) if self.tick else None,
        }

    def path(self, name: str) -> Path:
        return self.folder / FILES[name]

    def result(self) -> Any:
        """What `--json` printed; nothing where that is no JSON."""
        try:
            return load_json(self.path("summary"))
        except (BadData, OSError):
            return None


class Jobs:
    """All jobs below the roots."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._lock = threading.RLock()
        self._children: dict[Path, subprocess.Popen[bytes]] = {}
        self.changed: list[Callable[[Job], None]] = []  # told of every job that began or ended here

    # ---- looking

    def folder(self, ws: str | StudioWorkspace) -> Path:
        if isinstance(ws, StudioWorkspace):
            return ws.root / FOLDER
        return self._roots.own / FOLDER if ws in ("", NO_WORKSPACE) else self._roots.workspace(ws).root / FOLDER

    def all(self) -> list[Job]:
        """Every job, the newest first."""
        found = [job for ws in (NO_WORKSPACE, *self._roots.places()) for job in self.of(ws)]
        return sorted(found, key=lambda job: (job.asked, job.number), reverse=True)

    def of(self, ws: str) -> list[Job]:
        """The jobs of one workspace, the newest first."""
        return [read(folder, ws=ws) for folder in _folders(self.folder(ws))][::-1]

    def one(self, ws: str, number: int) -> Job:
        folder = self.folder(ws) / f"{number:04d}"
        if not (folder / "ask.json").is_file():
            raise NotHere(f"there is no job {number} here")
        return read(folder, ws=ws)

    # ---- doing

    def start(self, ws: str, verb: str, options: Mapping[str, Any], who: str = "") -> Job:
        """Ask for a job; it begins as soon as its lanes are free."""
        told = known_verb(verb)
        given = dict(options)
        about = told.workspace
        place = ""
        if ws not in ("", NO_WORKSPACE):
            place = str(self._roots.workspace(ws).root)
            if about:
                given[about] = place
        elif about and about in given:
            raise ConfigError(f"'olu {verb}' is about a workspace: start it there")
        words = argv(told, given)
        ask = {
            "verb": verb,
            "argv": words,
            "options": given,
            "who": who,
            "asked": _now(),
            "lanes": list(lanes_of(verb, about=place)),
            "events": told.job,
        }
        with self._lock:
            folder = _new_folder(self.folder(ws))
            write_json(folder / "ask.json", ask)
            self.advance()
        return self.one(ws or NO_WORKSPACE, int(folder.name))

    def stop(self, ws: str, number: int, *, at_once: bool = False, who: str = "") -> Job:
        """Ask a job to end: a training saves, a stage keeps what it has finished, one that waits does not begin."""
        job = self.one(ws, number)
        stop(job, at_once=at_once, who=who)
        self.advance()
        return self.one(ws, number)

    def advance(self) -> None:
        """Begin every waiting job whose lanes are free, in the order in which they were asked for."""
        with self._lock:
            self._reap()
            jobs = sorted(self.all(), key=lambda job: (job.asked, job.number))
            held = [lane for job in jobs if job.state in ("running", "stopping") for lane in job.lanes]
            for job in jobs:
                if job.state != "waiting":
                    continue
                free = all(held.count(lane) < (devices() if lane == DEVICE else 1) for lane in job.lanes)
                if free:
                    used = {other.device for other in jobs if other.state in ("running", "stopping")}
                    self._begin(job, device=_device(job, used))
                held += job.lanes  # also of one that waits: who came later does not overtake it

    def _begin(self, job: Job, *, device: int | None) -> None:
        self._children[job.folder] = begin(job, device=device)
        self._tell(job)

    def _reap(self) -> None:
        for folder, child in list(self._children.items()):
            code = child.poll()
            if code is not None:
                del self._children[folder]
                write_json(folder / "exit.json", {"code": code, "at": _now()})

    def _tell(self, job: Job) -> None:
        for told in self.changed:
            told(job)


def begin(job: Job, *, device: int | None = None) -> subprocess.Popen[bytes]:
    """Start the process of a job. It inherits the lock, so the lock is held until it has ended, whoever lives."""
    command = [sys.executable, "-m", "olu", job.argv[0], "--json"]
    if _has_events(job.folder):
        command.append(f"--events={job.path('events')}")
    command += job.argv[1:]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if device is not None:
        environment["CUDA_VISIBLE_DEVICES"] = str(device)
    with contextlib.ExitStack() as open_:
        handle = os.open(job.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        open_.callback(os.close, handle)
        try_lock(handle)
        out = open_.enter_context(job.path("summary").open("wb"))
        log = open_.enter_context(job.path("log").open("ab"))
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            cwd=job.folder,
            env=environment,
            start_new_session=True,
            pass_fds=(handle,),
        )
    write_json(
        job.folder / "started.json", {"pid": child.pid, "at": _now(), "device": device, "oom_kills": _oom_kills()}
    )
    return child


def stop(job: Job, *, at_once: bool = False, who: str = "") -> None:
    if job.over:
        return
    write_json(job.folder / "stop", {"who": who, "at": _now(), "at_once": at_once})
    if job.state == "waiting":
        write_json(job.folder / "exit.json", {"code": INTERRUPTED, "at": _now()})
    elif job.pid and is_locked(job.folder / "lock"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if at_once:
                os.killpg(job.pid, signal.SIGKILL)
            else:
                os.kill(job.pid, signal.SIGINT)


def read(folder: Path, *, ws: str) -> Job:
    """A job as its files tell it."""
    ask = _object(folder / "ask.json")
    started, left = _object(folder / "started.json"), _object(folder / "exit.json")
    events = list(_last_events(folder / FILES["events"]))
    end = next((row for row in reversed(events) if row.get("event") == "end"), None)
    tick = next((row for row in reversed(events) if row.get("event") in ("tick", "report")), None)
    alive = bool(started) and is_locked(folder / "lock")
    asked_to_stop = (folder / "stop").exists()
    state, code, said = _outcome(folder, started, left, end, alive=alive, stop=asked_to_stop)
    return Job(
        number=int(folder.name),
        folder=folder,
        ws=ws or NO_WORKSPACE,
        verb=str(ask.get("verb", "")),
        argv=tuple(map(str, ask.get("argv", ()))),
        options=dict(ask.get("options", {})),
        who=str(ask.get("who", "")),
        asked=str(ask.get("asked", "")),
        lanes=tuple(map(str, ask.get("lanes", ()))),
        state=state,
        started=str(started.get("at", "")),
        ended=str(left.get("at", "")),
        code=code,
        said=said,
        tick=tick,
        device=started.get("device"),
        pid=int(started.get("pid", 0)),
    )


def _outcome(
    folder: Path, started: dict[str, Any], left: dict[str, Any], end: dict[str, Any] | None, *, alive: bool, stop: bool
) -> tuple[State, int | None, str]:
    """State, exit code, and a sentence on the end."""
    if alive:
        return ("stopping" if stop else "running"), None, ""
    if not started:
        return ("stopped", INTERRUPTED, "taken back before it began") if left else ("waiting", None, "")
    code = end.get("code") if end else left.get("code")
    if end is None and code is None:
        return "lost", None, _without_a_word(folder, started, None)
    if isinstance(code, int) and code < 0 and end is None:
        if stop:
            return "stopped", code, "ended at once, as somebody asked: what it had finished before is kept"
        return "lost", code, _without_a_word(folder, started, code)
    said = str(end.get("error", "")) if end else _last_line(folder / FILES["log"])
    if code == 0 and not (end and end.get("error")):
        return "done", 0, ""
    if stop or code == INTERRUPTED:
        return "stopped", code, said
    return "failed", code, said


def _without_a_word(folder: Path, started: dict[str, Any], code: int | None) -> str:
    return "ended without a word: it was killed, or memory ran out"


def _last_line(log: Path) -> str:
    try:
        lines = log.read_bytes()[-8192:].decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].removeprefix("olu: ") if lines else ""


def _last_events(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines at the end of the events."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - TAIL)
            file.seek(start)
            data = file.read()
    except OSError:
        return
    lines = data.split(b"\n")
    for line in lines[1 if start else 0 : -1]:
        with contextlib.suppress(BadData):
            row = from_json(line)
            if isinstance(row, dict):
                yield row


def _object(path: Path) -> dict[str, Any]:
    try:
        value = load_json(path)
    except (BadData, OSError):
        return {}
    return value if isinstance(value, dict) else {}


def _folders(place: Path) -> list[Path]:
    try:
        names = [name for name in os.listdir(place) if name.isdecimal()]  # noqa: PTH208
    except OSError:
        return []
    return [place / name for name in sorted(names, key=int) if (place / name / "ask.json").is_file()]


def _new_folder(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    number = max((int(name) for name in os.listdir(place) if name.isdecimal()), default=0)  # noqa: PTH208
    while True:
        number += 1
        with contextlib.suppress(FileExistsError):
            (place / f"{number:04d}").mkdir()
            return place / f"{number:04d}"


def _has_events(folder: Path) -> bool:
    return bool(_object(folder / "ask.json").get("events"))


def _device(job: Job, used: set[int | None]) -> int | None:
    """The GPU of a heavy job, where there are several to choose from."""
    if DEVICE not in job.lanes or devices() == 1:
        return None
    return next((number for number in range(devices()) if number not in used), None)


def _oom_kills() -> int:
    return 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
