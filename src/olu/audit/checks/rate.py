from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from olu.audit.check import Check, Finding, Heard
from olu.audit.letters import count_letters, has_digits
from olu.audit.thresholds import Thresholds
from olu.types import Mark, Severity

NAME = "rate"
LEAST_SPOKEN_SECONDS = 0.1  # less is a click or nothing, and the silence check has said so


def letters_per_second(heard: Heard) -> float | None:
    """Over the stretch from the first sound to the last: silence at the edges says nothing of the text."""
    letters = count_letters(heard.clip.text)
    if heard.facts is None or heard.facts.spoken < LEAST_SPOKEN_SECONDS or letters == 0:
        return None
    return letters / heard.facts.spoken


def look(heard: Sequence[Heard], limits: Thresholds) -> Iterable[Finding]:
    rates = {one.clip.id: rate for one in heard if (rate := letters_per_second(one)) is not None}
    usual = _usual(heard, rates, limits)
    for one in heard:
        rate = rates.get(one.clip.id)
        if rate is None:
            continue
        slow_is_known = not has_digits(one.clip.text)  # digits are said but hold no letters: such clips only seem slow
        quartiles = usual.get(_voice(one)) if _judged(one, limits) else None
        severity = _severity(rate, quartiles, limits, slow_is_known=slow_is_known)
        if severity is None:
            continue
        middle = math.exp(sum(quartiles) / 2) if quartiles else _possible(limits)
        pace = "slow" if rate < middle else "fast"
        common = f", usual is {middle:.1f}" if quartiles else ""
        message = f"{rate:.1f} letters per second{common}: too {pace} for its text, which may not match the sound"
        mark = Mark(check=NAME, severity=severity, value=rate, message=message)
        yield Finding(id=one.clip.id, mark=mark, badness=abs(math.log(rate / middle)))


def _possible(limits: Thresholds) -> float:
    """A rate well inside what people can speak."""
    return math.sqrt(max(limits.rate_error_under, 1e-3) * limits.rate_error_over)


def _voice(heard: Heard) -> tuple[str, str]:
    return heard.clip.language, heard.clip.speaker


def _judged(heard: Heard, limits: Thresholds) -> bool:
    return count_letters(heard.clip.text) >= limits.rate_least_letters


def _usual(
    heard: Sequence[Heard], rates: dict[str, float], limits: Thresholds
) -> dict[tuple[str, str], tuple[float, float]]:
    """The quartiles of the log rate of each voice that has enough clips."""
    found: dict[tuple[str, str], list[float]] = {}
    for one in heard:
        if one.clip.id in rates and _judged(one, limits) and not has_digits(one.clip.text):
            found.setdefault(_voice(one), []).append(math.log(rates[one.clip.id]))
    usual = {}
    for voice, logs in found.items():
        if len(logs) >= limits.rate_least_clips:
            low, high = np.percentile(logs, (25, 75))
            usual[voice] = (float(low), float(high))
    return usual


def _severity(
    rate: float, quartiles: tuple[float, float] | None, limits: Thresholds, *, slow_is_known: bool
) -> Severity | None:
    if rate > limits.rate_error_over or (slow_is_known and rate < limits.rate_error_under):
        return "error"
    if quartiles is None:
        return None
    low, high = quartiles
    width = max(high - low, limits.rate_least_iqr)
    beyond = max(math.log(rate) - high, low - math.log(rate) if slow_is_known else 0.0) / width
    if beyond > limits.rate_error_iqr:
        return "error"
    return "warn" if beyond > limits.rate_warn_iqr else None


CHECK = Check(
    name=NAME,
    title="Speaking rate",
    rule=lambda t: (
        "Letters per second far from the middle half of the same speaker's clips: warning beyond "
        f"{t.rate_warn_iqr:g}, error beyond {t.rate_error_iqr:g} times its width. Judged for texts of "
        f"{t.rate_least_letters} letters or more, where a speaker has {t.rate_least_clips} of them. "
        f"Always an error under {t.rate_error_under:g} or over {t.rate_error_over:g} letters per second."
    ),
    reason="Far too many or too few letters for the sound mostly means that text and recording do not belong together.",
    fix="Listen: correct the text, or cut the sound to what the text says. If the speaker is just fast, keep it.",
    look=look,
)
