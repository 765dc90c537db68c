"""Cues as sentences, and where each begins and ends in the sound: at a pause, if there is one that no other rivals.

Parts of one sentence, or cues that the sound does not part, become one span; its edges lie near its cue, and never past
the middle of the gap to a neighbour.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from olu.audio.activity import SILENT_DBFS, Levels, runs, stretches
from olu.corpus.readers.rows import Problem, Why
from olu.corpus.readers.subtitles.cues import TOUCH_SECONDS, Cue

Times = NDArray[np.float64]

PAUSE_FRAMES = 12  # a shorter quiet is a stop consonant
LONG_PAUSE_SECONDS = 0.3
WIDE_SECONDS = 2.0  # cues that are further apart have nothing to share
SLACKS = (0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.36, 0.42, 0.5, 0.6, 0.7)  # deviations of the edges, in seconds
USUAL_SLACK = 0.2
LEAST_STARTS = 5
LARGE_SLACK, LARGE_WEIGHT = 0.42, 4.0  # for deviations up to that: few beginnings fit a small one by chance
FAR_SECONDS = 1.5
GAP_SECONDS = 1.0  # cues that are so far apart leave the pause between them, whether music fills it or not
CLEAN_SHARE, CLEAN_SLACK = 0.8, 0.5  # so many cues begin after quiet, no further off: no music then
NEAR, REACH = 1.0, 2.0  # deviations that a pause may lie off cues with a gap between, and off those that overlap
CAPPED = 4.5  # what one edge can say against a pause: some edges are wild
LEAST_LEAD = 2.0  # in log odds, over the next pause and over none
MOST_DOUBT = 5.0
EXACT_DOUBT = 1.0  # between cues without a pause, where edges are off by no more than the least of SLACKS
RUNS_ON_COST = 1.5  # that there is no pause between two cues, where as many have one as have none
ENDED_COST = 2.0  # and a sentence ends there
OPEN_COST = -1.5  # and none ends there, in a file that marks where sentences end
MARKED_SHARE = 0.2  # of the cues that end a sentence in such a file
LEAST_OVERLAP, MOST_OVERLAP = 0.5, 2.5  # seconds; an overlap that chance does not explain is two people at once
APART_SHARE, APART_SECONDS = 0.01, 0.3  # where no more overlap, the middle of a gap is between the two, music or not
HABIT_SHARE = 0.15  # where more of the cues overlap the next, overlaps say nothing of two people at once
STAY_WEIGHT = 0.5  # of an edge that lies in the pause: cues stay on the screen after the last word
LEAST_CUE_SECONDS = 0.2
AROUND_SECONDS = 4.0
SOFT_SECONDS = 0.3
ROLLED_SHARE, ROLLED_PART = 0.6, 0.3  # so many cues stay for so much of their time while the next is said

ENDED = re.compile(r"""[.!?。！？።፧؟।॥။៕][\s"'”’»)\]]*$""")
OPEN = re.compile(r"""(?:\.\.+|…)[\s"'”’»)\]]*$""")  # dots say that it goes on
TAIL = 20  # characters: punctuation and the quotes behind it


def is_ended(text: str) -> bool:
    """Whether a sentence ends with this text."""
    tail = text[-TAIL:]
    return bool(ENDED.search(tail)) and not OPEN.search(tail)


@dataclass(frozen=True, slots=True)
class Seam:
    """The place between a cue and the next, in seconds, and how doubtful it is to cut there."""

    at: float
    doubt: float  # in log odds: 0 is a pause that nothing rivals, or a wide gap
    wide: bool = False

    @property
    def sure(self) -> bool:
        return self.doubt == 0.0


def without_lag(cues: list[Cue]) -> tuple[list[Cue], int]:
    """Captions whose lines stay while the next one is said, as video sites write them: each ends where the next begins.

    Returns how many were shortened.
    """
    over = [(before.end - cue.start) / (before.end - before.start) for before, cue in pairwise(cues)]
    if not over or np.mean(np.asarray(over) > ROLLED_PART) < ROLLED_SHARE:
        return cues, 0
    ends = [cue.start for cue in cues[1:]]
    shortened = [
        replace(cue, end=max(min(cue.end, end), cue.start + LEAST_CUE_SECONDS))
        for cue, end in zip(cues, ends, strict=False)
    ]
    return [*shortened, cues[-1]], sum(part > 0 for part in over)


