from __future__ import annotations

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.coverage import count_digits
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark
from olu.core.words import many

NAME = "digits"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    digits = count_digits(heard.clip.text)
    if digits <= limits.digits_info:
        return None
    message = f"{many(digits, 'digit')} in the text: how they were said is not written"
    return Mark(check=NAME, severity="info", value=float(digits), message=message)


CHECK = Check(
    name=NAME,
    title="Digits",
    rule=lambda t: f"Noted when a text has {'any' if t.digits_info == 0 else f'more than {t.digits_info}'} digits.",
    reason="1984 can be said in several ways. Where the reading picks another one, text and sound part.",
    fix="Write numbers in words as they were said.",
    look=each(judge),
)
