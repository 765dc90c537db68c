from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "mismatch"
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
    """Nothing where too few pairs were compared."""
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


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    found = limits_of(heard, limits)
    if found is None:
        return
    for one in heard:
        if one.match is not None and one.match.score is not None:
            verdict = _judge(one.match.score, one.match.cer, found, limits)
            if verdict is not None:
                mark = Mark(check=NAME, severity=verdict[0], value=one.match.score, message=verdict[1])
                yield Finding(id=one.clip.id, mark=mark, badness=-one.match.score)


def _judge(score: float, cer: float | None, found: MismatchLimits, limits: Thresholds) -> tuple[Severity, str] | None:
    wrong = f"; {cer:.0%} of it is heard otherwise" if cer is not None else ""
    if found.trusted and score < found.under:
        return "error", f"its text fits the sound no better than another clip's would ({score:.2f}){wrong}"
    if found.cer and cer is not None and cer > limits.mismatch_cer:
        return "error", f"{cer:.0%} of its text is heard otherwise ({score:.2f})"
    if score <= found.low:
        return "info", f"among the clips whose text fits the sound least ({score:.2f}){wrong}"
    return None


def tell(heard: Sequence[MeasuredClip], marks: Sequence[Finding], limits: Thresholds) -> str:
    found = limits_of(heard, limits)
    if found is None or found.trusted:
        return ""
    return UNTOLD


CHECK = Check(
    name=NAME,
    title="Text of other speech",
    rule=lambda t: (
        "By a recogniser trained on the corpus: error when a text fits its sound no better than texts of other clips "
        f"do, with a limit that {t.mismatch_pass:.0%} of shuffled pairs pass, or when more than {t.mismatch_cer:.0%} "
        f"of it is heard otherwise; the lowest {t.mismatch_lowest:.0%} are noted."
    ),
    reason="A wrong text teaches the voice to say one thing for another: it mumbles, and single words come out wrong.",
    fix="Listen. Correct the text and import it again, or leave the clip out.",
    look=look,
    tell=tell,
    aligned="scores",
)
