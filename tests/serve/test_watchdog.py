"""Workers that hang, take too long or too much: they are noticed, ended and replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from olu.serve import pool as pools
from olu.serve import process
from olu.serve.catalog import VoiceCatalog
from olu.serve.pool import Pool
from olu.serve.protocol import Gone, Late
from olu.serve.settings import ServeSettings
from olu.speak.engines.latents import LatentsEngine

from ..helpers import serve_voices as voices
from ..helpers.serve_voices import PARAGRAPH, TEXT
from .test_pool import ask, pids, run, told, until, whole
from .test_worker import Bench

LONG = "ọ dị mma, ka ọ dị mma " * 250
__all__ = ["told"]


def made(place: Path, **given: Any) -> Pool:
    return Pool(VoiceCatalog([place]), workers=1, queue=8, batch=1, loaded=4, **given)


def test_a_worker_that_is_silent_is_replaced_and_health_knows(
    package: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "ANSWER_SECONDS", 0.5)

    async def work() -> None:
        pool = made(package, silence=3.0)
        await pool.start()
        try:
            assert await pool.alive()
            (pid,) = pids(pool)
            os.kill(pid, signal.SIGSTOP)
            sound = pool.speak(ask())
            waiting = asyncio.create_task(whole(sound))
            await asyncio.sleep(0.6)
            assert not await pool.alive()
            with pytest.raises(Gone, match="did not answer and was ended"):
                await waiting
            await until(lambda: pids(pool) not in ([], [pid]))
            assert await pool.alive()
            assert len(await whole(pool.speak(ask()))) > 1
            assert pool.state()["restarts"] == 1
        finally:
            await pool.stop(grace=0)

    run(work())
    said = [record.getMessage() for record in caplog.records]
    assert said == ["worker is silent", "worker is killed: it stayed silent", "worker is gone"]


def test_a_voice_whose_opening_hangs_is_not_opened_again(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        pool = made(package, silence=3.0)
        await pool.start()
        try:
            (link,) = pool._links
            (entry,) = pool._shelf.entries
            link.opening = entry.key  # as if it had said so last
            os.kill(link.pid, signal.SIGSTOP)
            await until(lambda: pool.state()["restarts"] == 1)
            (entry,) = pool._shelf.entries
            assert entry.fault == "it did not open within 3 seconds: export it again"
        finally:
            await pool.stop(grace=0)

    run(work())


def test_a_request_has_a_deadline(package: Path) -> None:
    async def work() -> None:
        pool = made(package, deadline=0.5)
        await pool.start()
        try:
            os.kill(pids(pool)[0], signal.SIGSTOP)
            with pytest.raises(Late, match=r"0\.5 seconds"):
                await whole(pool.speak(ask(PARAGRAPH)))
            assert pool.state()["room"] == 8
            os.kill(pids(pool)[0], signal.SIGCONT)
        finally:
            await pool.stop(grace=0)

    run(work())


def test_workers_stand_in_an_empty_folder(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(package.parent)
    monkeypatch.setenv("PYTHONPATH", os.path.relpath(Path(pools.__file__).parents[2]))

    async def work() -> None:
        pool = made(Path(package.name))
        await pool.start()
        folder = Path(f"/proc/{pids(pool)[0]}/cwd").readlink()
        try:
            assert folder != package.parent and list(folder.iterdir()) == []
            assert len(await whole(pool.speak(ask()))) > 1, "a voice named by a path from here is found"
        finally:
            await pool.stop(grace=0)
        assert not folder.exists()

    run(work())


def test_a_look_at_a_large_voice_holds_nobody_up(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LOOK_SECONDS", 0.05)
    gone_through, looks = threading.Event(), list[int]()

    async def work() -> None:
        pool = made(package)

        def look() -> None:
            looks.append(1)
            gone_through.wait(60)

        monkeypatch.setattr(pool._shelf, "look", look)
        for _ in range(5):
            await pool.look()
        assert len(looks) == 1 and not gone_through.is_set()
        gone_through.set()

    run(work())


# ---------------------------------------------------------------- inside a worker


@pytest.fixture
def endless(package: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Its encoder is given all of a text at once, which takes it half a minute."""
    bench = Bench(package)
    bench.say(0)
    bench.take_all()
    monkeypatch.setattr("olu.speak.sentences.MOST_TOKENS", 10**9)
    monkeypatch.setattr("olu.text.words.LONGEST", 10**9)
    return bench


