"""Files that cannot be read, and what networks hear in them: speech, quality, who speaks."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from statistics import median

import numpy as np

from olu.audit.check import Finding, MeasuredClip, define, each
from olu.audit.thresholds import Thresholds
from olu.audit.voices import LEAST_CLIPS, Voices, second_voice, unit
from olu.core.types import Mark, Severity
from olu.core.words import many


def _judge_unreadable(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    expected = heard.clip.seconds
    if heard.facts is None:
        severity: Severity = "error" if heard.measured else "warn"  # the file need not be to blame
        return Mark(check="unreadable", severity=severity, value=expected, message=heard.trouble)
    if heard.trouble:
        return Mark(check="unreadable", severity="error", value=heard.facts.seconds, message=heard.trouble)
    lost = abs(heard.facts.seconds - expected)
    if lost <= limits.length_differs * expected:
        if not heard.damage:
            return None
        message = f"{heard.damage}: copy or convert it again from the original"
        return Mark(check="unreadable", severity="warn", value=heard.facts.seconds, message=message)
    message = f"{heard.facts.seconds:.2f} s of sound where {expected:.2f} s were announced: copy or convert it again"
    return Mark(check="unreadable", severity="error", value=lost, message=message)


define("unreadable", each(_judge_unreadable))


def _judge_voice(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.deep is None or heard.facts is None or heard.facts.speech == 0.0:  # a silent clip is the silence check's
        return None
    share, snr = heard.deep.voiced, heard.deep.snr
    if share < limits.voice_error:
        message = f"a human voice in {share:.0%} of the clip: music, noise, or nothing"
        return Mark(check="voice", severity="error", value=share, message=message)
    if share < limits.voice_warn:
        return Mark(
            check="voice", severity="warn", value=share, message=f"a human voice in only {share:.0%} of the clip"
        )
    if snr is not None and snr < limits.voice_snr_warn:
        message = f"the voice is only {snr:.1f} dB louder than what is heard beside it"
        return Mark(check="voice", severity="warn", value=snr, message=message)
    return None


define("voice", each(_judge_voice, badness=lambda mark: -mark.value if mark.value <= 1 else -1 - mark.value))


def _judge_quality(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.deep is None or heard.facts is None or heard.facts.speech == 0.0:
        return None
    score = heard.deep.quality
    if score >= limits.quality_info:
        return None
    wide = heard.facts.rate >= limits.bandwidth_rate  # the network was made for 16 kHz
    severity: Severity = "warn" if wide and score < limits.quality_warn else "info"
    message = f"would be rated {score:.1f} of 5 (DNSMOS): noise, echo or a poor microphone"
    return Mark(check="quality", severity=severity, value=score, message=message)


def _tell_quality(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    scores = [one.deep.quality for one in heard if one.deep]
    if not scores:
        return ""
    return (
        f"The middle clip would be rated {median(scores):.1f} of 5 for its sound (DNSMOS); studio recordings reach 3.2."
    )


define("quality", each(_judge_quality, badness=lambda mark: -mark.value), tell=_tell_quality)


def _look_speakers(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    for clips, voices in _by_speaker(heard):
        likeness = voices @ unit(np.median(voices, axis=0))
        for one, value in zip(clips, likeness.tolist(), strict=True):
            if value < limits.speaker_warn:
                message = f"sounds unlike the other clips of {one.clip.speaker}: a likeness of {value:.2f}"
                mark = Mark(check="speakers", severity="warn", value=value, message=message)
                yield Finding(id=one.clip.id, mark=mark, badness=-value)


def _tell_speakers(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    said = []
    for clips, voices in _by_speaker(heard):
        second = second_voice(voices, most_alike=limits.speaker_parts)
        if second is not None:
            few = [one.clip.id for one, other in zip(clips, second.tolist(), strict=True) if other]
            said.append(
                f"{clips[0].clip.speaker} may be two people, or one recorded in two ways: {len(few)} of {len(clips)} "
                f"clips sound alike and unlike the rest, such as {', '.join(few[:3])}. Listen; if so, 'olu speakers' "
                "parts them."
            )
    return " ".join(said)


def _by_speaker(heard: Sequence[MeasuredClip]) -> Iterator[tuple[list[MeasuredClip], Voices]]:
    groups: dict[str, list[MeasuredClip]] = {}
    for one in heard:
        if one.deep is not None and one.deep.voice:
            groups.setdefault(one.clip.speaker, []).append(one)
    for clips in groups.values():
        if len(clips) >= LEAST_CLIPS:
            yield clips, np.array([one.deep.voice for one in clips if one.deep])


define("speakers", _look_speakers, tell=_tell_speakers, more=lambda t: str(LEAST_CLIPS))


SITTING = 20  # clips: fewer have no middle that can be told from a person's own
LAST_NUMBER = re.compile(r"[\W_]*\d+$")


def _look_pitch(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Single clips first by their own pitch, then by that of the sitting they were recorded in."""
    by_speaker = defaultdict[str, list[tuple[MeasuredClip, float]]](list)
    for one in heard:
        if one.pitch is not None:
            by_speaker[one.clip.speaker].append((one, 12 * math.log2(one.pitch)))
    for speaker, clips in by_speaker.items():
        if len(clips) < LEAST_CLIPS:
            continue
        usual, odd = median(height for _, height in clips), _odd_sittings(clips, far=limits.pitch_sitting)
        for one, height in clips:
            value, whole = height - usual, odd.get(_sitting(one))
            if abs(value) > limits.pitch_clip:
                message = f"its pitch is {one.pitch:.0f} Hz, the middle of {speaker}'s clips {2 ** (usual / 12):.0f} Hz"
            elif whole is not None:
                value, below = whole, "below" if whole < 0 else "above"
                message = f"the sitting {_sitting(one)} lies {abs(whole):.1f} semitones {below} {speaker}'s others"
            else:
                continue
            mark = Mark(check="pitch", severity="warn", value=value, message=message)
            yield Finding(id=one.clip.id, mark=mark, badness=abs(value))


def _sitting(one: MeasuredClip) -> str:
    """What the names of clips of one recording session have in common: all but their last number."""
    return LAST_NUMBER.sub("", PurePosixPath(one.clip.audio).stem)


def _odd_sittings(clips: Sequence[tuple[MeasuredClip, float]], *, far: float) -> dict[str, float]:
    """Sitting -> semitones from the middle of the others, of those that lie `far` away.

    The farthest goes first and no longer counts for the others; the larger part of the clips is never odd.
    """
    groups = defaultdict[str, list[float]](list)
    for one, height in clips:
        groups[_sitting(one)].append(height)
    found = dict[str, float]()
    while True:
        apart = {}
        for name, heights in groups.items():
            others = [height for other, those in groups.items() if other != name for height in those]
            if SITTING <= len(heights) <= len(others):
                apart[name] = median(heights) - median(others)
        name = max(apart, key=lambda one: abs(apart[one]), default="")
        if abs(apart.get(name, 0.0)) <= far:
            return found
        found[name] = apart[name]
        del groups[name]


def _tell_pitch(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    ids = {one.id for one in found}
    sittings = Counter(_sitting(one) for one in heard if one.clip.id in ids)
    odd = {name: number for name, number in sittings.items() if number >= SITTING}
    if not odd:
        return ""
    listed = ", ".join(f"{name} ({many(number, 'clip')})" for name, number in odd.items())
    return f"By their pitch these sittings may be of another person: {listed}. Listen to some of each."


define("pitch", _look_pitch, tell=_tell_pitch, more=lambda t: str(SITTING))
