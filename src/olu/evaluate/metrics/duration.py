"""Time: how long the speech is, how fast, and where it pauses, against the natural recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from olu.audio import activity, io
from olu.core.errors import MissingExtra
from olu.core.machine import version_of
from olu.core.types import Alignment, Audio
from olu.evaluate.estimates import Estimate, figure, mean, pick
from olu.networks import silero
from olu.networks.models import RATE, weights

# ---- where in a recording somebody speaks: the Silero network where it is installed and hears a voice, else levels
# Levels alone lose soft endings as soon as there is noise: on our clips 20 dB of it shortened speech by up to a
# fifth.


SHORTEST_PAUSE = 0.2  # seconds: less is a stop consonant or a breath between words

Stretches = tuple[tuple[float, float], ...]


def numbers_only(audio: Audio) -> Audio:
    """The recording with 0 for samples that are no numbers: these are counted in sanity.py."""
    return Audio(np.nan_to_num(audio.samples, posinf=0.0, neginf=0.0).astype(np.float32), audio.rate)


def stretches(audio: Audio) -> Stretches:
    """Start and end of each stretch of sound in seconds; none in a silent recording."""
    if len(audio.samples) == 0:
        return ()
    sound = numbers_only(audio)
    levels = activity.frame_dbfs(sound)
    if float(np.max(levels)) <= activity.SILENT_DBFS:
        return ()
    return _voiced(sound) or _loud(levels, activity.frame_rate(audio.rate))


def instrument() -> str:
    finder = "levels of 10 ms frames" if _ears() is None else f"Silero VAD {version_of('silero-vad')}"
    return f"{finder}, pauses from {1000 * SHORTEST_PAUSE:.0f} ms"


def _voiced(sound: Audio) -> Stretches:
    ears = _ears()
    if ears is None:
        return ()
    starts, ends = activity.runs(silero.spoken(ears, io.resample(sound, RATE).samples))
    frame = silero.FRAME / RATE
    return _joined(
        [(float(one) * frame, min(float(two) * frame, sound.seconds)) for one, two in zip(starts, ends, strict=True)]
    )


def _loud(levels: activity.Levels, rate: float) -> Stretches:
    return tuple((float(one) / rate, float(two) / rate) for one, two in zip(*activity.sounds(levels), strict=True))


def _joined(found: list[tuple[float, float]]) -> Stretches:
    joined: list[tuple[float, float]] = []
    for start, end in found:
        if joined and start - joined[-1][1] < SHORTEST_PAUSE:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)


@cache
def _ears() -> Any:
    try:
        return silero.load(weights("silero_vad", "data/silero_vad_16k_sequence.onnx"))
    except MissingExtra:
        return None


REASON = "counted in the sound itself"
ALIGNED = "no better than the alignment of both recordings"
HIDDEN = (
    "breath and noise fill the pauses of recordings and not those of a voice: with an alignment they are counted alike"
)


@dataclass(frozen=True, slots=True)
class SpeechTiming:
    """The lengths of one recording: of the file, its speech and its pauses."""

    whole: float  # seconds of the file
    seconds: float  # from the first sound to the last: the silence at the ends is how it was cut
    pauses: tuple[float, ...]  # seconds of each silence between them
    rate: float | None  # letters or phones per second of speech, pauses left out; None where their count is unknown


@dataclass(frozen=True, slots=True)
class Durations:
    """The lengths of one clip as it was spoken, beside its natural recording."""

    spoken: SpeechTiming
    natural: SpeechTiming | None = None
    phones_ms: float | None = None  # mean absolute error of the phones' lengths
    aligned: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # pauses of the natural and of the spoken one

    @property
    def whole_ratio(self) -> float | None:
        return _ratio(self.spoken.whole, None if self.natural is None else self.natural.whole)

    @property
    def ratio(self) -> float | None:
        return _ratio(self.spoken.seconds, None if self.natural is None else self.natural.seconds)

    @property
    def rate_ratio(self) -> float | None:
        return _ratio(self.spoken.rate, None if self.natural is None else self.natural.rate)


def timing(audio: Audio, *, symbols: int | None = None) -> SpeechTiming | None:
    """Length, pauses and rate of a recording of `symbols` letters or phones; None where nothing is heard."""
    found = stretches(audio)
    if not found:
        return None
    seconds = found[-1][1] - found[0][0]
    pauses = tuple(after[0] - before[1] for before, after in pairwise(found))
    said = seconds - sum(pauses)
    return SpeechTiming(audio.seconds, seconds, pauses, symbols / said if symbols and said > 0 else None)


def compare(
    natural: Audio | None,
    spoken: Audio,
    *,
    symbols: int | None = None,
    alignments: tuple[Alignment, Alignment] | None = None,
) -> Durations | None:
    """One clip; `alignments` of the natural and of the spoken recording give the phones' lengths and pauses too."""
    said = timing(spoken, symbols=symbols)
    if said is None:
        return None
    return Durations(
        spoken=said,
        natural=None if natural is None else timing(natural, symbols=symbols),
        phones_ms=None if alignments is None else phones_error(*alignments),
        aligned=None if alignments is None else (aligned_pauses(alignments[0]), aligned_pauses(alignments[1])),
    )


