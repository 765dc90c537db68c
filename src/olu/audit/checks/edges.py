from __future__ import annotations

from collections.abc import Sequence

from olu.audit.check import Check, Finding, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "edges"
MOST = 0.5  # of the clips: from here on it is said once of the whole corpus


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    facts = heard.facts
    if facts is None or facts.speech == 0.0:  # a silent clip is the silence check's
        return None
    longest = max(facts.leading, facts.trailing)
    if longest <= limits.edge_info:
        return None
    message = f"{facts.leading:.1f} s of silence before the speech, {facts.trailing:.1f} s after it"
    return Mark(check=NAME, severity="warn" if longest > limits.edge_warn else "info", value=longest, message=message)


def tell(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    if len(found) <= MOST * len(heard):
        return ""
    return (
        f"{len(found) / len(heard):.0%} of the clips have more than {limits.edge_info:g} s of silence at an end: "
        "the recorder's habit, which a fix trims away."
    )


CHECK = Check(
    name=NAME,
    title="Silence at the ends",
    rule=lambda t: f"Silence before or after the speech: noted over {t.edge_info:g} s, warning over {t.edge_warn:g} s.",
    reason="The voice learns to wait before it speaks and to trail off after it. Phone recorders leave this often.",
    fix="Trim the ends to about 0.2 s: --fix decides it for all. The recording itself is good.",
    look=each(judge),
    tell=tell,
)
