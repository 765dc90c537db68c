"""The pool with its real processes: limits, leaving, ending, and workers that are lost."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from olu.audio.io import to_int16
from olu.core.errors import OluError, TextError, VoiceError
from olu.serve.catalog import VoiceCatalog
from olu.serve.pool import Pool
from olu.serve.process import Link
from olu.serve.protocol import Busy, Gone, Message, SoundPiece, SoundStream, SpeechJob, TooLong
from olu.speak.stream import Manner
from olu.speak.voice import Voice

from ..helpers import serve_voices as voices
from ..helpers.serve_voices import PARAGRAPH, SENTENCE, TEXT

PATIENCE = 60.0  # seconds, on a machine that has much else to do


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> None:
    """What the pool says is looked at here; the tests of HTTP, in the same process, silence it."""
    caplog.set_level(logging.WARNING, logger="olu.serve")


def ask(text: str = TEXT, *, voice: str = "test", seconds: float = 600.0, **wish: Any) -> SpeechJob:
    return SpeechJob(voice, text, Manner(**wish), seconds)


async def whole(sound: SoundStream) -> list[SoundPiece]:
    return [piece async for piece in sound]


async def until(happens: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happens():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(
    *places: Path, workers: int = 1, queue: int = 8, loaded: int = 4, every: float = 0.0
) -> AsyncIterator[Pool]:
    pool = Pool(VoiceCatalog(places, every=every), workers=workers, queue=queue, batch=2, loaded=loaded)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.stop(grace=0)


def run(work: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(3 * PATIENCE):
            await work

    asyncio.run(bounded())


def pids(pool: Pool) -> list[int]:
    return [link.pid for link in pool._links if link.ready]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_speaks_refuses_and_forgets(package: Path) -> None:
    async def work() -> None:
        async with running(package, queue=3) as pool:
            await _same_sound(pool, package)
            await _errors(pool)
            await _limit(pool)
            await _leaving(pool)
            await _signals(pool)
            assert pool.state()["restarts"] == 0
            left = pids(pool)
        assert not any(alive(pid) for pid in left)

    run(work())


async def _same_sound(pool: Pool, package: Path) -> None:
    assert [(shown.name, shown.loaded, shown.fault) for shown in pool.shown()] == [("test", True, "")]
    voice = Voice.open(package, threads=1)
    both = await asyncio.gather(*(whole(pool.speak(ask(PARAGRAPH, speaker=who))) for who in ("ada", "obi")))
    for pieces, who in zip(both, ("ada", "obi"), strict=True):
        expected = b"".join(to_int16(spoken.audio).tobytes() for spoken in voice.stream(PARAGRAPH, speaker=who))
        given = b"".join(piece.samples for piece in pieces)
        assert len(given) == len(expected)
        assert (
            max(abs(a - b) for a, b in zip(memoryview(given).cast("h"), memoryview(expected).cast("h"), strict=True))
            <= 1
        )
        assert pieces[0].words and pieces[0].text == SENTENCE and not pieces[1].words
        assert [piece.sentence for piece in pieces if piece.last] == list(range(6))
    state = pool.state()
    assert state["asks"] == 2 and state["pieces"] == sum(map(len, both))
    assert state["spoken_seconds"] == pytest.approx(
        sum(len(piece.samples) for pieces in both for piece in pieces) / 32_000
    )
    assert state["parts"] >= state["runs"] > 0
    assert (state["waiting"], state["open"], state["room"]) == (0, 0, 3)


async def _errors(pool: Pool) -> None:
    with pytest.raises(VoiceError, match=r"no voice '\.\./test\.voice'; there is: test"):
        await whole(pool.speak(ask(voice="../test.voice")))
    with pytest.raises(TextError, match="nothing in the text can be said"):
        await whole(pool.speak(ask("漢字")))
    with pytest.raises(VoiceError, match="no speaker 'nobody'"):
        await whole(pool.speak(ask(speaker="nobody")))
    heard = 0
    with pytest.raises(TooLong, match="more than 1 seconds"):
        async for piece in pool.speak(ask(PARAGRAPH, seconds=1.0)):
            heard += len(piece.samples)
    assert heard == 32_000
    assert pool.state()["room"] == 3, "none of these holds a place"


async def _limit(pool: Pool) -> None:
    held = [pool.speak(ask(PARAGRAPH)) for _ in range(3)]
    with pytest.raises(Busy) as busy:
        pool.speak(ask())
    assert busy.value.retry_after >= 1 and not busy.value.ending
    await anext(held[0])
    assert (pool.state()["waiting"], pool.state()["open"]) == (2, 1)
    for sound in held:
        await sound.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(held[0])
    assert pool.state()["room"] == 3
    forgotten = pool.speak(ask(PARAGRAPH))
    await anext(forgotten)
    del forgotten
    gc.collect()
    assert pool.state()["room"] == 3
    assert len(await whole(pool.speak(ask()))) > 1
    assert pool.state()["refused"] == 1


async def _leaving(pool: Pool) -> None:
    """What nobody takes is not made; what is cancelled is left off."""
    sound = pool.speak(ask(PARAGRAPH, speed=0.25))
    await anext(sound)
    waiting = asyncio.create_task(whole(sound))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert [link.load for link in pool._links] == [len(PARAGRAPH)], "it counts until the worker has heard of it"
    await whole(pool.speak(ask()))  # answered after the leaving was
    assert [link.load for link in pool._links] == [0]
    before = pool.state()["runs"]
    await asyncio.sleep(0.3)
    assert pool.state()["runs"] == before
    assert pool.state()["room"] == 3


async def _signals(pool: Pool) -> None:
    """Ctrl-C and a service manager reach every process; the workers leave it to the front."""
    (pid,) = pids(pool)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid, number)
    assert len(await whole(pool.speak(ask()))) > 1
    assert pids(pool) == [pid]


def test_a_killed_worker_costs_only_what_it_held(package: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with running(package, workers=2) as pool:
            sounds = [pool.speak(ask(PARAGRAPH)) for _ in range(2)]
            for sound in sounds:
                await anext(sound)
            links = [sound.link for sound in sounds]
            assert links[0] is not None and links[1] is not None and links[0] is not links[1], "each has one"
            os.kill(links[0].pid, signal.SIGKILL)
            with pytest.raises(Gone, match="ask again"):
                await whole(sounds[0])
            assert len(await whole(pool.speak(ask()))) > 1, "the next request works at once"
            assert len(await whole(sounds[1])) > 6, "the other worker's goes on"
            await until(lambda: len(pids(pool)) == 2)
            assert pool.state()["restarts"] == 1 and pool.state()["room"] == 8
            for pid in pids(pool):
                os.kill(pid, signal.SIGKILL)
            await until(lambda: pool.state()["restarts"] == 3)
            assert len(await whole(pool.speak(ask()))) > 1, "also when all are gone: it waits for a new one"

    run(work())
    assert [record.getMessage() for record in caplog.records].count("worker is gone") == 3


def test_voices_come_and_go_while_it_runs(package: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "voices"
    folder.mkdir()

    async def work() -> None:
        async with running(folder, loaded=1) as pool:
            assert not pool.shown()
            with pytest.raises(VoiceError, match="there is: none"):
                await whole(pool.speak(ask(voice="ada")))
            voices.copy(package, folder / "ada.voice", name="ada")
            assert len(await whole(pool.speak(ask(voice="ada")))) > 1, "it is asked for by name: looked for at once"
            voices.spoil(voices.copy(package, folder / "bad.voice", name="bad"))
            voices.copy(package, folder / "obi.voice", name="obi")
            await until(lambda: len(pool.shown()) == 3)  # also when nobody asks
            shown = {one.name: (one.loaded, bool(one.fault)) for one in pool.shown()}
            assert shown == {"ada": (True, False), "bad.voice": (False, True), "obi": (False, False)}
            await whole(pool.speak(ask(voice="obi")))
            await until(lambda: [one.name for one in pool.shown() if one.loaded] == ["obi"])  # one is let go for it
            sound = pool.speak(ask(PARAGRAPH, voice="obi"))
            await anext(sound)
            shutil.rmtree(folder / "obi.voice")
            await until(lambda: len(pool.shown()) == 2)
            assert len(await whole(sound)) > 6, "what was begun is finished"
            await until(lambda: not pool.state()["voices_loaded"])
            with pytest.raises(VoiceError, match="no voice 'obi'"):
                await whole(pool.speak(ask(voice="obi")))

    run(work())
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.facts["voice"] == "bad.voice", "told once, however often it is looked at"  # type: ignore[attr-defined]


def test_a_voice_that_takes_its_worker_down_is_opened_no_more(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = voices.copy(package, tmp_path / "good.voice", name="good")
    deadly = voices.copy(package, tmp_path / "deadly.voice", name="deadly")
    kept = Pool._hear

    async def hear(self: Pool, link: Link, message: Message, sound: bytes) -> None:
        await kept(self, link, message, sound)
        found = self._shelf.find("deadly")
        if message["is"] == "opening" and found is not None and message["key"] == found.key:
            os.kill(link.pid, signal.SIGKILL)

    monkeypatch.setattr(Pool, "_hear", hear)

    async def work() -> None:
        async with running(good, deadly) as pool:
            assert {shown.name: bool(shown.fault) for shown in pool.shown()} == {"good": False, "deadly": True}
            with pytest.raises(VoiceError, match="workers were lost"):
                await whole(pool.speak(ask(voice="deadly")))
            assert len(await whole(pool.speak(ask(voice="good")))) > 1

    run(work())


def test_a_worker_that_is_killed_while_it_opens_a_voice_does_not_cost_the_voice(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, killed = Pool._hear, list[int]()

    async def hear(self: Pool, link: Link, message: Message, sound: bytes) -> None:
        await kept(self, link, message, sound)
        if message["is"] == "opening" and len(killed) < 2:
            killed.append(link.pid)
            os.kill(link.pid, signal.SIGKILL)

    monkeypatch.setattr(Pool, "_hear", hear)

    async def work() -> None:
        async with running(package, workers=2) as pool:
            assert len(killed) == 2
            assert not any(shown.fault for shown in pool.shown())
            assert len(await whole(pool.speak(ask()))) > 1

    run(work())


def test_the_shelf_is_looked_at_again_after_trouble(
    package: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("olu.serve.pool.WATCH_SECONDS", 0.01)
    looks = list[int]()

    def look(self: VoiceCatalog) -> None:
        looks.append(1)
        raise ValueError("a disk")

    monkeypatch.setattr(VoiceCatalog, "look", look)

    async def work() -> None:
        async with running(package) as pool:
            await until(lambda: len(looks) > 2)
            assert len(await whole(pool.speak(ask()))) > 1

    run(work())
    assert "voices cannot be looked at" in caplog.messages


def test_a_worker_that_is_not_understood_is_replaced(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, wrong = Pool._hear, [True]

    async def hear(self: Pool, link: Link, message: Message, sound: bytes) -> None:
        if message["is"] == "piece" and wrong:
            wrong.clear()
            message = {"what": "is this"}
        await kept(self, link, message, sound)

    monkeypatch.setattr(Pool, "_hear", hear)

    async def work() -> None:
        async with running(package) as pool:
            with pytest.raises(Gone):
                await whole(pool.speak(ask()))
            assert len(await whole(pool.speak(ask()))) > 1
            assert pool.state()["restarts"] == 1

    run(work())


def test_who_waits_for_a_worker_is_told_of_the_end(package: Path) -> None:
    async def work() -> None:
        async with running(package) as pool:
            for link in pool._links:
                link.ready = False  # as while a new one starts
            waiting = asyncio.create_task(whole(pool.speak(ask())))
            await asyncio.sleep(0.05)
            await pool.stop(grace=0)
            with pytest.raises(Gone, match="ended"):
                await waiting

    run(work())


def test_it_ends_with_what_was_begun_done(package: Path) -> None:
    async def work() -> None:
        async with running(package) as pool:
            sound = pool.speak(ask(PARAGRAPH))
            first = await anext(sound)
            ending = asyncio.create_task(pool.stop(grace=PATIENCE))
            await asyncio.sleep(0)
            with pytest.raises(Busy) as busy:
                pool.speak(ask())
            assert busy.value.ending
            rest = await whole(sound)
            assert [piece.sentence for piece in (first, *rest) if piece.last] == list(range(6))
            await ending

    run(work())


def test_it_ends_in_time(package: Path) -> None:
    async def work() -> None:
        async with running(package) as pool:
            sound = pool.speak(ask(PARAGRAPH, speed=0.25))
            await anext(sound)
            (pid,) = pids(pool)
            begun = time.monotonic()
            await pool.stop(grace=0.2)
            assert 0.15 < time.monotonic() - begun < PATIENCE
            with pytest.raises(Gone, match="ended"):
                await whole(sound)
            assert not alive(pid)

    run(work())


def test_workers_that_never_get_ready_are_an_error_at_the_start(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olu.serve.process.COMMAND", ("-c", "raise SystemExit(3)"))

    async def work() -> None:
        pool = Pool(VoiceCatalog([package]), workers=1, queue=1, batch=1, loaded=1)
        with pytest.raises(OluError, match="no worker could be started"):
            await pool.start()

    run(work())
