from __future__ import annotations

from collections.abc import Iterable, Sequence

from olu.audit.check import Check, Finding, MeasuredClip, across
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "duplicate_audio"


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    first: dict[str, MeasuredClip] = {}
    told: set[str] = set()
    for one in sorted(heard, key=lambda one: one.dropped):  # of two copies, never the dropped one is the one to keep
        if one.facts is None:
            continue
        original = first.setdefault(one.facts.pcm, one)
        if original is not one:
            message = f"the same sound as {original.clip.id}{across(original, one)}"
            mark = Mark(check=NAME, severity="error", value=one.facts.seconds, message=message)
            yield Finding(id=one.clip.id, mark=mark, badness=one.facts.seconds)
            if original.clip.id not in told:
                told.add(original.clip.id)
                message = f"{one.clip.id} is the same sound and is left out: is it the right one of the two?"
                kept = Mark(check=NAME, severity="warn", value=one.facts.seconds, message=message)
                yield Finding(id=original.clip.id, mark=kept, badness=one.facts.seconds)


CHECK = Check(
    name=NAME,
    title="Same sound twice",
    rule=lambda t: "Error for every clip whose samples equal those of an earlier one, which gets a warning.",
    reason="A copy counts double in training, and a copy in the test set makes the voice look better than it is.",
    fix="Keep one. If the texts differ, one of them is wrong: listen and correct it.",
    look=look,
)
