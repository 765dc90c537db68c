"""What training reads, one array a clip in one memory map: sound as int16, and the features that families declare.

Each store lies in a folder whose name has a hash of all that made it.
"""

from __future__ import annotations

import math
import os
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from olu.audio import activity
from olu.audio.io import resample, to_int16
from olu.audio.loudness import CEILING
from olu.audio.loudness import loudness as measured
from olu.core.errors import AudioError, OluError, WorkspaceError
from olu.core.files import Workspace, hash_file, hash_value, read_json, whole, write_json
from olu.core.job import Job, Tick
from olu.core.types import Alignment, Audio, Clip, Feature, Span
from olu.core.workspace_lock import try_lock
from olu.corpus.decisions import hash_stretches
from olu.corpus.hand_bounds import hash_bounds
from olu.corpus.manifest import imported, recordings

SAMPLES, VALUES, INDEX = "samples.i16", "values.bin", "index.json"
ROWS = {"clips": list}
Value = TypeVar("Value")
One = TypeVar("One")
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
    texts: bool = True  # only of clips that have one

    @property
    def key(self) -> str:
        changed = {"edges": self.edges, "loudness": self.loudness}
        moved: list[float | str] = [] if self.factor == 1.0 else [self.factor]
        moved += [f"{name}={value:g}" for name, value in changed.items() if value]
        moved += [] if self.texts else ["untexted"]
        return f"wave-{self.rate}-{hash_value(['int16', 'soxr-hq', self.rate, *moved])[:8]}"

    def compute(self, audio: Audio) -> NDArray[np.int16]:
        return self.compute_kept(audio)[0]

    def compute_kept(self, audio: Audio) -> tuple[NDArray[np.int16], float]:
        """The samples, and how many seconds of the clip come before the first of them."""
        if not np.isfinite(audio.samples).all():  # as int16 they would be some number
            raise AudioError("it holds samples that are not numbers: export or copy it again")
        start, end = _speech(audio, self.edges)
        kept = levelled(Audio(audio.samples[start:end], audio.rate), self.loudness)
        return to_int16(resample(kept, self.rate, factor=self.factor)), start / audio.rate


def between(audio: Audio, edges: float) -> Audio:
    """The speech and at most so much silence before and after it."""
    return Audio(audio.samples[slice(*_speech(audio, edges))], audio.rate)


def _speech(audio: Audio, edges: float) -> tuple[int, int]:
    """The first sample and the end of what `between` keeps; all of it without edges."""
    if not edges:
        return 0, len(audio.samples)
    first, last = activity.bounds(audio)
    return round(max(0.0, first - edges) * audio.rate), round(max(0.0, last + edges) * audio.rate)


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
    alignment: Alignment | None = None  # for families that need one, in seconds of the recording

    @property
    def phones(self) -> list[Span]:
        """Of the alignment, in seconds of these samples; "" is silence."""
        spans = self.alignment.phones if self.alignment else ()
        most = len(self.samples) / self.rate

        def here(at: float) -> float:
            return min(most, max(0.0, (at - self.begins) / self.factor))

        return [Span(span.label, here(span.start), here(span.end)) for span in spans]


@dataclass(frozen=True)
class PreparedFeature:
    """An array that `olu prepare` makes once for every clip; a learner finds it in `Example.features`."""

    name: str
    settings: Mapping[str, Any]  # all that changes its values
    make: Callable[[str], Callable[[FeatureClip], NDArray[Any]]]  # (device) -> what computes one clip
    weights: str = ""  # SHA-256 of the frozen weights that make it
    threads: bool = False  # whether several clips may be computed at once, on the CPU

    def key(self, made_from: Sequence[str]) -> str:
        """`made_from`: what names the sound, and the alignment where one is used."""
        return f"{self.name}-{hash_value([self.name, dict(self.settings), self.weights, *made_from])[:12]}"


def feature_folders(
    ws: Workspace, wave: WaveFeature, features: Sequence[PreparedFeature], *, aligned: bool
) -> dict[str, str]:
    """Name of a feature -> its folder: by its settings, its frozen weights, and the sound and alignment it is of."""
    made_from = [wave.key, imported(ws), recordings(ws), hash_stretches(ws)]
    if aligned:
        made_from += [hash_file(ws.alignment / "alignment.jsonl"), *filter(None, [hash_bounds(ws)])]
    return {one.name: one.key(made_from) for one in features}


