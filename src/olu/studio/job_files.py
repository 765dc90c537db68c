"""One job and its files. Everything that is known of a job is read off these, so that nothing hangs on a server.

WS/jobs/0017/ask.json      verb, argv, options, who, when: a job that waits is this file alone
             started.json  process, when, device; made once, by whoever begins the job
             events.jsonl  what --events wrote         log.txt    stderr        summary.json  what --json printed
             lock          held by the job as long as it lives
             stop          somebody asked it to end    exit.json  how it ended, from whoever saw it
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from olu.core.errors import ConfigError
from olu.core.files import write_json
from olu.core.parse import BadData, from_json, load_json
from olu.core.workspace_lock import is_locked, try_lock
from olu.studio.machine_facts import boot_id, memory_kills
from olu.studio.verbs import shown_command

FOLDER = "jobs"
NO_WORKSPACE = "-"  # stands in addresses where there is no workspace
State = Literal["waiting", "running", "stopping", "done", "failed", "stopped", "lost"]
LIVE = ("running", "stopping")
ENDED = ("done", "failed", "stopped", "lost")
TAIL = 64 * 1024  # bytes of the events that are looked at for how far a job is
LONGEST_LINE = 4 * 1024 * 1024  # a last line may hold a whole summary
INTERRUPTED = 130
NO_ROOM = 64 * 1024  # bytes: with less the disk is full
BEGINNING = timedelta(seconds=60)  # in which a job that was claimed has its process, on the busiest machine
FIRST_CLIPS = "first"  # folder of the sounds of a look before an import
FILES = {"events": "events.jsonl", "log": "log.txt", "summary": "summary.json"}
OWN = frozenset((*FILES.values(), "ask.json", "started.json", "exit.json", "lock", "stop"))
KEPT = "what it had finished is kept"
FULL = f"the disk is full: free some space and run it again, {KEPT}"


@dataclass(frozen=True)
class Job:
    """One job as its files tell it now."""

    number: int
    folder: Path
    ws: str  # its workspace's name in addresses
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
        home = "" if self.ws == NO_WORKSPACE else f"/w/{quote(self.ws)}"
        return f"{home}/jobs/{self.number}"

    @property
    def command(self) -> str:
        return shown_command(self.argv)

    @property
    def over(self) -> bool:
        return self.state in ENDED

    def row(self) -> dict[str, Any]:
        """What a page, or `olu jobs --json`, is told of it."""
        names = ("number", "ws", "address", "verb", "command", "state", "who", "asked", "started", "ended", "code")
        row = {name: getattr(self, name) for name in names}
        return {**row, "said": self.said, "tick": dict(self.tick) if self.tick else None}

    def path(self, name: str) -> Path:
        return self.folder / FILES[name]

    def result(self) -> Any:
        """What `--json` printed; nothing where that is no JSON."""
        try:
            return load_json(self.path("summary"))
        except (BadData, OSError):
            return None

    def made(self) -> list[Path]:
        """Files that the verb wrote into the job's folder."""
        found = sorted(self.folder.iterdir())
        return [path for path in found if path.is_file() and path.name not in OWN and not path.name.startswith(".")]


# ---------------------------------------------------------------- beginning and ending


