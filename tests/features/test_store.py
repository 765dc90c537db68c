"""The sound store: every clip as resampled, whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr

from olu.audio import io
from olu.core.errors import AudioError
from olu.core.job import finish
from olu.core.types import Audio, Clip
from olu.features.store import PreparedFeature, Store, WaveFeature, build, build_feature

RATES = (8000, 16000, 22050, 44100, 48000)


@pytest.fixture
def clips(tmp_path: Path) -> list[Clip]:
    rng = np.random.default_rng(1)
    made = []
    for number in range(40):
        rate = RATES[number % len(RATES)]
        count = int(rate * rng.uniform(0.05, 0.3))
        samples = np.clip(rng.normal(0, 0.4, count), -1, 1)  # loud enough to saturate after resampling
        path = tmp_path / f"{number}.wav"
        soundfile.write(path, samples, rate, subtype="PCM_16")
        made.append(Clip(id=f"c{number}", audio=path.name, seconds=count / rate, rate=rate, text="a", language="ibo"))
    return made


def reader(root: Path):  # type: ignore[no-untyped-def]
    return lambda clip: io.read(root / clip.audio)


@pytest.mark.parametrize("rate", [16000, 22050])
def test_every_clip_is_there_as_resampled(tmp_path: Path, clips: list[Clip], rate: int) -> None:
    folder = tmp_path / "store"
    work = build(folder, clips, feature=WaveFeature(rate), audio=reader(tmp_path), jobs=2)
    ticks = []
    while True:
        try:
            ticks.append(next(work))
        except StopIteration as end:
            problems = end.value
            break
    assert problems == []
    assert [tick.done for tick in ticks] == list(range(1, len(clips) + 1))
    store = Store(folder)
    for clip in clips:
        samples, own_rate = soundfile.read(tmp_path / clip.audio, dtype="float32")
        if own_rate != rate:
            samples = soxr.resample(samples, own_rate, rate, quality="HQ")
        expected = np.clip(np.rint(samples.astype(np.float64) * 32768), -32768, 32767).astype(np.int16)
        assert store[clip.id].dtype == np.int16
        np.testing.assert_array_equal(store[clip.id], expected)
        assert store.length(clip.id) == len(expected)
        if own_rate == rate:
            np.testing.assert_array_equal(store[clip.id], soundfile.read(tmp_path / clip.audio, dtype="int16")[0])
    assert "absent" not in store


def test_threads_do_not_change_the_bytes(tmp_path: Path, clips: list[Clip]) -> None:
    for jobs in (1, 4):
        finish(build(tmp_path / f"by{jobs}", clips, feature=WaveFeature(16000), audio=reader(tmp_path), jobs=jobs))
    for name in ("samples.i16", "index.json"):
        assert (tmp_path / "by1" / name).read_bytes() == (tmp_path / "by4" / name).read_bytes()


def test_a_clip_that_cannot_be_decoded_is_named(tmp_path: Path, clips: list[Clip]) -> None:
    (tmp_path / clips[1].audio).write_bytes(b"RIFF nonsense")
    (tmp_path / clips[3].audio).unlink()
    problems = finish(build(tmp_path / "s", clips[:5], feature=WaveFeature(16000), audio=reader(tmp_path), jobs=2))
    assert [problem.split(":")[0] for problem in problems] == ["clip c1", "clip c3"]
    store = Store(tmp_path / "s")
    assert list(store.index) == ["c0", "c2", "c4"]
    whole = finish(build(tmp_path / "t", [clips[4]], feature=WaveFeature(16000), audio=reader(tmp_path), jobs=1))
    assert whole == []
    np.testing.assert_array_equal(store["c4"], Store(tmp_path / "t")["c4"])


def test_all_unreadable_is_an_empty_store(tmp_path: Path, clips: list[Clip]) -> None:
    def nothing(clip: Clip) -> Audio:
        raise AudioError(f"{clip.audio} is gone")

    assert len(finish(build(tmp_path / "s", clips[:2], feature=WaveFeature(16000), audio=nothing, jobs=1))) == 2
    assert "c0" not in Store(tmp_path / "s")


def test_the_key_follows_the_rate() -> None:
    assert WaveFeature(16000).key == WaveFeature(16000).key != WaveFeature(22050).key


def test_an_interrupted_build_leaves_the_old_store(tmp_path: Path, clips: list[Clip]) -> None:
    folder = tmp_path / "out" / "store"
    finish(build(folder, clips[:3], feature=WaveFeature(16000), audio=reader(tmp_path), jobs=1))
    before = (folder / "samples.i16").read_bytes()
    work = build(folder, clips, feature=WaveFeature(16000), audio=reader(tmp_path), jobs=2)
    next(work)
    work.close()
    assert [path.name for path in folder.parent.iterdir()] == ["store"]
    assert (folder / "samples.i16").read_bytes() == before

    def broken(clip: Clip) -> Audio:
        raise MemoryError

    with pytest.raises(MemoryError):
        finish(build(folder, clips, feature=WaveFeature(16000), audio=broken, jobs=2))
    assert [path.name for path in folder.parent.iterdir()] == ["store"]
    assert (folder / "samples.i16").read_bytes() == before


KILLED = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from olu.audio import io
from olu.features.store import WaveFeature, build
from olu.core.types import Clip
root = Path(sys.argv[1])
clips = [Clip(id=f"c{n}", audio=f"{n}.wav", seconds=0.1, rate=16000, text="a", language="ibo") for n in range(40)]
read = lambda clip: io.read(root / clip.audio)
for tick in build(root / "out" / "store", clips, feature=WaveFeature(16000), audio=read, jobs=1):
    if tick.done == 20:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_build_is_no_store(tmp_path: Path, clips: list[Clip]) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    folder = tmp_path / "out" / "store"
    assert not folder.exists()
    finish(build(folder, clips, feature=WaveFeature(16000), audio=reader(tmp_path), jobs=1))
    assert len(Store(folder).index) == len(clips)


def test_a_clip_with_samples_that_are_not_numbers_is_left_out_by_name(tmp_path: Path, clips: list[Clip]) -> None:
    def audio(clip: Clip) -> Audio:
        samples = np.full(1600, 0.1, np.float32)
        samples[7] = np.nan if clip is clips[1] else 0.0
        return Audio(samples, 16000)

    folder = tmp_path / "out" / "store"
    (problem,) = finish(build(folder, clips[:3], feature=WaveFeature(16000), audio=audio, jobs=1))
    assert clips[1].id in problem and "not numbers" in problem
    assert set(Store(folder).index) == {clips[0].id, clips[2].id}


def test_a_feature_made_by_several_threads_is_the_one_made_by_one(tmp_path: Path) -> None:
    def computed(clip: Any) -> Any:
        if clip.clip.id == "c5":
            raise AudioError("cannot be heard")
        return np.full(3, int(clip.clip.id[1:]), np.float32)

    feature = PreparedFeature("number", {}, lambda device: computed, threads=True)
    clips: Any = [SimpleNamespace(clip=SimpleNamespace(id=f"c{n}")) for n in range(100)]
    found = []
    for jobs in (1, 7):
        folder = tmp_path / str(jobs)
        problems = finish(build_feature(folder, clips, feature=feature, device="cpu", total=100, jobs=jobs))
        assert problems == ["clip c5: cannot be heard"]
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert found[0] == found[1] and found[0]
