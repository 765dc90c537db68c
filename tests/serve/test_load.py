"""Many clients at once on loopback, against `olu serve` as a process: a taste in `make test`, all of it in the soak."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ..helpers import serve_voices as voices

SOAK = os.environ.get("OLU_SOAK") == "1"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TEXTS = ("Kedu ka ị mere?", "Ọ dị mma.", voices.TEXT, "Nnọọ, ka ọ dị mma.")
ASKED: dict[str, Any] = {"voice": "test", "texts": TEXTS, "rate": 16_000}
SECONDS = 120
REQUESTS = 10_000
KILLS = 20
MIB = 2**20


def soak(test: Any) -> Any:
    return pytest.mark.soak(pytest.mark.skipif(not SOAK, reason="the full load is run by make soak: OLU_SOAK=1")(test))


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import serve

        yield serve


@pytest.fixture(scope="module")
def server(bench: ModuleType, package: Path) -> Iterator[Any]:
    with bench.serving(package, options=["--workers", "2", "--queue", "64"]) as made:
        yield made


@soak
def test_64_clients_meet_no_error(bench: ModuleType, server: Any) -> None:
    found = asyncio.run(bench.load(server, **ASKED, clients=64, seconds=SECONDS))
    assert set(found.statuses) == {200}
    assert found.broken == 0
    assert found.statuses[200] >= 64
    assert found.sound > 64


def test_past_the_limit_there_is_429_and_nothing_else(bench: ModuleType, server: Any) -> None:
    found = asyncio.run(bench.load(server, **ASKED, clients=96, requests=4000 if SOAK else 200))
    assert set(found.statuses) == {200, 429}
    assert found.broken == 0
    again = asyncio.run(bench.load(server, **ASKED, clients=1, requests=2))
    assert again.statuses == {200: 2}


@soak
def test_memory_stays_flat(bench: ModuleType, server: Any) -> None:
    asyncio.run(bench.load(server, **ASKED, clients=8, requests=REQUESTS // 4))
    before = server.memory()
    found = asyncio.run(bench.load(server, **ASKED, clients=8, requests=REQUESTS))
    assert found.statuses == {200: REQUESTS}
    assert server.memory() - before < 24 * MIB, "of three processes"
    assert len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())) < 64


@soak
def test_the_first_sound_of_a_long_text_comes_early(bench: ModuleType, tmp_path: Path) -> None:
    """With a voice of a size that people use: in a tiny one all is over before it is worth a share."""
    import speak

    speak.small(tmp_path / "small.voice")
    with bench.serving(tmp_path / "small.voice", options=["--workers", "2"]) as server:
        for clients, rounds in ((1, 15), (8, 3)):
            shares = asyncio.run(
                bench.first_shares(server, voice="small", text=bench.LONG, clients=clients, rounds=rounds)
            )
            assert statistics.median(shares) <= 0.15, clients


@soak
def test_killed_workers_cost_only_what_they_held(bench: ModuleType, package: Path) -> None:
    """Under load one worker after the other is killed: clients get an error or a broken end, and then answers."""

    async def work(server: Any) -> tuple[Any, Any]:
        loading = asyncio.create_task(bench.load(server, **ASKED, clients=8, seconds=KILLS * 1.5))
        for _ in range(KILLS):
            await asyncio.sleep(1.0)
            while not (pids := bench.children(server.process.pid)):
                await asyncio.sleep(0.05)
            os.kill(random.choice(pids), signal.SIGKILL)
        return await loading, await bench.load(server, **ASKED, clients=4, requests=8)

    with bench.serving(package, options=["--workers", "2"]) as server:
        found, after = asyncio.run(work(server))
        assert set(found.statuses) <= {200, 503}
        assert found.statuses[200] > 0
        assert found.statuses[503] + found.broken > 0, "else nobody was hit"
        assert after.statuses == {200: 8}
        events = Counter(row["event"] for row in server.log)
        assert events["worker is gone"] == KILLS
        assert server.process.poll() is None
