"""The first clips of a dry run as sound, so that a person hears what would come in before it does."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from olu.audio import io
from olu.core.errors import AudioError
from olu.core.types import Clip
from olu.corpus.intake.plan import FoundSource

FIRST = 20  # clips of a preview
LONGEST = 30.0  # seconds of each that are heard
NAME = "{:02}.flac"  # by its place in the preview


def write_first(found: FoundSource, clips: Sequence[Clip], folder: Path) -> None:
    """Write what can be read of them; one that cannot be read has no file."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, clip in enumerate(clips):
        inside = clip.audio.partition("/")[2]
        seconds = min(clip.seconds, LONGEST)
        with tempfile.TemporaryDirectory() as place, suppress(AudioError, OSError):
            path = found.root / inside
            if (sound := found.first.get(inside)) is not None:
                path = Path(place) / f"sound{PurePosixPath(inside).suffix}"
                path.write_bytes(sound)
            io.write(folder / NAME.format(number), io.read(path, start=clip.start, seconds=seconds), flush=False)
