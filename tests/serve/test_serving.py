"""`olu serve` as a process of its own, with real workers and a real voice."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import httpx2
import numpy as np
import pytest

from olu.core.errors import OluError
from olu.core.job import finish
from olu.speak.voice import Voice
from olu.stages.serve import serve

from ..helpers import serve_voices as voices
from ..helpers.servers import until

WISH = {"input": voices.TEXT, "voice": "test", "response_format": "flac"}


@dataclass
class Process:
    process: subprocess.Popen[str]
    base: str
    folder: Path
    lines: list[str]  # of the log

    def ask(self, **wish: Any) -> httpx2.Response:
        return httpx2.post(f"{self.base}/v1/audio/speech", json={**WISH, **wish}, timeout=60)

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [pid for pid in map(int, children.split()) if b"olu.serve.process" in _words(pid)]

    def pool(self) -> dict[str, float]:
        found: dict[str, float] = httpx2.get(f"{self.base}/health", timeout=30).json()["pool"]
        return found

    def end(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        out = self.process.stdout.read() if self.process.stdout else ""
        assert self.process.wait(30) == 0
        return out


def _words(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Process]:
    script = Path(sys.executable).with_name("olu")
    words = [script, "serve", folder, "--port", "0", "--workers", "1", "--json", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    lines = list[str]()
    assert process.stderr is not None
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stderr.readline, "")))  # type: ignore[union-attr]
    reader.start()
    try:
        until(lambda: any('"listening"' in line for line in lines) or process.poll() is not None, seconds=60)
        assert process.poll() is None, lines
        base = next(json.loads(line)["address"] for line in lines if '"listening"' in line)
        yield Process(process, base, folder, lines)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)
        reader.join(10)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture(scope="module")
def here(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("shelf")
    shutil.copytree(package, folder / "test.voice")
    with serving(folder) as made:
        yield made


def test_the_sound_is_what_the_voice_itself_says(here: Process, package: Path):
    answer = here.ask(seed=3, speaker="obi")
    assert answer.status_code == 200
    with av.open(io.BytesIO(answer.content)) as file:
        heard = np.concatenate([frame.to_ndarray().reshape(-1) for frame in file.decode(audio=0)])
    said = Voice.open(package, threads=1).stream(voices.TEXT, seed=3, speaker="obi")
    wave = np.concatenate([one.audio.samples for one in said])
    assert len(heard) == len(wave)
    assert np.abs(heard / 32768 - wave).max() < 2 / 32768


def test_a_voice_that_comes_later_and_one_that_is_damaged(here: Process, package: Path):
    voices.copy(package, here.folder / ".coming", name="other")
    (here.folder / ".coming").rename(here.folder / "other.voice")
    voices.copy(package, here.folder / ".bad", name="bad")
    voices.spoil(here.folder / ".bad")
    (here.folder / ".bad").rename(here.folder / "bad.voice")
    until(lambda: here.ask(voice="other").status_code == 200)
    shown = httpx2.get(f"{here.base}/v1/audio/voices").json()["data"]
    faults = {one["id"]: one["fault"] for one in shown}
    assert (faults["test"], faults["other"]) == ("", "")
    assert any(faults.values())
    assert str(here.folder) not in json.dumps(shown)
    assert httpx2.get(f"{here.base}/health").json()["damaged"] == 1
    shutil.rmtree(here.folder / "bad.voice")
    shutil.rmtree(here.folder / "other.voice")
    until(lambda: here.ask(voice="other").status_code == 404)
    assert here.ask().status_code == 200


def test_a_worker_that_is_killed_costs_only_what_it_held(here: Process):
    address = f"{here.base}/v1/audio/speech"
    wish = {**WISH, "input": voices.PARAGRAPH, "response_format": "pcm"}
    with httpx2.stream("POST", address, json=wish, timeout=60) as answer:
        coming = answer.iter_raw()
        next(coming)
        (worker,) = here.workers()
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(httpx2.RemoteProtocolError):
            for _ in coming:
                pass
    assert here.ask().status_code == 200
    assert here.pool()["restarts"] == 1
    assert worker not in here.workers()


def test_a_client_that_leaves_frees_its_place(here: Process):
    address = f"{here.base}/v1/audio/speech"
    with httpx2.stream("POST", address, json={**WISH, "input": voices.PARAGRAPH}, timeout=60) as answer:
        next(answer.iter_raw())
    until(lambda: here.pool()["open"] == 0, seconds=5)


def test_what_cannot_be_served_is_said(package: Path, tmp_path: Path):
    for places, settings, told in [
        ([tmp_path / "absent"], {}, "is not there"),
        ([package], {"port": 99_999}, "port"),
        ([package], {"cors": ("nonsense",)}, "origin"),
        ([package], {"key_file": tmp_path / "absent"}, "--api-key-file"),
    ]:
        with pytest.raises(OluError, match=told):
            finish(serve(places, only_check=True, **{"port": 0, **settings}))


def test_a_place_without_a_voice_yet_says_what_brings_one(tmp_path: Path):
    ws, empty = tmp_path / "my ws", tmp_path / "voices"
    (ws / "voices").mkdir(parents=True)
    empty.mkdir()
    (ws / "olu.toml").write_text('name = "x"\nlanguage = "swa"\n', encoding="utf-8")
    checked = finish(serve([empty, ws], only_check=True, port=0))
    assert checked.voices == [] and checked.next == f"olu export '{ws}' --to voice"
    assert str(empty) in finish(serve([empty], only_check=True, port=0)).next


def test_it_ends_when_told_to_after_what_it_began(here: Process):
    """Last: the server of all tests above is gone then."""
    before = float(re.search(r'spoken_seconds_total\{format="pcm"\} (\S+)', _metrics(here))[1])  # type: ignore[index]
    asking, got = begun(here)
    summary = json.loads(here.end())
    asking.join(30)
    assert len(got) / 2 / 24_000 > 20
    assert summary["seconds"] > before + 20
    assert summary["voices"] == ["test"]
    rows = [json.loads(line) for line in here.lines]  # nothing but JSON
    assert (rows[0]["event"], rows[-1]["event"]) == ("listening", "ended")
    assert "worker is gone" in [row["event"] for row in rows]
    assert "mma" not in "".join(here.lines)


def begun(here: Process, **headers: str) -> tuple[threading.Thread, bytearray]:
    """A long answer whose first sound has come. Not asked of /health: a busy machine may look there only afterwards."""
    wish = {**WISH, "input": voices.PARAGRAPH, "response_format": "pcm"}
    got, first = bytearray(), threading.Event()

    def listen() -> None:
        with httpx2.stream("POST", f"{here.base}/v1/audio/speech", json=wish, headers=headers, timeout=60) as answer:
            for piece in answer.iter_raw():
                got.extend(piece)
                first.set()

    asking = threading.Thread(target=listen)
    asking.start()
    assert first.wait(60), "no sound has come"
    return asking, got


def _metrics(here: Process) -> str:
    return httpx2.get(f"{here.base}/metrics").text


def test_a_terminal_that_closes_ends_it_as_gently(package: Path, tmp_path: Path):
    """And a keys file that others can read is said at the start."""
    keys = tmp_path / "keys"
    keys.write_text("the-real-key", encoding="ascii")
    keys.chmod(0o644)
    with serving(package, "--api-key-file", str(keys)) as here:
        asking, got = begun(here, Authorization="Bearer the-real-key")
        for pid in (here.process.pid, *here.workers()):  # as a terminal does it
            os.kill(pid, signal.SIGHUP)
        assert here.process.wait(30) == 0
        asking.join(30)
    assert len(got) / 2 / 24_000 > 20
    warned = [row for row in map(json.loads, here.lines) if row["level"] == "warning"]
    assert [(row["event"], row["mode"]) for row in warned] == [("others can read the keys", "644")]
