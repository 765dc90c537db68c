"""SubRip and WebVTT: cues with their times and words; whatever cannot be trusted is a problem, not a guess."""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from olu.core.files import Refused
from olu.corpus.readers.rows import Guessed, Problem, Why, speaker_name
from olu.corpus.readers.texts import as_utf8, guessed

TAG = re.compile(r"</?[A-Za-z][^<>]*>|</?[0-9:.]+>|</?>|\{\\[^{}]*\}|\{[YyCcFfSsPpaA]:[^{}]*\}")
DASH = re.compile(r"^\s*(?:[-‐‑–—]+|>>+)\s*(?=\S)")
NAME = re.compile(r"^\s*([^\W\d_][^\d:.!?,;]{0,24})\s*:\s+(?=\S)")

LEAST_NAMED = 3  # lines that begin with the same word and a colon: then it is who speaks
LEAST_ROLLED = 3  # cues that begin with the last line of the one before and go on
LEAST_ROLLED_SHARE = 0.25


def bare(line: str) -> str:
    """A line without its tags."""
    return " ".join(TAG.sub("", line).split())


def names(blocks: Sequence[Sequence[str]]) -> frozenset[str]:
    """Who speaks, as `JUMA: Habari`: in capitals where the rest is not, or again and again."""
    found: Counter[str] = Counter()
    loud: set[str] = set()
    for line in (DASH.sub("", bare(line)) for block in blocks for line in block):
        if match := NAME.match(line):
            found[match[1]] += 1
            if match[1].isupper() and len(match[1]) > 1 and not line[match.end() :].isupper():
                loud.add(match[1])
    return frozenset(loud | {name for name, times in found.items() if times >= LEAST_NAMED})


def unrolled(blocks: Sequence[Sequence[str]]) -> Iterator[Sequence[str] | None]:
    """Each line where it is first shown, in captions that keep it while the next one is said; None: nothing is new."""
    shown = [[text for line in block if (text := bare(line))] for block in blocks]
    again = [0, *(_again(before, now) for before, now in pairwise(shown))]
    rolled = sum(0 < count < len(now) for count, now in zip(again, shown, strict=False))
    rolls = rolled >= max(LEAST_ROLLED, LEAST_ROLLED_SHARE * len(blocks))
    for block, count, now in zip(blocks, again, shown, strict=False):
        if not rolls or count == 0:
            yield block
        elif count == len(now):
            yield None
        else:
            yield [line for line in block if bare(line)][count:]


def _again(before: Sequence[str], now: Sequence[str]) -> int:
    """How many lines at the beginning are the last ones of the cue before."""
    most = min(len(before), len(now))
    return next((count for count in range(most, 0, -1) if before[-count:] == now[:count]), 0)


TOUCH_SECONDS = 0.05  # cues that overlap by less are neighbours that were rounded

WRONG_WAY_SECONDS = 2.0  # a cue that ends so much before it starts still says where its words are

STAMP = r"(-?)\s*(?:([0-9]{1,3}):)?([0-9]{1,2}):([0-9]{1,2})[.,]([0-9]{1,3})"
TIMES = re.compile(rf"\s*{STAMP}\s*-->\s*{STAMP}(?:\s.*)?")
LONGEST_LINE = 400  # of times
HELP = "save it as UTF-8, or name its encoding with --encoding"
FORM = "write 00:00:01,000 --> 00:00:02,500"
SKIPPED = ("NOTE", "STYLE", "REGION")  # blocks of WebVTT that are no cues

VOICE = re.compile(r"<v(?:\.[^\s<>]*+)?[ \t]++([^<>]*+)>")
NOTE = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|（[^（）]*）|【[^【】]*】|[♪♫♩♬][^♪♫♩♬]*(?:[♪♫♩♬]|$)|^\s*#[^#]*#\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """Words and when they should be heard, in seconds."""

    start: float
    end: float
    text: str  # without tags, dashes and notes; empty where nothing is said
    where: str
    speaker: str | None = None
    turn: bool = False  # a dash says that somebody else begins


