"""Many clients at once: one server, two behind a proxy, piper's own server and a plain one, on one machine in one run.

    python benchmarks/scale.py [--clients 64 200] [--seconds 40] [--piper MODEL.onnx] [--beside FOLDER]

`--piper`: what `olu export embedded --to piper` wrote; `--beside`: a folder with flask, which piper's server needs.
Every server says the voice that comes with Olu. Needs nginx and caddy on the PATH. Prints a table.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.serve.test_scaling import PROXIES, free_port

from serve import HEADER, Broken, Client, _until_open, children, cpu_seconds, resident, serving

TEXTS = ("ሰላም ለሁሉም ይሁን።", "ደህና ነህ?", "እንኳን ደህና መጣችሁ።", "ዛሬ ቀኑ ጥሩ ነው።")
RATE = 16_000


@dataclass
class Group:
    """What is asked at one address: servers, and a proxy before them."""

    port: int
    roots: list[int]  # processes
    path: str = "/v1/audio/speech"
    host: str = "127.0.0.1"

    def pids(self) -> list[int]:
        return [pid for root in self.roots for pid in (root, *children(root))]

    def cpu(self) -> float:
        return sum(map(cpu_seconds, self.pids()))

    def memory(self) -> float:
        return sum(map(resident, self.pids())) / 2**20


@contextmanager
def started(*words: Any, port: int, beside: Path | None = None, quiet: bool = True) -> Iterator[int]:
    environment = {**os.environ, "PYTHONPATH": f"{beside}:{os.environ.get('PYTHONPATH', '')}"} if beside else None
    told = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(list(map(str, words)), env=environment, stdout=told, stderr=told)
    try:
        for _ in range(4):  # _until_open waits half a minute
            try:
                _until_open("127.0.0.1", port)
                break
            except OSError:
                continue
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def olu(*, servers: int, proxy: str, queue: int, folder: Path) -> Iterator[Group]:
    with ExitStack() as held:
        options = ["--queue", str(queue), "--workers", str(max(1, (os.cpu_count() or 1) // servers))]
        options += ["--trust-proxy", "127.0.0.1"] if proxy else []
        ours = [held.enter_context(serving(Path("embedded"), options=options)) for _ in range(servers)]
        pids = [one.process.pid for one in ours]
        if not proxy:
            yield Group(ours[0].port, pids)
            return
        port = free_port()
        words = PROXIES[proxy](folder, port, [f"{one.host}:{one.port}" for one in ours])
        if proxy == "nginx":  # its limit of one address would be ours
            file = folder / "nginx.conf"
            file.write_text(
                file.read_text().replace("rate=6000r/m", "rate=600000r/m").replace("burst=20", "burst=2000")
            )
        yield Group(port, [*pids, held.enter_context(started(*words, port=port))])


async def load(group: Group, *, clients: int, seconds: float) -> dict[str, Any]:
    """Every client asks again as soon as it is answered; who is told to wait, waits."""
    statuses, times, firsts, memory = Counter[str](), list[float](), list[float](), list[float]()
    sound, number, begun, before = 0.0, 0, time.monotonic(), group.cpu()
    server: Any = group

    async def one() -> None:
        nonlocal sound, number
        client = Client(server, path=group.path)
        while time.monotonic() - begun < seconds:
            number += 1
            text, start, size, first = TEXTS[number % len(TEXTS)], time.monotonic(), 0, 0.0
            wish = {"voice": "embedded", "input": text, "response_format": "wav", "seed": number}
            try:
                async for chunk in client.ask({"text": text} if "synth" in group.path else wish):
                    first = first or time.monotonic() - start
                    size += len(chunk)
            except (Broken, ValueError) as bad:
                statuses[type(bad).__name__] += 1
                await client.close()
                await asyncio.sleep(0.2)
                continue
            statuses[str(client.status)] += 1
            if client.status != 200:
                await asyncio.sleep(1.0)
                continue
            times.append(time.monotonic() - start)
            firsts.append(first)
            sound += (size - HEADER) / 2 / RATE
        await client.close()

    async def watch() -> None:
        while True:
            memory.append(group.memory())
            await asyncio.sleep(1.0)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(one() for _ in range(clients)))
    watching.cancel()
    wall = time.monotonic() - begun
    return {
        "statuses": dict(statuses),
        "rate": sound / wall,
        "cpu": (group.cpu() - before) / max(sound, 1e-9),
        "times": statistics.quantiles(times, n=100, method="inclusive") if len(times) > 2 else [0.0] * 99,
        "first": statistics.median(firsts) if firsts else 0.0,
        "memory": max(memory),
    }


def ways(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Any]]:
    queue = max(given.clients)
    yield "olu serve", lambda: olu(servers=1, proxy="", queue=queue, folder=folder)
    for proxy in ("nginx", "caddy"):
        yield (
            f"two olu serve behind {proxy}",
            lambda proxy=proxy: olu(servers=2, proxy=proxy, queue=queue, folder=folder),
        )
    yield "plain FastAPI", lambda: plain(Path(__file__).with_name("plain_server.py"), "embedded")
    if given.piper:
        words = ("-m", "piper.http_server", "-m", given.piper, "--host", "127.0.0.1", "--port")
        yield "piper's server", lambda: plain(*words, path="/synthesize", beside=given.beside)


@contextmanager
def plain(*words: Any, path: str = "/v1/audio/speech", beside: Path | None = None) -> Iterator[Group]:
    port = free_port()
    with started(sys.executable, *words, port, port=port, beside=beside) as pid:
        yield Group(port, [pid], path)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--clients", type=int, nargs="+", default=[64, 200])
    asked.add_argument("--seconds", type=float, default=40.0)
    asked.add_argument("--ways", nargs="+", default=["olu", "two", "plain", "piper"], help="how their names begin")
    asked.add_argument("--piper", type=Path)
    asked.add_argument("--beside", type=Path)
    given = asked.parse_args()
    print(
        "| | clients | answers | seconds of sound a second | CPU-s a second of it | half, 95 % within, s | memory, MB |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        for name, way in ways(given, Path(place)):
            if not any(name.startswith(one) for one in given.ways):
                continue
            with way() as group:
                asyncio.run(load(group, clients=4, seconds=3))
                for clients in given.clients:
                    made = asyncio.run(load(group, clients=clients, seconds=given.seconds))
                    told = ", ".join(f"{count} x {status}" for status, count in made["statuses"].items())
                    times, figures = made["times"], f"{made['rate']:.2f} | {made['cpu']:.3f}"
                    spans = f"{times[49]:.1f}, {times[94]:.1f}"
                    print(f"| {name} | {clients} | {told} | {figures} | {spans} | {made['memory']:.0f} |", flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
