"""`olu serve` under load on loopback, beside what `olu speak --batch` makes of the same texts in the same run.

    python benchmarks/serve.py [--voice x.voice --texts lines.txt] [--clients 64] [--seconds 30] [--rounds 3]

Without a voice one of size small with random weights is made. Writes benchmarks/results/.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
TEXTS = (
    "habari ya asubuhi, karibu sana nyumbani kwetu.",
    "leo tutazungumza kuhusu lugha zetu na jinsi zinavyoandikwa, kisha tutasoma hadithi fupi.",
    "kila lugha ina sauti zake.",
    "asante sana. tutaonana kesho asubuhi, kama mvua haitanyesha sana usiku wa leo.",
)
LONG = (
    "habari ya asubuhi, karibu sana nyumbani kwetu, tunafurahi kukuona tena baada ya siku nyingi, "
    "na watoto wote wanakusubiri. kila lugha ina sauti zake. "
)
HEADER = 44  # bytes of a WAV
TICKS = os.sysconf("SC_CLK_TCK")


# ---------------------------------------------------------------- the server


@dataclass
class Server:
    process: subprocess.Popen[str]
    host: str
    port: int
    log: list[dict[str, Any]]

    def pids(self) -> list[int]:
        """The front and its workers."""
        return [self.process.pid, *children(self.process.pid)]

    def cpu(self) -> float:
        return sum(cpu_seconds(pid) for pid in self.pids())

    def memory(self) -> int:
        return sum(resident(pid) for pid in self.pids())


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident(pid: int) -> int:
    """Bytes in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def serving(*places: Path, options: Sequence[str] = ()) -> Iterator[Server]:
    script = Path(sys.executable).with_name("olu")
    words = [script, "serve", *places, "--port", "0", "--json", *options]
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    log: list[dict[str, Any]] = []
    listening = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                row = json.loads(line) if line.startswith("{") else {"event": line}
                if row.get("event") != "request":  # ten thousand of them are no use here
                    log.append(row)
                if row.get("event") == "listening":
                    listening.set()
        listening.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert listening.wait(120) and process.poll() is None, log
        address = next(row["address"] for row in log if row["event"] == "listening")
        host, _, port = address.removeprefix("http://").rpartition(":")
        _until_open(host, int(port))
        yield Server(process, host, int(port), log)
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait(10)
            reader.join(10)


def _until_open(host: str, port: int) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection((host, port), timeout=5).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


# ---------------------------------------------------------------- clients


class Broken(Exception):
    """The answer ended before its end."""


