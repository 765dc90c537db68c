"""The spoken samples of a run as they lie in its folder: which to show, and their pictures."""

from __future__ import annotations

from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from olu.audio import io
from olu.core.errors import AudioError
from olu.core.files import whole
from olu.core.types import Audio
from olu.pages.png import data_uri
from olu.train.view.sounds import LONGEST_SECONDS, mel_picture, picture, wav

if TYPE_CHECKING:
    from olu.train.report import StepReport

EARLIER = 4  # steps shown beside the newest
MOST_BYTES = 6_000_000  # of all samples together on one page


def keep_pictures(folder: Path, report: StepReport) -> None:
    """A family's own pictures, beside the sound they belong to."""
    for exhibit in report.exhibits:
        for name, values in exhibit.pictures.items():
            path = folder / "samples" / f"step-{report.tried}" / f"{exhibit.name}.{name}.png"
            with whole(path) as partial:
                partial.write_bytes(picture(values))


def shown(folder: Path, *, until: int) -> list[tuple[int, list[Path]]]:
    """Steps and their sounds, the newest first, then a few spread over the run up to its first."""
    found = {int(path.name.removeprefix("step-")): path for path in (folder / "samples").glob("step-*")}
    steps = sorted((step for step in found if step <= until), reverse=True)
    newest, rest = steps[:1], steps[1:]
    spread = [rest[round(place * (len(rest) - 1) / max(EARLIER - 1, 1))] for place in range(EARLIER)] if rest else []
    chosen = sorted({*newest, *spread}, reverse=True)
    return [(step, sorted(found[step].glob("*.wav"))) for step in chosen]


@lru_cache(maxsize=64)
def _packed(path: Path, changed: int) -> tuple[str, tuple[tuple[str, str], ...], float]:
    audio = io.read(path, seconds=LONGEST_SECONDS)
    pictures = [("mel", data_uri(mel_picture(audio), "image/png"))]
    for other in sorted(path.parent.glob(f"{escape(path.stem)}.*.png")):
        name = other.name.removeprefix(f"{path.stem}.").removesuffix(".png")
        pictures.append((name, data_uri(other.read_bytes(), "image/png")))
    return data_uri(wav(Audio(audio.samples, audio.rate)), "audio/wav"), tuple(pictures), audio.seconds


def packed(path: Path) -> tuple[str, tuple[tuple[str, str], ...], float] | None:
    """The sound and its pictures as data: URIs, and its seconds; None where it cannot be read."""
    try:
        return _packed(path, path.stat().st_mtime_ns)
    except (AudioError, OSError):
        return None
