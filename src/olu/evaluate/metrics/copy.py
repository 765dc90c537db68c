"""Copies: natural recordings taken apart and put together by the voice's own networks, judged like the voice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from olu.core.job import Job, Tick
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate
from olu.evaluate.metrics import dnsmos, f0, paired, speaker
from olu.evaluate.metrics import paired as mcd
from olu.features.pitch import HIGHEST, LOWEST

PREFIX = "copy_"
REASON = (
    "natural recordings through the voice's own decoder, with their own latents: what these lose, text has no part in"
)


@dataclass(frozen=True, slots=True)
class Ears:
    """What to judge with besides pitch and colour of the sound."""

    low: float = LOWEST
    high: float = HIGHEST
    middle: speaker.Voice | None = None  # the speaker's own; None: likeness is not looked at
    opinions: bool = True


def judged(recordings: Iterable[Audio], again: Callable[[Audio], Audio], *, ears: Ears) -> Job[tuple[Estimate, ...]]:
    """Figures named copy_mcd, copy_f0_error, copy_dnsmos, copy_speaker and so on.

    `again` is the voice's encoder of sound and its decoder. A family without such an encoder has no copies: another
    way back from a spectrogram would say something of that way, and nothing of the voice.
    """
    originals = list(recordings)
    colours, melodies, opinions, natural, likes, natural_likes = [], [], [], [], [], []
    settings = ""
    for number, original in enumerate(originals):
        copied = again(original)
        pair = paired.pair(original, copied, low=ears.low, high=ears.high)
        settings = pair.settings if pair is not None else settings
        colours.append(mcd.distortion(pair))
        melodies.append(f0.compare(pair))
        if ears.opinions:
            opinions.append(dnsmos.opinion(copied))
            natural.append(dnsmos.opinion(original))
        if ears.middle is not None:
            likes.append(speaker.likeness(copied, ears.middle))
            natural_likes.append(speaker.likeness(original, ears.middle))
        yield Tick(number + 1, len(originals), "copies")
    figures = (*mcd.summarise(colours, settings=settings), *f0.summarise(melodies))
    if ears.opinions:
        figures += dnsmos.summarise(opinions, natural=natural)
    if ears.middle is not None:
        figures += speaker.summarise(likes, natural=natural_likes)
    return tuple(replace(one, name=PREFIX + one.name, reason=f"{REASON}; {one.reason}") for one in figures)


def share(voice: Estimate, copy: Estimate, *, better: str) -> float | None:
    """The voice beside its copies: above 1 it is the better one, which it can be, for they are no limit."""
    over, under = (voice.mean, copy.mean) if better == "higher" else (copy.mean, voice.mean)
    if over is None or under is None or under <= 0 or over < 0:
        return None
    return over / under
