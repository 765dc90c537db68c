"""Jobs of the studio: the verb itself in a process of its own, told by files; servers may die."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, build_opener

import numpy as np
import pytest
import soundfile

from olu.core.files import Workspace
from olu.stages.verbs import VERBS
from olu.studio import job_files, machine_facts
from olu.studio.job_files import Job
from olu.studio.jobs import Jobs
from olu.studio.lanes import LANES
from olu.studio.roots import Roots

from ..helpers.studio import StudioClient, server

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and sessions of POSIX")
PATIENCE = 90.0


def until(said: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := said():
            return value
        time.sleep(0.05)
    raise AssertionError(f"never: {what}")


def recordings(folder: Path, *, clips: int = 3) -> Path:
    (folder / "wavs").mkdir(parents=True)
    rng = np.random.default_rng(1)
    for number in range(clips):
        soundfile.write(folder / f"wavs/a{number}.wav", 0.1 * rng.normal(size=16000), 16000)
    lines = "".join(f"a{number}|Habari ya asubuhi {number}.\n" for number in range(clips))
    (folder / "metadata.csv").write_text(lines, encoding="utf-8")
    return folder


class Asking:
    """A browser's cookie and our header, against a real server."""

    def __init__(self, opened: str) -> None:
        self.base, _, key = opened.partition("/?key=")
        self.opener = build_opener()
        from http.cookiejar import CookieJar
        from urllib.request import HTTPCookieProcessor

        self.opener.add_handler(HTTPCookieProcessor(CookieJar()))
        self.opener.open(opened, timeout=30).read()
        assert key

    def __call__(self, path: str, value: Any = None) -> Any:
        body = None if value is None else json.dumps(value).encode()
        headers = {"Content-Type": "application/json", "X-Olu-Studio": "1"}
        with self.opener.open(Request(self.base + path, body, headers), timeout=30) as answer:
            return json.loads(answer.read())


def held(job: dict[str, Any], root: Path, ws: str) -> Job:
    return Jobs(Roots([root])).one(ws, job["number"])


def test_a_job_is_the_verb_and_its_result_is_its_json(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "habari", language="swa")
    client = StudioClient.of(tmp_path)
    told = client.job("habari", "status")
    assert told["state"] == "done" and told["result"]["language"] == "swa"
    assert told["command"] == f"olu status {tmp_path}/habari"
    assert (tmp_path / "habari/jobs/0001/ask.json").is_file()


def test_what_goes_wrong_is_one_sentence(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "habari", language="swa")
    (tmp_path / "empty").mkdir()
    told = StudioClient.of(tmp_path).job("habari", "import", source=str(tmp_path / "empty"))
    assert told["state"] == "failed" and told["code"] == 2
    assert "is empty: name the folder" in told["said"]


@pytest.mark.parametrize("verb", ["import", pytest.param("audit", marks=pytest.mark.soak)])
def test_a_killed_server_harms_no_job_and_the_next_one_finds_it_and_goes_on(tmp_path: Path, verb: str) -> None:
    if verb != "import" and os.environ.get("OLU_SOAK") != "1":
        pytest.skip("make soak: the same for another verb")
    Workspace.create(tmp_path / "habari", language="swa")
    source = recordings(tmp_path / "rec")
    ask = {"ws": "habari", "verb": verb, "options": {"source": str(source)} if verb == "import" else {}}
    if verb == "audit":
        StudioClient.of(tmp_path).job("habari", "import", source=str(source))
    with server(tmp_path) as (process, opened):
        asking = Asking(opened)
        first = asking("/api/jobs", ask)
        running = until(lambda: held(first, tmp_path, "habari").pid and held(first, tmp_path, "habari"), "it runs")
        os.kill(running.pid, signal.SIGSTOP)  # so that it is surely in the middle
        second = asking("/api/jobs", {"ws": "habari", "verb": "split"})
        assert second["state"] == "waiting"
        process.kill()
        process.wait()
        assert held(first, tmp_path, "habari").state == "running"
    with server(tmp_path) as (_, opened):
        asking = Asking(opened)
        assert asking(f"/api/w/habari/jobs/{first['number']}")["state"] == "running"
        assert asking(f"/api/w/habari/jobs/{second['number']}")["state"] == "waiting"
        os.kill(running.pid, signal.SIGCONT)
        told = until(lambda: _ended(asking, first), "the import ends")
        assert told["state"] == "done" and told["result"].get("added", told["result"]["clips"]) == 3
        assert until(lambda: _ended(asking, second), "the split ends")["state"] == "done"


