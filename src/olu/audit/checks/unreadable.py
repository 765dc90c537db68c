from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "unreadable"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    expected = heard.clip.seconds
    if heard.facts is None:
        severity: Severity = "error" if heard.measured else "warn"  # the file need not be to blame
        return Mark(check=NAME, severity=severity, value=expected, message=heard.trouble)
    if heard.trouble:
        return Mark(check=NAME, severity="error", value=heard.facts.seconds, message=heard.trouble)
    lost = abs(heard.facts.seconds - expected)
    if lost <= limits.length_differs * expected:
        if not heard.damage:
            return None
        message = f"{heard.damage}: copy or convert it again from the original"
        return Mark(check=NAME, severity="warn", value=heard.facts.seconds, message=message)
    message = f"{heard.facts.seconds:.2f} s of sound where {expected:.2f} s were announced: copy or convert it again"
    return Mark(check=NAME, severity="error", value=lost, message=message)


CHECK = Check(
    name=NAME,
    title="Unreadable",
    rule=lambda t: (
        f"Error when a file cannot be decoded, ends before its format says, or its length differs "
        f"by more than {t.length_differs:.1%} from what it said when it was imported. "
        f"A warning when it can be decoded but not measured, or when the decoder left out damaged parts of an MP3."
    ),
    reason="A damaged file cannot be learned from, and a part of one no longer fits its text.",
    fix="Copy or convert the file again from the original and import it again.",
    look=each(judge),
)
