"""Whether text and sound are of one length."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from olu.audit.check import Finding, MeasuredClip, define, each
from olu.audit.coverage import count_letters, has_digits
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark, Severity

USUAL_SECONDS = 5.0  # short and long clips are ranked by how many times they are off


def _judge_duration(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    seconds = heard.facts.seconds if heard.facts else heard.clip.seconds
    if seconds < limits.duration_error_under:
        return Mark(
            check="duration", severity="error", value=seconds, message=f"{seconds:.2f} s: too short to hold a word"
        )
    if seconds > limits.duration_error_over:
        message = f"{seconds:.1f} s: too long, cut it at its pauses"
        return Mark(check="duration", severity="error", value=seconds, message=message)
    if seconds < limits.duration_warn_under:
        return Mark(check="duration", severity="warn", value=seconds, message=f"{seconds:.2f} s: very short")
    if seconds > limits.duration_warn_over:
        return Mark(check="duration", severity="warn", value=seconds, message=f"{seconds:.1f} s: long")
    return None


define("duration", each(_judge_duration, badness=lambda mark: abs(math.log(max(mark.value, 0.001) / USUAL_SECONDS))))


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


def _look_rate(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
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
    """A warning where the rate over the whole clip is unusual; no error, as silence is no mismatch."""
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
    mark = Mark(check="rate", severity=severity, value=rate, message=message)
    return Finding(id=one.clip.id, mark=mark, badness=abs(math.log(rate / middle)))


def _possible(limits: Thresholds) -> float:
    """A rate in signs per second that is well inside what people can speak."""
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


define("rate", _look_rate)


def _judge_frames(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    seconds = heard.facts.seconds if heard.facts else heard.clip.seconds
    symbols = len(unicodedata.normalize("NFC", " ".join(heard.clip.text.split())))
    needed = 2 * symbols + 1  # a blank stands around every symbol
    frames = int(seconds * limits.frames_per_second)
    if symbols == 0 or frames >= needed:
        return None
    message = f"{frames} frames of sound for {needed} symbols: each symbol needs a frame, so they cannot be matched"
    return Mark(check="frames", severity="error", value=frames / needed, message=message)


define("frames", each(_judge_frames, badness=lambda mark: -mark.value))


FARTHEST = 3.0  # spreads: one clip alone never makes a block
FRINGE = 1.0  # log likelihood that a row at the end of a block must bring to be surely of it
MOST_FRINGE = 4  # rows at either end
LEAST_SPREAD = 0.1  # of the log rate: made speech has almost none

Numbers = NDArray[np.float64]


def _look_shifted(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Rows of one source in the order of the manifest: where a line was lost, all after it fit their neighbour."""
    for _, group in groupby(heard, key=lambda one: (one.clip.audio.partition("/")[0], one.clip.language)):
        rows = list(group)
        lengths, texts = _logs(rows)
        known = np.isfinite(lengths) & np.isfinite(texts)
        if known.sum() < limits.rate_least_clips:
            continue
        rates = (lengths - texts)[known]
        middle = float(np.median(rates))
        spread = max(float(np.percentile(rates, 75) - np.percentile(rates, 25)) / 1.35, LEAST_SPREAD)
        gains = {step: _gains(lengths, texts, middle, spread, step) for step in (1, -1)}
        blocks = [(gain, first, last, step) for step in gains for gain, first, last in _blocks(gains[step], limits)]
        taken: set[int] = set()
        for _, first, last, step in sorted(blocks, reverse=True):
            if taken.isdisjoint(range(first, last + 1)):
                taken.update(range(first, last + 1))
                yield from _findings(rows[first : last + 1], step, _core(gains[step][first : last + 1]))


def _logs(rows: Sequence[MeasuredClip]) -> tuple[Numbers, Numbers]:
    """Log of the seconds spoken and of the letters; nan where a clip cannot be compared."""
    lengths, texts = np.full(len(rows), math.nan), np.full(len(rows), math.nan)
    for place, one in enumerate(rows):
        if one.facts is not None and letters_per_second(one) is not None and one.facts.spoken > 0.0:
            lengths[place] = math.log(one.facts.spoken)
        letters = count_letters(one.clip.text)
        if letters and not has_digits(one.clip.text):
            texts[place] = math.log(letters)
    return lengths, texts


def _gains(lengths: Numbers, texts: Numbers, middle: float, spread: float, step: int) -> Numbers:
    """How much better each row's sound fits its neighbour's text than its own, as a log likelihood; capped."""
    neighbour = np.full(len(texts), math.nan)
    if step > 0:
        neighbour[:-step] = texts[step:]
    else:
        neighbour[-step:] = texts[:step]
    own = np.minimum(np.abs(lengths - texts - middle) / spread, FARTHEST)
    other = np.minimum(np.abs(lengths - neighbour - middle) / spread, FARTHEST)
    gains: Numbers = np.nan_to_num((own**2 - other**2) / 2, nan=0.0)
    return gains


def _blocks(gains: Numbers, limits: Thresholds) -> Iterator[tuple[float, int, int]]:
    """Stretches whose gains sum up high: gain, first and last row."""
    start, total, best, end = 0, 0.0, 0.0, -1
    for place, gain in enumerate([*gains.tolist(), -math.inf]):
        total += gain
        if total > best:
            best, end = total, place
        if total <= 0.0 or best - total > limits.shifted_gain:  # over: what follows fits its own text again
            if best > limits.shifted_gain and end - start + 1 >= limits.shifted_least:
                yield best, start, end
            start, total, best = place + 1, 0.0, 0.0


def _core(gains: Numbers) -> range:
    """The rows of a block that carry it: at its ends, rows that fit both texts come along by chance."""
    sums = np.concatenate([[0.0], np.cumsum(gains - FRINGE)])
    start = int(np.argmin(sums[: MOST_FRINGE + 1]))
    end = len(gains) - int(np.argmax(sums[::-1][: MOST_FRINGE + 1]))
    return range(start, end)


def _findings(rows: Sequence[MeasuredClip], step: int, core: range) -> Iterator[Finding]:
    where = "next" if step > 0 else "previous"
    first = rows[0].clip.id
    for place, one in enumerate(rows):
        if place == 0:
            message = f"a block of {len(rows)} clips from here on fits the text of the {where} clip, not its own"
        else:
            message = f"in the block of {len(rows)} shifted texts that begins at {first}"
        mark = Mark(
            check="shifted", severity="error" if place in core else "warn", value=float(len(rows)), message=message
        )
        yield Finding(id=one.clip.id, mark=mark, badness=float(len(rows)) - place / len(rows) / 2)


define("shifted", _look_shifted)
