from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "noise"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    snr = heard.facts.snr if heard.facts else None
    if heard.facts is None or snr is None or snr >= limits.snr_warn:
        return None
    message = f"the speech is only {snr:.1f} dB louder than the noise beside it"
    sure = snr < limits.snr_error and not heard.facts.pauseless  # a singer has no quiet moment either
    return Mark(check=NAME, severity="error" if sure else "warn", value=snr, message=message)


CHECK = Check(
    name=NAME,
    title="Noise",
    rule=lambda t: (
        f"Error when speech is less than {t.snr_error:g} dB louder than the noise beside it, "
        f"warning under {t.snr_warn:g} dB. Without pauses the quietest moments count, and only warn; not judged where "
        "pauses are cut to digital silence."
    ),
    reason="The voice learns the noise with the speech, and hisses or rustles where the recordings do.",
    fix="Record in a quieter room and nearer to the microphone. Do not gate the pauses: the noise stays in the words.",
    look=each(judge, badness=lambda mark: -mark.value),
)