def _ended(asking: Asking, job: dict[str, Any]) -> Any:
    told = asking(f"/api/w/habari/jobs/{job['number']}")
    return told if told["state"] in job_files.ENDED else None


def test_a_second_studio_is_refused(tmp_path: Path) -> None:
    with server(tmp_path):
        command = [sys.executable, "-m", "olu", "studio", str(tmp_path), "--port", "0", "--check"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "another studio has" in done.stderr


@pytest.fixture
def stopped_job(tmp_path: Path) -> Iterator[tuple[StudioClient, Job]]:
    """An import that stands still."""
    Workspace.create(tmp_path / "habari", language="swa")
    client = StudioClient.of(tmp_path)
    options = {"source": str(recordings(tmp_path / "rec"))}
    job = client.studio.jobs.start("habari", "import", options)
    os.kill(job.pid, signal.SIGSTOP)
    yield client, job
    for child in client.studio.jobs._children.values():
        child.kill()
        child.wait()


def test_a_killed_job_is_said_in_one_sentence_and_the_workspace_is_whole(
    stopped_job: tuple[StudioClient, Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, job = stopped_job
    os.kill(job.pid, signal.SIGKILL)
    until(lambda: not job_files.is_alive(job.folder), "it has ended")
    client.studio.jobs.advance()
    told = client.studio.jobs.one("habari", 1)
    assert told.state == "lost" and told.said.startswith("killed by somebody, or by the system")
    assert client.job("habari", "import", **{k: v for k, v in job.options.items() if k != "ws"})["state"] == "done"
    # the same, where the system has counted a kill for want of memory
    monkeypatch.setattr(job_files, "memory_kills", lambda: machine_facts.memory_kills() + 1)
    for_memory = "killed by the system because memory ran out"
    assert not job_files.read(job.folder, ws="habari").said.startswith(for_memory), "it was another process"
    (job.folder / "exit.json").unlink()  # nobody saw it end
    assert job_files.read(job.folder, ws="habari").said.startswith(for_memory)
    monkeypatch.undo()
    assert job_files.read(job.folder, ws="habari").said.startswith("ended without a word (killed, or out of memory)")
    started = json.loads((job.folder / "started.json").read_text())
    (job.folder / "started.json").write_text(json.dumps({**started, "boot": "another"}))
    assert "started anew" in job_files.read(job.folder, ws="habari").said


@contextmanager
def little_memory(limit: int) -> Iterator[Path]:
    """A control group whose processes may have so many bytes; the file that takes a process into it."""
    for home, name in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = home / f"olu-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / name).write_text(str(limit))
        except OSError:
            group.rmdir()
            continue
        try:
            yield group / "cgroup.procs"
        finally:
            until(lambda inside=group / "cgroup.procs": not inside.read_text(), "it is empty")
            group.rmdir()
        return
    pytest.skip("this machine makes no control groups of memory")


def test_a_job_that_the_system_kills_for_want_of_memory(stopped_job: tuple[StudioClient, Job]) -> None:
    client, job = stopped_job
    with little_memory(8 * 2**20) as processes:
        processes.write_text(str(job.pid))
        os.kill(job.pid, signal.SIGCONT)
        until(lambda: not job_files.is_alive(job.folder), "it has ended")
    client.studio.jobs.advance()
    told = client.studio.jobs.one("habari", 1)
    assert (told.state, told.code) == ("lost", -signal.SIGKILL)
    assert told.said.startswith("killed by the system because memory ran out")
    assert client.job("habari", "import", **{k: v for k, v in job.options.items() if k != "ws"})["state"] == "done"


def test_memory_and_disk_that_run_out_are_said(stopped_job: tuple[StudioClient, Job], monkeypatch: Any) -> None:
    _, job = stopped_job
    os.kill(job.pid, signal.SIGKILL)
    until(lambda: not job_files.is_alive(job.folder), "it has ended")
    job.path("events").write_text('{"event": "end", "code": 1, "error": "MemoryError: "}\n')
    assert job_files.read(job.folder, ws="habari").said.startswith("memory ran out")
    job.path("events").write_text('{"event": "begin"}\n{"event": "ti')  # cut off
    monkeypatch.setattr(job_files, "NO_ROOM", 2**62)
    assert job_files.read(job.folder, ws="habari").said.startswith("the disk is full")


@pytest.mark.skipif(os.geteuid() != 0 if hasattr(os, "geteuid") else True, reason="needs to mount a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=False)
    if mount.returncode:
        pytest.skip("this machine mounts nothing")
    try:
        Workspace.create(disk / "habari", language="swa")
        client = StudioClient.of(disk, tmp_path)
        source = recordings(tmp_path / "rec")
        job = client.studio.jobs.start("habari", "import", {"source": str(source), "copy": True})
        os.kill(job.pid, signal.SIGSTOP)
        (disk / "filler").write_bytes(b"\0" * (os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize))
        os.kill(job.pid, signal.SIGCONT)
        told = until(lambda: _over(client), "it ends")
        assert told.state in ("failed", "lost") and "the disk is full" in told.said
        (disk / "filler").unlink()
        assert client.job("habari", "import", source=str(source))["state"] == "done"
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def _over(client: StudioClient) -> Job | None:
    client.studio.jobs.advance()
    job: Job = client.studio.jobs.one("habari", 1)
    return job if job.over else None


def test_stop_ends_a_stage_and_takes_back_what_waits(stopped_job: tuple[StudioClient, Job]) -> None:
    client, job = stopped_job
    waiting = client.post("/api/jobs", {"ws": "habari", "verb": "audit"}).json
    assert waiting["state"] == "waiting"
    page = client.get(waiting["address"]).text
    assert "Waits for" in page
    assert client.post(f"/api/w/habari/jobs/{waiting['number']}/stop").json["state"] == "stopped"
    assert client.post("/api/w/habari/jobs/1/stop").json["state"] == "stopping"
    os.kill(job.pid, signal.SIGCONT)
    told = until(lambda: _over(client), "it ends")
    assert told.state == "stopped" and re.search("what (was|it had) finished is kept", told.said)


def test_a_second_press_ends_at_once(stopped_job: tuple[StudioClient, Job]) -> None:
    client, _ = stopped_job
    assert client.post("/api/w/habari/jobs/1/stop").json["state"] == "stopping"
    client.post("/api/w/habari/jobs/1/stop", {"at_once": True})
    told = until(lambda: _over(client), "it ends")
    assert told.state == "stopped" and "at once" in told.said


def test_lanes_hold_back_and_nobody_is_overtaken(stopped_job: tuple[StudioClient, Job]) -> None:
    client, job = stopped_job
    Workspace.create(client.studio.roots.folders[0] / "other", language="swa")
    waits = [client.post("/api/jobs", {"ws": "habari", "verb": verb}).json["state"] for verb in ("split", "audit")]
    assert waits == ["waiting", "waiting"]
    assert client.post("/api/jobs", {"ws": "other", "verb": "status"}).json["state"] == "running"
    os.kill(job.pid, signal.SIGCONT)
    until(lambda: not _alive(client), "all end")
    begun = [client.studio.jobs.one("habari", number).started for number in (1, 2, 3)]
    assert begun == sorted(begun)


def _alive(client: StudioClient) -> list[Job]:
    client.studio.jobs.advance()
    found: list[Job] = client.studio.jobs.live()
    return found


def test_two_servers_begin_a_job_once(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "habari", language="swa")
    folder = job_files.new_folder(tmp_path / "habari/jobs")
    (folder / "ask.json").write_text(json.dumps({"verb": "status", "argv": ["status", "--", str(tmp_path / "habari")]}))
    job = job_files.read(folder, ws="habari")
    first, second = job_files.begin(job), job_files.begin(job)
    assert first is not None and second is None
    first.wait()


def test_every_verb_that_writes_a_workspace_has_a_lane() -> None:
    assert set(LANES) <= set(VERBS)
    long = {verb.name for verb in VERBS.values() if verb.job and verb.workspace and not verb.server}
    assert long - set(LANES) <= {"plan"}  # which reads


def test_a_terminal_sees_and_stops_the_same_jobs(stopped_job: tuple[StudioClient, Job]) -> None:
    client, job = stopped_job
    root = str(client.studio.roots.folders[0])

    def olu(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "olu", "jobs", *words], capture_output=True, text=True, check=False
        )

    told = json.loads(olu(root, "--json").stdout)
    assert [(one["verb"], one["state"]) for one in told["jobs"]] == [("import", "running")]
    done = olu(f"{root}/habari", "--stop", "1")
    assert "import" in done.stdout and "asked to end" in done.stdout
    os.kill(job.pid, signal.SIGCONT)
    assert until(lambda: _over(client), "it ends").state == "stopped"
    assert olu(root, "--stop", "9").returncode == 2


def test_a_pack_leaves_jobs_and_uploads_out(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "habari", language="swa")
    client = StudioClient.of(tmp_path)
    assert client.job("habari", "import", source=str(recordings(tmp_path / "rec")))["state"] == "done"
    begun = client.post("/api/w/habari/uploads", {"name": "x", "files": 1, "bytes": 3}).json
    put = f"/api/w/habari/uploads/{begun['id']}/a.txt?offset=0&total=3"
    assert client.ask("PUT", put, b"abc", {"x-olu-studio": "1"}).json["whole"]
    told = client.job("habari", "pack")
    assert told["state"] == "done", told
    with tarfile.open(told["result"]["file"]) as pack:
        names = pack.getnames()
    assert names and not [name for name in names if name.startswith(("jobs/", "uploads/"))]
    page = client.get(told["address"]).text
    assert "/api/packs/habari.tar" in page and client.get("/api/packs/habari.tar").status == 200


def test_a_journal_cut_anywhere_is_never_misread(stopped_job: tuple[StudioClient, Job]) -> None:
    _, job = stopped_job
    os.kill(job.pid, signal.SIGKILL)
    until(lambda: not job_files.is_alive(job.folder), "it has ended")
    rows = [
        '{"event": "begin"}',
        '{"event": "tick", "done": 1, "total": 3, "what": "a"}',
        '{"event": "end", "code": 0}',
    ]
    data = "".join(f"{row}\n" for row in rows).encode()
    for end in range(len(data) + 1):
        job.path("events").write_bytes(data[:end])
        told = job_files.read(job.folder, ws="habari")
        assert (told.state == "done") == (end == len(data))


def test_the_log_is_read_on_by_bytes(stopped_job: tuple[StudioClient, Job]) -> None:
    client, job = stopped_job
    job.path("log").write_bytes("één <script>\n".encode())
    told = client.get("/api/w/habari/jobs/1/log").json
    assert told["text"] == "één <script>\n"
    assert client.get(f"/api/w/habari/jobs/1/log?from={told['next']}").json["text"] == ""
    job.path("log").write_bytes(b"x" * 400_000)
    assert client.get("/api/w/habari/jobs/1/log").json["cut"]


def test_a_job_is_running_from_its_claim_on_and_its_last_words_count(tmp_path: Path, monkeypatch: Any) -> None:
    """What a page sees between two steps of a beginning or an end: never a job that was lost."""
    folder = job_files.new_folder(tmp_path / "jobs")
    (folder / "ask.json").write_text(json.dumps({"verb": "split", "argv": ["split"], "asked": job_files.now()}))
    (folder / "started.json").write_text(json.dumps({"pid": 0, "at": job_files.now()}))  # no lock, no process yet
    assert job_files.read(folder, ws="habari").state == "running"
    (folder / "started.json").write_text(json.dumps({"pid": 0, "at": "2026-01-01T00:00:00Z"}))  # its server died there
    assert job_files.read(folder, ws="habari").state == "lost"

    def ends_meanwhile(looked_at: Path) -> bool:
        (looked_at / "events.jsonl").write_text('{"event": "end", "code": 0}\n', encoding="utf-8")
        return False

    monkeypatch.setattr(job_files, "is_alive", ends_meanwhile)
    assert job_files.read(folder, ws="habari").state == "done"
