"""A clip as small data: URIs that a page can play and show without any file beside it."""

from __future__ import annotations

import base64
import io as memory
from dataclasses import dataclass
from pathlib import Path

import soundfile

from olu.audio import io
from olu.audit.picture import spectrogram
from olu.core.errors import AudioError, CorpusError
from olu.core.types import Clip
from olu.corpus.manifest import Corpus

RATE = 16000
LONGEST_SECONDS = 15.0
MOST_BYTES = 70_000  # of a file that is embedded as it is
COMPRESSION = 0.7  # about 37 kbit/s: speech stays clear


@dataclass(frozen=True, slots=True)
class PlayerClip:
    sound: str  # a data: URI
    picture: str

    @property
    def size(self) -> int:
        return len(self.sound) + len(self.picture)


def exhibit(corpus: Corpus, clip: Clip) -> PlayerClip | None:
    """The first seconds of a clip as Ogg (Vorbis: Opus packs ten times slower), or None when it cannot be heard."""
    seconds = min(clip.seconds, LONGEST_SECONDS)
    packed = memory.BytesIO()
    try:
        path = corpus.locate(clip)
        audio = io.resample(io.read(path, start=clip.start, seconds=seconds), RATE)
        if _small(path, clip):
            packed.write(path.read_bytes())
        else:
            samples = audio.samples.clip(-1.0, 1.0)
            soundfile.write(packed, samples, RATE, format="OGG", subtype="VORBIS", compression_level=COMPRESSION)
    except (AudioError, CorpusError, OSError, soundfile.SoundFileError):
        return None
    sound = "data:audio/ogg;base64," + base64.b64encode(packed.getvalue()).decode("ascii")
    return PlayerClip(sound, spectrogram(audio))


def _small(path: Path, clip: Clip) -> bool:
    """Whether the file itself can be embedded: packing again would cost time and gain nothing."""
    if path.suffix.lower() not in (".ogg", ".opus") or path.stat().st_size > MOST_BYTES:
        return False
    return clip.start == 0 and abs(io.header(path).seconds - clip.seconds) < 0.01 and clip.seconds <= LONGEST_SECONDS
