from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "voice"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.deep is None or heard.facts is None or heard.facts.speech == 0.0:  # a silent clip is the silence check's
        return None
    share, snr = heard.deep.voiced, heard.deep.snr
    if share < limits.voice_error:
        message = f"a human voice in {share:.0%} of the clip: music, noise, or nothing"
        return Mark(check=NAME, severity="error", value=share, message=message)
    if share < limits.voice_warn:
        return Mark(check=NAME, severity="warn", value=share, message=f"a human voice in only {share:.0%} of the clip")
    if snr is not None and snr < limits.voice_snr_warn:
        message = f"the voice is only {snr:.1f} dB louder than what is heard beside it"
        return Mark(check=NAME, severity="warn", value=snr, message=message)
    return None


CHECK = Check(
    name=NAME,
    title="Human voice",
    rule=lambda t: (
        f"By the Silero network: error when under {t.voice_error:.0%} of a clip is a voice, warning under "
        f"{t.voice_warn:.0%}, or when the voice is less than {t.voice_snr_warn:g} dB louder than the rest."
    ),
    reason="Energy alone takes music and steady noise for speech. A clip without a voice teaches its text to noise.",
    fix="Listen, and leave out what is not speech. Cut music before and after the speech away.",
    look=each(judge, badness=lambda mark: -mark.value if mark.value <= 1 else -1 - mark.value),
    deep=True,
)
