"""Sound as training reads it: every clip resampled to int16 in one memory map, cached under a hash of its settings."""

from __future__ import annotations

import os
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio import activity
from olu.audio.io import resample, to_int16
from olu.audio.loudness import CEILING
from olu.audio.loudness import loudness as measured
from olu.core.errors import AudioError, WorkspaceError
from olu.core.files import hash_value, read_json, whole, write_json
from olu.core.job import Job, Tick
from olu.core.types import Audio, Clip, Feature
from olu.core.workspace_lock import try_lock

SAMPLES, INDEX = "samples.i16", "index.json"
ROWS = {"clips": list}
AHEAD = 16  # clips decoded ahead of the writer, per worker


@dataclass(frozen=True)
class WaveFeature:
    """The feature `wave`: mono int16 at one rate, played `factor` times faster.

    `edges`: seconds of silence kept at either end; `loudness`: LUFS that every clip is brought to. 0 leaves both alone.
    """

    rate: int
    factor: float = 1.0
    edges: float = 0.0
    loudness: float = 0.0

    @property
    def key(self) -> str:
        changed = {"edges": self.edges, "loudness": self.loudness}
        moved: list[float | str] = [] if self.factor == 1.0 else [self.factor]
        moved += [f"{name}={value:g}" for name, value in changed.items() if value]
        return f"wave-{self.rate}-{hash_value(['int16', 'soxr-hq', self.rate, *moved])[:8]}"

    def compute(self, audio: Audio) -> NDArray[np.int16]:
        if not np.isfinite(audio.samples).all():  # as int16 they would be some number
            raise AudioError("it holds samples that are not numbers: export or copy it again")
        audio = levelled(between(audio, self.edges), self.loudness)
        return to_int16(resample(audio, self.rate, factor=self.factor))


def between(audio: Audio, edges: float) -> Audio:
    """The speech and at most so much silence before and after it."""
    first, last = activity.bounds(audio) if edges else (0.0, audio.seconds)
    start, end = (round(max(0.0, at) * audio.rate) for at in (first - edges, last + edges))
    return audio if not edges else Audio(audio.samples[start:end], audio.rate)


def levelled(audio: Audio, loudness: float) -> Audio:
    """As loud as asked, or as loud as it can be without clipping."""
    now = measured(audio.samples, audio.rate) if loudness else None
    if now is None:
        return audio
    peak = float(np.abs(audio.samples).max())
    gain = min(10 ** ((loudness - now) / 20), CEILING / peak)
    return Audio(audio.samples * np.float32(gain), audio.rate)


@dataclass(frozen=True)
class FeatureClip:
    """A clip as training hears it: what a prepared feature is made from."""

    clip: Clip
    samples: NDArray[np.int16]
    rate: int
    begins: float = 0.0  # seconds of the clip that were cut away before its first sample
    factor: float = 1.0  # it is so many times faster than the recording


@dataclass(frozen=True)
class PreparedFeature:
    """An array that `olu prepare` makes once for every clip; a learner finds it in `Example.features`."""

    name: str
    settings: Mapping[str, Any]  # all that changes its values
    make: Callable[[str], Callable[[FeatureClip], NDArray[Any]]]  # (device) -> what computes one clip
    weights: str = ""  # SHA-256 of the frozen weights that make it

    @property
    def key(self) -> str:
        return f"{self.name}-{hash_value([self.name, dict(self.settings), self.weights])[:12]}"


