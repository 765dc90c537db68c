from __future__ import annotations

import math

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "duration"
USUAL_SECONDS = 5.0  # short and long clips are ranked by how many times they are off


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    seconds = heard.facts.seconds if heard.facts else heard.clip.seconds
    if seconds < limits.duration_error_under:
        return Mark(check=NAME, severity="error", value=seconds, message=f"{seconds:.2f} s: too short to hold a word")
    if seconds > limits.duration_error_over:
        message = f"{seconds:.1f} s: too long, cut it at its pauses"
        return Mark(check=NAME, severity="error", value=seconds, message=message)
    if seconds < limits.duration_warn_under:
        return Mark(check=NAME, severity="warn", value=seconds, message=f"{seconds:.2f} s: very short")
    if seconds > limits.duration_warn_over:
        return Mark(check=NAME, severity="warn", value=seconds, message=f"{seconds:.1f} s: long")
    return None


CHECK = Check(
    name=NAME,
    title="Length",
    rule=lambda t: (
        f"Error under {t.duration_error_under:g} s or over {t.duration_error_over:g} s, "
        f"warning under {t.duration_warn_under:g} s or over {t.duration_warn_over:g} s."
    ),
    reason="Long clips fill the memory in training and are hard to match with their text; tiny ones hold no word.",
    fix=(
        "Cut long clips at pauses, each piece with its own text: olu align and then olu cut do it. Join or leave out "
        "tiny ones."
    ),
    look=each(judge, badness=lambda mark: abs(math.log(max(mark.value, 1e-3) / USUAL_SECONDS))),
)