@pytest.mark.parametrize(("message", "kinds"), [({"do": "leave", "number": 1}, []), ({"do": "halt"}, ["Stuck"])])
def test_work_is_ended_inside_the_encoder(
    endless: Bench, message: dict[str, Any], kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, done = LatentsEngine.encode, list[int]()

    def encode(self: LatentsEngine, ids: Any, *rest: Any, **named: Any) -> Any:
        made = kept(self, ids, *rest, **named)
        done.append(len(ids))
        return made

    monkeypatch.setattr(LatentsEngine, "encode", encode)
    endless.say(1, LONG)
    threading.Timer(0.3, endless.worker.overhear, [message]).start()
    endless.worker.step()
    assert not done, "the run was not waited for"
    assert not [piece for piece in endless.of("piece") if piece["number"] == 1]
    assert [error["kind"] for error in endless.of("error")] == kinds
    endless.worker.hear(message)
    endless.say(2)
    endless.take_all()
    assert [end["number"] for end in endless.of("end")] == [0, 2], "the next one is said"
    assert not endless.worker._gone


def test_memory_that_is_not_there_costs_one_request(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(package)
    kept = LatentsEngine.encode

    def hungry(self: LatentsEngine, ids: Any, *rest: Any, **named: Any) -> Any:
        if named["manner"].seed == 9:
            raise MemoryError
        return kept(self, ids, *rest, **named)

    monkeypatch.setattr(LatentsEngine, "encode", hungry)
    bench.say(1, seed=9)
    bench.say(2)
    bench.take_all()
    assert [(error["number"], error["kind"]) for error in bench.of("error")] == [(1, "NoRoom")]
    assert [end["number"] for end in bench.of("end")] == [2]


HELD = """
import sys
from pathlib import Path
import numpy as np
from olu.serve import process
from olu.speak.graphs import NoMemory
from olu.speak.stream import Manner
from olu.speak.voice import Voice
voice = Voice.open(Path(sys.argv[1]), threads=1)
assert process.hold_memory(150_000_000)
try:
    voice.engine.encode([1, 0] * 4000, np.random.PCG64([0, 0]), manner=Manner(), speaker=np.array([0], np.int64))
except NoMemory as bad:
    print(bad)
try:
    np.ones(50_000_000)
except MemoryError:
    print("refused")
print(len(voice.speak("Kedu?").samples) > 0)
"""


@pytest.mark.skipif(not process.memory_share(1), reason="nothing holds a process to its memory here")
def test_a_worker_is_held_to_its_memory(package: Path) -> None:
    said = subprocess.run([sys.executable, "-c", HELD, package], capture_output=True, text=True, check=True)
    assert said.stdout.split("\n")[:3] == ["the voice's network needs more memory than there is", "refused", "True"]


def test_the_share_of_a_worker_goes_by_the_machine_and_its_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "machine_memory", lambda: 8 << 30)
    assert process.memory_share(2) == 3 << 30
    assert process.memory_share(100) == process.LEAST_MEMORY
    assert (ServeSettings(worker_memory=700).memory_bytes(2), ServeSettings().memory_bytes(2)) == (700_000_000, 3 << 30)
    monkeypatch.setattr(process, "machine_memory", lambda: 0)
    assert process.memory_share(2) == 0
    monkeypatch.undo()
    own = Path("/proc/self/cgroup").read_text(encoding="ascii").rpartition("::")[2].strip().lstrip("/")
    (tmp_path / own).mkdir(parents=True, exist_ok=True)
    (tmp_path / own / "memory.max").write_text("4096\n", encoding="ascii")
    monkeypatch.setattr(process, "GROUPS", tmp_path)
    assert process.machine_memory() == 4096


def test_a_voice_larger_than_a_worker_may_take_is_told(package: Path, tmp_path: Path) -> None:
    voices.copy(package, tmp_path / "large.voice", name="large")
    (entry,) = VoiceCatalog([tmp_path], most_bytes=500_000).entries
    assert "more than the 0.5 MB that a worker may take (--worker-memory)" in entry.fault
    assert not VoiceCatalog([tmp_path], most_bytes=10**9).entries[0].fault


def test_text_and_what_is_unsaid_are_told_with_the_first_piece(package: Path) -> None:
    bench = Bench(package)
    bench.say(1, f"{TEXT} ŋ 漢字.")
    bench.take_all()
    pieces = bench.of("piece")
    assert pieces[0]["read"]["unsaid"] == {"ŋ": 1, "漢": 1, "字": 1} and pieces[0]["read"]["tokens"] > 40
    assert not any(piece["read"] for piece in pieces[1:])
    bench.worker.hear(
        {"do": "say", "number": 2, "key": str(package), "path": str(package), "ask": _small(TEXT)},
    )
    bench.take_all()
    (error,) = bench.of("error")
    assert error["kind"] == "TooManyTokens" and "more than 20 tokens" in error["why"]


def _small(text: str) -> dict[str, Any]:
    from dataclasses import asdict, replace

    return asdict(replace(ask(text), tokens=20))
