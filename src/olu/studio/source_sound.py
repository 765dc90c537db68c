"""The sound of a clip that is not imported yet: out of a folder, a film or an archive, decoded and packed anew."""

from __future__ import annotations

import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio import io, media
from olu.core.errors import AudioError
from olu.core.files import is_inside
from olu.core.types import Audio
from olu.pages.media import MP3_RATES, packed
from olu.studio.roots import NotHere

LONGEST = 30.0  # seconds that are heard
MOST_MEMBER = 2 * 2**30  # bytes of one file in an archive


def source_sound(source: Path, clip: Mapping[str, Any]) -> bytes:
    """As MP3."""
    file = str(clip["file"])
    with tempfile.TemporaryDirectory() as place:
        path = source.parent / file if source.is_file() and media.is_recording(source.name) else source / file
        if source.is_file() and not media.is_recording(source.name):
            path = _unpacked(source, file, Path(place))
        elif not is_inside(source if source.is_dir() else source.parent, path) or not path.is_file():
            raise NotHere("this recording is not there any more")
        start, seconds = float(clip["start"]), min(float(clip["seconds"]), LONGEST)
        read = _of_media if media.is_media(path.name) else io.read
        audio = read(path, start=start, seconds=seconds)
    rate = next((one for one in MP3_RATES if one >= audio.rate), MP3_RATES[-1])
    return packed(io.resample(Audio(audio.samples, audio.rate), rate), "MP3", "MPEG_LAYER_III")


def _of_media(path: Path, *, start: float, seconds: float) -> Audio:
    """A stretch of the sound of a film, which is decoded up to its end and no further."""
    media.need_media("hearing a film")
    held, at, last = list[NDArray[np.float32]](), 0, 1
    with media.AudioTrack(path) as track:
        for block in track.blocks():  # its rate is known from the first one on
            first, last = round(start * track.rate), round((start + seconds) * track.rate)
            if at + len(block) > first:
                held.append(block[max(0, first - at) : last - at])
            at += len(block)
            if at >= last:
                break
        rate = track.rate
    return Audio(np.concatenate(held) if held else np.zeros(1, np.float32), rate)


def _unpacked(archive: Path, file: str, place: Path) -> Path:
    """One recording of an archive, whose folders may stand before its name."""
    target = place / f"sound{PurePosixPath(file).suffix.lower()}"
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as held:
                item = next((one for one in held.infolist() if _is_it(one.filename, file)), None)
                if item is not None and item.file_size <= MOST_MEMBER:
                    target.write_bytes(held.read(item))
        else:
            with tarfile.open(archive) as held:
                for member in held:
                    if member.isreg() and _is_it(member.name, file) and member.size <= MOST_MEMBER:
                        data = held.extractfile(member)
                        target.write_bytes(data.read() if data else b"")
                        break
    except (OSError, zipfile.BadZipFile, tarfile.TarError, NotImplementedError, RuntimeError, EOFError) as bad:
        raise AudioError(f"{archive.name} cannot be read ({bad}): import it to hear what is in it") from None
    if not target.is_file():
        raise NotHere("this recording cannot be heard before it is taken in")
    return target


def _is_it(name: str, file: str) -> bool:
    parts, wanted = PurePosixPath(name).parts, PurePosixPath(file).parts
    return parts[-len(wanted) :] == wanted
