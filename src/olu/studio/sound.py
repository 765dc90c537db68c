"""A clip to hear and to see. Its file never leaves: it is decoded, and what was heard is packed anew."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio import io
from olu.core.errors import AudioError
from olu.core.types import Audio, Clip
from olu.corpus.manifest import Corpus
from olu.pages.media import packed, spectrogram_png
from olu.studio.words import t

LONGEST_SECONDS = 120.0  # what is heard and seen of a clip; a whole recording may be hours
PEAKS = 400  # columns of a waveform, a lowest and a highest value each
PICTURE = (600, 80)  # width and height of a spectrogram
FINE, WIDE, HIGH = 400, 200, 128  # where boundaries are set: peaks and columns a second, and how high
MOST_COLUMNS = 12_000
CACHED_BYTES = 32 * 2**20  # of what was made
CACHED_SECONDS = 240.0  # of decoded sound: a clip is asked for three times in a row
Key = tuple[Any, ...]


def peaks(audio: Audio, *, count: int = PEAKS) -> bytes:
    """A waveform as pairs of signed bytes, lowest and highest: `count` of them, fewer for fewer samples."""
    samples: NDArray[np.float32] = np.nan_to_num(audio.samples).clip(-1.0, 1.0)
    starts = np.linspace(0, len(samples), min(count, len(samples)), endpoint=False).astype(np.intp)
    low, high = np.minimum.reduceat(samples, starts), np.maximum.reduceat(samples, starts)
    return bytes(np.rint(127 * np.stack([low, high], axis=1)).astype(np.int8).tobytes())


def sound(audio: Audio) -> bytes:
    """As FLAC: nothing is lost, so what clips is heard to clip, and every browser plays it."""
    return packed(io.resample(audio, io.fitting_rate("mp3", audio.rate)), "FLAC", "PCM_16")


def picture(audio: Audio) -> bytes:
    return spectrogram_png(audio, width=PICTURE[0], height=PICTURE[1])


def fine(audio: Audio) -> bytes:
    """Peaks of 2.5 ms, to set boundaries by."""
    return peaks(audio, count=_columns(audio, FINE))


def wide(audio: Audio) -> bytes:
    """A spectrogram with a column for every 5 ms."""
    return spectrogram_png(audio, width=_columns(audio, WIDE), height=HIGH)


def _columns(audio: Audio, a_second: int) -> int:
    return min(MOST_COLUMNS, max(PEAKS, round(audio.seconds * a_second)))


MADE: dict[str, tuple[Callable[[Audio], bytes], str]] = {
    "peaks": (peaks, "application/octet-stream"),
    "picture": (picture, "image/png"),
    "fine": (fine, "application/octet-stream"),
    "wide": (wide, "image/png"),
    "sound": (sound, "audio/flac"),
}


@dataclass
class SoundCache:
    """What was made of clips, by clip and state of its file, the last used kept."""

    _made: OrderedDict[Key, bytes] = field(default_factory=OrderedDict)
    _decoded: OrderedDict[Key, Audio] = field(default_factory=OrderedDict)
    _bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, corpus: Corpus, clip: Clip, kind: str) -> bytes:
        """Peaks, picture or sound of a clip; an AudioError says why it cannot be heard."""
        key = key_of(corpus, clip)
        with self._lock:
            if (known := self._made.get((*key, kind))) is not None:
                self._made.move_to_end((*key, kind))
                return known
        made = MADE[kind][0](self._audio(corpus, clip, key))
        with self._lock:
            self._bytes += len(made) - len(self._made.pop((*key, kind), b""))
            self._made[*key, kind] = made
            while self._bytes > CACHED_BYTES:
                self._bytes -= len(self._made.popitem(last=False)[1])
        return made

    def _audio(self, corpus: Corpus, clip: Clip, key: Key) -> Audio:
        with self._lock:
            if (known := self._decoded.get(key)) is not None:
                self._decoded.move_to_end(key)
                return known
        audio = io.read(corpus.locate(clip), start=clip.start, seconds=min(clip.seconds, LONGEST_SECONDS))
        with self._lock:
            self._decoded[key] = audio
            while len(self._decoded) > 1 and sum(one.seconds for one in self._decoded.values()) > CACHED_SECONDS:
                self._decoded.popitem(last=False)
        return audio


def key_of(corpus: Corpus, clip: Clip) -> Key:
    path = corpus.locate(clip)
    try:
        state = path.stat()
    except (OSError, ValueError) as bad:
        why = getattr(bad, "strerror", None) or "its name is none"
        said = t("the recording of clip {id} cannot be read ({why}): import it again", id=clip.id, why=why)
        raise AudioError(said) from None
    return str(path), clip.start, clip.seconds, state.st_size, state.st_mtime_ns
