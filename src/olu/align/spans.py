"""From frames to times: spans that lie end to end, with silence where nothing is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from olu.audio.activity import SHORTEST_SOUND_FRAMES, frame_dbfs, frame_rate, runs, threshold
from olu.core.types import Audio, Span

PAUSE_SECONDS = 0.05  # a shorter quiet stretch between words is part of a sound
REACH_SECONDS = 0.2  # CTC marks a moment of a sound: how far beyond it the sound may go on
SHORTEST_SECONDS = 0.001  # of a span that the edges of a clip would make vanish

Edges = list[tuple[float, float]]  # start and end of each phone, in order


@dataclass(frozen=True, slots=True)
class Loudness:
    """Levels of short frames of a recording; a frame is a whole number of samples, so not always quite 10 ms."""

    levels: NDArray[np.float32]
    per_second: float
    seconds: float

    @staticmethod
    def of(audio: Audio) -> Loudness:
        return Loudness(frame_dbfs(audio), frame_rate(audio.rate), audio.seconds)


def from_peaks(peaks: Edges, starts_word: Sequence[bool], loudness: Loudness) -> Edges:
    """The edges of phones from CTC's moments: half way between them; between words by what is quiet."""
    quiet = _Quiet(_quiet(loudness.levels), loudness.per_second)
    edges = [list(peak) for peak in peaks]
    for here in range(1, len(peaks)):
        end, start = peaks[here - 1][1], peaks[here][0]
        low, high = _parted(end, start, quiet) if starts_word[here] else (0.5 * (end + start),) * 2
        edges[here - 1][1], edges[here][0] = low, high
    if edges:
        edges[0][0] = _parted(0.0, peaks[0][0], quiet, left=0.0)[1]
        edges[-1][1] = _parted(peaks[-1][1], loudness.seconds, quiet, right=0.0)[0]
    return [(start, end) for start, end in edges]


@dataclass(frozen=True, slots=True)
class _Quiet:
    frames: NDArray[np.bool_]
    per_second: float


def _parted(
    end: float, start: float, quiet: _Quiet, left: float = REACH_SECONDS, right: float = REACH_SECONDS
) -> tuple[float, float]:
    """The silence between a sound and the next, as start and end; the same moment twice where there is none."""
    first, last = round(end * quiet.per_second), round(start * quiet.per_second)
    begins, ends = runs(quiet.frames[first:last])
    if len(begins):
        longest = int((ends - begins).argmax())
        low, high = ((first + int(at[longest])) / quiet.per_second for at in (begins, ends))
        if high - low >= PAUSE_SECONDS:
            low, high = max(low, end), min(high, start)
            return (end if left == 0.0 else min(low, end + left)), (start if right == 0.0 else max(high, start - right))
    if start - end > left + right:
        return end + left, start - right
    middle = end + (start - end) * (left / (left + right))
    return middle, middle


def _quiet(levels: NDArray[np.float32]) -> NDArray[np.bool_]:
    """[10 ms frames] whether nothing is heard; clicks do not count."""
    loud = levels >= threshold(levels)
    begins, ends = runs(loud)
    for begin, end in zip(begins, ends, strict=True):
        if end - begin < SHORTEST_SOUND_FRAMES:
            loud[begin:end] = False
    return np.asarray(~loud)


def lay(edges: Edges, seconds: float, *, shift: float = 0.0) -> Edges:
    """The edges moved by `shift` and kept inside the clip; what would vanish keeps a millisecond."""
    least = min(SHORTEST_SECONDS, seconds / (2 * len(edges) + 1)) if edges else 0.0
    kept: Edges = []
    floor = 0.0
    for number, (start, end) in enumerate(edges):
        ceiling = seconds - least * (len(edges) - 1 - number)
        end = min(max(end + shift, floor + least), ceiling)
        start = min(max(start + shift, floor), end - least)
        kept.append((start, end))
        floor = end
    return kept


def phone_spans(labels: Sequence[str], edges: Edges, scores: Sequence[float], seconds: float) -> tuple[Span, ...]:
    """Spans from 0 to `seconds`: the phones, and silence wherever there is none."""
    spans: list[Span] = []
    at = 0.0
    for label, (start, end), score in zip(labels, edges, scores, strict=True):
        if start > at:
            spans.append(Span("", at, start))
        spans.append(Span(label, start, end, score))
        at = end
    if seconds > at:
        spans.append(Span("", at, seconds))
    return tuple(spans)


def word_spans(words: Sequence[tuple[str, Sequence[str]]], edges: Edges, scores: Sequence[float]) -> tuple[Span, ...]:
    """A word from its first phone to its last; one without phones is not heard and not there."""
    spans: list[Span] = []
    at = 0
    for text, phones in words:
        if not phones:
            continue
        end = at + len(phones)
        spans.append(Span(text, edges[at][0], edges[end - 1][1], float(np.mean(scores[at:end]))))
        at = end
    return tuple(spans)
