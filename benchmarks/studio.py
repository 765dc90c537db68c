"""`python benchmarks/studio.py`: what the studio costs, with 100,000 clips held, against the goals it was made for.

`olu studio` runs as a process of its own. Each request is measured twice: wall time at the client, which a busy machine
stretches, and CPU time of the server's process, which it does not. Prints a table and writes it to benchmarks/results/.
"""

from __future__ import annotations

import http.client
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.helpers.clip_workspaces import large_workspace  # noqa: E402

RESULTS = Path(__file__).parent / "results"
CLIPS = 100_000
SOUNDS = 120  # clips of 3 s with sound
TURNS = 60
TICK = 1 / os.sysconf("SC_CLK_TCK")
HOW = f"{CLIPS:,} clips, a fifth marked; {TURNS} requests each, one at a time, over new connections"
FILTERS = [f"seconds > {n / 10} and speaker != 'speaker{n % 20}'" for n in range(25, 45)]


@dataclass
class Server:
    """A studio of its own, asked over HTTP as a page does."""

    process: subprocess.Popen[bytes]
    port: int
    cookie: str = ""

    def ask(
        self, method: str, url: str, body: object = None, *, data: bytes | None = None, kind: str = "application/json"
    ) -> bytes:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"Cookie": self.cookie, "Content-Type": kind, "X-Olu-Studio": "1"}
        line.request(method, url, json.dumps(body).encode() if body is not None else data, headers)
        answer = line.getresponse()
        got = answer.read()
        self.cookie = (answer.getheader("Set-Cookie") or self.cookie).partition(";")[0]
        line.close()
        assert answer.status < 400, f"{url}: {answer.status} {got[:300]!r}"
        return got

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK

    def memory(self, what: str = "VmRSS") -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{what}:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def start(folder: Path) -> tuple[Server, float, float]:
    """The server, and wall and CPU seconds until its first page."""
    before = time.perf_counter()
    command = [sys.executable, "-m", "olu", "studio", str(folder), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    said = b""
    while not (found := re.search(rb"http://127\.0\.0\.1:(\d+)/\?key=([\w-]+)", said)):
        more = process.stdout.readline()
        assert more, said.decode()
        said += more
    here = Server(process, int(found[1]))
    end = time.monotonic() + 30
    while True:
        try:
            here.ask("GET", f"/?key={found[2].decode()}")
            break
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.01)
    here.ask("GET", "/")
    return here, time.perf_counter() - before, here.cpu()


