from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "clipping"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
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
    return Mark(check=NAME, severity=severity, value=share, message=f"{share:.3%} of the samples are cut off flat")


CHECK = Check(
    name=NAME,
    title="Clipping",
    rule=lambda t: (
        f"Samples cut off flat, at full scale or at the clip's own highest level: error over {t.clipped_error:.2%}, "
        f"warning over {t.clipped_warn:.2%}, "
        + (f"noted over {t.clipped_info:.3%}." if t.clipped_info else "noted when there are any.")
    ),
    reason="Too loud for the recorder: the tops of the wave are cut off, which sounds harsh and is learned as a buzz.",
    fix="Record again further from the microphone or with less gain; turning the file down does not bring it back.",
    look=each(judge),
)