class Store:
    """A folder with the values of all clips and `index.json`: clip id -> first row, number of rows, checksum.

    Sound is in `samples.i16`; the arrays of other features, of any type, in `values.bin`.
    """

    def __init__(self, folder: Path) -> None:
        claim = os.open(folder / INDEX, os.O_RDONLY)
        _share(claim)  # as long as this lives, nobody cleans it away
        weakref.finalize(self, os.close, claim)
        index = read_json(folder / INDEX, shape=ROWS)
        self.index: dict[str, tuple[int, int]] = {id: (first, count) for id, first, count, _ in index["clips"]}
        self.begins: dict[str, float] = index.get("begins", {})  # where only a part of a clip is kept
        self.problems: list[str] = index.get("problems", [])
        path, dtype, tail = _values(folder, index)
        empty = path.stat().st_size == 0
        self._values = np.zeros((0, *tail), dtype) if empty else np.memmap(path, dtype=dtype, mode="r")
        self._values = self._values.reshape(-1, *tail)

    def __contains__(self, id: str) -> bool:
        return id in self.index

    def __getitem__(self, id: str) -> NDArray[Any]:
        first, count = self.index[id]
        return np.asarray(self._values[first : first + count])

    def length(self, id: str) -> int:
        return self.index[id][1]

    def size(self, id: str) -> int:
        """In bytes."""
        return int(self[id].nbytes)


class ClipArrays:
    """As a store is asked, of arrays that lie in memory: clip id -> rows, or why a clip has none."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], problems: Sequence[str] = ()) -> None:
        self.arrays, self.problems = arrays, list(problems)

    def __contains__(self, id: str) -> bool:
        return id in self.arrays

    def __getitem__(self, id: str) -> NDArray[Any]:
        return self.arrays[id]

    def size(self, id: str) -> int:
        """In bytes."""
        return int(self.arrays[id].nbytes)


def _share(handle: int) -> None:
    """A lock that many readers hold at once, which filelock has not; Windows removes no open file as it is."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return


def _values(folder: Path, index: Mapping[str, Any]) -> tuple[Path, np.dtype[Any], tuple[int, ...]]:
    """The file, the type of its numbers and the shape of one row."""
    if "dtype" not in index:
        return folder / SAMPLES, np.dtype("<i2"), ()
    return folder / VALUES, np.dtype(index["dtype"]), tuple(index["tail"])


_claims: list[int] = []  # open files of stores that this process has prepared and will read


def claim(folders: Iterable[Path]) -> None:
    """Say that these stores are about to be read, in place of those of before: until then nobody cleans them away.

    Without it a training beside, with other settings, could remove what was just made.
    """
    release_claims()
    for folder in folders:
        with suppress(OSError):
            _claims.append(os.open(folder / INDEX, os.O_RDONLY))
            _share(_claims[-1])


def release_claims() -> None:
    while _claims:
        os.close(_claims.pop())


def is_read(folder: Path) -> bool:
    """Whether a process reads this store now; where there are no claims it cannot be told."""
    try:
        with (folder / INDEX).open("rb") as handle:
            return try_lock(handle.fileno()) is False
    except OSError:
        return False


def fault_in(folder: Path, *, jobs: int, begins: bool = False) -> str:
    """In what a store is not what was written, to its last sample; nothing where it is.

    `begins`: it has to say where the kept part of each clip begins.
    """
    try:
        index = read_json(folder / INDEX, shape=ROWS)
        if index.get("sha256") != _digest(index) or (begins and "begins" not in index):
            return f"{INDEX} is damaged, or was written by an older Olu"
        rows = index["clips"]
        path, dtype, tail = _values(folder, index)
        if path.stat().st_size != dtype.itemsize * math.prod(tail) * sum(count for _, _, count, _ in rows):
            return f"{path.name} is cut"
        store = Store(folder)
        with ThreadPoolExecutor(jobs) as pool:
            sums = pool.map(lambda row: _sum(store[row[0]]), rows, chunksize=64)
            bad = [row[0] for row, found in zip(rows, sums, strict=True) if found != row[3]]
    except (OSError, WorkspaceError, ValueError, TypeError) as wrong:
        return str(wrong)
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return f"the samples of {bad[0]}{more} are not what was written" if bad else ""


