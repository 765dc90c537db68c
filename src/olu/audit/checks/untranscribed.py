from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "untranscribed"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    if heard.clip.transcribed:
        return None
    return Mark(check=NAME, severity="info", value=heard.clip.seconds, message="no text yet: kept, never trained on")


CHECK = Check(
    name=NAME,
    title="No text",
    rule=lambda t: "Noted for every clip that was imported without a text.",
    reason="Nobody has written down what is said, so nothing can be learned from it. It may be transcribed later.",
    fix=(
        "Write what is said with olu correct; or as subtitles beside the recording (.srt or .vtt), or as rows of a "
        ".jsonl with audio, offset, duration and text, and import the recording again."
    ),
    look=each(judge),
)
