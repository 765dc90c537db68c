"""How the recording sounds: silence, level, noise, offset, bandwidth, sample rates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

import numpy as np

from olu.audit.check import Finding, MeasuredClip, define, each
from olu.audit.sound import SoundFacts
from olu.audit.spectrum import BAND_HZ
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity
from olu.core.words import many


def _judge_silence(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    facts = heard.facts
    if facts is None:
        return None
    if facts.speech == 0.0:
        return _mark("error", facts.seconds, "nothing is heard: the whole clip is silent")
    paused = f"a pause of {facts.pause:.1f} s inside"
    mostly = f"only {facts.speech:.0%} of the clip is speech"
    if facts.pause > limits.pause_error:
        return _mark("error", facts.pause, paused)
    if facts.speech < limits.speech_error:
        return _mark("error", (1.0 - facts.speech) * facts.seconds, mostly)
    if facts.pause > limits.pause_warn:
        return _mark("warn", facts.pause, paused)
    if facts.speech < limits.speech_warn:
        return _mark("warn", (1.0 - facts.speech) * facts.seconds, mostly)
    return None


def _mark(severity: Literal["error", "warn"], silent_seconds: float, message: str) -> Mark:
    return Mark(check="silence", severity=severity, value=silent_seconds, message=message)


define("silence", each(_judge_silence))


MOST = 0.5  # of the clips: from here on it is said once of the whole corpus


def _judge_edges(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    facts = heard.facts
    if facts is None or facts.speech == 0.0:  # a silent clip is the silence check's
        return None
    longest = max(facts.leading, facts.trailing)
    if longest <= limits.edge_info:
        return None
    message = f"{facts.leading:.1f} s of silence before the speech, {facts.trailing:.1f} s after it"
    return Mark(
        check="edges", severity="warn" if longest > limits.edge_warn else "info", value=longest, message=message
    )


def _tell_edges(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    if len(found) <= MOST * len(heard):
        return ""
    return (
        f"{len(found) / len(heard):.0%} of the clips have more than {limits.edge_info:g} s of silence at an end: "
        "the recorder's habit, which a fix trims away."
    )


define("edges", each(_judge_edges), tell=_tell_edges)


def _look_level(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    levels: dict[str, list[float]] = {}
    for one in heard:
        if one.facts is not None and one.facts.speech > 0.0:
            levels.setdefault(one.clip.speaker, []).append(one.facts.speech_dbfs)
    usual = {speaker: float(np.median(found)) for speaker, found in levels.items()}
    for one in heard:
        if one.facts is None or one.facts.speech == 0.0:  # a silent clip is the silence check's
            continue
        level, middle = one.facts.speech_dbfs, usual[one.clip.speaker]
        severity: Severity
        if level < limits.level_warn_under:
            severity, message = "warn", f"the speech is very quiet: {level:.1f} dB"
        elif level > limits.level_warn_over:
            severity, message = "warn", f"the speech is very loud: {level:.1f} dB"
        elif abs(level - middle) > limits.level_spread:
            word = "quieter" if level < middle else "louder"
            severity = "info"
            message = f"the speech is {abs(level - middle):.1f} dB {word} than this speaker's usual {middle:.1f} dB"
        else:
            continue
        yield Finding(
            id=one.clip.id,
            mark=Mark(check="level", severity=severity, value=level, message=message),
            badness=abs(level - middle),
        )


define("level", _look_level)


def _judge_clipping(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.facts is None:
        return None
    share = heard.facts.clipped
    severity: Severity
    if share > limits.clipped_error:
        severity = "error"
    elif share > limits.clipped_warn:
        severity = "warn"
    elif share > limits.clipped_info:
        severity = "info"
    else:
        return None
    return Mark(
        check="clipping", severity=severity, value=share, message=f"{share:.3%} of the samples are cut off flat"
    )


define(
    "clipping",
    each(_judge_clipping),
    more=lambda t: f"over {t.clipped_info:.3%}" if t.clipped_info else "when there are any",
)


def _judge_noise(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    snr = heard.facts.snr if heard.facts else None
    if heard.facts is None or snr is None or snr >= limits.snr_warn:
        return None
    message = f"the speech is only {snr:.1f} dB louder than the noise beside it"
    sure = snr < limits.snr_error and not heard.facts.pauseless  # a singer has no quiet moment either
    return Mark(check="noise", severity="error" if sure else "warn", value=snr, message=message)


define("noise", each(_judge_noise, badness=lambda mark: -mark.value))


def _judge_hum(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.facts is None or heard.facts.hum_dbfs is None or heard.facts.hum_dbfs <= limits.hum_warn:
        return None
    level = heard.facts.hum_dbfs
    message = f"a steady hum of the mains at {level:.1f} dB"
    return Mark(check="hum", severity="warn", value=level, message=message)


define("hum", each(_judge_hum))


def _judge_offset(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.facts is None or abs(heard.facts.offset) <= limits.offset_warn:
        return None
    share = heard.facts.offset
    message = f"the whole wave lies {share:+.1%} of full scale off zero"
    return Mark(check="offset", severity="warn", value=share, message=message)


define("offset", each(_judge_offset, badness=lambda mark: abs(mark.value)))


USUAL_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)


def _judge_bandwidth(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    facts = heard.facts
    if facts is None or facts.bandwidth == 0.0 or facts.spoken < limits.bandwidth_least_seconds:
        return None
    highest = facts.bandwidth
    message = f"sound only up to {highest / 1000:.1f} kHz in a file of {facts.rate / 1000:g} kHz"
    if highest < limits.bandwidth_share * min(facts.rate, limits.bandwidth_rate) / 2:
        return Mark(
            check="bandwidth", severity="error", value=highest, message=f"{message}, as from {_recorded(highest)}"
        )
    if highest < limits.bandwidth_share * facts.rate / 2:
        return Mark(check="bandwidth", severity="info", value=highest, message=message)
    return None


def _recorded(highest: float) -> str:
    """The usual rate that holds sound up to here and no further."""
    rate = next((rate for rate in USUAL_RATES if rate / 2 >= 0.95 * highest), USUAL_RATES[-1])
    return f"a recording at {rate / 1000:g} kHz that was upsampled"


define("bandwidth", each(_judge_bandwidth, badness=lambda mark: -mark.value))


SLACK = 0.1  # of the lower half rate: what a converter or a coder leaves above it, 8.75 kHz in mp3 of 16 kHz speech


def _look_rates(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Clips of another rate than the commonest; of equally common ones the highest counts."""
    counts = _counts(heard)
    if len(counts) < 2:
        return
    usual, tops = _usual(counts), _tops(heard, limits)
    for one in heard:
        if one.facts is None or one.facts.rate == usual or _holds_no_more(one.facts, usual, tops):
            continue
        rate = one.facts.rate
        few = counts[rate] <= limits.rates_few * counts.total()
        dull = rate < min(usual, limits.bandwidth_rate)
        severity: Severity = "error" if few or dull else "warn"
        why = "duller than the rest" if rate < usual else "recorded or converted in another way than the rest"
        message = f"{rate:,} Hz where most clips have {usual:,}: {why}"
        mark = Mark(check="rates", severity=severity, value=float(rate), message=message)
        yield Finding(id=one.clip.id, mark=mark, badness=usual / rate if dull else rate / usual / 100)


