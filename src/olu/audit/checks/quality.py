from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from olu.audit.check import Check, Finding, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "quality"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.deep is None or heard.facts is None or heard.facts.speech == 0.0:
        return None
    score = heard.deep.quality
    if score >= limits.quality_info:
        return None
    wide = heard.facts.rate >= limits.bandwidth_rate  # the network was made for 16 kHz
    severity: Severity = "warn" if wide and score < limits.quality_warn else "info"
    message = f"would be rated {score:.1f} of 5 (DNSMOS): noise, echo or a poor microphone"
    return Mark(check=NAME, severity=severity, value=score, message=message)


def tell(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    scores = [one.deep.quality for one in heard if one.deep]
    if not scores:
        return ""
    return (
        f"The middle clip would be rated {median(scores):.1f} of 5 for its sound (DNSMOS); studio recordings reach 3.2."
    )


CHECK = Check(
    name=NAME,
    title="Quality of the sound",
    rule=lambda t: (
        f"By the DNSMOS network, overall: noted under {t.quality_info:g} of 5, warning under {t.quality_warn:g} "
        f"(from {t.bandwidth_rate:g} Hz on; lower rates are only noted)."
    ),
    reason="A voice sounds no better than what it was trained on. Low scores mean noise, echo or a poor microphone.",
    fix="Listen to the worst. Where better clips are plenty, leave these out; else record in a quiet, soft room.",
    look=each(judge, badness=lambda mark: -mark.value),
    tell=tell,
    deep=True,
)
