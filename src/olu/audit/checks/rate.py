from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.coverage import count_letters, has_digits
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

NAME = "rate"
LEAST_SPOKEN_SECONDS = 0.1  # less is a click or nothing, and the silence check has said so

Voice = tuple[str, str]
Quartiles = dict[Voice, tuple[float, float]]


def letters_per_second(heard: MeasuredClip) -> float | None:
    """Over the stretch from the first sound to the last: silence at the edges says nothing of the text."""
    letters = count_letters(heard.clip.text)
    if heard.facts is None or heard.facts.spoken < LEAST_SPOKEN_SECONDS or letters == 0:
        return None
    return letters / heard.facts.spoken


def signs_per_second(heard: MeasuredClip) -> float | None:
    """Over the whole clip, and of every sign but spaces: what others publish, and what a loader of a corpus sees."""
    signs = sum(not sign.isspace() for sign in unicodedata.normalize("NFC", heard.clip.text))
    if heard.facts is None or signs == 0 or heard.facts.speech == 0.0:  # a silent clip is the silence check's
        return None
    return signs / heard.facts.seconds


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    usual = _usual(heard, letters_per_second, limits, every=False)
    usual_whole = _usual(heard, signs_per_second, limits, every=True)
    for one in heard:
        mark = _spoken(one, usual.get(_voice(one)), limits) or _whole(one, usual_whole.get(_voice(one)), limits)
        if mark is not None:
            yield mark


def _spoken(one: MeasuredClip, quartiles: tuple[float, float] | None, limits: Thresholds) -> Finding | None:
    rate = letters_per_second(one)
    if rate is None:
        return None
    slow_is_known = not has_digits(one.clip.text)  # digits are said but hold no letters: such clips only seem slow
    if not _judged(one, limits):
        quartiles = None
    severity = _severity(rate, quartiles, limits, slow_is_known=slow_is_known)
    if severity is None:
        return None
    middle = math.exp(sum(quartiles) / 2) if quartiles else _possible(limits)
    pace = "slow" if rate < middle else "fast"
    common = f", usual is {middle:.1f}" if quartiles else ""
    message = f"{rate:.1f} letters per second{common}: too {pace} for its text, which may not match the sound"
    return _finding(one, severity, rate, message, middle)


def _whole(one: MeasuredClip, quartiles: tuple[float, float] | None, limits: Thresholds) -> Finding | None:
    """Never an error: silence around a short text is no mismatch."""
    rate = signs_per_second(one)
    if rate is None or quartiles is None or _beyond(rate, quartiles, limits) <= limits.rate_warn_iqr:
        return None
    middle = math.exp(sum(quartiles) / 2)
    message = f"{rate:.1f} signs per second over the whole clip, usual is {middle:.1f}"
    if rate > middle:
        return _finding(one, "warn", rate, f"{message}: much text for so short a clip", middle)
    if has_digits(one.clip.text):
        return _finding(one, "warn", rate, f"{message}: perhaps only its digits, which are said as words", middle)
    return _finding(one, "warn", rate, f"{message}: little text for so long a clip", middle)


def _finding(one: MeasuredClip, severity: Severity, rate: float, message: str, middle: float) -> Finding:
    mark = Mark(check=NAME, severity=severity, value=rate, message=message)
    return Finding(id=one.clip.id, mark=mark, badness=abs(math.log(rate / middle)))


def _possible(limits: Thresholds) -> float:
    """A rate well inside what people can speak."""
    return math.sqrt(max(limits.rate_error_under, 1e-3) * limits.rate_error_over)


def _voice(heard: MeasuredClip) -> Voice:
    return heard.clip.language, heard.clip.speaker


def _judged(heard: MeasuredClip, limits: Thresholds) -> bool:
    return count_letters(heard.clip.text) >= limits.rate_least_letters


def _usual(
    heard: Sequence[MeasuredClip], measure: Callable[[MeasuredClip], float | None], limits: Thresholds, *, every: bool
) -> Quartiles:
    """The quartiles of the log rate of each voice that has enough clips; of all texts, or of those worth judging."""
    found: dict[Voice, list[float]] = {}
    for one in heard:
        if every or (_judged(one, limits) and not has_digits(one.clip.text)):
            rate = measure(one)
            if rate is not None:
                found.setdefault(_voice(one), []).append(math.log(rate))
    usual = {}
    for voice, logs in found.items():
        if len(logs) >= limits.rate_least_clips:
            low, high = np.percentile(logs, (25, 75))
            usual[voice] = (float(low), float(high))
    return usual


def _beyond(rate: float, quartiles: tuple[float, float], limits: Thresholds) -> float:
    """How many times the width of the middle half a rate lies outside of it."""
    low, high = quartiles
    return max(math.log(rate) - high, low - math.log(rate)) / max(high - low, limits.rate_least_iqr)


def _severity(
    rate: float, quartiles: tuple[float, float] | None, limits: Thresholds, *, slow_is_known: bool
) -> Severity | None:
    if rate > limits.rate_error_over or (slow_is_known and rate < limits.rate_error_under):
        return "error"
    if quartiles is None or (not slow_is_known and math.log(rate) < quartiles[0]):
        return None
    beyond = _beyond(rate, quartiles, limits)
    if beyond > limits.rate_error_iqr:
        return "error"
    return "warn" if beyond > limits.rate_warn_iqr else None


CHECK = Check(
    name=NAME,
    title="Speaking rate",
    rule=lambda t: (
        "Letters per second of speech far from the middle half of the same speaker's clips: warning beyond "
        f"{t.rate_warn_iqr:g}, error beyond {t.rate_error_iqr:g} times its width, in logarithms. Judged for texts of "
        f"{t.rate_least_letters} letters or more, where a speaker has {t.rate_least_clips} clips. Also a warning when "
        f"the signs per second of the whole clip, silence included, lie {t.rate_warn_iqr:g} widths out. "
        f"Always an error under {t.rate_error_under:g} or over {t.rate_error_over:g} letters per second."
    ),
    reason="Far too many or too few letters for the sound mostly means that text and recording do not belong together.",
    fix="Listen: correct the text, or cut the sound to what the text says. If the speaker is just fast, keep it.",
    look=look,
)
