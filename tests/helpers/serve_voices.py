"""Real voice packages, small ones, for the engine's tests."""

from __future__ import annotations

import shutil
from pathlib import Path

from . import packages as made

TEXT = made.TEXT
LONG = "ọ dị mma, ka ọ dị mma " * 8
SENTENCE = ("ọ dị mma, ka ọ dị mma " * 3).strip() + "."
PARAGRAPH = f"{SENTENCE} " * 6  # more sound than a worker makes ahead


def pack(path: Path) -> Path:
    made.pack(path, speakers=["ada", "obi"])
    return path


def copy(source: Path, to: Path, *, name: str) -> Path:
    """The same voice under another name."""
    shutil.copytree(source, to)
    made.edit(to / "voice.json", lambda facts: {**facts, "name": name})
    made.seal(to)
    return to


def spoil(path: Path) -> None:
    """A byte of the decoder, as a bad disk would."""
    file = path / "decoder.onnx"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))
