"""A damaged MP3: its decoder's complaints never reach the terminal, and are told of the right file."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.audio import overheard
from olu.audio.activity import file_levels
from olu.audio.io import header, read
from olu.audit.measure import hear
from olu.core.files import Workspace, read_jsonl
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.stages.audit import audit
from olu.stages.import_ import import_source

RATE = 16000
glibc = pytest.mark.skipif(overheard._ear() is None, reason="C's stderr can be exchanged with glibc only")


def mp3(path: Path, *, damaged: bool = False) -> Path:
    time = np.arange(3 * RATE) / RATE
    noise = np.random.default_rng(1).normal(size=len(time)) * 0.05
    samples = (0.3 * np.sin(2 * np.pi * 220 * time) + noise).astype(np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, RATE, format="MP3", subtype="MPEG_LAYER_III")
    if damaged:  # the beginning of what describes two frames
        data = bytearray(path.read_bytes())
        frames = [at for at in range(len(data) - 1) if data[at] == 0xFF and data[at + 1] == 0xF3]
        for at in frames[len(frames) // 3], frames[len(frames) // 2]:
            data[at + 4 : at + 8] = b"\xff" * 4
        path.write_bytes(data)
    return path


@glibc
@pytest.mark.parametrize("use", ["read", "levels"])
def test_nothing_is_written_and_the_file_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str], use: str) -> None:
    bad, good = mp3(tmp_path / "bad.mp3", damaged=True), mp3(tmp_path / "good.mp3")
    assert header(bad).frames == header(good).frames
    faults: list[str] = []
    if use == "read":
        read(good, faults=faults)
        read(good, start=1.0, seconds=0.5, faults=faults)
        assert faults == []
        read(bad, faults=faults)
        assert len(faults) == 1
    else:
        file_levels(bad)
    assert capfd.readouterr() == ("", "")


@glibc
def test_threads_blame_the_right_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    paths = [mp3(tmp_path / "bad.mp3", damaged=True), mp3(tmp_path / "good.mp3")] * 20

    def blamed(path: Path) -> bool:
        faults: list[str] = []
        read(path, faults=faults)
        return bool(faults)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(blamed, paths)) == [path.name == "bad.mp3" for path in paths]
    assert capfd.readouterr().err == ""


@glibc
def test_what_others_write_is_handed_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    libc = ctypes.CDLL(None)

    def use() -> int:
        libc.perror(b"somebody else")
        os.write(2, b"python\n")
        return 7

    assert overheard.overheard(use) == (7, "")
    assert sorted(line.partition(":")[0] for line in capfd.readouterr().err.splitlines()) == ["python", "somebody else"]
    with pytest.raises(ZeroDivisionError):
        overheard.overheard(lambda: 1 // 0)
    libc.perror(b"after")
    assert capfd.readouterr().err.startswith("after")


@glibc
def test_the_audit_marks_it_and_the_terminal_stays_clean(tmp_path: Path) -> None:
    """Before: lines of libmpg123 without a file's name, and no mark."""
    mp3(tmp_path / "in" / "bad.mp3", damaged=True)
    (tmp_path / "in" / "bad.txt").write_text("habari")
    soundfile.write(tmp_path / "in" / "good.wav", np.random.default_rng(2).normal(size=RATE) * 0.1, RATE)
    (tmp_path / "in" / "good.txt").write_text("nzuri")
    ws = Workspace.create(tmp_path / "ws", language="swa")
    finish(import_source(ws, tmp_path / "in"))
    corpus = Corpus.open(ws)
    damage = {clip.text: hear(corpus, clip).damage for clip in corpus}
    assert damage["nzuri"] == "" and damage["habari"].startswith("parts of bad.mp3 are damaged and were left out (")
    done = subprocess.run(
        [sys.executable, "-m", "olu", "audit", str(ws.root)], capture_output=True, text=True, check=True
    )
    assert "mpg123" not in done.stdout + done.stderr
    marks = [row for row in read_jsonl(ws.audit_folder / "audit.jsonl") if row["check"] == "unreadable"]
    assert [(row["severity"], row["id"][:4]) for row in marks] == [("warn", "bad-")]
    assert finish(audit(ws)).clips == 2


def test_elsewhere_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overheard, "_ear", lambda: None)
    assert overheard.overheard(lambda: 3) == (3, "")
