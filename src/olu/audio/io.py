"""Sound files in and out, always mono float32 in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from olu.audio import repair as opus
from olu.audio.overheard import is_mpeg, overheard
from olu.core.errors import AudioError
from olu.core.files import whole
from olu.core.types import Audio

Result = TypeVar("Result")

OPUS_RATES = (8000, 12000, 16000, 24000, 48000)  # the only ones the format has
MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
AAC_RATES = (*MP3_RATES, 64000, 88200, 96000)
RATES = {"opus": OPUS_RATES, "mp3": MP3_RATES, "aac": AAC_RATES}
KINDS = {
    "wav": ("WAV", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
RATE_HZ = (1_000, 768_000)  # what no recording of speech lies outside of: beyond it a header is wrong
SUFFIXES = tuple(f".{kind}" for kind in KINDS)
BLOCK = 1 << 19  # samples: the Vorbis encoder dies of a few minutes handed over at once
OPPOSITE = 0.1  # of the channels' own power: less is left when one is the other upside down


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
        other = "is no plain file: put a sound file in its place" if path.exists() else ""
        raise AudioError(f"{path} {other or 'is not there: check the path in the metadata'}")
    if path.stat().st_size == 0:
        raise AudioError(f"{path} is empty (0 bytes): record or copy it again")
    try:
        found = opened(path, soundfile.info)
    except (soundfile.SoundFileError, OSError) as bad:
        why = opus.fault(opus.small_file(path)) or reason(bad)
        raise AudioError(f"{path} is not a readable sound file ({why}): convert or copy it again") from None
    if found.frames <= 0 or found.samplerate <= 0:
        raise AudioError(f"{path} holds no samples: record or copy it again")
    if wrong := wrong_rate(found.samplerate):
        raise AudioError(f"{path} cannot be right, {wrong}: export it again")
    return Header(rate=int(found.samplerate), frames=int(found.frames), channels=int(found.channels))


def wrong_rate(rate: int) -> str:
    """What is to be said of a rate that no recording has, or nothing."""
    return "" if RATE_HZ[0] <= rate <= RATE_HZ[1] else f"its header says {rate} Hz"


def opened(path: Path, use: Callable[[Any], Result], *, faults: list[str] | None = None) -> Result:
    """What `use` makes of a file, or of its bytes put right where soundfile refuses sound that is all there.

    `faults` gets what the decoder of an MP3 met on its way and went on from; it must be done when `use` returns.
    """
    try:
        if not is_mpeg(_start(path)):
            return use(str(path))
        made, said = overheard(lambda: use(str(path)))
        if said and faults is not None:
            faults.append(said)
        return made
    except soundfile.SoundFileError:
        mended = opus.mended(opus.small_file(path))
        if mended is None:
            raise
        return use(BytesIO(mended))


def _start(path: Path) -> bytes:
    with path.open("rb") as data:
        return data.read(3)


def read(path: Path, *, start: float = 0.0, seconds: float | None = None, faults: list[str] | None = None) -> Audio:
    """Decode a file or a stretch of it as mono; `faults` gets what was damaged and left out."""
    facts = header(path)
    first = round(start * facts.rate)
    frames = -1 if seconds is None else round(seconds * facts.rate)
    try:
        samples, rate = opened(
            path,
            lambda sound: soundfile.read(sound, start=first, frames=frames, dtype="float32", always_2d=True),
            faults=faults if first == 0 else None,  # further in, the decoder may only lack what came before
        )
    except (soundfile.SoundFileError, OSError) as bad:
        raise AudioError(f"{path} breaks off while decoding ({reason(bad)}): convert or copy it again") from None
    if len(samples) == 0:
        raise AudioError(f"{path} has no sound from {start:.2f} s on: check the clip's times")
    return Audio(mono(samples), int(rate))


def mono(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of the channels; the loudest alone where they would cancel each other, as with a balanced cable."""
    if samples.shape[1] == 1:
        return np.ascontiguousarray(samples[:, 0])
    mean: NDArray[np.float32] = samples.mean(axis=1, dtype=np.float32)
    power = np.einsum("ij,ij->j", samples, samples)
    if float(np.dot(mean, mean)) >= OPPOSITE * float(power.mean()) / samples.shape[1]:
        return mean
    return np.ascontiguousarray(samples[:, int(power.argmax())])


def resample(audio: Audio, rate: int, *, factor: float = 1.0) -> Audio:
    """The sound at another rate, played `factor` times faster: pitch, formants and tempo rise by it."""
    if audio.rate == rate and factor == 1.0:
        return audio
    samples = soxr.resample(audio.samples, audio.rate * factor, rate, quality="HQ")
    return Audio(np.ascontiguousarray(samples, dtype=np.float32), rate)


def check_format(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise AudioError(f"{path}: no format for the ending {path.suffix!r}; use one of {', '.join(SUFFIXES)}")


def fitting_rate(kind: str, rate: int, *, wanted: int | None = None) -> int:
    """The rate asked for, or the sound's own; a format that has only some takes the next one above."""
    rates = RATES.get(kind)
    if rates is None:
        return wanted or rate
    if wanted is not None and wanted not in rates:
        raise AudioError(f"{kind} has no {wanted} Hz: choose {', '.join(map(str, rates))}")
    return wanted or next((one for one in rates if one >= rate), rates[-1])


def write(path: Path, audio: Audio, *, flush: bool = True) -> None:
    """Write by the file's ending; 16-bit where the format has bits. `flush`: as of `files.whole`."""
    check_format(path)
    kind = path.suffix[1:].lower()
    form, subtype = KINDS[kind]
    audio = resample(audio, fitting_rate(kind, audio.rate))
    with whole(path, flush=flush) as partial:
        try:
            with soundfile.SoundFile(
                str(partial), "w", samplerate=audio.rate, channels=1, format=form, subtype=subtype
            ) as out:
                for start in range(0, len(audio.samples), BLOCK):
                    out.write(np.clip(audio.samples[start : start + BLOCK], -1.0, 1.0))
        except (soundfile.SoundFileError, OSError) as bad:
            raise AudioError(f"{path} cannot be written ({reason(bad)}): check the folder and free space") from None


def to_int16(audio: Audio) -> NDArray[np.int16]:
    """16-bit samples, rounded and saturated: what the feature store keeps."""
    samples: NDArray[np.int16] = np.clip(np.rint(audio.samples * 32768.0), -32768, 32767).astype(np.int16)
    return samples


def reason(bad: Exception) -> str:
    """What a library says is wrong, without its wrapping."""
    text = str(bad).split(": ")[-1].strip().rstrip(".")
    return text or type(bad).__name__
