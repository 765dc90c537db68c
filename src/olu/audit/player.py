"""A clip as small data: URIs that a page can play and show without any file beside it."""

from __future__ import annotations

import base64
import io as memory
from dataclasses import dataclass

import soundfile

from olu.audio import io
from olu.audit.picture import spectrogram
from olu.corpus.manifest import Corpus
from olu.errors import AudioError, CorpusError
from olu.types import Clip

RATE = 16000
LONGEST_SECONDS = 15.0
COMPRESSION = 0.7  # about 37 kbit/s: speech stays clear


@dataclass(frozen=True, slots=True)
class Exhibit:
    sound: str  # a data: URI
    picture: str

    @property
    def size(self) -> int:
        return len(self.sound) + len(self.picture)


def exhibit(corpus: Corpus, clip: Clip) -> Exhibit | None:
    """The first seconds of a clip as Ogg Vorbis (Opus packs ten times slower), or None when it cannot be heard."""
    seconds = min(clip.seconds, LONGEST_SECONDS)
    packed = memory.BytesIO()
    try:
        audio = io.resample(io.read(corpus.locate(clip), start=clip.start, seconds=seconds), RATE)
        samples = audio.samples.clip(-1.0, 1.0)
        soundfile.write(packed, samples, RATE, format="OGG", subtype="VORBIS", compression_level=COMPRESSION)
    except (AudioError, CorpusError, soundfile.SoundFileError):
        return None
    sound = "data:audio/ogg;base64," + base64.b64encode(packed.getvalue()).decode("ascii")
    return Exhibit(sound, spectrogram(audio))
