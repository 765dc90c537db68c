"""What the aligner heard of a clip beside its text, as a row of alignment/match.jsonl: the audit only reads it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from olu.core.files import Workspace, read_rows, write_jsonl
from olu.core.types import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How well text and sound fit. Scores are log probabilities per frame: 0 is perfect, the lower the worse."""

    score: float | None = None  # of its own text against what is heard freely
    chance: tuple[float, ...] = ()  # the same with texts of other clips
    cer: float | None = None  # share of the text that is heard otherwise
    first: Span | None = None  # the first and the last word, and when
    last: Span | None = None

    def row(self, id: str) -> dict[str, Any]:
        return {
            "id": id,
            "score": None if self.score is None else round(self.score, 5),
            "chance": [round(score, 5) for score in self.chance],
            "cer": None if self.cer is None else round(self.cer, 4),
            "first": self.first.row() if self.first else None,
            "last": self.last.row() if self.last else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRow(Match):
    """A line of match.jsonl: the match of one clip."""

    id: str


def match_path(ws: Workspace) -> Path:
    return ws.alignment / "match.jsonl"


def read_match(ws: Workspace) -> dict[str, Match]:
    """Clip id -> what was heard; nothing before 'olu align'."""
    return {one.id: one for one in read_rows(match_path(ws), MatchRow)}


def write_match(ws: Workspace, found: Iterable[tuple[str, Match]]) -> None:
    write_jsonl(match_path(ws), (match.row(id) for id, match in found))


# ---- which words of an alignment are hardly heard: what the audit and the cut both go by


LEAST_IQR = 0.2  # made speech has almost none
MOST_IQR = 1.0  # of words that are said: a wider half holds words that are not, and is no measure
MOST_RUNS = 5  # named
MOST_WORDS = 8  # of one run


def low_score(scores: Sequence[float], *, far: float) -> float | None:
    """The score under which a word is unlike the others: `far` widths of their middle half below it."""
    if not scores:
        return None
    quarter, three = (float(value) for value in np.percentile(scores, (25, 75)))
    width = min(max(three - quarter, LEAST_IQR), MOST_IQR)
    return max(quarter, three - MOST_IQR) - far * width


def unheard(words: Sequence[Span], *, low: float | None) -> frozenset[int]:
    """Places of the words that score under `low`; none where there are no scores."""
    return frozenset(
        at for at, word in enumerate(words) if low is not None and word.score is not None and word.score < low
    )


def named(words: Sequence[Span], places: Collection[int]) -> str:
    """Words with the time at which they should be heard; those that follow each other together."""
    runs = runs_of(places)
    longest = sorted(runs, key=len, reverse=True)[:MOST_RUNS]
    more = ", ..." if len(runs) > len(longest) else ""
    return ", ".join(_run(words, run) for run in sorted(longest)) + more


def runs_of(places: Collection[int]) -> list[list[int]]:
    """Those that follow each other together."""
    runs: list[list[int]] = []
    for at in sorted(places):
        if runs and at == runs[-1][-1] + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _run(words: Sequence[Span], run: Sequence[int]) -> str:
    said = " ".join(words[at].label for at in run[:MOST_WORDS])
    return f"{said}{' ...' * (len(run) > MOST_WORDS)} at {words[run[0]].start:.1f} s"
