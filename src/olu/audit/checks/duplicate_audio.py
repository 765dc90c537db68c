from __future__ import annotations

from collections.abc import Iterable, Sequence

from olu.audit.check import Check, Finding, Heard, across
from olu.audit.thresholds import Thresholds
from olu.types import Mark

NAME = "duplicate_audio"


def look(heard: Sequence[Heard], limits: Thresholds) -> Iterable[Finding]:
    first: dict[str, Heard] = {}
    for one in heard:
        if one.facts is None:
            continue
        original = first.setdefault(one.facts.pcm, one)
        if original is not one:
            message = f"the same sound as {original.clip.id}{across(original, one)}"
            mark = Mark(check=NAME, severity="error", value=one.facts.seconds, message=message)
            yield Finding(id=one.clip.id, mark=mark, badness=one.facts.seconds)


CHECK = Check(
    name=NAME,
    title="Same sound twice",
    rule=lambda t: "Error for every clip whose samples equal those of an earlier one.",
    reason="A copy counts double in training, and a copy in the test set makes the voice look better than it is.",
    fix="Keep one. If the texts differ, one of them is wrong: listen and correct it.",
    look=look,
)
