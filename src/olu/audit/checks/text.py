from __future__ import annotations

from olu.audit.check import Check, Heard, each
from olu.audit.letters import count_letters
from olu.audit.plural import many
from olu.audit.thresholds import Thresholds
from olu.types import Mark

NAME = "text"


def judge(heard: Heard, limits: Thresholds) -> Mark | None:
    text = heard.clip.text
    if not heard.clip.transcribed:
        return None  # has a check of its own
    letters = count_letters(text)
    if letters < limits.letters_least:
        message = "the text has no letter" if letters == 0 else f"the text has only {many(letters, 'letter')}"
        return Mark(check=NAME, severity="error", value=float(letters), message=f"{message}: write what is said")
    breaks = sum(text.count(mark) for mark in "\n\r\t")
    if breaks:
        signs, read = ("break or tab", "a space") if breaks == 1 else ("breaks or tabs", "spaces")
        message = f"{breaks} line {signs} in the text, read as {read}: two lines may have become one"
        return Mark(check=NAME, severity="warn", value=float(breaks), message=message)
    return None


CHECK = Check(
    name=NAME,
    title="Text",
    rule=lambda t: (
        f"Error when the text has fewer than {t.letters_least} letter{'s' * (t.letters_least != 1)}; "
        "warning for line breaks and tabs inside."
    ),
    reason=(
        "Without words there is nothing to learn the sound from. A line break often means that a second line was "
        "pasted in."
    ),
    fix="Write what is said in one line, and import again. Olu reads a line break as a space.",
    look=each(judge),
)