class Pauses:
    """The pauses of a recording, and how far the edges of some cues are off them."""

    def __init__(self, cues: Sequence[Cue], *, levels: Levels, frames_per_second: float, shift: float = 0.0) -> None:
        """`shift`: what the cues as a whole are off, as far as is known."""
        self.levels, self.fps = levels, frames_per_second
        starts, ends = stretches(levels, frames_per_second, pause_frames=PAUSE_FRAMES)
        self.starts = np.concatenate([[0.0], ends / frames_per_second])
        self.ends = np.concatenate([starts / frames_per_second, [len(levels) / frames_per_second]])
        off = self._off(cues, shift)
        self.lead, self.slack, share = _habit(off)
        self.measured = len(off) >= LEAST_STARTS
        self.clean = share >= CLEAN_SHARE and self.slack <= CLEAN_SLACK
        self.runs_on = RUNS_ON_COST + float(np.log(share / (1 - share)))
        self.marked = np.mean([is_ended(cue.text) for cue in cues if cue.text] or [False]) >= MARKED_SHARE
        over = np.asarray([before.end - cue.start for before, cue in pairwise(cues)] or [0.0])
        self.apart = len(cues) >= LEAST_STARTS and np.mean(over > TOUCH_SECONDS) <= APART_SHARE
        often = len(over) >= LEAST_STARTS and np.mean(over > TOUCH_SECONDS) >= HABIT_SHARE
        usual = float(np.median(over[over > TOUCH_SECONDS])) if often else 0.0
        self.explained = min(MOST_OVERLAP, max(LEAST_OVERLAP, 4 * self.slack, 4 * usual))

    def _off(self, cues: Sequence[Cue], shift: float) -> Times:
        """How far beginnings of cues are off the nearest end of a long pause, as far as there is one."""
        ends = self.ends[self.ends - self.starts >= LONG_PAUSE_SECONDS]
        begins = np.asarray([cue.start + shift for cue in cues if cue.text])
        if len(ends) == 0 or len(begins) == 0:
            return np.zeros(0)
        after = np.clip(np.searchsorted(ends, begins), 1, max(1, len(ends) - 1))
        near = np.where(np.abs(begins - ends[after - 1]) < np.abs(begins - ends[after % len(ends)]), after - 1, after)
        off = begins - ends[near % len(ends)]
        return np.asarray(off[np.abs(off) < FAR_SECONDS])

    def between(self, before: Cue, cue: Cue) -> Seam:
        if cue.start - before.end > WIDE_SECONDS:
            return Seam((before.end + cue.start) / 2, 0.0, wide=True)
        if self.apart and cue.start - before.end >= APART_SECONDS:
            return Seam((before.end + cue.start) / 2, 0.0)
        end, start = before.end - self.lead, cue.start - self.lead
        reach = (NEAR if start > end else REACH) * self.slack
        low = max(min(end, start) - reach, before.start + LEAST_CUE_SECONDS)
        high = min(max(end, start) + reach, cue.end - LEAST_CUE_SECONDS)
        if start - end >= GAP_SECONDS:  # the pause is between them
            low, high = (end, start) if self.clean else ((end + start) / 2,) * 2
        firsts, lasts = self._near(low, high)
        doubt = EXACT_DOUBT if self.slack == SLACKS[0] else MOST_DOUBT
        middle = Seam(self._softest((before.end + cue.start) / 2, before, cue), doubt)
        if len(firsts) == 0:
            return middle
        costs = self._costs(firsts, lasts, end=end, start=start)
        order = np.argsort(costs)
        best = int(order[0])
        least, rival = float(costs[order[0]]), float(costs[order[1]]) if len(order) > 1 else np.inf
        runs_on = (start - end) ** 2 / (4 * self.slack**2) + self.runs_on
        runs_on += ENDED_COST if is_ended(before.text) else OPEN_COST * self.marked
        if least > runs_on + LEAST_LEAD:
            return middle
        at = min(max((float(firsts[best]) + float(lasts[best])) / 2, low), high)
        return Seam(at, float(np.clip(LEAST_LEAD - min(rival, runs_on) + least, 0.0, MOST_DOUBT)))

    def _near(self, low: float, high: float) -> tuple[Times, Times]:
        """Starts and ends of the pauses that touch a stretch, measured with the speech around it."""
        from_, to = round((low - AROUND_SECONDS) * self.fps), round((high + AROUND_SECONDS) * self.fps)
        from_ = max(0, from_)
        around = self.levels[from_:to]
        if len(around) == 0 or high < low:
            return np.zeros(0), np.zeros(0)
        starts, ends = stretches(around, self.fps, pause_frames=PAUSE_FRAMES)
        firsts = (from_ + np.concatenate([[0], ends])) / self.fps
        lasts = (from_ + np.concatenate([starts, [len(around)]])) / self.fps
        near = (lasts >= low) & (firsts <= high) & (lasts > firsts)
        return firsts[near], lasts[near]

    def _costs(self, first: Times, last: Times, *, end: float, start: float) -> Times:
        """The cost of each pause in log odds: how far the edges are off it, and how short it is."""
        ends, starts = end - first, start - last
        ends = np.where((end > first) & (end < last), STAY_WEIGHT * ends, ends)
        starts = np.where((start > first) & (start < last), STAY_WEIGHT * starts, starts)
        scale = 2 * self.slack**2
        off = np.minimum(ends**2 / scale, CAPPED) + np.minimum(starts**2 / scale, CAPPED)
        return np.asarray(off - 2 * np.log(np.minimum(last - first, 1.0)))

    def _softest(self, at: float, before: Cue, cue: Cue) -> float:
        """The softest moment near `at`, where no pause parts two cues; `at` itself where they are apart."""
        reach = min(self.slack, SOFT_SECONDS)
        low, high = max(at - reach, before.start + LEAST_CUE_SECONDS), min(at + reach, cue.end)
        first, last = round(low * self.fps), round(high * self.fps)
        part = self.levels[first:last]
        if cue.start - before.end > TOUCH_SECONDS or len(part) < 5:
            return at
        return (first + 2 + int(np.argmin(np.convolve(part, np.ones(5) / 5, "valid")))) / self.fps


