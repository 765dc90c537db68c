"""The metrics by group: what each needs, what it asks of one sentence, and how its answers become figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from olu.core.errors import MissingExtra
from olu.core.types import Alignment, Audio
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import References, Sample
from olu.evaluate.metrics import cer, dnsmos, duration, f0, sanity, speaker, tones, whisper
from olu.evaluate.metrics import paired as mcd
from olu.evaluate.metrics.duration import numbers_only
from olu.evaluate.metrics.paired import Paired, pair
from olu.evaluate.words import SECOND, WHISPER
from olu.features.pitch import HIGHEST, LOWEST

Syllables = Sequence[tones.Syllable]
NOT_OF_THIS_KIND = ("", "-")  # not for this voice: nothing is missing
OTHERS = ("cer", "cer_difference", "hard_failures", "wer")
NO_RECORDINGS = "there are no natural recordings of these sentences"


class SamplePair:
    """A sentence as it was spoken and as it was recorded; what several groups need is made once."""

    def __init__(self, take: Sample, known: References) -> None:
        self.take, self.known = take, known

    @cached_property
    def spoken(self) -> Audio:
        return self.take.spoken()

    @cached_property
    def natural(self) -> Audio | None:
        return self.take.natural() if self.take.natural else None

    @cached_property
    def paired(self) -> Paired | None:
        if self.natural is None:
            return None
        low, high = self.known.any_bounds(self.take.speaker) or (LOWEST, HIGHEST)
        return pair(self.natural, self.spoken, low=low, high=high)

    @cached_property
    def alignments(self) -> tuple[Alignment, Alignment] | None:
        """The alignments of the natural and the spoken recording, where both can be aligned."""
        if self.natural is None:
            return None
        one, two = self.aligned(self.natural), self.aligned(self.spoken)
        return (one, two) if one and two else None

    def aligned(self, audio: Audio) -> Alignment | None:
        if self.known.aligns is None or self.take.reading is None:
            return None
        return self.known.aligns(self.take.id, numbers_only(audio), self.take.reading)


Lacks = Callable[[References, Sequence[Sample]], tuple[str, str] | None]  # why it cannot measure, and the command
NOTHING: Lacks = lambda known, takes: None  # noqa: E731


@dataclass(frozen=True)
class Group:
    name: str
    lacks: Lacks
    measure: Callable[[SamplePair], Any]
    summarise: Callable[[Sequence[Any], References], tuple[Estimate, ...]]
    empty: str = "no sentence could be measured"  # what it means when nothing came of it


@dataclass(frozen=True)
class Transcript:
    """What a recogniser wrote down, beside the errors counted in it."""

    errors: cer.Errors
    expected: str
    spoken: str
    natural: str | None


# ------------------------------------------------------------ what each asks of one sentence


def _sane(sounds: SamplePair) -> tuple[sanity.Sane, sanity.Sane | None]:
    take, known, natural = sounds.take, sounds.known, sounds.natural
    given: dict[str, Any] = {"letters": take.letters, "usual": known.usual}
    own = sanity.check(
        sounds.spoken, natural=natural.seconds if natural else None, pitch=_pitch(sounds.spoken), **given
    )
    return own, sanity.check(natural, pitch=_pitch(natural), **given) if natural else None


def _pitch(audio: Audio) -> f0.Pitch | None:
    try:
        return f0.track(audio)
    except MissingExtra:  # pitch is one of many checks here
        return None


def _durations(sounds: SamplePair) -> duration.Durations | None:
    return duration.compare(sounds.natural, sounds.spoken, symbols=sounds.take.letters, alignments=sounds.alignments)


def heard_by(sounds: SamplePair, hears: Any) -> Transcript | None:
    if hears is None or sounds.take.reading is None:
        return None
    expected = "".join(hears.target(sounds.take.reading))
    spoken = hears.transcribe(numbers_only(sounds.spoken))
    natural = hears.transcribe(numbers_only(sounds.natural)) if sounds.natural is not None else None
    return Transcript(cer.compare(expected, spoken=spoken, natural=natural), expected, spoken, natural)


def _mcd(sounds: SamplePair) -> tuple[float, str] | None:
    value = mcd.distortion(sounds.paired)
    return None if value is None or sounds.paired is None else (value, sounds.paired.settings)


def _likeness(sounds: SamplePair) -> tuple[float | None, float | None] | None:
    middle = sounds.known.voices.get(sounds.take.speaker)
    if middle is None:
        middle = next(iter(sounds.known.voices.values()), None)
    if middle is None:
        return None
    natural = speaker.likeness(sounds.natural, middle) if sounds.natural is not None else None
    return speaker.likeness(sounds.spoken, middle), natural


def _opinion(sounds: SamplePair) -> tuple[dnsmos.Opinion | None, dnsmos.Opinion | None]:
    natural = dnsmos.opinion(sounds.natural) if sounds.natural is not None else None
    return dnsmos.opinion(sounds.spoken), natural


def _syllables(sounds: SamplePair) -> tuple[Syllables, Syllables | None] | None:
    reading = sounds.take.reading
    if reading is None:
        return None
    found = []
    for audio in (sounds.spoken, sounds.natural):
        held = sounds.aligned(audio) if audio is not None else None
        found.append(tones.syllables(held, reading, tones.track(audio)) if held and audio else None)
    return (found[0], found[1]) if found[0] is not None else None


def _english(sounds: SamplePair) -> Transcript | None:
    """What Whisper hears, beside the text; both are made plain, as Whisper has its own spelling."""
    if sounds.take.reading is None:
        return None
    expected = whisper.plain(sounds.take.text)
    spoken = whisper.plain(whisper.transcribe(sounds.spoken))
    natural = whisper.plain(whisper.transcribe(sounds.natural)) if sounds.natural is not None else None
    return Transcript(cer.compare(expected, spoken=spoken, natural=natural), expected, spoken, natural)


# ------------------------------------------------------------ how the answers become figures


def _firsts(found: Sequence[Any]) -> list[Any]:
    return [None if one is None else one[0] for one in found]


def _seconds(found: Sequence[Any]) -> list[Any] | None:
    """The figures of the natural recordings; None where there are none at all."""
    held = [None if one is None else one[1] for one in found]
    return held if any(one is not None for one in held) else None


def _of_cer(found: Sequence[Transcript | None], known: References) -> tuple[Estimate, ...]:
    assert known.hears
    return cer.summarise([None if one is None else one.errors for one in found], instrument=known.hears.version)


def _of_second(found: Sequence[Transcript | None], known: References) -> tuple[Estimate, ...]:
    assert known.second
    return _errors_of(found, known.second.version, prefix=SECOND)


def _errors_of(
    found: Sequence[Transcript | None], instrument: str, *, prefix: str, caveat: str = cer.INFLATED
) -> tuple[Estimate, ...]:
    errors = [None if one is None else one.errors for one in found]
    made = cer.summarise(errors, instrument=instrument, caveat=caveat)
    return tuple(replace(one, name=prefix + one.name) for one in made if one.name in OTHERS)


def _of_tones(found: Sequence[Any], known: References) -> tuple[Estimate, ...]:
    spoken = [one or () for one in _firsts(found)]
    natural = _seconds(found)
    if natural is None:
        return tones.summarise([tones.moves(one) for one in spoken])
    held = [one or () for one in natural]
    moves = tones.summarise([tones.moves(one) for one in spoken], natural=[tones.moves(one) for one in held])
    return (*moves, *tones.judge(spoken, natural=held))


def _of_mcd(found: Sequence[tuple[float, str] | None], known: References) -> tuple[Estimate, ...]:
    settings = dict.fromkeys(one[1] for one in found if one is not None)  # several where recordings differ in rate
    return mcd.summarise(_firsts(found), settings="; ".join(settings))


# ------------------------------------------------------------ what each needs


def _recordings(known: References, takes: Sequence[Sample]) -> tuple[str, str] | None:
    return None if any(take.natural for take in takes) else (NO_RECORDINGS, "olu evaluate VOICE --corpus WS")


def _recogniser(known: References, takes: Sequence[Sample]) -> tuple[str, str] | None:
    if known.hears is not None:
        return None
    return known.absent.get("cer", ("no recogniser: it is trained on a corpus", "olu evaluate VOICE --corpus WS"))


def _own_voice(known: References, takes: Sequence[Sample]) -> tuple[str, str] | None:
    if known.voices:
        return None
    return known.absent.get("speaker", ("no recordings of the speaker", "olu evaluate VOICE --corpus WS"))


def _toned(known: References, takes: Sequence[Sample]) -> tuple[str, str] | None:
    if not any(word.tones for take in takes if take.reading for word in take.reading.words):
        return NOT_OF_THIS_KIND
    return None if known.aligns else known.absent.get("tones", ("no aligner", "olu align WS"))


def _against_natural(
    summarise: Callable[..., tuple[Estimate, ...]],
) -> Callable[[Sequence[Any], References], tuple[Estimate, ...]]:
    """Figures of the spoken ones, held against those of the natural recordings."""
    return lambda found, known: summarise(_firsts(found), natural=_seconds(found))


GROUPS: tuple[Group, ...] = (
    Group("cer", _recogniser, lambda sounds: heard_by(sounds, sounds.known.hears), _of_cer),
    Group(
        "collusion",
        lambda known, takes: None if known.second is not None else known.absent.get("collusion", NOT_OF_THIS_KIND),
        lambda sounds: heard_by(sounds, sounds.known.second),
        _of_second,
    ),
    Group(
        "whisper",
        lambda known, takes: None if known.language == "eng" else NOT_OF_THIS_KIND,
        _english,
        lambda found, known: _errors_of(found, whisper.instrument(), prefix=WHISPER, caveat=whisper.CAVEAT),
    ),
    Group("sanity", NOTHING, _sane, _against_natural(sanity.summarise)),
    Group("duration", NOTHING, _durations, lambda found, known: duration.summarise(found, aligner=known.aligner)),
    Group("tones", _toned, _syllables, _of_tones),
    Group("speaker", _own_voice, _likeness, _against_natural(speaker.summarise)),
    Group("mcd", _recordings, _mcd, _of_mcd),
    Group(
        "f0",
        _recordings,
        lambda sounds: f0.compare(sounds.paired),
        lambda found, known: f0.summarise(found),
        empty="in no sentence have voice and recording a pitch in common",
    ),
    Group("dnsmos", NOTHING, _opinion, _against_natural(dnsmos.summarise)),
)
