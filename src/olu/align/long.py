"""A long recording with its whole text: heard window by window, aligned in one exact search, in bounded memory.

What is kept of an hour: the recogniser's log probabilities (some 40 MB), a level for every 10 ms, and the search's kept
scores (ctc.py). The sound itself goes by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import soxr
from numpy.typing import NDArray

from olu.align.aligner import SymbolMap, Words
from olu.align.ctc import CtcSearch
from olu.align.spans import Loudness, lay, phone_spans, word_spans
from olu.audio.activity import FRAME_SECONDS, frame_dbfs, frame_rate
from olu.core.errors import AlignError
from olu.core.types import Alignment, Audio, Recogniser

Floats = NDArray[np.float32]

WINDOW_SECONDS = 30.0
AROUND_SECONDS = 2.0  # heard on both sides of a window for its sake


@dataclass(slots=True)
class _Levels:
    """Levels of 10 ms frames of a stream, whatever pieces it comes in."""

    parts: list[Floats]
    rest: Floats
    samples: int = 0
    rate: int = 0

    @property
    def seconds(self) -> float:
        return self.samples / max(1, self.rate)

    def hear(self, audio: Audio) -> None:
        if self.rate and audio.rate != self.rate:
            raise AlignError(f"a recording of {self.rate} Hz goes on at {audio.rate} Hz: give one recording at a time")
        self.rate = audio.rate
        self.samples += len(audio.samples)
        held = np.concatenate([self.rest, audio.samples])
        width = max(1, round(audio.rate * FRAME_SECONDS))
        count = len(held) // width
        if count:
            self.parts.append(frame_dbfs(Audio(held[: count * width], audio.rate)))
        self.rest = held[count * width :]


def align_long(
    audio_chunks: Iterable[Audio],
    words: Words,
    recogniser: Recogniser,
    *,
    id: str = "",
    stars: Sequence[int] | None = None,
    window_seconds: float = WINDOW_SECONDS,
    around_seconds: float = AROUND_SECONDS,
) -> Alignment:
    """Where each word of a recording is that comes in pieces of one rate, end to end.

    Before each word that `stars` names (len(words): after the last) anything may be heard that is not written: an
    introduction, applause. It then drags no words along. None: at both ends. The starts of sentences are good places;
    before every word is too many, for then a common word is as well heard in what nobody wrote down.
    """
    try:
        return _align(audio_chunks, words, recogniser, id, stars, (window_seconds, around_seconds))
    except AlignError as bad:
        raise AlignError(f"{id}: {bad}" if id else str(bad)) from None


def _align(
    chunks: Iterable[Audio],
    words: Words,
    recogniser: Recogniser,
    id: str,
    stars: Sequence[int] | None,
    sizes: tuple[float, float],
) -> Alignment:
    symbols = SymbolMap(recogniser, words)
    places = (0, len(words)) if stars is None else stars
    search = CtcSearch(symbols.ids, stars=[symbols.before_word[place] for place in places])
    levels = _Levels([], np.zeros(0, dtype=np.float32))
    greedy = 0.0
    for heard in windows(_through(chunks, levels), recogniser, window_seconds=sizes[0], around_seconds=sizes[1]):
        greedy += float(heard.max(axis=1).sum(dtype=np.float64)) if len(heard) else 0.0
        search.hear(heard)
    path = search.finish()
    every = np.concatenate(levels.parts) if levels.parts else np.zeros(1, dtype=np.float32)
    edges, scores = symbols.edges(path, Loudness(every, frame_rate(levels.rate), levels.seconds))
    edges = lay(edges, levels.seconds)
    phones = [phone for _, phones in words for phone in phones]
    return Alignment(
        id=id,
        seconds=levels.seconds,
        words=word_spans(words, edges, scores),
        phones=phone_spans(phones, edges, scores, levels.seconds),
        score=(path.total - greedy) / path.frames,
        method="ctc",
    )


def windows(
    chunks: Iterable[Audio],
    recogniser: Recogniser,
    *,
    window_seconds: float = WINDOW_SECONDS,
    around_seconds: float = AROUND_SECONDS,
) -> Iterator[Floats]:
    """[frames, symbols] of a stream, window by window; each is heard with what is around it, and keeps its frames."""
    step = round(recogniser.frame_seconds * recogniser.rate)
    size, around = (max(1, int(seconds / recogniser.frame_seconds)) for seconds in (window_seconds, around_seconds))
    held = np.zeros(0, dtype=np.float32)  # the stretch before the window, the window, the stretch after
    before = 0  # frames of the stretch before
    for samples in _resampled(chunks, recogniser.rate):
        held = np.concatenate([held, samples])
        while len(held) >= (before + size + around) * step:
            whole = (before + size + around) * step
            yield recogniser.log_probs(Audio(held[:whole], recogniser.rate))[before : before + size]
            keep = min(around, before + size)
            held = held[(before + size - keep) * step :]
            before = keep
    if len(held) > before * step:
        yield recogniser.log_probs(Audio(held, recogniser.rate))[before:]


def _resampled(chunks: Iterable[Audio], rate: int) -> Iterator[Floats]:
    """The stream at the recogniser's rate."""
    stream: soxr.ResampleStream | None = None
    for audio in chunks:
        if audio.rate == rate:
            yield audio.samples
            continue
        if stream is None:
            stream = soxr.ResampleStream(audio.rate, rate, 1, dtype="float32", quality="HQ")
        yield stream.resample_chunk(audio.samples)
    if stream is not None:
        yield stream.resample_chunk(np.zeros(0, dtype=np.float32), last=True)


def _through(chunks: Iterable[Audio], levels: _Levels) -> Iterator[Audio]:
    for audio in chunks:
        levels.hear(audio)
        yield audio
