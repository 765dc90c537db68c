from __future__ import annotations

from olu.audit.check import Check, Heard, each
from olu.audit.thresholds import Thresholds
from olu.types import Mark

NAME = "edges"


def judge(heard: Heard, limits: Thresholds) -> Mark | None:
    facts = heard.facts
    if facts is None or facts.speech == 0.0:  # a silent clip is the silence check's
        return None
    longest = max(facts.leading, facts.trailing)
    if longest <= limits.edge_warn:
        return None
    message = f"{facts.leading:.1f} s of silence before the speech, {facts.trailing:.1f} s after it"
    return Mark(check=NAME, severity="warn", value=longest, message=message)


CHECK = Check(
    name=NAME,
    title="Silence at the ends",
    rule=lambda t: f"Warning for more than {t.edge_warn:g} s of silence before or after the speech.",
    reason="The voice learns to wait before it speaks and to trail off after it. Phone recorders leave this often.",
    fix="Trim the ends to about 0.2 s. The recording itself is good.",
    look=each(judge),
)