class Store:
    """A folder with `samples.i16` and `index.json`: clip id -> first sample, number of samples, checksum."""

    def __init__(self, folder: Path) -> None:
        claim = os.open(folder / INDEX, os.O_RDONLY)
        _share(claim)  # as long as this lives, nobody cleans it away
        weakref.finalize(self, os.close, claim)
        rows = read_json(folder / INDEX, shape=ROWS)["clips"]
        self.index: dict[str, tuple[int, int]] = {id: (first, count) for id, first, count, _ in rows}
        path = folder / SAMPLES
        empty = path.stat().st_size == 0
        self._samples = np.zeros(0, np.int16) if empty else np.memmap(path, dtype="<i2", mode="r")

    def __contains__(self, id: str) -> bool:
        return id in self.index

    def __getitem__(self, id: str) -> NDArray[np.int16]:
        first, count = self.index[id]
        return np.asarray(self._samples[first : first + count])

    def length(self, id: str) -> int:
        return self.index[id][1]


def _share(handle: int) -> None:
    """A lock that many readers hold at once, which filelock has not; Windows removes no open file as it is."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return


def is_read(folder: Path) -> bool:
    """Whether a process reads this store now; where there are no claims it cannot be told."""
    try:
        with (folder / INDEX).open("rb") as handle:
            return try_lock(handle.fileno()) is False
    except OSError:
        return False


def fault_in(folder: Path, *, jobs: int) -> str:
    """In what a store is not what was written, to its last sample; nothing where it is."""
    try:
        index = read_json(folder / INDEX, shape=ROWS)
        if index.get("sha256") != _digest(index):
            return f"{INDEX} is damaged, or was written by an older Olu"
        rows = index["clips"]
        if (folder / SAMPLES).stat().st_size != 2 * sum(count for _, _, count, _ in rows):
            return f"{SAMPLES} is cut"
        store = Store(folder)
        with ThreadPoolExecutor(jobs) as pool:
            sums = pool.map(lambda row: _sum(store[row[0]]), rows, chunksize=64)
            bad = [row[0] for row, found in zip(rows, sums, strict=True) if found != row[3]]
    except (OSError, WorkspaceError, ValueError, TypeError) as wrong:
        return str(wrong)
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return f"the samples of {bad[0]}{more} are not what was written" if bad else ""


def _sum(samples: NDArray[np.int16]) -> int:
    return zlib.crc32(np.ascontiguousarray(samples, "<i2").data)  # lets go of the interpreter lock


def _digest(index: dict[str, Any]) -> str:
    return hash_value({key: value for key, value in index.items() if key != "sha256"})


def build(
    folder: Path, clips: Sequence[Clip], *, feature: Feature, audio: Callable[[Clip], Audio], jobs: int
) -> Job[list[str]]:
    """Write the store for these clips; returns a sentence for each clip that could not be decoded."""
    problems: list[str] = []
    rows: list[tuple[str, int, int, int]] = []
    with whole(folder) as partial:
        partial.mkdir()
        with (partial / SAMPLES).open("wb") as out:
            place = 0
            decoded = _ahead(clips, lambda clip: feature.compute(audio(clip)), jobs=jobs)
            for done, (clip, future) in enumerate(decoded, 1):
                try:
                    samples = future.result()
                except AudioError as bad:
                    problems.append(f"clip {clip.id}: {bad}")
                else:
                    out.write(samples.astype("<i2", copy=False).tobytes())
                    rows.append((clip.id, place, len(samples), _sum(samples)))
                    place += len(samples)
                yield Tick(done, len(clips), clip.id)
        index = {"rate": feature.rate, "clips": rows, "problems": problems}
        write_json(partial / INDEX, {**index, "sha256": _digest(index)})
    return problems


def _ahead(
    clips: Sequence[Clip], compute: Callable[[Clip], NDArray[np.int16]], *, jobs: int
) -> Iterator[tuple[Clip, Future[NDArray[np.int16]]]]:
    """Decode in threads (soundfile and soxr let go of the interpreter lock), a bounded number ahead, in order."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting: deque[tuple[Clip, Future[NDArray[np.int16]]]] = deque()
        for clip in clips:
            waiting.append((clip, pool.submit(compute, clip)))
            if len(waiting) >= AHEAD * jobs:
                yield waiting.popleft()
        yield from waiting
