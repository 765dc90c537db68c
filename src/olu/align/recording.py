"""A long recording as a flat start hears it: its text, its sound, and what was found of it so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from olu.align.frames import FRAME_SECONDS, log_mels
from olu.audio.activity import frame_dbfs, frame_rate, stretches
from olu.core.errors import AlignError
from olu.core.types import Audio

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

PAUSE_FRAMES = 8  # of quiet that part two sounds


@dataclass(frozen=True, slots=True)
class LongText:
    """A long recording to be found in: its words as phones, and which of them begin a sentence."""

    id: str
    words: tuple[tuple[str, ...], ...]
    sentences: frozenset[int]
    chunks: Callable[[], Iterable[Audio]]


@dataclass(frozen=True, slots=True)
class FoundFrames:
    """Of each frame of a recording the phone it is in (-1 silence, FILLER), and its class (-1: not to learn from)."""

    owner_F: Ints
    labels_F: Ints


class RoundStore(Protocol):
    """Keeps what a round found, so that a start that was killed goes on there."""

    def load(self) -> tuple[int, dict[str, FoundFrames]]: ...

    def save(self, done: int, found: dict[str, FoundFrames]) -> None: ...


class NoStore:
    def load(self) -> tuple[int, dict[str, FoundFrames]]:
        return 0, {}

    def save(self, done: int, found: dict[str, FoundFrames]) -> None:
        return None


@dataclass
class LongRecording:
    """Its mels [F, M], where there is sound [F], the phone numbers of its words, and what the last round found."""

    text: LongText
    mels: Floats
    sound: NDArray[np.bool_]
    ids: list[list[int]]
    found: FoundFrames | None = None

    @property
    def labels(self) -> Ints:
        assert self.found is not None
        return self.found.labels_F

    @property
    def places(self) -> NDArray[np.float64]:
        """[F] how many phones of the text lie before each frame."""
        assert self.found is not None
        owner = np.where(self.found.owner_F >= 0, self.found.owner_F, self.phones)
        return np.minimum.accumulate(owner[::-1])[::-1].astype(np.float64)

    @property
    def phones(self) -> int:
        return sum(map(len, self.ids))


def hear(text: LongText, phones: Sequence[str]) -> LongRecording:
    """All of a recording, chunk by chunk."""
    number = {phone: at for at, phone in enumerate(phones)}
    mels, levels, rate = [], [], 0.0
    for audio in text.chunks():
        mels.append(log_mels(audio, centred=False))
        levels.append(frame_dbfs(audio))
        rate = frame_rate(audio.rate)
    if not mels:
        raise AlignError(f"{text.id}: nothing is heard in it")
    heard = np.concatenate(mels)
    heard -= heard.mean(axis=0)
    sound = np.zeros(len(heard), dtype=np.bool_)
    scale = 1.0 / (rate * FRAME_SECONDS)
    loud = stretches(np.concatenate(levels), rate, pause_frames=PAUSE_FRAMES, noisy=True)
    for start, end in zip(*loud, strict=True):
        sound[round(start * scale) : round(end * scale)] = True
    return LongRecording(text, heard, sound, [[number[phone] for phone in word] for word in text.words])
