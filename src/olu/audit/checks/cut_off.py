from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Span

NAME = "cut_off"
MOST = 0.5  # of the clips: from here on it is said once of the whole corpus
LEAST_CLIPS = 20
LEAST_IQR = 0.1  # made speech has almost none
NEAR_SECONDS = 0.1  # from the edge: where the word itself must begin or end

Side = Literal["first", "last"]
SIDES: tuple[Side, Side] = ("first", "last")


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    lows = {side: _low(heard, side, limits) for side in SIDES}
    for one in heard:
        found = [mark for side in SIDES if (mark := _judge(one, side, lows[side], limits))]
        if found:
            mark = min(found, key=lambda mark: (mark.severity != "warn", mark.value))
            yield Finding(id=one.clip.id, mark=mark, badness=-mark.value)


def _low(heard: Sequence[MeasuredClip], side: Side, limits: Thresholds) -> float | None:
    """The score under which such a word is unlike the others of the corpus."""
    scores = [word.score for one in heard if (word := _word(one, side)) and word.score is not None]
    if len(scores) < LEAST_CLIPS:
        return None
    low, high = (float(value) for value in np.percentile(scores, (25, 75)))
    return low - limits.cut_off_iqr * max(high - low, LEAST_IQR)


def _judge(one: MeasuredClip, side: Side, low: float | None, limits: Thresholds) -> Mark | None:
    word = _word(one, side)
    if word is None or one.facts is None:
        return None
    quiet, gap = (
        (one.facts.leading, word.start) if side == "first" else (one.facts.trailing, one.facts.seconds - word.end)
    )
    touches = quiet < limits.cut_off_edge and gap < NEAR_SECONDS
    weak = low is not None and word.score is not None and word.score < low
    where = "start" if side == "first" else "end"
    if weak:
        message = f"its {side} word, {word.label}, is hardly heard: it may be cut off at the {where}"
        return Mark(check=NAME, severity="warn", value=float(word.score or 0.0), message=message)
    if touches:
        message = f"sound up to the very {where}: its {side} word, {word.label}, may be cut off"
        return Mark(check=NAME, severity="info", value=0.0, message=message)
    return None


def _word(one: MeasuredClip, side: Side) -> Span | None:
    if one.match is None:
        return None
    return one.match.first if side == "first" else one.match.last


def tell(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    if len(found) <= MOST * len(heard):
        return ""
    return (
        f"{len(found) / len(heard):.0%} of the clips have no silence at an end: they were cut very close to the words."
    )


CHECK = Check(
    name=NAME,
    title="Cut-off words",
    rule=lambda t: (
        "By the aligner: warning when the first or the last word of a clip is heard far less clearly than those of "
        f"other clips ({t.cut_off_iqr:g} times the width of the middle half below it); noted when sound reaches to "
        f"within {t.cut_off_edge * 1000:g} ms of the clip's edge."
    ),
    reason="Half a word with its whole text teaches the voice to swallow beginnings and endings.",
    fix="Listen to the edges. Cut the recording again with 0.1 s of room, or leave the missing word out of the text.",
    look=look,
    tell=tell,
    aligned="words",
)
