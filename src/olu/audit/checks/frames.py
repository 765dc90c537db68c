from __future__ import annotations

import unicodedata

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "frames"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    seconds = heard.facts.seconds if heard.facts else heard.clip.seconds
    symbols = len(unicodedata.normalize("NFC", " ".join(heard.clip.text.split())))
    needed = 2 * symbols + 1  # a blank stands around every symbol
    frames = int(seconds * limits.frames_per_second)
    if symbols == 0 or frames >= needed:
        return None
    message = f"{frames} frames of sound for {needed} symbols: each symbol needs a frame, so they cannot be matched"
    return Mark(check=NAME, severity="error", value=frames / needed, message=message)


CHECK = Check(
    name=NAME,
    title="Too short for its text",
    rule=lambda t: (
        f"Error when {t.frames_per_second:g} frames per second are fewer than the symbols of the text, "
        "read letter by letter with blanks between."
    ),
    reason="Training matches every symbol with at least one frame of sound. Where that cannot be, it breaks off.",
    fix="The text is too long for the sound: one of the two is not whole, or they do not belong together.",
    look=each(judge, badness=lambda mark: -mark.value),
)
