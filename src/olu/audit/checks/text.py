from __future__ import annotations

from olu.audit.check import Check, Heard, each
from olu.audit.letters import count_letters
from olu.audit.thresholds import Thresholds
from olu.types import Mark

NAME = "text"


def judge(heard: Heard, limits: Thresholds) -> Mark | None:
    text = heard.clip.text
    letters = count_letters(text)
    if letters < limits.letters_least:
        message = "the text has no letter" if letters == 0 else f"the text has only {letters} letters"
        return Mark(check=NAME, severity="error", value=float(letters), message=f"{message}: write what is said")
    breaks = sum(text.count(mark) for mark in "\n\r\t")
    if breaks:
        message = f"{breaks} line breaks or tabs in the text, repaired in reading"
        return Mark(check=NAME, severity="info", value=float(breaks), message=message)
    return None


CHECK = Check(
    name=NAME,
    title="Text",
    rule=lambda t: (
        f"Error when the text has fewer than {t.letters_least} letter{'s' * (t.letters_least != 1)}; "
        "line breaks and tabs are noted."
    ),
    reason="Without words there is nothing to learn the sound from. Line breaks come from copying and do no harm.",
    fix="Write what is said, numbers in words, and import again.",
    look=each(judge),
)
