"""What the lines of subtitles have besides words: tags, names of speakers, and lines that roll up and stand twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

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
