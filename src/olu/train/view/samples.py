"""The spoken samples of a run: as bytes to play, as pictures to look at, and which of them a page shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.audio import io
from olu.core.errors import AudioError
from olu.core.files import whole
from olu.core.types import Audio
from olu.pages.media import data_uri, first_seconds, heat_png, packed, shrunk

if TYPE_CHECKING:
    from olu.train.engine_state import StepReport

EARLIER = 4  # steps shown beside the newest
MOST_BYTES = 6_000_000  # of all samples together on one page
LONGEST_SECONDS = 15.0
WIDTH, BINS = 320, 80
WINDOW_SECONDS = 0.05
RANGE = 9.0  # natural logarithms between the loudest and black


@dataclass(frozen=True)
class PageSample:
    """A sample as a page holds it: the sound and its (name, picture) pairs are data: URIs."""

    name: str
    sound: str
    pictures: tuple[tuple[str, str], ...]
    seconds: float

    @property
    def size(self) -> int:
        return len(self.sound) + sum(len(uri) for _, uri in self.pictures)


def wav(audio: Audio) -> bytes:
    """The first seconds as 16-bit PCM."""
    return packed(first_seconds(audio, LONGEST_SECONDS), "WAV", "PCM_16")


def mel_picture(audio: Audio) -> bytes:
    """A log-mel spectrogram as PNG: time to the right, low tones below, bright where it is loud."""
    from olu.features.mel import mel_bank  # it comes with torch

    samples = first_seconds(audio, LONGEST_SECONDS).samples
    size = 1 << max(8, round(np.log2(audio.rate * WINDOW_SECONDS)))
    starts = np.linspace(0, max(len(samples), 1), WIDTH, endpoint=False).astype(np.intp)
    frames = np.pad(samples, size // 2 + 1, mode="constant")[starts[:, None] + np.arange(size)]
    levels = np.abs(np.fft.rfft(frames * np.hanning(size), axis=1))
    bank = mel_bank(rate=audio.rate, fft_size=size, bins=BINS, low=0.0, high=audio.rate / 2)
    mel = np.log(np.maximum(levels @ bank.T, 1e-5))
    shade: NDArray[Any] = 1 + (mel.T[::-1] - max(float(mel.max()), -2.0)) / RANGE
    return heat_png(shade)


def picture(values: NDArray[Any]) -> bytes:
    """A family's own picture, such as an alignment [tokens, frames]: the first row at the bottom."""
    return heat_png(shrunk(np.asarray(values)[::-1], width=WIDTH, height=2 * BINS))


def keep_pictures(folder: Path, report: StepReport) -> None:
    """A family's own pictures, beside the sound they belong to."""
    for exhibit in report.exhibits:
        for name, values in exhibit.pictures.items():
            path = folder / "samples" / f"step-{report.tried}" / f"{exhibit.name}.{name}.png"
            with whole(path) as partial:
                partial.write_bytes(picture(values))


def within_page(folder: Path, *, until: int) -> list[tuple[int, list[PageSample]]]:
    """Steps and their samples, as many as a page may hold: the newest, then a few spread over the run to its first."""
    found = {int(path.name.removeprefix("step-")): path for path in (folder / "samples").glob("step-*")}
    steps = sorted((step for step in found if step <= until), reverse=True)
    newest, rest = steps[:1], steps[1:]
    spread = [rest[round(place * (len(rest) - 1) / max(EARLIER - 1, 1))] for place in range(EARLIER)] if rest else []
    rows, used = list[tuple[int, list[PageSample]]](), 0
    for step in sorted({*newest, *spread}, reverse=True):
        held = []
        for path in sorted(found[step].glob("*.wav")):
            try:
                one = _read(path, path.stat().st_mtime_ns)
            except (AudioError, OSError):
                continue
            used += one.size
            if used > MOST_BYTES:
                break
            held.append(one)
        rows += [(step, held)] if held else []
    return rows


@lru_cache(maxsize=64)
def _read(path: Path, changed: int) -> PageSample:
    audio = io.read(path, seconds=LONGEST_SECONDS)
    pictures = [("mel", data_uri(mel_picture(audio), "image/png"))]
    for other in sorted(path.parent.glob(f"{escape(path.stem)}.*.png")):
        name = other.name.removeprefix(f"{path.stem}.").removesuffix(".png")
        pictures.append((name, data_uri(other.read_bytes(), "image/png")))
    return PageSample(path.stem, data_uri(wav(audio), "audio/wav"), tuple(pictures), audio.seconds)
