"""Sound written as it is made: into a file by its ending, or into a pipe by the format's name."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.audio.io import KINDS, fitting_rate, reason, resample
from olu.core.errors import AudioError
from olu.core.files import whole
from olu.core.types import Audio

PCM = "pcm"  # 16-bit little-endian samples and nothing else
FORMATS = (*KINDS, PCM)
UNKNOWN_SIZE = 0xFFFFFFFF  # in a WAV header: until the stream ends


class Add(Protocol):
    def __call__(self, samples: NDArray[np.float32], /) -> None: ...


def format_of(path: Path, given: str | None = None) -> str:
    """The format asked for, else the one the ending names."""
    name = given or path.suffix.lower().removeprefix(".")
    if name not in FORMATS:
        what = f"no format {given!r}" if given else f"{path}: no format for the ending {path.suffix!r}"
        raise AudioError(f"{what}; use one of {', '.join(FORMATS)}")
    return name


def check_place(path: Path) -> None:
    """Refuse to write where a folder, a device or a pipe stands: a whole file takes that place."""
    if path.exists() and not path.is_file():
        what = "a folder: name a file in it" if path.is_dir() else "no plain file: write into a pipe with -o -"
        raise AudioError(f"{path} is {what}")


@contextmanager
def into_file(path: Path, *, kind: str, rate: int) -> Iterator[Add]:
    """Gives what adds sound to a file; the file appears when all of it is there."""
    check_place(path)
    with whole(path) as partial:
        try:
            if kind == PCM:
                with partial.open("wb") as raw:
                    yield lambda samples: _pour(raw, _pcm(samples))
                return
            form, subtype = KINDS[kind]
            with soundfile.SoundFile(
                str(partial), "w", samplerate=rate, channels=1, format=form, subtype=subtype
            ) as out:
                yield lambda samples: out.write(np.clip(samples, -1.0, 1.0))
        except UnicodeEncodeError:
            raise AudioError(f"{path} has a name that is no text: choose another") from None
        except (soundfile.SoundFileError, OSError) as bad:
            raise AudioError(f"{path} cannot be written ({reason(bad)}): check the folder and free space") from None


def save(audio: Audio, path: str | Path) -> None:
    """A whole sound into a file, in the format that its ending names."""
    kind = format_of(Path(path))
    fitting = resample(audio, fitting_rate(kind, audio.rate))
    with into_file(Path(path), kind=kind, rate=fitting.rate) as add:
        add(fitting.samples)


@contextmanager
def into_pipe(pipe: BinaryIO, *, kind: str, rate: int) -> Iterator[Add]:
    """Gives what adds sound to a pipe, at once; lengths in headers stay open, as formats allow."""
    try:
        with _encoder(pipe, kind=kind, rate=rate) as add:
            yield add
    except BrokenPipeError:
        raise AudioError("the pipe was closed before everything was said") from None
    except soundfile.SoundFileError as bad:
        raise AudioError(f"{kind} at {rate} Hz cannot be written ({reason(bad)}): choose another --rate") from None


@contextmanager
def _encoder(pipe: BinaryIO, *, kind: str, rate: int) -> Iterator[Add]:
    if kind in (PCM, "wav"):
        if kind == "wav":
            pipe.write(wav_header(rate))
        yield lambda samples: _pour(pipe, _pcm(samples))
        return
    form, subtype = KINDS[kind]
    # A steady bit rate, so that players know the length of what has no header.
    steady = {"compression_level": 0.5, "bitrate_mode": "CONSTANT"} if kind == "mp3" else {}
    way = _OneWay(pipe)
    with soundfile.SoundFile(way, "w", samplerate=rate, channels=1, format=form, subtype=subtype, **steady) as out:

        def add(samples: NDArray[np.float32], /) -> None:
            out.write(np.clip(samples, -1.0, 1.0))
            way.check()

        yield add
    way.check()
    pipe.flush()


def _pcm(samples: NDArray[np.float32]) -> bytes:
    data: bytes = np.clip(np.rint(samples * 32767.0), -32768, 32767).astype("<i2").tobytes()
    return data


def _pour(pipe: BinaryIO, data: bytes) -> None:
    pipe.write(data)
    pipe.flush()


def wav_header(rate: int, size: int | None = None) -> bytes:
    """The header for `size` bytes of samples, or for a stream whose length nobody knows yet."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    whole, data = (UNKNOWN_SIZE, UNKNOWN_SIZE) if size is None else (size + 36, size)
    return struct.pack("<4sI4s", b"RIFF", whole, b"WAVE") + form + struct.pack("<4sI", b"data", data)


class _OneWay:
    """A pipe for a writer that would like to go back and fill in its header: it may not."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe, self._at, self._end = pipe, 0, 0
        self._failed: OSError | None = None  # the library that calls us cannot take it on

    def check(self) -> None:
        if self._failed is not None:
            raise self._failed

    def write(self, data: bytes) -> int:
        if self._at == self._end:
            try:
                if self._failed is None:
                    self._pipe.write(bytes(data))
                    self._pipe.flush()
            except OSError as failed:
                self._failed = failed
            self._end += len(data)
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def tell(self) -> int:
        return self._at