def _habit(off: Times) -> tuple[float, float, float]:
    """How late cues begin by habit, their deviation, and the share that begin at pauses: the most likely ones."""
    if len(off) < LEAST_STARTS:
        return 0.0, USUAL_SLACK, 0.5
    best = (-np.inf, 0.0, USUAL_SLACK, 0.5)
    for lead in np.arange(-0.4, 0.41, 0.1):
        for slack in SLACKS:
            large = LARGE_WEIGHT * float(np.log(min(slack, LARGE_SLACK)))
            density = np.exp(-((off - lead) ** 2) / (2 * slack**2)) / (slack * np.sqrt(2 * np.pi))
            for share in (0.2, 0.4, 0.6, 0.8, 0.95):
                likely = float(np.log(share * density + (1 - share) / (2 * FAR_SECONDS)).sum())
                best = max(best, (likely + large, float(lead), slack, share))
    return best[1:]


CUT_COST, LONG_COST = 1.0, 1.5  # of a cut, beside its doubt, and of a clip over each of the lengths
CHANCE_SLACKS, FEW_SLACKS = 4.2, 2.0  # three deviations of a gap between two edges; where they could not be measured


@dataclass(frozen=True, slots=True)
class Joining:
    """The gaps and lengths by which cues are joined into one clip."""

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


def _overlaps(before: Cue, cue: Cue, pauses: Pauses, *, adjacent: bool) -> bool:
    """Whether a cue begins so far inside an earlier one that nobody can tell whose words are where."""
    over = before.end - cue.start
    if over <= TOUCH_SECONDS:
        return False
    other = cue.speaker != before.speaker and not pauses.between(before, cue).sure
    same = abs(cue.start - before.start) < TOUCH_SECONDS and abs(cue.end - before.end) < TOUCH_SECONDS
    return over > pauses.explained or not adjacent or other or same