@dataclass(slots=True)
class Cues:
    """What a subtitle file holds: cues in order, the times that must not be cut into, and what was left out."""

    cues: list[Cue] = field(default_factory=list)
    busy: list[tuple[float, float]] = field(default_factory=list)  # of every cue with times, used or not
    problems: list[Problem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    guessed: list[Guessed] = field(default_factory=list)  # of the encoding


def parse(data: bytes, *, file: str, encoding: str | None = None) -> Cues:
    """Read a subtitle file of either kind."""
    found = Cues()
    try:
        told = as_utf8(data, encoding)
        text = told.data.decode("utf-8")
    except (Refused, UnicodeDecodeError) as bad:
        why = str(bad) if isinstance(bad, Refused) else f"is no text in UTF-8, UTF-16 or Windows-1252: {HELP}"
        found.problems.append(Problem(file, why, Why.LETTERS))
        return found
    found.guessed += guessed(file, told)
    lines = re.split(r"\r\n|\r|\n", text)
    web = bool(lines) and lines[0].startswith("WEBVTT")
    blocks = list(_blocks(lines, file=file, web=web, found=found))
    words = list(unrolled([words for _, words, _ in blocks]))
    found.counts["lines shown again"] += sum(len(b[1]) - len(left or ()) for b, left in zip(blocks, words, strict=True))
    known = names([words for _, words, _ in blocks])
    cues = []
    for (line, _, where), left in zip(blocks, words, strict=True):
        if left is not None and (cue := _cue(line, left, where=where, known=known, found=found)):
            cues.append(cue)
    found.cues = _in_order(cues, found)
    found.busy.sort()
    return found


def _blocks(lines: list[str], *, file: str, web: bool, found: Cues) -> Iterator[tuple[str, list[str], str]]:
    """The line with the times of each cue, its words, and where it stands."""
    at = 1 if web else 0
    while web and at < len(lines) and lines[at].strip():
        at += 1  # the rest of the header
    while at < len(lines):
        line, where = lines[at], f"{file} line {at + 1}"
        at += 1
        if not line.strip():
            continue
        if web and line.split(maxsplit=1)[0].rstrip(":") in SKIPPED and "-->" not in line:
            while at < len(lines) and lines[at].strip():
                at += 1
        elif "-->" in line:
            at, words = _words(lines, at, web=web)
            yield line, words, where
        elif not _is_name(lines, at, web=web):
            shown = " ".join(line.split())[:40]
            message = f"{shown!r} belongs to no cue: give it times, or remove the empty line above it"
            found.problems.append(Problem(where, message, Why.FORM))


def _is_name(lines: list[str], at: int, *, web: bool) -> bool:
    """Whether the line before `at` is the number or name of the cue that follows."""
    before = lines[at - 1].strip()
    while not web and at < len(lines) and not lines[at].strip():
        at += 1
    follows = at < len(lines) and "-->" in lines[at]
    last = all(not line.strip() for line in lines[at : at + 10])
    return (follows and (web or before.isdecimal())) or (before.isdecimal() and last)


def _words(lines: list[str], at: int, *, web: bool) -> tuple[int, list[str]]:
    """The lines of a cue up to an empty one, or up to the next cue where the empty one is missing."""
    while web and at < len(lines) and lines[at].isspace():  # captions that roll up begin with a line of one space
        at += 1
    first = at
    while at < len(lines) and lines[at].strip() and "-->" not in lines[at]:
        at += 1
    words = lines[first:at]
    if at < len(lines) and "-->" in lines[at] and words and words[-1].strip().isdecimal():
        words = words[:-1]
    return at, words


def _cue(line: str, words: Sequence[str], *, where: str, known: frozenset[str], found: Cues) -> Cue | None:
    times = TIMES.fullmatch(line.strip()) if len(line) < LONGEST_LINE else None
    if times is None or any(int(times[n]) > 59 for n in (3, 4, 8, 9)):
        found.problems.append(Problem(where, f"its times cannot be read: {FORM}", Why.TIMES))
        return None
    start, end = _seconds(times, 1), _seconds(times, 6)
    fault = ""
    if start < 0 or end < 0:
        fault = "its times lie before 0"
    elif end == start:
        fault = f"it starts and ends at {start:.3f} s"
    elif end < start:
        fault = f"it ends at {end:.3f} s, before it starts at {start:.3f} s"
    if fault:
        why = Why.BACKWARDS if end < start else Why.TIMES
        message = f"{fault}: correct its times"
        is_there = 0 <= end <= start <= end + WRONG_WAY_SECONDS
        found.problems.append(Problem(where, message, why, seconds=start - end if is_there else 0.0))
        if is_there:  # its words are there, and no neighbour's
            return Cue(start=end, end=max(start, end + 0.01), text="", where=where)
        return None
    text, speaker, turn = plain(words, known=known, counts=found.counts)
    return Cue(start=start, end=end, text=text, where=where, speaker=speaker, turn=turn)


def _seconds(times: re.Match[str], first: int) -> float:
    sign, hours, minutes, seconds, part = times.groups()[first - 1 : first + 4]
    value: float = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{part}")
    return -value - 1e-9 if sign else value  # -0 is before 0 too


def plain(
    lines: Iterable[str], *, counts: Counter[str], known: frozenset[str] = frozenset()
) -> tuple[str, str | None, bool]:
    """The words of a cue as they are said, who says them, and whether somebody else begins; what went is counted.

    `known` are the names of speakers that stand before a colon.
    """
    said: list[str] = []
    voices: list[str] = []
    turns = 0
    for line in lines:
        line = line.replace("\\N", " ").replace("\\n", " ").replace("\\h", " ")
        voices += VOICE.findall(line)
        line, tags = TAG.subn("", line)
        counts["tags"] += tags
        line, dashes = DASH.subn("", html.unescape(line))
        counts["speaker dashes"] += dashes
        name = NAME.match(line)
        named = name is not None and name[1] in known
        counts["speaker names"] += named
        turns += dashes > 0 or named
        said.append(line[name.end() :] if name is not None and named else line)
    text, notes = NOTE.subn(" ", " ".join(said))
    counts["sound notes"] += notes
    text = " ".join(text.split())
    if not any(letter.isalnum() for letter in text):
        counts["cues without words"] += 1
        text = ""
    counts["cues of several speakers"] += len(set(voices)) > 1 or turns > 1
    speaker = speaker_name(html.unescape(voices[0])) if len(set(voices)) == 1 else None
    return text, speaker, turns > 0


def _in_order(cues: list[Cue], found: Cues) -> list[Cue]:
    """The longest run of cues whose starts rise; one wild time must not make all that follow look wrong."""
    tops: list[float] = []  # of the runs of each length that end at the last cue, the latest first start, negated
    heads: list[int] = []
    after = [-1] * len(cues)
    for number in reversed(range(len(cues))):  # from the end, so that of two that are swapped the first stays
        at = bisect_right(tops, -cues[number].start)
        tops[at : at + 1], heads[at : at + 1] = [-cues[number].start], [number]
        after[number] = heads[at - 1] if at else -1
    keep = set()
    number = heads[-1] if heads else -1
    while number >= 0:
        keep.add(number)
        number = after[number]
    for number, cue in enumerate(cues):
        found.busy.append((cue.start, cue.end))
        if number not in keep:
            message = f"its start, {cue.start:.3f} s, is out of order: correct its times or move it"
            lost = cue.end - cue.start
            found.problems.append(Problem(cue.where, message, Why.ORDER, seconds=lost))
    kept = [cue for number, cue in enumerate(cues) if number in keep]
    return _clear(kept, [cue for number, cue in enumerate(cues) if number not in keep], found)


def _clear(kept: list[Cue], passed: list[Cue], found: Cues) -> list[Cue]:
    """The cues that do not lie over one that was passed over, whose words would be in them."""
    passed = sorted(passed, key=lambda cue: cue.start)
    starts = [cue.start for cue in passed]
    latest: list[Cue] = []  # of those up to each, the one that ends last
    for cue in passed:
        latest.append(cue if not latest or cue.end > latest[-1].end else latest[-1])
    clear = []
    for cue in kept:
        before = bisect_left(starts, cue.end - TOUCH_SECONDS)
        other = latest[before - 1] if before else None
        if other is None or other.end <= cue.start + TOUCH_SECONDS:
            clear.append(cue)
            continue
        message = f"it overlaps the cue of {other.where}, which is out of order, and is left out: correct the times"
        lost = cue.end - cue.start
        found.problems.append(Problem(cue.where, message, Why.OVERLAP, seconds=lost))
    return clear