class Client:
    """One connection that is kept open, and no more HTTP than is needed: on two cores clients cost time too."""

    def __init__(self, server: Server, *, path: str = "/v1/audio/speech") -> None:
        self._server, self._path = server, path
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.status = 0

    async def ask(self, wish: dict[str, Any]) -> AsyncIterator[bytes]:
        """The chunks of the answer's body as they come."""
        if self._stream is None:
            self._stream = await asyncio.open_connection(self._server.host, self._server.port, limit=2**20)
        reader, writer = self._stream
        body = json.dumps(wish).encode()
        head = [
            f"POST {self._path} HTTP/1.1",
            f"Host: {self._server.host}:{self._server.port}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        try:
            async for chunk in self._answer(reader):
                yield chunk
        except (asyncio.IncompleteReadError, OSError) as bad:
            await self.close()
            raise Broken(str(bad)) from None

    async def _answer(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        self.status = int(head[0].split()[1])
        headers = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
        if "content-length" in headers:
            yield await reader.readexactly(int(headers["content-length"]))
        else:
            while (size := int((await reader.readuntil(b"\r\n")).strip(), 16)) > 0:
                yield (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
        if headers.get("connection") == "close":
            await self.close()

    async def close(self) -> None:
        if self._stream is not None:
            self._stream[1].close()
            self._stream = None


@dataclass
class Load:
    """What some clients met together."""

    wall: float = 0.0
    sound: float = 0.0  # seconds
    cpu: float = 0.0  # of the server, seconds
    whole: list[float] = field(default_factory=list)  # seconds of each request that was answered
    first: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    memory: list[int] = field(default_factory=list)  # bytes, twice a second

    def percentile(self, share: int) -> float:
        return statistics.quantiles(self.whole, n=100, method="inclusive")[share - 1]


async def load(
    server: Server, *, voice: str, texts: Sequence[str], rate: int, clients: int, seconds: float = 0, requests: int = 0
) -> Load:
    """For some seconds, or until so many requests are done; every client asks again as soon as it is answered."""
    found, numbers = Load(), count()
    begun, before = time.monotonic(), server.cpu()

    def goes_on(number: int) -> bool:
        return number < requests if requests else time.monotonic() - begun < seconds

    async def one() -> None:
        client = Client(server)
        while goes_on(number := next(numbers)):
            wish = {"voice": voice, "input": texts[number % len(texts)], "response_format": "wav", "seed": number}
            await request(client, wish)
        await client.close()

    async def request(client: Client, wish: dict[str, Any]) -> None:
        start, size, first = time.monotonic(), 0, 0.0
        try:
            async for chunk in client.ask(wish):
                first = first or time.monotonic() - start
                size += len(chunk)
        except Broken:
            found.broken += 1
            return
        found.statuses[client.status] += 1
        if client.status == 200:
            found.whole.append(time.monotonic() - start)
            found.first.append(first)
            found.sound += (size - HEADER) / 2 / rate

    async def watch() -> None:
        while True:
            found.memory.append(server.memory())
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(one() for _ in range(clients)))
    found.wall, found.cpu = time.monotonic() - begun, server.cpu() - before
    watching.cancel()
    return found


async def first_shares(server: Server, *, voice: str, text: str, clients: int, rounds: int) -> list[float]:
    """The time to the first sound of a long text, as a share of the time to the end of its first sentence."""

    async def one(seed: int) -> float:
        client, start = Client(server), time.monotonic()
        wish = {"voice": voice, "input": text, "response_format": "pcm", "stream_format": "sse", "timings": True}
        first, ends, heard, sentence, kept = 0.0, 0.0, 0.0, 0.0, b""
        async for chunk in client.ask({**wish, "seed": seed}):
            *events, kept = (kept + chunk).split(b"\n\n")
            for event in (json.loads(event.removeprefix(b"data: ")) for event in events):
                if event["type"] == "speech.audio.words":
                    ends = ends or event["end"]
                elif event["type"] == "speech.audio.delta":
                    first = first or time.monotonic() - start
                    heard += len(b64decode(event["audio"])) / 2 / 24_000
                if heard >= ends > 0 and not sentence:
                    sentence = time.monotonic() - start
        await client.close()
        assert sentence, f"no first sentence: {client.status} {kept!r}"
        return first / sentence

    shares: list[float] = []
    for round_ in range(rounds):
        shares += await asyncio.gather(*(one(clients * round_ + number) for number in range(clients)))
    return shares


# ---------------------------------------------------------------- the measures


def offline(path: Path, texts: Sequence[str], folder: Path, *, seconds: float) -> tuple[float, float]:
    """Seconds of sound a second, and CPU seconds for each of them, of `olu speak --batch` on all cores."""
    from olu.core.job import finish
    from olu.speak.voice import Voice
    from olu.stages.speak import speak_many

    voice = Voice.open(path, threads=1)
    lines, sound = folder / "lines.txt", 0.0
    begun, before = time.monotonic(), time.process_time()
    while (passed := time.monotonic() - begun) < seconds:
        lines.write_text("\n".join(text for text, _ in zip(cycle(texts), range(64), strict=False)), encoding="utf-8")
        sound += finish(speak_many(lines, folder / "wav", voice)).seconds
    passed = time.monotonic() - begun
    return sound / passed, (time.process_time() - before) / sound


def together(path: Path, text: str, *, rounds: int) -> str:
    """How fast chunks of 2, 4 and 8 requests are made in one run, against one by one: first chunks, CPU time."""
    from olu.speak.stream import Chunk, Manner
    from olu.speak.voice import Voice

    voice = Voice.open(path, threads=1)
    parts = [part for seed in range(8) if isinstance(part := next(voice.begin(text, manner=Manner(seed=seed))), Chunk)]
    times: dict[int, list[float]] = {1: [], 2: [], 4: [], 8: []}
    for _ in range(rounds):
        for size, found in times.items():
            begun = time.process_time()
            for at in range(0, len(parts), size):
                voice.run(parts[at : at + size])
            found.append(time.process_time() - begun)
    ratios = {size: statistics.median(a / b for a, b in zip(times[1], times[size], strict=True)) for size in (2, 4, 8)}
    return "/".join(f"{ratio:.2f}" for ratio in ratios.values())


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--voice", type=Path)
    options.add_argument("--texts", type=Path, help="one a line, for --voice; the longest is the long text")
    options.add_argument("--clients", type=int, default=64)
    options.add_argument("--seconds", type=float, default=30.0)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--requests", type=int, default=2000, help="for the memory")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        path, texts, long = given.voice, list(TEXTS), LONG
        if path is None:
            from speak import small  # beside this file

            path = Path(place) / "small.voice"
            small(path)
        elif given.texts is not None:
            texts = [line for line in given.texts.read_text(encoding="utf-8").splitlines() if line.strip()]
            long = max(texts, key=len)
        rows = measure(path, texts, long, given, Path(place))
    lines = ["# Serving", "", *machine(given), "", "| what | goal | found |", "|---|---|---|"]
    lines += [f"| {what} | {goal} | {figure} |" for what, goal, figure in rows]
    RESULTS.mkdir(exist_ok=True)
    name = f"serving_{platform.machine()}-{os.cpu_count()}core_{time.strftime('%Y%m')}.md"
    (RESULTS / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def measure(
    path: Path, texts: list[str], long: str, given: argparse.Namespace, folder: Path
) -> list[tuple[str, str, str]]:
    facts = json.loads((path / "voice.json").read_text(encoding="utf-8"))
    asked: dict[str, Any] = {"voice": facts["name"], "texts": texts, "rate": facts["rate"]}
    rates, costs, loads = [], [], []
    with serving(path, options=["--queue", str(given.clients)]) as server:
        asyncio.run(load(server, **asked, clients=8, seconds=3))
        shares = {
            n: asyncio.run(first_shares(server, voice=asked["voice"], text=long, clients=n, rounds=5)) for n in (1, 8)
        }
        print({n: round(statistics.median(found), 3) for n, found in shares.items()}, "first bytes", file=sys.stderr)
        for _ in range(given.rounds):  # in turns: what else the machine does hits both alike
            rate, cost = offline(path, texts, folder, seconds=given.seconds)
            rates.append(rate)
            costs.append(cost)
            loads.append(one := asyncio.run(load(server, **asked, clients=given.clients, seconds=given.seconds)))
            print(f"{one.sound / one.wall / rate:.2f} of the offline rate, {dict(one.statuses)}", file=sys.stderr)
        more = asyncio.run(load(server, **asked, clients=8, requests=given.requests))
    statuses = sum((one.statuses for one in (*loads, more)), Counter[int]())
    all_whole = Load(whole=[seconds for one in loads for seconds in one.whole])
    served = [one.sound / one.wall for one in loads]
    wall = statistics.median(mine / theirs for mine, theirs in zip(served, rates, strict=True))
    cpu = statistics.median(one.cpu / one.sound / cost for one, cost in zip(loads, costs, strict=True))
    quarter = len(more.memory) // 4
    early, late = statistics.median(more.memory[quarter : 2 * quarter]), statistics.median(more.memory[-quarter:])
    batches = together(path, long, rounds=25)
    percentiles = "/".join(f"{all_whole.percentile(share):.2f}" for share in (50, 95, 99))
    firsts = statistics.median(seconds for one in loads for seconds in one.first)
    return [
        (
            f"{given.clients} clients: answers by status",
            "only 200",
            f"{dict(statuses)}, broken {sum(o.broken for o in loads)}",
        ),
        (
            f"{given.clients} clients: p50/p95/p99 of a whole answer, s",
            "",
            f"{percentiles} ({len(all_whole.whole)} answers)",
        ),
        (f"{given.clients} clients: first byte, median, s", "", f"{firsts:.2f}"),
        (
            "served / offline batch, seconds of sound a second",
            ">= 0.9",
            f"{wall:.2f} ({statistics.median(served):.1f} / {statistics.median(rates):.1f})",
        ),
        ("CPU seconds of the server / of the offline batch, each second of sound", "", f"{cpu:.2f}"),
        *(
            (
                f"first byte of a long text / its whole first sentence, {n} clients",
                "<= 0.15",
                f"{statistics.median(found):.3f} (most {max(found):.3f})",
            )
            for n, found in shares.items()
        ),
        ("2/4/8 first chunks in one run of the decoder, speed against one by one", "", batches),
        (
            f"memory of all processes over {given.requests} requests, MiB",
            "flat",
            f"{early / 2**20:.0f} in the second quarter, {late / 2**20:.0f} in the last",
        ),
    ]


def machine(given: argparse.Namespace) -> list[str]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    cpu = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition(":")[2].partition("\n")[0].strip()
    return [
        f"{cpu}, {os.cpu_count()} cores for the server and its clients, load {os.getloadavg()[0]:.1f} at the end",
        f"commit {commit}, {time.strftime('%Y-%m-%d')}; voice {given.voice.name if given.voice else 'of size small'}; "
        f"WAV; {given.rounds} rounds of {given.seconds:g} s",
    ]


if __name__ == "__main__":
    main()