def begin(job: Job, *, device: int | None = None) -> subprocess.Popen[bytes] | None:
    """Start the process of a job; None where another server has begun it.

    It inherits the lock, so the lock is held until it has ended, whoever else lives.
    """
    facts = {"pid": 0, "at": now(), "device": device, "boot": boot_id(), "memory_kills": memory_kills()}
    try:
        with (job.folder / "started.json").open("x", encoding="utf-8") as claim:
            json.dump(facts, claim)
    except FileExistsError:
        return None
    command = [sys.executable, "-m", "olu", job.argv[0], "--json"]
    command += [f"--events={job.path('events')}"] if _object(job.folder / "ask.json").get("events") else []
    command += [f"--hear={job.folder / FIRST_CLIPS}"] if job.verb == "import" and job.options.get("dry_run") else []
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    environment |= {} if device is None else {"CUDA_VISIBLE_DEVICES": str(device)}
    with contextlib.ExitStack() as held:
        handle = os.open(job.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        held.callback(os.close, handle)
        _take(handle)
        try:
            child = subprocess.Popen(
                [*command, *job.argv[1:]],
                stdin=subprocess.DEVNULL,
                stdout=held.enter_context(job.path("summary").open("wb")),
                stderr=held.enter_context(job.path("log").open("ab")),
                cwd=job.folder,
                env=environment,
                **_apart(handle),
            )
        except OSError as bad:  # no memory for another process, or too many of them
            job.path("log").write_text(f"olu: the system began no process ({bad.strerror}): run it again\n")
            write_json(job.folder / "exit.json", {"code": 2, "at": now()})
            return None
    write_json(job.folder / "started.json", {**facts, "pid": child.pid})
    return child


def _apart(handle: int) -> dict[str, Any]:
    """A process of its own, which neither a closed terminal nor the end of the server reaches."""
    if os.name == "nt":
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return {"start_new_session": True, "pass_fds": (handle,)}


def _take(handle: int) -> None:
    """Hold the lock: whoever looks whether it is held has it for a moment only."""
    try:
        import fcntl
    except ImportError:
        try_lock(handle)
        return
    with contextlib.suppress(OSError):  # a disk without locks: then the process number must do
        fcntl.flock(handle, fcntl.LOCK_EX)


def ask_to_stop(job: Job, *, at_once: bool = False, who: str = "") -> None:
    """Ask a job to end. A training saves its step, a stage leaves what it has finished; `at_once` kills."""
    if job.over:
        return
    write_json(job.folder / "stop", {"who": who, "at": now(), "at_once": at_once})
    if job.state == "waiting":
        write_json(job.folder / "exit.json", {"code": INTERRUPTED, "at": now()})
        return
    if not job.pid:
        raise ConfigError("this job is only just beginning: ask again in a moment")
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if at_once and hasattr(os, "killpg"):
            os.killpg(job.pid, signal.SIGKILL)
        else:
            # on Windows SIGTERM kills; Ctrl-Break reaches the group that `_apart` made, and a training saves
            gentle = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)
            os.kill(job.pid, signal.SIGTERM if at_once else gentle)


# ---------------------------------------------------------------- reading


def read(folder: Path, *, ws: str) -> Job:
    """A job as its files tell it."""
    ask = _object(folder / "ask.json")
    started = _object(folder / "started.json")
    alive = bool(started) and (is_alive(folder) or _begins(started))  # first: what a job tells, it tells before its end
    events = _last_events(folder / FILES["events"]) if started else []
    state, code, said = _outcome(folder, started, events, alive=alive)
    over = state in ENDED
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
        ended=_ended(folder) if over else "",
        code=code,
        said=said,
        tick=next((row for row in reversed(events) if row.get("event") in ("tick", "report")), None),
        device=started.get("device"),
        pid=int(started.get("pid", 0)),
    )


def _begins(started: Mapping[str, Any]) -> bool:
    """Whether a job was claimed a moment ago, and its process is not there yet."""
    try:
        since = datetime.now(UTC) - datetime.fromisoformat(str(started["at"]))
    except (KeyError, ValueError, TypeError):
        return False
    return not started.get("pid") and since < BEGINNING


def _outcome(
    folder: Path, started: Mapping[str, Any], events: list[dict[str, Any]], *, alive: bool
) -> tuple[State, int | None, str]:
    """State, exit code, and a sentence on the end."""
    left = _object(folder / "exit.json")
    if not started:
        return ("stopped", INTERRUPTED, "taken back before it began") if left else ("waiting", None, "")
    stop = (folder / "stop").exists()
    if not left and alive:
        return ("stopping" if stop else "running"), None, ""
    end = next((row for row in reversed(events) if row.get("event") == "end"), None)
    if end is not None:
        return _told_end(folder, end, stop=stop)
    code = left.get("code", _guessed_code(folder))
    if code == 0:
        return "done", 0, ""
    if stop:
        return "stopped", code, f"ended at once, as somebody asked: {KEPT}"
    if code is None or code < 0:
        return "lost", code, without_a_word(folder, started, left)
    return "failed", code, _sentence(_last_words(folder)) or _silent(folder, code)


def _told_end(folder: Path, end: Mapping[str, Any], *, stop: bool) -> tuple[State, int | None, str]:
    """The end that a job has told itself."""
    code, said = end.get("code"), _sentence(str(end.get("error", "")))
    if code == 0 and not said:
        return "done", 0, ""
    if code == INTERRUPTED or (stop and code in (0, 128 + signal.SIGTERM)):
        return "stopped", code, said or KEPT
    return "failed", code, said or _silent(folder, code)


def _sentence(said: str) -> str:
    """What went wrong, where something did."""
    if said.startswith("MemoryError") or "out of memory" in said.lower():
        return f"memory ran out: close other programs, or ask for less at a time; {KEPT} ({said[:120]})"
    return said


