from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "bandwidth"
USUAL_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    facts = heard.facts
    if facts is None or facts.bandwidth == 0.0 or facts.spoken < limits.bandwidth_least_seconds:
        return None
    highest = facts.bandwidth
    message = f"sound only up to {highest / 1000:.1f} kHz in a file of {facts.rate / 1000:g} kHz"
    if highest < limits.bandwidth_share * min(facts.rate, limits.bandwidth_rate) / 2:
        return Mark(check=NAME, severity="error", value=highest, message=f"{message}, as from {_recorded(highest)}")
    if highest < limits.bandwidth_share * facts.rate / 2:
        return Mark(check=NAME, severity="info", value=highest, message=message)
    return None


def _recorded(highest: float) -> str:
    """The usual rate that holds sound up to here and no further."""
    rate = next((rate for rate in USUAL_RATES if rate / 2 >= 0.95 * highest), USUAL_RATES[-1])
    return f"a recording at {rate / 1000:g} kHz that was upsampled"


CHECK = Check(
    name=NAME,
    title="Bandwidth",
    rule=lambda t: (
        f"Error when the sound ends below {t.bandwidth_share:.0%} of what its rate can hold, counted up to "
        f"{t.bandwidth_rate:g} Hz; noted when a higher rate holds no more. Judged from "
        f"{t.bandwidth_least_seconds:g} s of speech on."
    ),
    reason="A telephone recording saved at a higher rate stays dull, and a voice trained on a mix sounds muffled.",
    fix="Find the original recording. If all are like this, train at the rate that the sound really has.",
    look=each(judge, badness=lambda mark: -mark.value),
)
