from __future__ import annotations

from typing import Literal

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "silence"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
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
    return Mark(check=NAME, severity=severity, value=silent_seconds, message=message)


CHECK = Check(
    name=NAME,
    title="Silence inside",
    rule=lambda t: (
        f"Error when nothing is heard, for a pause over {t.pause_error:g} s or speech in under {t.speech_error:.0%} of "
        f"the clip; warning for a pause over {t.pause_warn:g} s or speech in under {t.speech_warn:.0%}."
    ),
    reason="A voice learns the pauses it hears: long ones become halting speech, and a silent clip teaches nothing.",
    fix="Cut the clip at the pause into two, or record the sentence again.",
    look=each(judge),
)