def _silent(folder: Path, code: int | None) -> str:
    """Of a job that could write nothing of its end."""
    if shutil.disk_usage(folder).free < NO_ROOM:
        return FULL
    return f"ended with exit code {code} and said nothing more: the log may tell why"


def _guessed_code(folder: Path) -> int | None:
    """The exit code of a quick verb that nobody saw end: it printed its result, or a sentence."""
    try:
        load_json(folder / FILES["summary"])
    except (BadData, OSError):
        return 2 if _last_words(folder) else None
    return 0


def without_a_word(folder: Path, started: Mapping[str, Any], left: Mapping[str, Any]) -> str:
    """Why a job may have ended that could not say so itself."""
    code = left.get("code")
    if started.get("boot") and boot_id() and started["boot"] != boot_id():
        return f"the machine was started anew while it ran: run it again, {KEPT}"
    if shutil.disk_usage(folder).free < NO_ROOM:
        return FULL
    killed = code is None or code == -getattr(signal, "SIGKILL", 9)
    counted = left.get("memory_kills", memory_kills())  # as its end was seen: later ones are of other processes
    if killed and counted > int(started.get("memory_kills", 0)):
        return f"killed by the system because memory ran out: ask for less at a time and run it again, {KEPT}"
    if code is None:
        return f"ended without a word (killed, or out of memory): run it again, {KEPT}"
    if killed:
        return f"killed by somebody, or by the system because memory ran out: run it again, {KEPT}"
    name = signal.Signals(-code).name if -code in {one.value for one in signal.Signals} else f"signal {-code}"
    return f"crashed ({name}): the log may tell more; {KEPT}"


def seen_end(code: int) -> dict[str, Any]:
    """What exit.json holds of a process that was seen to end."""
    return {"code": code, "at": now(), "memory_kills": memory_kills()}


def is_alive(folder: Path) -> bool:
    """Whether the process of a job still holds its lock."""
    held = is_held(folder / "lock")
    return _lives(int(_object(folder / "started.json").get("pid", 0))) if held is None else held


def is_held(path: Path) -> bool | None:
    """Whether a process holds this lock; None on a disk without locks.

    Looking holds nobody up: a shared lock is asked for, which many can have at once.
    """
    try:
        import fcntl

        handle = os.open(path, os.O_RDONLY)
    except ImportError:
        return is_locked(path)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(handle)
    return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return pid > 0


def _ended(folder: Path) -> str:
    """When a job ended: what was seen of it, or the last it wrote."""
    if at := _object(folder / "exit.json").get("at"):
        return str(at)
    times = [path.stat().st_mtime for name in FILES.values() if (path := folder / name).exists()]
    return _stamp(max(times)) if times else ""


def _last_words(folder: Path) -> str:
    """The sentence after `olu:` at the end of the log."""
    try:
        with (folder / FILES["log"]).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 8192))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    last = lines[-1] if lines else ""
    return last.removeprefix("olu: ") if last.startswith("olu: ") or "Error" in last else ""


def _last_events(path: Path) -> list[dict[str, Any]]:
    """The whole lines at the end of the events; where the last one is long, as much as it takes."""
    room = TAIL
    while True:
        try:
            with path.open("rb") as file:
                start = max(0, file.seek(0, os.SEEK_END) - room)
                file.seek(start)
                data = file.read()
        except OSError:
            return []
        found = list(rows_of(data.split(b"\n")[1 if start else 0 : -1]))
        if found or not start or room >= LONGEST_LINE:
            return found
        room *= 8


def rows_of(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    """The lines that are JSON objects."""
    for line in lines:
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


def folders(place: Path) -> list[Path]:
    """The folders of jobs in a place, in their order."""
    return [place / f"{number:04d}" for number in sorted(_numbers(place)) if _is_job(place / f"{number:04d}")]


def _is_job(folder: Path) -> bool:
    return (folder / "ask.json").is_file()


def _numbers(place: Path) -> list[int]:
    try:
        return [int(name) for name in os.listdir(place) if name.isascii() and name.isdecimal()]  # noqa: PTH208
    except OSError:
        return []


def new_folder(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    number = max(_numbers(place), default=0)
    while True:
        number += 1
        with contextlib.suppress(FileExistsError):
            (place / f"{number:04d}").mkdir()
            return place / f"{number:04d}"


def now() -> str:
    return _stamp(datetime.now(UTC).timestamp())


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
