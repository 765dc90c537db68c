"""A clip as a small data: URI that a page can play without any file beside it."""

from __future__ import annotations

import base64
import io as memory

import soundfile

from olu.audio import io
from olu.corpus.manifest import Corpus
from olu.errors import AudioError, CorpusError
from olu.types import Clip

RATE = 16000
LONGEST_SECONDS = 15.0
COMPRESSION = 0.7  # about 37 kbit/s: speech stays clear


def data_uri(corpus: Corpus, clip: Clip) -> str | None:
    """The first seconds of a clip as Ogg Vorbis (Opus packs ten times slower), or None when it cannot be heard."""
    seconds = min(clip.seconds, LONGEST_SECONDS)
    packed = memory.BytesIO()
    try:
        audio = io.resample(io.read(corpus.locate(clip), start=clip.start, seconds=seconds), RATE)
        samples = audio.samples.clip(-1.0, 1.0)
        soundfile.write(packed, samples, RATE, format="OGG", subtype="VORBIS", compression_level=COMPRESSION)
    except (AudioError, CorpusError, soundfile.SoundFileError):
        return None
    return "data:audio/ogg;base64," + base64.b64encode(packed.getvalue()).decode("ascii")
