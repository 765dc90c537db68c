"""A studio that stays up: 300 jobs one after another, killed jobs, killed servers, journals cut anywhere; memory flat.

As many as one run allows by `OLU_SOAK=1 pytest -n0 tests/studio/test_endurance.py`; three days and nights by
`OLU_HOURS=72` before it: then it goes on until the hours are over.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import Request

import pytest

from olu.core.files import Workspace
from olu.core.job import finish
from olu.stages.import_ import import_source
from olu.studio import job_files

from ..helpers.studio import server
from .test_jobs import Asking, recordings

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="make soak: 300 jobs take minutes"),
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by /proc"),
]
COUNT = int(os.environ.get("OLU_JOBS", "300"))
HOURS = float(os.environ.get("OLU_HOURS", "0"))
BATCH = 20
SERVERS = 3  # the first two are killed, each after a batch
MOST_GROWTH_MB = 12.0  # of the last server, between its second batch and the end
PLACES = ("moja", "mbili", "tupu")  # the last one has no clips: what needs some fails there, in one sentence


def memory(pid: int) -> float:
    """What a process holds, in MB."""
    told = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert told
    return int(told[1]) / 1024


def watch(asking: Asking, heard: list[bytes]) -> None:
    """An open page: what it is told of the jobs, until the server ends."""
    with suppress(OSError, ValueError):
        request = Request(f"{asking.base}/api/events?watch=jobs", headers={"Accept": "text/event-stream"})
        with asking.opener.open(request, timeout=600) as stream:
            for line in stream:
                if line.startswith(b"event:"):
                    heard.append(line)


def one_batch(asking: Asking, root: Path, rng: random.Random, ends: dict[tuple[str, int], str]) -> None:
    """Twenty jobs, one of which is killed; what each came to stands in `ends`."""
    asked = []
    for turn in range(BATCH):
        ws = PLACES[turn % 3]
        asked.append((ws, asking("/api/jobs", {"ws": ws, "verb": "split"})["number"]))
    victim = asked[rng.randrange(BATCH)]
    killed = False
    while left := [one for one in asked if one not in ends]:
        for ws, number in left[:6]:
            told = asking(f"/api/w/{ws}/jobs/{number}")
            if (ws, number) == victim and not killed and told["state"] == "running":
                pid = int(json.loads((root / ws / f"jobs/{number:04}/started.json").read_text())["pid"])
                if pid > 1:  # 0 is written before the process is there
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        killed = True
            if told["state"] in job_files.ENDED:
                ends[ws, number] = told["state"]
                right(told, ws, killed=killed and (ws, number) == victim)
        time.sleep(0.1)


def right(told: dict[str, Any], ws: str, *, killed: bool) -> None:
    if killed and told["state"] != "done":  # it may have been quicker
        assert told["state"] == "lost" and "killed" in told["said"].lower(), told
    elif ws == "tupu":
        assert told["state"] == "failed" and "no clips yet" in told["said"], told
    else:
        assert told["state"] == "done", told


def cut(root: Path, rng: random.Random, ends: dict[tuple[str, int], str]) -> None:
    """The journals of some ended jobs break off anywhere: no job that failed becomes one that is done."""
    for ws, number in rng.sample(sorted(ends), 5):
        path = root / ws / f"jobs/{number:04}/events.jsonl"
        if path.exists():
            os.truncate(path, rng.randrange(path.stat().st_size + 1))


def test_three_hundred_jobs_and_the_server_stays_as_it_was(tmp_path: Path) -> None:
    for name in PLACES:
        Workspace.create(tmp_path / name, language="swa")
    for name in PLACES[:2]:
        finish(import_source(Workspace.open(tmp_path / name), recordings(tmp_path / f"{name}-sound")))
    rng, ends = random.Random(22), dict[tuple[str, int], str]()
    begun, held, heard = time.monotonic(), list[float](), list[bytes]()
    for turn in range(SERVERS):
        last = turn == SERVERS - 1
        with server(tmp_path) as (process, opened):
            asking = Asking(opened)
            for page in range(3 if last else 0):
                threading.Thread(target=watch, args=(asking, heard), daemon=True, name=f"page {page}").start()
            while True:
                one_batch(asking, tmp_path, rng, ends)
                asking.opener.open(f"{asking.base}/jobs", timeout=60).read()
                cut(tmp_path, rng, ends)
                held.append(memory(process.pid))
                if not last or (len(ends) >= COUNT and time.monotonic() - begun >= HOURS * 3600):
                    break
            for ws, number in ends:  # also those whose journal was cut, and those of a server that was killed
                told = asking(f"/api/w/{ws}/jobs/{number}")
                assert told["state"] in job_files.ENDED
                assert (told["state"] == "done") <= (ends[ws, number] == "done"), told
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert len(ends) >= COUNT and len(heard) >= len(ends) / 4
    own = held[SERVERS - 1 :]
    assert max(own[1:]) - own[1] < MOST_GROWTH_MB, own
    sys.stdout.write(
        f"{len(ends)} jobs, {time.monotonic() - begun:.0f} s; MB after each batch: {[round(one) for one in held]}\n"
    )
