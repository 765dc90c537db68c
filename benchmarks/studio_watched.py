"""`python benchmarks/studio_watched.py`: what it costs to be watched, by the pages of one run that trains.

A page is made as `parts/run.js` is: it asks for the curves, then opens a line of events behind them, which brings the
figures since; every five seconds it asks for the part of the page that tells how the run stands. CPU is that of the
server's process, and of the training's. Stretches with and without pages take turns within one training, so that other
work on the machine falls on both. Writes its table into the file that benchmarks/studio.py writes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.studio import TICK, Server, machine, results, start  # noqa: E402
from tests.helpers.workspaces import workspace  # noqa: E402

from olu.studio.jobs import Jobs  # noqa: E402
from olu.studio.roots import Roots  # noqa: E402

TITLE = "## A run that is watched"
RUN = "/api/w/ws/runs/vits-001"
TINY = ("model.size=tiny", "model.hidden_size=32", "plan.batch_clips=2", "data.loudness=0", "plan.steps=1000000")
RARE = ("plan.validate_every=1000000", "plan.save_every=1000000")
SECONDS = 8.0  # of each stretch that is measured
EVENTS = 40
PART = 5.0
TURNS = 6  # stretches with pages; one without stands before each, and one behind the last


@dataclass
class Page:
    """One page of a run, over two connections as a browser has them."""

    server: Server
    row: int = 0  # the last step that it has the figures of
    seen: list[tuple[int, float]] = field(default_factory=list)  # steps, and when their figures had come
    _place: str = ""
    _part: float = 0.0
    _line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def _ask(self, path: str) -> bytes:
        if self._line is None:
            self._line = await asyncio.open_connection("127.0.0.1", self.server.port)
        reader, writer = self._line
        writer.write(self._head(path))
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
        except (asyncio.IncompleteReadError, ConnectionError):  # it was silent for long: as a browser, open another
            self._line = None
            writer.close()
            return await self._ask(path)
        assert head.startswith(b"http/1.1 200"), head
        return await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))

    def _head(self, path: str) -> bytes:
        host = f"127.0.0.1:{self.server.port}"
        return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {self.server.cookie}\r\n\r\n".encode()

    async def watch(self) -> None:
        self._place = json.loads(await self._ask(f"{RUN}/metrics"))["place"]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=2**22)
        try:
            writer.write(self._head(f"/api/events?ws=ws&watch=run:vits-001&after=run:vits-001={self._place}"))
            while line := await reader.readline():
                if line.startswith(b"data: "):
                    await self._told(json.loads(line[6:])["data"])
        finally:
            writer.close()
            if self._line is not None:
                self._line[1].close()

    async def _told(self, told: dict[str, Any]) -> None:
        assert told["from"] == self._place, "a page that has to ask"
        self._place = told["place"]
        self.seen += [(row["step"], time.time()) for row in told["rows"]]
        if time.monotonic() - self._part >= PART:
            self._part = time.monotonic()
            await self._ask("/w/ws/runs/vits-001/part/now")


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def trained(folder: Path) -> list[int]:
    with (folder / "metrics.jsonl").open("rb") as file:
        return [json.loads(line)["step"] for line in file if line.endswith(b"\n")]


@dataclass
class Stretch:
    """Some seconds of one training, watched by so many pages."""

    pages: int
    seconds: float
    steps: int
    server: float  # seconds of CPU
    training: float

    @property
    def pace(self) -> float:
        return self.steps / self.seconds


async def stretch(here: Server, run: Path, training: int, *, pages: int) -> Stretch:
    opened = [Page(here) for _ in range(pages)]
    watching = [asyncio.create_task(page.watch()) for page in opened]
    while not all(page.seen for page in opened):  # each has the curves, and an event
        await asyncio.sleep(0.2)
    await asyncio.sleep(1)
    begun, steps, spent, worked = time.monotonic(), len(trained(run)), here.cpu(), cpu(training)
    await asyncio.sleep(SECONDS)
    found = Stretch(
        pages, time.monotonic() - begun, len(trained(run)) - steps, here.cpu() - spent, cpu(training) - worked
    )
    for task in watching:
        task.cancel()
    for done in await asyncio.gather(*watching, return_exceptions=True):
        assert isinstance(done, asyncio.CancelledError), done
    return found


async def delays(here: Server, run: Path) -> list[float]:
    """Seconds from the moment a line is in the run's file until a page has its figures, with nothing else to watch."""
    page = Page(here)
    watching = asyncio.create_task(page.watch())
    await asyncio.sleep(2)
    path = run / "metrics.jsonl"
    last = json.loads(path.read_bytes().splitlines()[-1])
    written = {}
    rng = np.random.default_rng(1)
    for turn in range(EVENTS):
        step = last["step"] + 1 + turn
        with path.open("ab") as file:
            file.write(json.dumps({**last, "step": step}).encode() + b"\n")
        written[step] = time.time()
        await asyncio.sleep(rng.uniform(0.5, 1.0))
    await asyncio.sleep(3)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    came = dict(reversed(page.seen))
    assert set(written) <= set(came), "an event was lost"
    return [came[step] - at for step, at in written.items()]


