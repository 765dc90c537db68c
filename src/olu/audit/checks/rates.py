from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.sound import SoundFacts
from olu.audit.spectrum import BAND_HZ
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity
from olu.core.words import many

NAME = "rates"
SLACK = 0.1  # of the lower half rate: what a converter or a coder leaves above it, 8.75 kHz in mp3 of 16 kHz speech


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Every rate but the commonest; of equally common ones the highest is the one to keep."""
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
        mark = Mark(check=NAME, severity=severity, value=float(rate), message=message)
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


def tell(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
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


CHECK = Check(
    name=NAME,
    title="Mixed sample rates",
    rule=lambda t: (
        "Error for a clip of another rate than most, where such clips are few "
        f"(up to {t.rates_few:.0%} of the corpus) or lack sound that {t.bandwidth_rate:g} Hz can hold; else a warning. "
        "Nothing where the higher rate holds no more sound than the lower one."
    ),
    reason="Other rates mean other recorders: a voice trained on dull and bright clips changes its sound as it speaks.",
    fix="Keep the rate that most clips have. Copies in a better rate may exist; converting does not bring sound back.",
    look=look,
    tell=tell,
)
