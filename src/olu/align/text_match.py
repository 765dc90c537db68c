"""What the aligner heard of a clip beside its text, as a row of alignment/match.jsonl: the audit only reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    @staticmethod
    def from_row(row: dict[str, Any]) -> Match:
        return Match(
            score=row["score"],
            chance=tuple(row["chance"]),
            cer=row["cer"],
            first=Span(*row["first"]) if row["first"] else None,
            last=Span(*row["last"]) if row["last"] else None,
        )


def match_path(ws: Workspace) -> Path:
    return ws.alignment / "match.jsonl"


def read_match(ws: Workspace) -> dict[str, Match]:
    """Clip id -> what was heard; nothing before 'olu align'."""
    return dict(read_rows(match_path(ws), lambda row: (row["id"], Match.from_row(row))))


def write_match(ws: Workspace, found: Iterable[tuple[str, Match]]) -> None:
    write_jsonl(match_path(ws), (match.row(id) for id, match in found))