def _holds_no_more(facts: SoundFacts, usual: int, tops: Mapping[int, float]) -> bool:
    """Whether the higher of the two rates holds no sound that the lower one could not: then no ear tells them apart."""
    low, high = sorted((facts.rate, usual))
    top = facts.bandwidth if facts.rate == high and facts.bandwidth else tops.get(high, float(high))
    return top <= (1 + SLACK) * low / 2 + BAND_HZ  # it is measured in such bands


def _tops(heard: Sequence[MeasuredClip], limits: Thresholds) -> dict[int, float]:
    """Rate -> how far up the sound of its clips reaches, in the middle of them."""
    found = defaultdict[int, list[float]](list)
    for one in heard:
        if one.facts and one.facts.bandwidth and one.facts.spoken >= limits.bandwidth_least_seconds:
            found[one.facts.rate].append(one.facts.bandwidth)
    return {rate: median(tops) for rate, tops in found.items()}


def _tell_rates(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    if not found:
        return ""
    each = ", ".join(f"{rate:,} Hz: {many(count, 'clip')}" for rate, count in _counts(heard).most_common())
    return (
        f"Sample rates are mixed ({each}). Olu brings all to one rate, but a clip recorded at a lower one has no high "
        "sounds, and the voice learns both ways: keep one rate, or record the others again."
    )


def _counts(heard: Sequence[MeasuredClip]) -> Counter[int]:
    return Counter(one.facts.rate for one in heard if one.facts)


def _usual(counts: Counter[int]) -> int:
    return max(counts, key=lambda rate: (counts[rate], rate))


define("rates", _look_rates, tell=_tell_rates)
