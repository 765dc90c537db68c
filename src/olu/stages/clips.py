"""The clips of a workspace as a table: chosen, sorted, counted, written out."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from olu.audit.check import SEVERITIES
from olu.audit.letters import count_letters
from olu.corpus.manifest import Corpus
from olu.corpus.query import Kind, sorter, where
from olu.errors import ConfigError
from olu.files import Workspace, read_json, read_rows, whole
from olu.stages.audit import read_thresholds
from olu.text.vocabulary import VOCABULARY
from olu.types import Clip, Reading

COLUMNS: dict[str, Kind] = {
    "id": "text",
    "speaker": "text",
    "split": "text",  # "" for a clip of no side
    "seconds": "number",  # of what training hears: a trimmed clip counts without its ends
    "rate": "number",
    "letters": "number",
    "seconds_per_letter": "number",
    "tokens": "number",  # not known before 'olu read'
    "frames": "number",
    "worst": "text",  # the hardest verdict of the audit: error, warn, info or ""
    "marks": "names",
    "decision": "text",
    "trains": "yes or no",
    "audio": "text",
    "start": "number",  # seconds into the recording, where the clip begins and ends
    "end": "number",
    "text": "text",
}
MEASURED = ("seconds", "letters", "seconds_per_letter", "tokens", "frames")
POINTS = (0, 1, 5, 25, 50, 75, 95, 99, 100)  # per cent

FORMULA = ("=", "+", "-", "@", "\t", "\r")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipList:
    rows: tuple[Row, ...]
    found: int  # before the limit
    seconds: float  # of those found
    total: int  # clips in the workspace
    quantiles: dict[str, dict[str, float]]  # column -> per cent -> value, over those found


def clips(
    ws: Workspace, *, expression: str | None = None, sort: str | None = None, limit: int | None = None
) -> ClipList:
    """The rows that fit the expression, in the order asked for or that of the corpus."""
    if limit is not None and limit < 0:
        raise ConfigError(f"--limit {limit}: give 0 or more")
    fits = where(expression, COLUMNS) if expression is not None else None
    order = sorter(sort, COLUMNS) if sort is not None else None
    corpus = Corpus.open(ws)
    tokens = _tokens(ws)
    per_second = read_thresholds(ws).frames_per_second
    rows = [_row(corpus, clip, tokens.get(clip.id), per_second) for clip in corpus]
    rows = [row for row in rows if fits is None or fits(row)]
    if order:
        rows = order(rows)
    return ClipList(
        rows=tuple(rows[:limit]),
        found=len(rows),
        seconds=round(sum(row["seconds"] for row in rows), 3),
        total=len(corpus),
        quantiles={name: _quantiles([row[name] for row in rows if row[name] is not None]) for name in MEASURED},
    )


def _row(corpus: Corpus, clip: Clip, tokens: int | None, per_second: float) -> Row:
    marks = corpus.marks(clip)
    seconds, letters = corpus.taken(clip).seconds, count_letters(clip.text)
    decision = corpus.decision(clip)
    return {
        "id": clip.id,
        "speaker": clip.speaker,
        "split": corpus.split(clip) or "",
        "seconds": round(seconds, 3),
        "rate": clip.rate,
        "letters": letters,
        "seconds_per_letter": round(seconds / letters, 4) if letters else None,
        "tokens": tokens,
        "frames": int(seconds * per_second),
        "worst": min((mark.severity for mark in marks), key=SEVERITIES.index, default=""),
        "marks": sorted({mark.check for mark in marks}),
        "decision": decision.decision if decision else "",
        "trains": corpus.split(clip) == "train" and corpus.why_not(clip) is None,
        "audio": clip.audio,
        "start": round(clip.start, 3),
        "end": round(clip.start + clip.seconds, 3),
        "text": clip.text,
    }


def _tokens(ws: Workspace) -> dict[str, int]:
    """Clip id -> length of what the model is given, blanks included; nothing for what was not read."""
    known = ws.readings / "vocabulary.json"
    if not known.exists():
        return {}
    blanks = bool(read_json(known, shape=VOCABULARY)["interleave"])

    def count(row: dict[str, Any]) -> tuple[str, int]:
        symbols = len(Reading.from_row(row).symbols())
        return row["id"], 2 * symbols + 1 if blanks else symbols

    return dict(read_rows(ws.readings / "readings.jsonl", count))


def _quantiles(values: list[float]) -> dict[str, float]:
    """The nearest value that occurs, so that whole numbers stay whole."""
    ordered = sorted(values)
    return {f"{point}%": ordered[round(point / 100 * (len(ordered) - 1))] for point in POINTS} if ordered else {}


def write_csv(rows: Sequence[Row], path: Path) -> None:
    if path.is_dir():
        raise ConfigError(f"--csv {path} is a folder: name a file")
    with whole(path) as partial, partial.open("w", encoding="utf-8", newline="") as out:
        print_csv(rows, out)


def print_csv(rows: Sequence[Row], out: TextIO) -> None:
    """As spreadsheets and every CSV reader take it; a list is written with spaces.

    A text that a spreadsheet would take for a formula, and run, begins with an apostrophe: there it is not shown.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in COLUMNS])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return json.dumps(value)
    text = " ".join(value) if isinstance(value, list) else "" if value is None else value
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA) else text