def _sum(values: NDArray[Any]) -> int:
    little = values.dtype.newbyteorder("<")
    return zlib.crc32(np.ascontiguousarray(values, little).tobytes())  # lets go of the interpreter lock


def _digest(index: dict[str, Any]) -> str:
    return hash_value({key: value for key, value in index.items() if key != "sha256"})


def build(
    folder: Path, clips: Sequence[Clip], *, feature: Feature, audio: Callable[[Clip], Audio], jobs: int
) -> Job[list[str]]:
    """Write the store for these clips; returns a sentence for each clip that could not be decoded."""
    problems: list[str] = []
    rows: list[tuple[str, int, int, int]] = []
    begins: dict[str, float] = {}

    def compute(clip: Clip) -> tuple[NDArray[Any], float]:
        sound = audio(clip)
        return feature.compute_kept(sound) if isinstance(feature, WaveFeature) else (feature.compute(sound), 0.0)

    cut = isinstance(feature, WaveFeature) and bool(feature.edges)
    with whole(folder) as partial:
        partial.mkdir()
        with (partial / SAMPLES).open("wb") as out:
            place = 0
            decoded = _ahead(clips, compute, jobs=jobs)
            for done, (clip, future) in enumerate(decoded, 1):
                try:
                    samples, begin = future.result()
                except AudioError as bad:
                    problems.append(f"clip {clip.id}: {bad}")
                else:
                    out.write(samples.astype("<i2", copy=False).tobytes())
                    rows.append((clip.id, place, len(samples), _sum(samples)))
                    place += len(samples)
                    begins |= {clip.id: round(begin, 6)} if begin else {}
                yield Tick(done, len(clips), clip.id)
        index = {"rate": feature.rate, "clips": rows, "problems": problems, **({"begins": begins} if cut else {})}
        write_json(partial / INDEX, {**index, "sha256": _digest(index)})
    return problems


def build_feature(
    folder: Path, clips: Iterable[FeatureClip], *, feature: PreparedFeature, device: str, total: int, jobs: int = 1
) -> Job[list[str]]:
    """Write the store of a family's feature; returns a sentence for each clip that it cannot be made of.

    `jobs`: clips computed at once, where the feature allows it; the store is the same for any number.
    """
    problems, rows, place = list[str](), list[tuple[str, int, int, int]](), 0
    kind: tuple[str, tuple[int, ...]] | None = None
    compute = feature.make(device)
    with whole(folder) as partial:
        partial.mkdir()
        with (partial / VALUES).open("wb") as out:
            made = _ahead(clips, compute, jobs=jobs if feature.threads else 1)
            for done, (one, future) in enumerate(made, 1):
                try:
                    values = np.atleast_1d(future.result())
                except OluError as bad:
                    problems.append(f"clip {one.clip.id}: {bad}")
                else:
                    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
                    kind = kind or (little.dtype.str, little.shape[1:])
                    if (little.dtype.str, little.shape[1:]) != kind:
                        raise WorkspaceError(
                            f"{feature.name} of {one.clip.id} is of another kind than the first: {kind}"
                        )
                    out.write(little.tobytes())
                    rows.append((one.clip.id, place, len(little), _sum(little)))
                    place += len(little)
                yield Tick(done, total, one.clip.id)
        dtype, tail = kind or ("<f4", ())
        index = {"clips": rows, "problems": problems, "dtype": dtype, "tail": list(tail)}
        write_json(partial / INDEX, {**index, "sha256": _digest(index)})
    return problems


def _ahead(clips: Iterable[One], compute: Callable[[One], Value], *, jobs: int) -> Iterator[tuple[One, Future[Value]]]:
    """Compute in threads (soundfile, soxr and onnxruntime let go of the interpreter lock), some ahead, in order."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting: deque[tuple[One, Future[Value]]] = deque()
        for one in clips:
            waiting.append((one, pool.submit(compute, one)))
            if len(waiting) >= AHEAD * jobs:
                yield waiting.popleft()
        yield from waiting