async def figures(here: Server, root: Path) -> list[Sequence[str]]:
    options = {"changes": [*TINY, *RARE, "family=vits"], "from_scratch": True, "new": True}
    job = json.loads(here.ask("POST", "/api/jobs", {"ws": "ws", "verb": "train", "options": options}))
    run = root / "ws/runs/vits-001"
    end = time.monotonic() + 180
    while not (run / "metrics.jsonl").is_file() or len(trained(run)) < 10:
        assert time.monotonic() < end, "the training does not begin"
        await asyncio.sleep(0.2)
    pid = Jobs(Roots([root])).one("ws", job["number"]).pid
    try:
        turns = [pages for _ in range(TURNS) for pages in (0, 5)]
        found = [await stretch(here, run, pid, pages=pages) for pages in (*turns, 0, 50, 0, 50)]
    finally:  # it would go on without the studio
        here.ask("POST", f"/api/w/ws/jobs/{job['number']}/stop", {"at_once": False})
    while json.loads(here.ask("GET", f"/api/w/ws/jobs/{job['number']}"))["state"] in ("running", "stopping"):
        await asyncio.sleep(0.2)
    late = await delays(here, run)
    rows: list[Sequence[str]] = [
        (
            "event from file to page",
            "1 s",
            f"median {1000 * np.median(late):.0f} ms, p95 {1000 * np.percentile(late, 95):.0f} ms,"
            f" at most {1000 * max(late):.0f} ms, of {len(late)}",
        )
    ]
    for pages, goal in ((0, ""), (5, ""), (50, "5 %")):
        part = [one for one in found if one.pages == pages]
        share = sum(one.server for one in part) / sum(one.seconds for one in part)
        pace = sum(one.steps for one in part) / sum(one.seconds for one in part)
        rows.append(
            (f"server with {pages} pages, of one core", goal, f"{100 * share:.1f} %, at {pace:.1f} steps a second")
        )
    return [*rows, *cost(found[: 2 * TURNS + 1])]


def cost(found: list[Stretch]) -> list[Sequence[str]]:
    """What watching costs the training: each stretch with pages against the two beside it."""
    five = found[1::2]
    rows = []
    for what, goal, figure in (
        ("CPU of the training for a step", "101 %", lambda one: one.training / one.steps),
        ("steps a second (the pages, which would be elsewhere, run on these cores too)", "99 %", lambda one: one.pace),
    ):
        beside = [(figure(one) + figure(other)) / 2 for one, other in zip(found[0::2], found[2::2], strict=False)]
        ratios = [100 * figure(one) / other for one, other in zip(five, beside, strict=True)]
        middle = f"median {np.median(ratios):.1f} %, of {len(ratios)} from {min(ratios):.1f} to {max(ratios):.1f} %"
        rows.append((f"{what}, with 5 pages against none", goal, middle))
    alone, watched = (
        1000 * sum(one.training for one in part) / sum(one.steps for one in part) for part in (found[0::2], five)
    )
    rows.append(("the same CPU: without pages, with 5", "", f"{alone:.1f} ms, {watched:.1f} ms a step"))
    return rows


def watched() -> list[str]:
    """The lines of the table."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        workspace(root, [(f"c{n}", f"Habari {n}.", "amina", "valid" if n == 3 else "train") for n in range(12)])
        here, wall, spent = start(root)
        memory = here.memory()
        try:
            rows = asyncio.run(figures(here, root))
        finally:
            here.process.terminate()
            here.process.wait(20)
    first: list[Sequence[str]] = [
        ("`olu studio` to its first page", "1.5 s", f"{wall:.2f} s, {spent:.2f} s of CPU"),
        ("memory then", "60 to 90 MB", f"{memory:.0f} MB"),
    ]
    lines = [TITLE, "", *machine(f"a tiny VITS trains on one thread; stretches of {SECONDS:.0f} s in one run"), ""]
    return [*lines, "| what | goal | found |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in (*first, *rows))]


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    path = results()
    before = path.read_text(encoding="utf-8").partition(f"\n{TITLE}")[0].rstrip("\n") if path.is_file() else ""
    lines = watched()
    path.write_text("\n".join([before, "", *lines]).lstrip("\n") + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
