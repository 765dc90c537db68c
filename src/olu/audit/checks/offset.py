from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "offset"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.facts is None or abs(heard.facts.offset) <= limits.offset_warn:
        return None
    share = heard.facts.offset
    message = f"the whole wave lies {share:+.1%} of full scale off zero"
    return Mark(check=NAME, severity="warn", value=share, message=message)


CHECK = Check(
    name=NAME,
    title="Offset from zero",
    rule=lambda t: f"Warning when the mean of the samples is more than {t.offset_warn:.1%} of full scale off zero.",
    reason="A faulty sound card adds a constant: it clicks at every cut and eats room for the loud parts.",
    fix="A high-pass filter at 40 Hz takes it away. The recording itself is good.",
    look=each(judge, badness=lambda mark: abs(mark.value)),
)