def measured(here: Server, work: Callable[[int], object], turns: int = TURNS) -> tuple[float, float]:
    """The 95th percentile of the wall time, and the mean of the server's CPU time, in ms."""
    walls = []
    before = here.cpu()
    for turn in range(turns):
        begun = time.perf_counter()
        work(turn)
        walls.append(1000 * (time.perf_counter() - begun))
    return float(np.percentile(walls, 95)), 1000 * (here.cpu() - before) / turns


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large_workspace(folder, CLIPS, sounds=SOUNDS, readings=True)
        here, wall, cpu = start(folder)
        try:
            rows = figures(here, wall, cpu)
        finally:
            here.process.terminate()
            here.process.wait(20)
    lines = ["# The studio", "", *machine(HOW), "", "| what | goal | wall | CPU of the server |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    from benchmarks.studio_watched import watched

    lines += ["", *watched()]
    results().write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def results() -> Path:
    RESULTS.mkdir(exist_ok=True)
    return RESULTS / f"studio_{platform.machine()}-{os.cpu_count()}core_{time.strftime('%Y%m')}.md"


def figures(here: Server, wall: float, cpu: float) -> list[Sequence[str]]:
    ws, page = "/api/w/large", "/w/large/clips"
    rows: list[Sequence[str]] = [
        ("`olu studio` to its first page", "1.5 s", f"{wall:.2f} s", f"{cpu:.2f} s"),
        ("memory then", "60 to 90 MB", f"{here.memory():.0f} MB", ""),
    ]

    def add(what: str, goal: str, work: Callable[[int], object], turns: int = TURNS) -> None:
        p95, spent = measured(here, work, turns)
        rows.append((what, goal, f"p95 {p95:.0f} ms", f"{spent:.1f} ms"))

    here.ask("GET", "/settings")  # the pages behind the first one are there
    begun, spent = time.perf_counter(), here.cpu()
    here.ask("GET", page)
    opened = (time.perf_counter() - begun, here.cpu() - spent)
    rows.append((f"{CLIPS:,} clips: open", "3 s once", f"{opened[0]:.2f} s", f"{opened[1]:.2f} s"))
    add("a page of 50, as a web page", "p95 50 ms", lambda n: here.ask("GET", f"{page}?at={50 * n}"))
    add("a page of 50, as JSON", "p95 50 ms", lambda n: here.ask("GET", f"{ws}/clips?at={50 * n}"))
    asked = iter(FILTERS)
    add("a new filter", "300 ms", lambda n: here.ask("GET", f"{page}?where={quote(next(asked))}"), len(FILTERS))
    sort = "&sort=-seconds"
    again = iter(FILTERS)
    add(
        "a new filter and a sort",
        "300 ms",
        lambda n: here.ask("GET", f"{page}?where={quote(next(again))}{sort}"),
        len(FILTERS),
    )
    ids = [f"recording-{n:06}-{n:08x}" for n in range(7, CLIPS, CLIPS // TURNS)][:TURNS]
    add(
        "a drop, flushed to disk, with its row back",
        "p95 80 ms",
        lambda n: here.ask("POST", f"{ws}/decisions", {"ids": [ids[n]], "decision": "drop", "by": "amina"}),
    )
    add("its undo", "p95 80 ms", lambda n: here.ask("POST", f"{ws}/undo", {"by": "amina"}))
    add(
        "a text, flushed to disk, with its row back",
        "p95 80 ms",
        lambda n: here.ask("POST", f"{ws}/texts", {"id": ids[n], "text": f"neno {n}", "by": "amina"}),
    )

    def page_after(n: int) -> None:
        here.ask("GET", f"{page}?at={50 * n}")

    def drop_then_page(n: int) -> None:
        here.ask("POST", f"{ws}/decisions", {"ids": [ids[n]], "decision": "drop", "reason": str(n), "by": "obi"})
        page_after(n)

    add("a drop and a page behind it", "p95 130 ms", drop_then_page)
    whole = {"query": "?check=noise", "decision": "drop", "by": "amina", "expect": CLIPS // 20}
    add(f"a drop of all {CLIPS // 20:,} of a filter", "", lambda n: here.ask("POST", f"{ws}/decisions", whole), 1)
    add("its undo, all at once", "", lambda n: here.ask("POST", f"{ws}/undo", {"by": "amina"}), 1)
    here.ask("POST", "/api/read", {"ws": "large", "text": "habari"})
    texts = [f"Watu {n} wamefika saa {n} asubuhi" for n in range(TURNS)]
    add("live reading", "p95 30 ms", lambda n: here.ask("POST", "/api/read", {"ws": "large", "text": texts[n]}))
    for kind, goal, first in (("peaks", "20", 0), ("picture", "30", 1), ("sound", "60", 2)):
        clip = [f"recording-{n:06}-{n:08x}" for n in range(first, SOUNDS, 3)]  # each the first time it is asked for
        name = {"picture": "spectrogram"}.get(kind, kind)
        add(
            f"{name} of a clip of 3 s",
            f"p95 {goal} ms",
            lambda n, k=kind, c=clip: here.ask("GET", f"{ws}/clips/{c[n]}/{k}"),
            len(clip),  # type: ignore[misc]
        )
        add(f"{name}, again", "", lambda n, k=kind, c=clip: here.ask("GET", f"{ws}/clips/{c[n]}/{k}"), len(clip))  # type: ignore[misc]
    rows.append(
        ("memory with all this held; at most", "300 MB", f"{here.memory():.0f} MB; {here.memory('VmHWM'):.0f} MB", "")
    )
    return rows


def machine(how: str) -> list[str]:
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return [
        f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
        f"commit {commit.stdout.strip()}, {time.strftime('%Y-%m-%d')}; {how}; load of the machine at the end:"
        f" {os.getloadavg()[0]:.1f}, so wall times are those of a machine with other work to do",
    ]


if __name__ == "__main__":
    main()
