from __future__ import annotations

from collections.abc import Iterable, Sequence

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.coverage import fold
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "duplicate_text"


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Per speaker: several people reading one list of sentences is how good corpora are made."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for one in heard:
        text = fold(one.clip.text)
        if not text:  # the text check's
            continue
        ids = said.setdefault((one.clip.language, one.clip.speaker, text), [])
        ids.append(one.clip.id)
        if len(ids) > limits.text_copies:
            mark = Mark(check=NAME, severity="warn", value=float(len(ids)), message=f"the same text as {ids[0]}")
            yield Finding(id=one.clip.id, mark=mark, badness=float(len(ids)))


CHECK = Check(
    name=NAME,
    title="Same text twice",
    rule=lambda t: (
        "Warning for every clip whose text the same speaker has said before, case and spaces aside"
        + (f", from copy {t.text_copies + 1} on." if t.text_copies > 1 else ".")
    ),
    reason="Repeated sentences teach less than new ones, and may be a text pasted to the wrong recording.",
    fix="Check that both recordings say it. Good repeats may stay.",
    look=look,
)
