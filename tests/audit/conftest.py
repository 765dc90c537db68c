from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from olu.audio import io
from olu.core.files import Workspace
from olu.core.types import Audio, Clip
from olu.corpus.manifest import Corpus
from olu.corpus.sources import Source

RATE = 16000
Samples = NDArray[np.float32]


def speech(seconds: float = 3.0, *, lead: float = 0.1, tail: float = 0.1, seed: int = 0) -> Samples:
    """Noise shaped into syllables, with quiet room at both ends."""
    count = round(seconds * RATE)
    rng = np.random.default_rng(seed)
    time = np.arange(count) / RATE
    beat = 0.55 + 0.45 * np.sin(2 * np.pi * 4 * time)
    spoken = (time >= lead) & (time < seconds - tail)
    samples = rng.normal(0, 0.12, count) * beat * spoken + rng.normal(0, 0.0005, count)
    return np.clip(samples, -0.9, 0.9).astype(np.float32)


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE), dtype=np.float32)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Workspace]:
    """A workspace from {id: (samples, text)}; what is not an array is written as the file's bytes."""

    def build(sounds: dict[str, tuple[Samples | bytes, str]], *, name: str = "ws") -> Workspace:
        ws = Workspace.create(tmp_path / name, language="ibo")
        root = tmp_path / f"{name}-sounds"
        root.mkdir()
        clips = []
        for id, (sound, text) in sounds.items():
            path = root / f"{id}.wav"
            seconds = 1.0
            if isinstance(sound, bytes):
                path.write_bytes(sound)
            else:
                io.write(path, Audio(sound, RATE))
                seconds = len(sound) / RATE
            clips.append(Clip(id=id, audio=f"made/{id}.wav", seconds=seconds, rate=RATE, text=text, language="ibo"))
        Corpus.save(ws, clips, [Source(name="made", root=str(root), layout="folder")], {c.id: "train" for c in clips})
        return ws

    return build