def aligned_pauses(alignment: Alignment) -> tuple[float, ...]:
    """Seconds of each silence between two sounds that is long enough to be heard as a pause."""
    spans = alignment.phones
    sounds = [place for place, span in enumerate(spans) if span.label]
    return tuple(
        spans[after].start - spans[before].end
        for before, after in pairwise(sounds)
        if spans[after].start - spans[before].end >= SHORTEST_PAUSE - 1e-9
    )


def phones_error(natural: Alignment, spoken: Alignment) -> float | None:
    """Mean absolute error of the phones' lengths in ms; None where the two do not hold the same phones."""
    first, second = ([span for span in one.phones if span.label] for one in (natural, spoken))
    if not first or [span.label for span in first] != [span.label for span in second]:
        return None
    off = [abs((b.end - b.start) - (a.end - a.start)) for a, b in zip(first, second, strict=True)]
    return 1000 * sum(off) / len(off)


def summarise(clips: Sequence[Durations | None], *, aligner: str = "") -> tuple[Estimate, ...]:
    """duration_ratio, file_ratio and rate_ratio (medians), rate, pauses, pause_seconds, perhaps phone_error."""
    said: dict[str, Any] = {"instrument": instrument(), "trust": "high", "reason": REASON}
    figures = []
    for name, part in (("duration_ratio", "ratio"), ("file_ratio", "whole_ratio"), ("rate_ratio", "rate_ratio")):
        values = pick(clips, part)
        figures.append(figure(name, values, unit="", middle="median", natural=1.0, **said))
    spoken = [None if one is None else one.spoken.rate for one in clips]
    natural = [None if one is None or one.natural is None else one.natural.rate for one in clips]
    figures.append(figure("rate", spoken, unit="symbols/s", natural=mean(natural), **said))
    figures += _pauses(clips, aligner=aligner)
    lengths = pick(clips, "phones_ms")
    if any(value is not None for value in lengths):
        said = {"instrument": aligner or "aligner", "trust": "medium", "reason": ALIGNED}
        figures.append(figure("phone_error", lengths, unit="ms", **said))
    return tuple(figures)


def _pauses(clips: Sequence[Durations | None], *, aligner: str) -> list[Estimate]:
    """How many and how long: found by the aligner in both recordings where it is there, else heard in the sound."""
    both: list[tuple[tuple[float, ...] | None, tuple[float, ...] | None] | None]
    both = [None if one is None else one.aligned for one in clips]
    said: dict[str, Any] = {"instrument": aligner or "aligner", "trust": "medium", "reason": ALIGNED}
    if not any(both):
        said = {"instrument": instrument(), "trust": "medium", "reason": HIDDEN}
        both = [
            None if one is None else (None if one.natural is None else one.natural.pauses, one.spoken.pauses)
            for one in clips
        ]
    figures = []
    for name, unit, amount in (("pauses", "per clip", len), ("pause_seconds", "s per clip", sum)):
        natural = [None if one is None or one[0] is None else float(amount(one[0])) for one in both]
        spoken = [None if one is None or one[1] is None else float(amount(one[1])) for one in both]
        figures.append(figure(name, spoken, unit=unit, natural=mean(natural), **said))
    return figures


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None
