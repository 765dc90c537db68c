from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "hum"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.facts is None or heard.facts.hum_dbfs is None or heard.facts.hum_dbfs <= limits.hum_warn:
        return None
    level = heard.facts.hum_dbfs
    message = f"a steady hum of the mains at {level:.1f} dB"
    return Mark(check=NAME, severity="warn", value=level, message=message)


CHECK = Check(
    name=NAME,
    title="Mains hum",
    rule=lambda t: f"Warning for a steady tone at 50 or 60 Hz over {t.hum_warn:g} dB of full scale.",
    reason="The hum of the power line gets into the voice, and is heard in its pauses.",
    fix="Record on battery or with another cable. A high-pass filter at 70 Hz removes the worst of it.",
    look=each(judge),
)
