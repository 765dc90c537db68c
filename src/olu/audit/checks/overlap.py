from __future__ import annotations

from collections.abc import Iterable, Sequence

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.coverage import fold
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark
from olu.core.words import many

NAME = "overlap"


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Whoever says it: a voice that has learned a sentence is not tested by it."""
    trained: dict[tuple[str, str], str] = {}
    for one in heard:
        if one.split == "train" and (words := _words(one.clip.text)):
            trained.setdefault((one.clip.language, words), one.clip.id)
    for one in heard:
        if one.split not in ("valid", "test"):
            continue
        words = _words(one.clip.text)
        other = trained.get((one.clip.language, words))
        if other is not None and len(words) >= limits.overlap_least:
            side = "validation" if one.split == "valid" else "test"
            message = f"kept for {side}, but {other} trains on the same words"
            mark = Mark(check=NAME, severity="error", value=float(len(words)), message=message)
            yield Finding(id=one.clip.id, mark=mark, badness=float(len(words)))


def _words(text: str) -> str:
    """The letters and digits alone: a comma more is no other sentence."""
    return "".join(sign for sign in fold(text) if sign.isalnum())


def tell(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    if not found:
        return ""
    shares = "shares its" if len(found) == 1 else "share their"
    return f"{many(len(found), 'clip')} kept for validation or test {shares} words with training: split again."


CHECK = Check(
    name=NAME,
    title="Test texts in training",
    rule=lambda t: (
        "Error for a clip of the validation or test side whose letters a training clip also has, case, spaces and "
        f"punctuation aside. Judged from {t.overlap_least} letters on."
    ),
    reason="A sentence that was trained on says nothing of how new ones will sound: the scores look too good.",
    fix="Split again: 'olu split' puts clips with the same words on one side.",
    look=look,
    tell=tell,
)
