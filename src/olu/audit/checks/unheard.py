from __future__ import annotations

from collections.abc import Iterable, Sequence

from olu.align.text_match import low_score, named, unheard
from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "unheard"
LEAST_WORDS = 100  # fewer have no middle half worth the name
LEAST_UNHEARD = 3  # words: one of two is no half of a text


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    lows = _lows(heard, limits)
    for one in heard:
        bad = unheard(one.words, low=lows.get(one.aligner))
        if len(bad) > limits.unheard_share * len(one.words):
            share = len(bad) / len(one.words)
            are = "word is" if len(one.words) == 1 else "words are" if len(bad) > 1 else "words is"
            message = f"{len(bad)} of its {len(one.words)} {are} not heard as read: {named(one.words, bad)}"
            severity: Severity = "error" if share > limits.unheard_error and len(bad) >= LEAST_UNHEARD else "warn"
            mark = Mark(check=NAME, severity=severity, value=share, message=message)
            yield Finding(id=one.clip.id, mark=mark, badness=share)


def _lows(heard: Sequence[MeasuredClip], limits: Thresholds) -> dict[str, float | None]:
    """For each way of aligning, as each has scores of its own."""
    scores: dict[str, list[float]] = {}
    for one in heard:
        scores.setdefault(one.aligner, []).extend(word.score for word in one.words if word.score is not None)
    enough = {way: found for way, found in scores.items() if len(found) >= LEAST_WORDS}
    return {way: low_score(found, far=limits.unheard_iqr) for way, found in enough.items()}


CHECK = Check(
    name=NAME,
    title="Words said otherwise",
    rule=lambda t: (
        f"By the aligner: warning when more than {t.unheard_share:.0%} of the words of a clip are heard far less "
        f"clearly than other words ({t.unheard_iqr:g} times the width of the middle half below it); error over "
        f"{t.unheard_error:.0%} and {LEAST_UNHEARD} words."
    ),
    reason=(
        "Years, large numbers, abbreviations and foreign names are often said otherwise than Olu reads them: the voice "
        "learns one word for another."
    ),
    fix="Listen. Write those words as they are said and import again, or leave the clip out.",
    look=look,
    aligned="scores",
)
