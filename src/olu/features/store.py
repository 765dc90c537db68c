"""Sound as training reads it: every clip resampled to int16 in one memory map, cached under a hash of its settings."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from olu.audio import activity
from olu.audio.io import resample, to_int16
from olu.audio.loudness import CEILING
from olu.audio.loudness import loudness as measured
from olu.errors import AudioError
from olu.files import hash_value, read_json, whole, write_json
from olu.types import Audio, Clip, Feature, Tick, Work

AHEAD = 16  # clips decoded ahead of the writer, per worker


@dataclass(frozen=True)
class Samples:
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


class Store:
    """A folder with `samples.i16` and `index.json`: clip id -> first sample, number of samples."""

    def __init__(self, folder: Path) -> None:
        self.index: dict[str, tuple[int, int]] = {id: (a, n) for id, a, n in read_json(folder / "index.json")["clips"]}
        path = folder / "samples.i16"
        empty = path.stat().st_size == 0
        self._samples = np.zeros(0, np.int16) if empty else np.memmap(path, dtype="<i2", mode="r")

    def __contains__(self, id: str) -> bool:
        return id in self.index

    def __getitem__(self, id: str) -> NDArray[np.int16]:
        first, count = self.index[id]
        return np.asarray(self._samples[first : first + count])

    def length(self, id: str) -> int:
        return self.index[id][1]


def build(
    folder: Path, clips: Sequence[Clip], *, feature: Feature, audio: Callable[[Clip], Audio], jobs: int
) -> Work[list[str]]:
    """Write the store for these clips; returns a sentence for each clip that could not be decoded."""
    problems: list[str] = []
    rows: list[tuple[str, int, int]] = []
    with whole(folder) as partial:
        partial.mkdir()
        with (partial / "samples.i16").open("wb") as out:
            place = 0
            decoded = _ahead(clips, lambda clip: feature.compute(audio(clip)), jobs=jobs)
            for done, (clip, future) in enumerate(decoded, 1):
                try:
                    samples = future.result()
                except AudioError as bad:
                    problems.append(f"clip {clip.id}: {bad}")
                else:
                    out.write(samples.astype("<i2", copy=False).tobytes())
                    rows.append((clip.id, place, len(samples)))
                    place += len(samples)
                yield Tick(done, len(clips), clip.id)
        write_json(partial / "index.json", {"rate": feature.rate, "clips": rows, "problems": problems})
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