def at_once(cues: list[Cue], pauses: Pauses, problems: list[Problem]) -> list[Cue]:
    """The cues, without the words of those that overlap by more than chance, or of other speakers."""
    lost: set[int] = set()
    last = -1  # the cue that ends last so far
    for number, cue in enumerate(cues):
        if last >= 0 and _overlaps(cues[last], cue, pauses, adjacent=last == number - 1):
            before = cues[last]
            over = min(before.end, cue.end) - cue.start
            said = f"by {over:.3f} s, too much to tell whose words are where: both are left out, correct the times"
            first = before.start if not before.text else min(before.end, cue.end)  # what overlaps is lost once
            for at, one, of, since in ((last, before, cue, before.start), (number, cue, before, first)):
                if one.text and at not in lost:
                    message = f"it overlaps the cue of {of.where} {said}"
                    seconds = one.end - max(one.start, since)
                    problems.append(Problem(one.where, message, Why.OVERLAP, seconds=seconds))
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
        cues[first], end=max(one.end for one in cues[first:end]), text=" ".join(one.text for one in cues[first:end])
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


Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class EdgeSearch:
    """How far an edge may move, and when quiet is quiet enough to move it inwards."""

    reach_seconds: float = 1.0  # outwards from a cue: people set cues by hand, up to most of a second off
    pad_seconds: float = 0.25  # kept around what is heard: soft beginnings and ends lie below any threshold
    around_seconds: float = 10.0  # what a floor is measured over, on either side
    stands_out_db: float = 30.0  # speech over floor: with less there is music or noise, and nothing is cut off
    above_floor_db: float = 4.0
    below_loud_db: float = 50.0  # softer than this next to the speech is no part of it


def limits(spans: Sequence[Span], *, busy: Sequence[Span], seconds: float, reach: float) -> list[Span]:
    """The furthest edges: `reach` beyond a span, the middle of the gap, the ends of the sound, whatever comes first.

    `busy` has everything that may hold somebody's words, the spans too. Neighbours
    that touch, or overlap by a rounding, share the middle as one boundary.
    """
    starts = sorted(start for start, _ in busy)
    ends = sorted(end for _, end in busy)
    found = []
    for start, end in spans:
        before = bisect_right(ends, start + TOUCH_SECONDS) - 1
        after = bisect_left(starts, end - TOUCH_SECONDS)
        low, high = start - reach, end + reach
        if before >= 0:
            low = max(low, (ends[before] + start) / 2)
        if after < len(starts):
            high = min(high, (end + starts[after]) / 2)
        found.append((max(0.0, low), min(seconds, high)))
    return found


def find_edges(
    spans: Sequence[Span],
    *,
    busy: Sequence[Span],
    levels: Levels,
    frames_per_second: float,
    seconds: float,
    seams: Sequence[tuple[float | None, float | None]] = (),
    search: EdgeSearch = EdgeSearch(),  # noqa: B008
) -> list[Span]:
    """The span of sound of each cue; where quiet and speech cannot be told apart it stays at its furthest edges.

    `seams`: where the neighbours on either side end and begin, as far as the sound tells.
    """
    far = limits(spans, busy=busy, seconds=seconds, reach=search.reach_seconds)
    if seams:
        far = [_between(one, sides, seconds=seconds) for one, sides in zip(far, seams, strict=True)]
    return [_tighten(one, levels, frames_per_second, search) for one in far]


def _between(span: Span, sides: tuple[float | None, float | None], *, seconds: float) -> Span:
    low, high = (edge if side is None else side for edge, side in zip(span, sides, strict=True))
    return (max(0.0, low), min(seconds, high)) if high > low else span


def _tighten(span: Span, levels: Levels, fps: float, search: EdgeSearch) -> Span:
    start, end = span
    first, last = round(start * fps), min(len(levels), round(end * fps))
    inside = levels[first:last]
    if len(inside) == 0:
        return span
    wide = round(search.around_seconds * fps)
    around = levels[max(0, first - wide) : last + wide]
    loud, floor = float(np.percentile(inside, 95)), float(np.percentile(around, 2))
    if loud - max(floor, SILENT_DBFS) < search.stands_out_db:
        return span
    least = max(floor + search.above_floor_db, loud - search.below_loud_db)
    starts, ends = runs(inside >= least)
    heard = ends - starts > 1  # a lone frame is a click
    if not heard.any():
        return span
    begins, stops = float(starts[heard][0]), float(ends[heard][-1])
    pad = search.pad_seconds
    return max(start, (first + begins) / fps - pad), min(end, (first + stops) / fps + pad)
