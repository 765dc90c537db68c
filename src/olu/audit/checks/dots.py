from __future__ import annotations

import unicodedata

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark
from olu.text.languages import traits

NAME = "dots"
DOT_BELOW = "\u0323"


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    dotted = traits(heard.clip.language).dotted_vowels
    if not dotted:
        return None
    letters = unicodedata.normalize("NFD", heard.clip.text.casefold())
    vowels = sum(letter in dotted for letter in letters)
    if vowels < limits.dots_least_vowels or DOT_BELOW in letters:
        return None
    message = f"{vowels} times i, o or u and never a dot below: the text seems to be written without dots"
    return Mark(check=NAME, severity="warn", value=float(vowels), message=message)


CHECK = Check(
    name=NAME,
    title="Igbo without dots",
    rule=lambda t: f"Warning for an Igbo text with {t.dots_least_vowels} or more of i, o and u and no dot below.",
    reason="ị, ọ and ụ are other sounds than i, o and u: without the dots the voice learns to mix them up.",
    fix="Write the dots. A speaker of Igbo can do it by ear.",
    look=each(judge),
)
