from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark
from olu.core.words import many

NAME = "normal_form"


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """The form that fewer texts have is marked. Texts without marked letters are the same in every form."""
    composed: list[tuple[MeasuredClip, int]] = []
    apart: list[tuple[MeasuredClip, int]] = []
    for one in heard:
        text = one.clip.text
        normal, taken_apart = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
        if text != normal:
            apart.append((one, max(1, len(text) - len(normal))))
        elif text != taken_apart:
            composed.append((one, len(taken_apart) - len(text)))
    # where no text has composed letters, a few with letters taken apart still stand out from the plain ones
    few_apart = len(apart) <= len(composed) or (not composed and 2 * len(apart) < len(heard))
    rare, how = (apart, "with letter and mark apart") if few_apart else (composed, "as one character with its mark")
    for one, letters in rare:
        message = f"{many(letters, 'letter')} written {how}, unlike most of the corpus"
        mark = Mark(check=NAME, severity="warn", value=float(letters), message=message)
        yield Finding(id=one.clip.id, mark=mark, badness=float(letters))


CHECK = Check(
    name=NAME,
    title="Mixed letter forms",
    rule=lambda t: "Warning for a text in the form of Unicode (NFC or not) that fewer texts of the corpus have.",
    reason="The same letter written in two ways looks alike to people and different to programs. Olu reads both alike.",
    fix="Nothing for Olu. For other tools, save all texts in one form: unicodedata.normalize('NFC', text).",
    look=look,
)
