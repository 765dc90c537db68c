"""Sound out of films and phone recordings, decoded block by block with PyAV; needs the extra `media`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.audio.io import SUFFIXES
from olu.core.errors import AudioError, MissingExtra
from olu.core.files import whole
from olu.core.job import Job, Tick

# What is decoded before soundfile reads it: what phones and recorders write, and containers with pictures.
PHONE_SUFFIXES = (".m4a", ".aac", ".amr", ".awb", ".3gp", ".3gpp", ".3ga", ".3g2", ".wma", ".caf", ".m4b")
OTHER_SUFFIXES = (".aif", ".aiff", ".aifc", ".au", ".oga", ".mka", ".mp2", ".ac3", ".ape", ".wv", ".w64", ".sph")
FILM_SUFFIXES = (
    *(".mp4", ".mkv", ".webm", ".mov", ".m4v", ".avi", ".ts", ".mts", ".m2ts", ".mpg", ".mpeg"),
    *(".wmv", ".asf", ".flv", ".ogv", ".vob"),
)
MEDIA_SUFFIXES = PHONE_SUFFIXES + OTHER_SUFFIXES + FILM_SUFFIXES
RECORDINGS = SUFFIXES + MEDIA_SUFFIXES  # of two with one name, the first counts
# How files of sound begin, whatever they are called.
HEADS = (b"RIFF", b"RIFX", b"fLaC", b"OggS", b"ID3", b"#!AMR", b"FORM", b"caff", b"NIST_1A", b".snd", b"wvpk", b"MAC ",
         b"\x1aE\xdf\xa3", b"0&\xb2u", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\xff\xf9")  # fmt: skip
GAP_SECONDS = 0.05  # a hole in the time stamps longer than this is filled with silence, else all after it comes early
LONGEST_GAP_SECONDS = 3600.0  # more is a damaged time stamp
BAD_PACKETS = 5  # so many may be damaged, or one in a hundred
GAIN = {1: 1.0, 2: 0.5**0.5}  # the mixer keeps the power, which makes equal channels too loud
FILLING = 4096  # samples: two frames of AAC
TICK_SECONDS = 10.0
BLOCK_SECONDS = 10.0


def is_media(name: str) -> bool:
    """Whether a file must be decoded before soundfile can read it."""
    return name.lower().endswith(MEDIA_SUFFIXES)


def is_recording(name: str) -> bool:
    """Whether a file may hold sound at all."""
    return name.lower().endswith(RECORDINGS)


def begins_as_sound(head: bytes) -> bool:
    """Whether a file that begins so may hold sound."""
    return head.startswith(HEADS) or head[4:8] == b"ftyp"


def need_media(verb: str) -> None:
    if find_spec("av") is None:
        raise MissingExtra(verb, extra="media", package="av")


@dataclass(slots=True)
class AudioTrack:
    """The first sound track of a file: mono blocks, read once, and what was found on the way."""

    path: Path
    rate: int = 0  # known from the first block on
    seconds: float = 0.0  # as the file claims, 0 where it claims nothing
    said: int = 0  # samples, where the file says it to the sample
    bad: int = 0  # damaged packets that were left out
    container: Any = field(default=None, repr=False)

    def __enter__(self) -> AudioTrack:
        need_media(f"reading {self.path.name}")
        import av

        if not self.path.is_file():
            raise AudioError(f"{self.path} is not there: check the path")
        if self.path.stat().st_size == 0:
            raise AudioError(f"{self.path} is empty (0 bytes): record or copy it again")
        try:
            # Only this file: a playlist must not make us open others, or fetch anything.
            self.container = av.open(str(self.path), options={"protocol_whitelist": "file"}, metadata_errors="replace")
            streams = self.container.streams.audio
        except (av.FFmpegError, ValueError, OSError) as bad:
            raise AudioError(
                f"{self.path} is no film or recording that can be read ({_reason(bad)}): {AGAIN}"
            ) from None
        if not streams:
            self.container.close()
            raise AudioError(f"{self.path} has no sound track: name the file that holds the sound")
        if streams[0].codec_context is None:
            self.container.close()
            raise AudioError(f"{self.path} has sound in a format nobody here knows: {AGAIN}")
        if self.container.duration:
            self.seconds = self.container.duration / 1e6
        return self

    def __exit__(self, *_: object) -> None:
        self.container.close()

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """The sound from its beginning to its end, without what the encoder added."""
        return self._without_filling(self._blocks())

    def _blocks(self) -> Iterator[NDArray[np.float32]]:
        """Mono float32 in the file's own rate. Time stamps count from where the whole file begins, as subtitles do."""
        import av

        stream = self.container.streams.audio[0]
        stream.thread_type = "AUTO"
        origin = (self.container.start_time or 0) / 1e6
        mixer, done = None, 0
        for frame in self._frames(stream):
            if mixer is None:
                self.rate = int(frame.sample_rate)
                mixer = av.AudioResampler(format="flt", layout="mono", rate=self.rate)
                self.said = self._length(stream)
            late = frame.time - origin - done / self.rate if frame.time is not None else 0.0
            if GAP_SECONDS < late < LONGEST_GAP_SECONDS:
                yield from self._silence(round(late * self.rate))
                done += round(late * self.rate)
            gain = GAIN.get(frame.layout.nb_channels, 0.5)
            for mixed in self._mixed(mixer, frame):
                done += len(mixed)
                yield np.clip(gain * mixed, -1.0, 1.0)
        if mixer is None or done == 0:
            raise AudioError(f"{self.path} has a sound track without sound: {AGAIN}")

    def _length(self, stream: Any) -> int:
        """How many samples an MP4 of sound alone says it has; 0 where nothing is said.

        What the encoder put before the sound is left out by the decoder; what it put behind is not.
        """
        exact = "mp4" in self.container.format.name and not self.container.streams.video
        starts = stream.start_time or self.container.start_time
        return round(stream.duration * stream.time_base * self.rate) if exact and stream.duration and not starts else 0

    def _without_filling(self, blocks: Iterator[NDArray[np.float32]]) -> Iterator[NDArray[np.float32]]:
        """The blocks without the few samples that fill up the last frame."""
        done = 0
        behind: list[NDArray[np.float32]] = []
        for block in blocks:
            left = max(0, self.said - done) if self.said else len(block)
            done += len(block)
            if left:
                yield block[:left]
            if left < len(block):
                behind.append(block[left:])
            if self.said and done - self.said > FILLING:
                yield from behind
                self.said = 0

    def _frames(self, stream: Any) -> Iterator[Any]:
        import av

        good = 0
        packets = self.container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
                frames = packet.decode() if packet is not None else []
            except (av.FFmpegError, ValueError, OSError) as bad:
                self.bad += 1
                if self.bad > max(BAD_PACKETS, good // 100):
                    raise AudioError(f"{self.path} breaks off while decoding ({_reason(bad)}): {AGAIN}") from None
                continue
            if packet is None:
                return
            good += 1
            yield from frames

    def _mixed(self, mixer: Any, frame: Any) -> Iterator[NDArray[np.float32]]:
        try:
            for out in mixer.resample(frame):
                yield np.nan_to_num(out.to_ndarray().reshape(-1).astype(np.float32))
        except ValueError as bad:  # the layout or rate changes on the way
            raise AudioError(f"{self.path} changes its sound format on the way ({bad}): {AGAIN}") from None

    def _silence(self, samples: int) -> Iterator[NDArray[np.float32]]:
        size = max(1, round(BLOCK_SECONDS * self.rate))
        for start in range(0, samples, size):
            yield np.zeros(min(size, samples - start), dtype=np.float32)


AGAIN = "convert it to WAV, or copy it again"


def decode(path: Path, *, into: Path) -> Job[None]:
    """Write the first sound track of `path` as 16-bit mono FLAC; only one block is in memory."""
    with AudioTrack(path) as sound:
        coming = sound.blocks()
        first = next(coming)
        with whole(into) as part:
            name = f"the sound of {path.name} in seconds"
            try:
                with soundfile.SoundFile(
                    str(part), "w", samplerate=sound.rate, channels=1, format="FLAC", subtype="PCM_16"
                ) as out:
                    out.write(first)
                    told = 0.0
                    for block in coming:
                        out.write(block)
                        now = out.frames / sound.rate
                        if now - told >= TICK_SECONDS:
                            told = now
                            yield Tick(min(round(now), round(sound.seconds) or round(now)), round(sound.seconds), name)
            except (soundfile.SoundFileError, OSError) as bad:
                raise AudioError(f"{into} cannot be written ({bad}): check the folder and free space") from None


def decoded(data: bytes) -> bytes:
    """The sound of a recording that is held in memory, as FLAC."""
    with TemporaryDirectory() as folder:
        path, into = Path(folder, "sound"), Path(folder, "sound.flac")
        path.write_bytes(data)
        for _ in decode(path, into=into):
            pass
        return into.read_bytes()


def _reason(bad: Exception) -> str:
    text = getattr(bad, "strerror", None) or str(bad)
    return " ".join(str(text).split())[:120] or type(bad).__name__
