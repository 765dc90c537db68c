from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from olu.audit.check import Check, Finding, Heard
from olu.audit.thresholds import Thresholds
from olu.types import Mark

NAME = "normal_form"


def look(heard: Sequence[Heard], limits: Thresholds) -> Iterable[Finding]:
    """Texts without marked letters are the same in every form and count for none."""
    composed = 0
    others = []
    for one in heard:
        text = one.clip.text
        normal = unicodedata.normalize("NFC", text)
        if text != normal:
            others.append((one, _differ(text, normal)))
        elif text != unicodedata.normalize("NFD", text):
            composed += 1
    if composed == 0:
        return
    for one, differ in others:
        message = f"{differ} letters are written in another form (letter and mark apart) than in most of the corpus"
        mark = Mark(check=NAME, severity="warn", value=float(differ), message=message)
        yield Finding(id=one.clip.id, mark=mark, badness=float(differ))


def _differ(text: str, normal: str) -> int:
    return max(1, len(text) - len(normal))


CHECK = Check(
    name=NAME,
    title="Mixed letter forms",
    rule=lambda t: "Warning for a text that is not in the composed form (NFC) in a corpus that has texts in it.",
    reason="The same letter written in two ways looks alike to people and different to programs. Olu reads both alike.",
    fix="Nothing for Olu. For other tools, save all texts in one form: unicodedata.normalize('NFC', text).",
    look=look,
)
