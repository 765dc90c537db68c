"""Cues that are parts of one sentence, joined into one span."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise

from olu.corpus.readers.cues import TOUCH_SECONDS, Cue

ENDED = re.compile(r"""[.!?。！？።፧؟।॥။៕][\s"'”’»)\]]*$""")
OPEN = re.compile(r"""(?:\.\.+|…)[\s"'”’»)\]]*$""")  # dots say that it goes on

TAIL = 20  # characters: punctuation and the quotes behind it


@dataclass(frozen=True, slots=True)
class Joining:
    """When cues belong together."""

    gap_seconds: float = 0.3  # subtitles leave a few frames between the parts of a sentence, more between sentences
    longest_seconds: float = 15.0


def join(cues: list[Cue], *, busy: list[tuple[float, float]], joining: Joining = Joining()) -> list[Cue]:  # noqa: B008
    """Cues as sentences. `busy` has the times of all cues, so that nothing left out lies inside a sentence."""
    said = [cue for cue in cues if cue.text]
    kept = {cue.start for cue in said}
    others = sorted(start for start, _ in busy if start not in kept)
    joined: list[Cue] = said[:1]
    for before, cue in pairwise(said):
        last = joined[-1]
        alone = bisect_right(others, before.start) == bisect_left(others, cue.start)
        if alone and _belongs(before, cue, joining) and cue.end - last.start <= joining.longest_seconds:
            joined[-1] = replace(last, end=cue.end, text=f"{last.text} {cue.text}")
        else:
            joined.append(cue)
    return joined


def _belongs(before: Cue, cue: Cue, joining: Joining) -> bool:
    tail = before.text[-TAIL:]
    ended = bool(ENDED.search(tail)) and not OPEN.search(tail)
    near = -TOUCH_SECONDS <= cue.start - before.end <= joining.gap_seconds
    return near and not ended and not cue.turn and cue.speaker == before.speaker
