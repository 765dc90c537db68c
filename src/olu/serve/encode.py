"""Sound as it is made, in the formats of OpenAI's speech endpoint: 16-bit samples in, bytes of a file out."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Protocol

import av
import numpy as np

from olu.audio.io import fitting_rate
from olu.audio.sink import wav_header

PCM_RATE = 24_000  # as OpenAI documents it
LOW_RATE = 24_000  # from here down mp3 and aac need half the bits
SMALL_BUFFER = 4096  # bytes ffmpeg holds back


class Encoder(Protocol):
    def push(self, samples: bytes) -> bytes: ...

    def close(self) -> bytes: ...


@dataclass(frozen=True)
class Encoding:
    media: str
    container: str = ""  # as ffmpeg names it; nothing: written here
    codec: str = ""
    bits: tuple[int, int] = (0, 0)  # a second, at low rates and above
    muxing: tuple[tuple[str, str], ...] = ()
    coding: tuple[tuple[str, str], ...] = ()


AT_ONCE = ("flush_packets", "1")
KINDS = {
    "mp3": Encoding(
        "audio/mpeg",
        "mp3",
        "libmp3lame",
        (64_000, 128_000),
        muxing=(AT_ONCE, ("write_xing", "0"), ("id3v2_version", "0")),  # both would want to go back to the start
        coding=(("compression_level", "7"),),
    ),
    "opus": Encoding(
        "audio/ogg",
        "ogg",
        "libopus",
        (32_000, 48_000),
        muxing=(AT_ONCE, ("page_duration", "100000")),  # microseconds; a page is what leaves at once
        coding=(("compression_level", "5"),),
    ),
    "aac": Encoding("audio/aac", "adts", "aac", (64_000, 128_000), muxing=(AT_ONCE,), coding=(("aac_coder", "fast"),)),
    "flac": Encoding("audio/flac", "flac", "flac", muxing=(AT_ONCE,)),
    "wav": Encoding("audio/wav"),
    "pcm": Encoding("audio/pcm"),
}


def rate_of(kind: str, voice_rate: int) -> int:
    """The rate to speak at, so that the sound is resampled once at most."""
    return PCM_RATE if kind == "pcm" else fitting_rate(kind, voice_rate)


def encoder(kind: str, rate: int) -> Encoder:
    how = KINDS[kind]
    if not how.container:
        return Plain(wav_header(rate) if kind == "wav" else b"")
    return Packed(how, rate)


class Plain:
    """Samples as they are, after a header if there is one. Its length is left open, as for any stream."""

    def __init__(self, header: bytes) -> None:
        self._header = header

    def push(self, samples: bytes) -> bytes:
        out, self._header = self._header + samples, b""
        return out

    def close(self) -> bytes:
        return self.push(b"")


class Packed:
    """ffmpeg's encoder and container, written to memory that cannot be gone back in.

    One thread may close it while another, whose client has left, is still at work.
    """

    def __init__(self, how: Encoding, rate: int) -> None:
        self._lock = threading.Lock()
        self._out, self._rate, self._at = _Out(), rate, 0
        self._file: Any = av.open(
            self._out, "w", format=how.container, options=dict(how.muxing), buffer_size=SMALL_BUFFER
        )
        self._stream = self._file.add_stream(how.codec, rate=rate, layout="mono", options=dict(how.coding))
        if how.bits[0]:
            self._stream.bit_rate = how.bits[rate > LOW_RATE]
        self._stream.codec_context.thread_count = 1

    def push(self, samples: bytes) -> bytes:
        with self._lock:
            if samples and self._file is not None:
                wave = np.frombuffer(samples, "<i2").astype(np.int16)
                frame = av.AudioFrame.from_ndarray(wave[None], format="s16", layout="mono")
                frame.sample_rate, frame.pts = self._rate, self._at
                self._at += len(wave)
                self._file.mux(self._stream.encode(frame))
            return self._out.take()

    def close(self) -> bytes:
        """The rest. Also to be called when nobody wants it: what is only forgotten keeps its memory."""
        with self._lock:
            if self._file is not None:
                if self._at:
                    self._file.mux(self._stream.encode(None))
                self._file.close()
                self._file = None
            return self._out.take()


class _Out:
    """Where ffmpeg writes to: it has no `seek`, so headers are never filled in later."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def take(self) -> bytes:
        out = b"".join(self._parts)
        self._parts.clear()
        return out
