"""The words of a long recording in runs: between two of them something is not written, or not said."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from olu.align.cut import CutPoint
from olu.core.types import Alignment, Span
from olu.core.words import many

TOUCH_SECONDS = 0.01
LEAST_BREAK = 1.6  # seconds of what is not written that end a run: less is a breath or a slip within it
LEAST_TOLD = 0.6  # a shorter one is a drawled word or a stammer
MOST_WORDS = 6  # of a text that are named


@dataclass(frozen=True, slots=True)
class SpokenRun:
    """Words that follow each other in sound and text, and the time that is theirs."""

    first: int
    last: int  # the one after it
    start: float
    end: float


def spoken_runs(alignment: Alignment) -> list[SpokenRun]:
    """All words that are said, in runs."""
    words, strange = alignment.words, sorted(one for one in alignment.unwritten if one[1] - one[0] >= LEAST_BREAK)
    unsaid = {at for first, last in alignment.unspoken for at in range(first, last)}
    found: list[SpokenRun] = []
    run: list[int] = []
    at, floor = 0, 0.0

    def close(end: float) -> None:
        nonlocal run
        if run:
            found.append(SpokenRun(run[0], run[-1] + 1, min(floor, words[run[0]].start), max(end, words[run[-1]].end)))
        run = []

    for place, word in enumerate(words):
        if place in unsaid:
            continue
        while at < len(strange) and strange[at][1] <= word.start + TOUCH_SECONDS:
            close(strange[at][0])
            floor = strange[at][1]
            at += 1
        if run and run[-1] != place - 1:
            end = words[run[-1]].end
            close(word.start)
            floor = max(floor, end)
        run.append(place)
    close(strange[at][0] if at < len(strange) else alignment.seconds)
    return found


def narrowed(
    run: SpokenRun, spans: Sequence[Span], found: Mapping[int, CutPoint], bad: frozenset[int], pause: float
) -> SpokenRun | None:
    """The run without doubtful words at its ends: beside a hole must be a pause, and a sure place in the text."""
    first, last = run.first, run.last
    start, end = run.start, run.end
    while first < last and (
        first in bad or (first > 0 and first not in found) or (start > 0 and spans[first].start - start < pause)
    ):
        start = spans[first].end
        first += 1
    while last > first and (
        last - 1 in bad
        or (last < len(spans) and last not in found)
        or (last < len(spans) and end - spans[last - 1].end < pause)
    ):
        end = spans[last - 1].start
        last -= 1
    return replace(run, first=first, last=last, start=start, end=end) if last > first else None


def trimmed(run: SpokenRun, inner: SpokenRun | None, spans: Sequence[Span]) -> list[tuple[float, float]]:
    """Where words were left out at the ends of a run, and how many seconds they take."""
    ends = [(run.first, run.last)] if inner is None else [(run.first, inner.first), (inner.last, run.last)]
    return [(spans[first].start, spans[last - 1].end - spans[first].start) for first, last in ends if last > first]


def beside_holes(alignment: Alignment) -> frozenset[int]:
    """Words next to one that nobody says or that is said otherwise, or to a slip in a run: their ends are unsure."""
    found = {at for first, last in (*alignment.unspoken, *alignment.otherwise) for at in (first - 1, last)}
    starts = [word.start for word in alignment.words]
    for start, end in alignment.unwritten:
        if end - start < LEAST_BREAK:
            after = bisect_left(starts, end - TOUCH_SECONDS)
            found |= {after - 1, after}
    return frozenset(found)


def unwritten_named(alignment: Alignment) -> list[str]:
    """A sentence for each stretch that is said and not written, with the words it lies between."""
    words = [word for at, word in enumerate(alignment.words) if not _is_unspoken(alignment, at)]
    found = []
    for start, end in alignment.unwritten:
        if end - start < LEAST_TOLD:
            continue
        before = next((word.label for word in reversed(words) if word.end <= start + TOUCH_SECONDS), "")
        after = next((word.label for word in words if word.start >= end - TOUCH_SECONDS), "")
        ends = f"after {before!r}" if before else f"before {after!r}"
        place = f"between {before!r} and {after!r}" if before and after else ends
        found.append(f"{clock(start)} to {clock(end)}: {end - start:.1f} s that are not in the text, {place}")
    return found


def unspoken_named(alignment: Alignment) -> list[str]:
    """A sentence for each run of words that is written and not said."""
    return [_words_named(alignment, run, "that nobody says") for run in alignment.unspoken]


def otherwise_named(alignment: Alignment) -> list[str]:
    """A sentence for each run of words that is said otherwise than it is read."""
    return [_words_named(alignment, run, "said otherwise than read") for run in alignment.otherwise]


def _words_named(alignment: Alignment, run: tuple[int, int], what: str) -> str:
    words = [word.label for word in alignment.words[run[0] : run[1]]]
    shown = " ".join(words) if len(words) <= MOST_WORDS else f"{' '.join(words[:3])} ... {' '.join(words[-2:])}"
    return f"{clock(alignment.words[run[0]].start)}: {many(len(words), 'word')} {what}: {shown}"


def _is_unspoken(alignment: Alignment, at: int) -> bool:
    return any(first <= at < last for first, last in alignment.unspoken)


def clock(seconds: float) -> str:
    """12:03.4, with hours where there are any."""
    minutes, rest = divmod(round(seconds, 1), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:04.1f}" if hours else f"{minutes}:{rest:04.1f}"
