"""Whether the text is what is heard: by an alignment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from olu.align.text_match import low_score, named, unheard
from olu.audit.check import Finding, MeasuredClip, define
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity, Span

LEAST_SHUFFLED = 50  # pairs: fewer set no limit
WEAK = 0.25  # of the clips under the limit: then the recogniser cannot tell a right text from a wrong one


@dataclass(frozen=True, slots=True)
class MismatchLimits:
    """What this corpus' own shuffled pairs reach, and what its clips do."""

    under: float  # a score that all but a few of the shuffled pairs stay under
    low: float  # the lowest few of the clips lie under this
    trusted: bool  # right and wrong texts can be told apart
    cer: bool  # so can they by what is heard


def limits_of(heard: Sequence[MeasuredClip], limits: Thresholds) -> MismatchLimits | None:
    """Limits for a mismatch of text and sound, from this corpus; None where too few pairs were compared."""
    own = [one.match.score for one in heard if one.match and one.match.score is not None]
    chance = [score for one in heard if one.match for score in one.match.chance]
    if not own or len(chance) < LEAST_SHUFFLED:
        return None
    under = float(np.quantile(chance, 1.0 - limits.mismatch_pass))
    cers = [one.match.cer for one in heard if one.match and one.match.cer is not None]
    return MismatchLimits(
        under=under,
        low=float(np.quantile(own, limits.mismatch_lowest)),
        trusted=float(np.mean(np.array(own) < under)) <= WEAK,
        cer=bool(cers) and float(np.median(cers)) <= limits.mismatch_cer / 2,
    )


UNTOLD = (
    "The recogniser cannot tell right texts from wrong ones here, so no clip is called a mismatch: there is too "
    "little speech to learn from, or too many texts are wrong."
)


def _look_mismatch(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    found = limits_of(heard, limits)
    if found is None:
        return
    for one in heard:
        if one.match is not None and one.match.score is not None:
            verdict = _mismatch_judge(one.match.score, one.match.cer, found, limits)
            if verdict is not None:
                mark = Mark(check="mismatch", severity=verdict[0], value=one.match.score, message=verdict[1])
                yield Finding(id=one.clip.id, mark=mark, badness=-one.match.score)


def _mismatch_judge(
    score: float, cer: float | None, found: MismatchLimits, limits: Thresholds
) -> tuple[Severity, str] | None:
    wrong = f"; {cer:.0%} of it is heard otherwise" if cer is not None else ""
    if found.trusted and score < found.under:
        return "error", f"its text fits the sound no better than another clip's would ({score:.2f}){wrong}"
    if found.cer and cer is not None and cer > limits.mismatch_cer:
        return "error", f"{cer:.0%} of its text is heard otherwise ({score:.2f})"
    if score <= found.low:
        return "info", f"among the clips whose text fits the sound least ({score:.2f}){wrong}"
    return None


def _tell_mismatch(heard: Sequence[MeasuredClip], marks: Sequence[Finding], limits: Thresholds) -> str:
    found = limits_of(heard, limits)
    if found is None or found.trusted:
        return ""
    return UNTOLD


define("mismatch", _look_mismatch, tell=_tell_mismatch)


LEAST_WORDS = 100  # fewer have no middle half worth the name
LEAST_UNHEARD = 3  # words: one of two is no half of a text


def _look_unheard(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    lows = _lows(heard, limits)
    for one in heard:
        bad = unheard(one.words, low=lows.get(one.aligner))
        if len(bad) > limits.unheard_share * len(one.words):
            share = len(bad) / len(one.words)
            are = "word is" if len(one.words) == 1 else "words are" if len(bad) > 1 else "words is"
            message = f"{len(bad)} of its {len(one.words)} {are} not heard as read: {named(one.words, bad)}"
            severity: Severity = "error" if share > limits.unheard_error and len(bad) >= LEAST_UNHEARD else "warn"
            mark = Mark(check="unheard", severity=severity, value=share, message=message)
            yield Finding(id=one.clip.id, mark=mark, badness=share)


def _lows(heard: Sequence[MeasuredClip], limits: Thresholds) -> dict[str, float | None]:
    """For each way of aligning the score under which a word is unlike the others: each has its own."""
    scores: dict[str, list[float]] = {}
    for one in heard:
        scores.setdefault(one.aligner, []).extend(word.score for word in one.words if word.score is not None)
    enough = {way: found for way, found in scores.items() if len(found) >= LEAST_WORDS}
    return {way: low_score(found, far=limits.unheard_iqr) for way, found in enough.items()}


define("unheard", _look_unheard, more=lambda t: str(LEAST_UNHEARD))


MOST = 0.5  # of the clips: from here on it is said once of the whole corpus
LEAST_CLIPS = 20
LEAST_IQR = 0.1  # made speech has almost none
NEAR_SECONDS = 0.1  # from the edge: where the word itself must begin or end

Side = Literal["first", "last"]
SIDES: tuple[Side, Side] = ("first", "last")


def _look_cut_off(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    lows = {side: _low(heard, side, limits) for side in SIDES}
    for one in heard:
        found = [mark for side in SIDES if (mark := _cut_off_judge(one, side, lows[side], limits))]
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


def _cut_off_judge(one: MeasuredClip, side: Side, low: float | None, limits: Thresholds) -> Mark | None:
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
        return Mark(check="cut_off", severity="warn", value=float(word.score or 0.0), message=message)
    if touches:
        message = f"sound up to the very {where}: its {side} word, {word.label}, may be cut off"
        return Mark(check="cut_off", severity="info", value=0.0, message=message)
    return None


def _word(one: MeasuredClip, side: Side) -> Span | None:
    if one.match is None:
        return None
    return one.match.first if side == "first" else one.match.last


def _tell_cut_off(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    if len(found) <= MOST * len(heard):
        return ""
    return (
        f"{len(found) / len(heard):.0%} of the clips have no silence at an end: they were cut very close to the words."
    )


define("cut_off", _look_cut_off, tell=_tell_cut_off, more=lambda t: f"{t.cut_off_edge * 1000:g}")
