"""Sound files in and out, always mono float32 in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from olu.errors import AudioError
from olu.files import whole
from olu.types import Audio

OPUS_RATES = (8000, 12000, 16000, 24000, 48000)  # the only ones the format has
SUFFIXES = (".wav", ".flac", ".ogg", ".opus", ".mp3")


@dataclass(frozen=True, slots=True)
class Header:
    """What a sound file says of itself without being decoded."""

    rate: int
    frames: int
    channels: int

    @property
    def seconds(self) -> float:
        return self.frames / self.rate


def header(path: Path) -> Header:
    """The file's header, or one sentence why it is not sound."""
    if not path.is_file():
        raise AudioError(f"{path} is not there: check the path in the metadata")
    if path.stat().st_size == 0:
        raise AudioError(f"{path} is empty (0 bytes): record or copy it again")
    try:
        found = soundfile.info(str(path))
    except (soundfile.SoundFileError, OSError) as bad:
        raise AudioError(f"{path} is not a readable sound file ({_reason(bad)}): convert or copy it again") from None
    if found.frames <= 0 or found.samplerate <= 0:
        raise AudioError(f"{path} holds no samples: record or copy it again")
    return Header(rate=int(found.samplerate), frames=int(found.frames), channels=int(found.channels))


def read(path: Path, *, start: float = 0.0, seconds: float | None = None) -> Audio:
    """Decode a file or a stretch of it; channels are averaged."""
    facts = header(path)
    first = round(start * facts.rate)
    frames = -1 if seconds is None else round(seconds * facts.rate)
    try:
        samples, rate = soundfile.read(str(path), start=first, frames=frames, dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, OSError) as bad:
        raise AudioError(f"{path} breaks off while decoding ({_reason(bad)}): convert or copy it again") from None
    if len(samples) == 0:
        raise AudioError(f"{path} has no sound from {start:.2f} s on: check the clip's times")
    mono = samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1, dtype=np.float32)
    return Audio(np.ascontiguousarray(mono), int(rate))


def resample(audio: Audio, rate: int) -> Audio:
    if audio.rate == rate:
        return audio
    samples = soxr.resample(audio.samples, audio.rate, rate, quality="HQ")
    return Audio(np.ascontiguousarray(samples, dtype=np.float32), rate)


def check_format(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise AudioError(f"{path}: no format for the ending {path.suffix!r}; use one of {', '.join(SUFFIXES)}")


def write(path: Path, audio: Audio) -> None:
    """Write by the file's ending; 16-bit where the format has bits."""
    check_format(path)
    kind = {".opus": ("OGG", "OPUS"), ".ogg": ("OGG", "VORBIS"), ".mp3": ("MP3", "MPEG_LAYER_III")}
    form, subtype = kind.get(path.suffix.lower(), (path.suffix[1:].upper(), "PCM_16"))
    if subtype == "OPUS" and audio.rate not in OPUS_RATES:
        audio = resample(audio, next(rate for rate in OPUS_RATES if rate >= min(audio.rate, OPUS_RATES[-1])))
    with whole(path) as partial:
        try:
            soundfile.write(str(partial), np.clip(audio.samples, -1.0, 1.0), audio.rate, format=form, subtype=subtype)
        except (soundfile.SoundFileError, OSError) as bad:
            raise AudioError(f"{path} cannot be written ({_reason(bad)}): check the folder and free space") from None


def to_int16(audio: Audio) -> NDArray[np.int16]:
    """16-bit samples, rounded and saturated: what the feature store keeps."""
    samples: NDArray[np.int16] = np.clip(np.rint(audio.samples * 32768.0), -32768, 32767).astype(np.int16)
    return samples


def _reason(bad: Exception) -> str:
    text = str(bad).split(": ")[-1].strip().rstrip(".")
    return text or type(bad).__name__
