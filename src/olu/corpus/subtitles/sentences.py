"""Cues that are parts of one sentence, or that the sound does not part, as one span."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from olu.corpus.readers.rows import Problem, Why
from olu.corpus.subtitles.cues import TOUCH_SECONDS, Cue
from olu.corpus.subtitles.seams import USUAL_SLACK, Pauses, Seam, is_ended

CUT_COST, LONG_COST = 1.0, 1.5  # of a cut, beside its doubt, and of a clip over each of the lengths
CHANCE_SLACKS, FEW_SLACKS = 4.2, 2.0  # three deviations of a gap between two edges; where they could not be measured


@dataclass(frozen=True, slots=True)
class Joining:
    """When cues belong together."""

    gap_seconds: float = 0.3  # subtitles leave a few frames between the parts of a sentence, more between sentences
    longest_seconds: float = 15.0
    trained_seconds: float = 19.0  # rather than cut where a pause is in doubt; a recipe takes clips up to 20 s
    most_seconds: float = 28.0  # rather than cut where no pause is: olu cut finds one between heard words


@dataclass(frozen=True, slots=True)
class Sentence:
    """One clip to be: the first cue with the words and the end of all, and where its neighbours begin."""

    cue: Cue
    before: Seam | None
    after: Seam | None
    cues: int = 1  # it is made of


def at_once(cues: list[Cue], pauses: Pauses, problems: list[Problem]) -> list[Cue]:
    """Without the words of cues that lie over each other by more than chance explains, or that name other speakers."""
    lost: set[int] = set()
    last = -1  # the cue that ends last so far
    for number, cue in enumerate(cues):
        if last >= 0 and (over := cues[last].end - cue.start) > TOUCH_SECONDS:
            before = cues[last]
            other = cue.speaker != before.speaker and not pauses.between(before, cue).sure
            same = abs(cue.start - before.start) < TOUCH_SECONDS and abs(cue.end - before.end) < TOUCH_SECONDS
            if over > pauses.explained or last != number - 1 or other or same:
                over = min(before.end, cue.end) - cue.start
                said = f"by {over:.3f} s, too much to tell whose words are where: both are left out, correct the times"
                first = before.start if not before.text else min(before.end, cue.end)  # what overlaps is lost once
                for at, one, of, since in ((last, before, cue, before.start), (number, cue, before, first)):
                    if one.text and at not in lost:
                        message = f"it overlaps the cue of {of.where} {said}"
                        seconds = one.end - max(one.start, since)
                        problems.append(Problem(where=one.where, message=message, why=Why.OVERLAP, seconds=seconds))
                lost |= {last, number}
        if last < 0 or cue.end > cues[last].end:
            last = number
    return [replace(cue, text="") if number in lost else cue for number, cue in enumerate(cues)]


def join(
    cues: Sequence[Cue],
    pauses: Pauses,
    *,
    busy: Sequence[tuple[float, float]] = (),
    counts: Counter[str] | None = None,
    joining: Joining = Joining(),  # noqa: B008
) -> list[Sentence]:
    """Cues as sentences. Nothing that has no words, or lies in `busy` and made no cue, comes into one."""
    seams = [pauses.between(before, cue) for before, cue in pairwise(cues)]
    starts = {cue.start for cue in cues}
    others = sorted(start for start, _ in busy if start not in starts)
    found: list[Sentence] = []
    first = 0
    for number in range(1, len(cues) + 1):
        if (
            number < len(cues)
            and _together(cues[number - 1], cues[number], seams[number - 1], pauses, joining)
            and bisect_right(others, cues[number - 1].start) == bisect_left(others, cues[number].start)
        ):
            continue
        run = list(cues[first:number])
        if run[0].text:
            for low, high in _parts(run, seams[first : number - 1], joining):
                turns = sum(cue.turn for cue in run[low + 1 : high])
                if counts is not None and turns:
                    counts["cues of several speakers"] += 1
                found.append(_sentence(cues, seams, first + low, first + high))
        first = number
    return found


def _sentence(cues: Sequence[Cue], seams: Sequence[Seam], first: int, end: int) -> Sentence:
    cue = replace(
        cues[first],
        end=max(one.end for one in cues[first:end]),
        text=" ".join(one.text for one in cues[first:end]),
    )
    after = seams[end - 1] if end < len(cues) else None
    return Sentence(cue, seams[first - 1] if first else None, after, cues=end - first)


def _together(before: Cue, cue: Cue, seam: Seam, pauses: Pauses, joining: Joining) -> bool:
    if not (before.text and cue.text) or cue.speaker != before.speaker:
        return False
    gap, ended = cue.start - before.end, is_ended(before.text) or cue.turn
    if -pauses.explained <= gap <= joining.gap_seconds and not ended:
        return True
    slacks = CHANCE_SLACKS if pauses.measured else FEW_SLACKS
    chance = slacks * pauses.slack  # a gap that edges make where there is none
    if ended:
        chance = min(chance, joining.gap_seconds) if pauses.slack > USUAL_SLACK else -TOUCH_SECONDS
    return not seam.sure and gap < (-TOUCH_SECONDS if cue.turn else chance)


def _parts(run: Sequence[Cue], seams: Sequence[Seam], joining: Joining) -> list[tuple[int, int]]:
    """The run in parts that are short enough, cut where it costs least: few cuts, at pauses that are in no doubt."""
    best: list[tuple[float, int]] = [(0.0, 0)]  # of the cues up to each: the cost, and where the last part begins
    for end in range(1, len(run) + 1):
        options = []
        for first in range(end - 1, -1, -1):
            length = run[end - 1].end - run[first].start
            if length > joining.most_seconds and first < end - 1:
                break
            cut = 0.0 if first == 0 else CUT_COST + seams[first - 1].doubt
            over = (length > joining.longest_seconds) + (length > joining.trained_seconds) if first < end - 1 else 0
            options.append((best[first][0] + cut + LONG_COST * over, first))
        best.append(min(options))
    parts: list[tuple[int, int]] = []
    end = len(run)
    while end:
        parts.append((best[end][1], end))
        end = best[end][1]
    return parts[::-1]
