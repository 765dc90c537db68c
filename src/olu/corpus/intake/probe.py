"""Rows and their recordings: which can be used, what each recording is, and where in it a clip lies.

Whatever is wrong with one becomes a sentence that can be printed.
"""

from __future__ import annotations

import hashlib
import math
import os
import posixpath
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from olu.audio.io import header
from olu.core.errors import AudioError
from olu.core.files import hash_file, is_inside
from olu.core.words import one_line
from olu.corpus.changed_files import is_other
from olu.corpus.readers.rows import Problem, Row, Why

SLACK_SECONDS = 0.05  # lists round their times: an end that lies this far behind the last sample means the last sample
STEM_BYTES = 120  # ids become file names, and those have a limit in bytes


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What a recording is: its content, and how to see later that it changed."""

    sha256: str
    bytes: int
    mtime_ns: int
    seconds: float
    rate: int

    def row(self, audio: str) -> dict[str, Any]:
        """The row of files.jsonl for this recording."""
        return {"audio": audio, "sha256": self.sha256, "bytes": self.bytes, "mtime_ns": self.mtime_ns}

    def is_other(self, path: Path) -> bool:
        """Whether a copy that lies there is no longer this recording."""
        return is_other(path, sha256=self.sha256, bytes=self.bytes, mtime_ns=self.mtime_ns)


def clip_id(audio: str, *, sha256: str, start: float = 0.0, seconds: float | None = None) -> str:
    """The id of a clip from name, content and span: the same wherever the recording lies."""
    stem = unicodedata.normalize("NFC", PurePosixPath(audio).stem)
    safe = "".join(c if c in "._-" or unicodedata.category(c)[0] in "LMN" else "-" for c in stem)
    span = f"{start:.3f}" if seconds is None else f"{start:.3f}+{seconds:.3f}"
    short = safe.encode("utf-8")[:STEM_BYTES].decode("utf-8", "ignore")
    return f"{short}-{hashlib.sha256(f'{sha256}{span}'.encode()).hexdigest()[:8]}"


def probe(root: Path, row: Row) -> RecordingFacts | Problem:
    """Look at one recording; whatever is wrong with it becomes a sentence."""
    path = root / row.audio
    try:
        found = header(path)
        state = path.stat()
        return RecordingFacts(hash_file(path), state.st_size, state.st_mtime_ns, round(found.seconds, 6), found.rate)
    except AudioError as bad:
        message = str(bad).replace(str(path), row.audio)
    except (OSError, ValueError) as bad:
        message = (
            f"{row.audio} cannot be read ({getattr(bad, 'strerror', None) or bad}): allow reading it, or copy it again"
        )
    return Problem(row.where, message, Why.SOUND)


def fit(row: Row, facts: RecordingFacts) -> tuple[float, float | None] | Problem:
    """Where in its recording a row lies: start, and seconds unless it is the whole recording."""
    left = facts.seconds - row.start
    if left <= 0 or (row.seconds or 0.0) > left + SLACK_SECONDS:
        end = "" if row.seconds is None else f" to {row.start + row.seconds:.3f}"
        span = f"the span from {row.start:.3f}{end} s goes beyond the recording"
        message = f"{span}, which has {facts.seconds:.3f} s: correct the times, or copy {row.audio} again"
        return Problem(row.where, message, Why.BEYOND, seconds=row.seconds or 0.0)
    seconds = left if row.seconds is None else min(row.seconds, left)
    if seconds * facts.rate < 1:
        message = f"the span from {row.start:.3f} s is shorter than one sample: correct the times"
        return Problem(row.where, message, Why.TIMES)
    if row.start == 0 and facts.seconds - seconds <= SLACK_SECONDS:
        return 0.0, None
    return round(row.start, 6), round(seconds, 6)


def probed_in(root: Path, rows: Sequence[Row]) -> Iterator[tuple[Row, RecordingFacts | Problem]]:
    """Every row with what was found, in order; each file is read once, and several at a time."""
    first = {row.audio: row for row in reversed(rows)}
    files = [row for row in rows if first[row.audio] is row]
    found: dict[str, RecordingFacts | Problem] = {}
    pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))
    try:
        coming = pool.map(partial(probe, root), files)
        for row in rows:
            if row.audio not in found:
                found[row.audio] = next(coming)
            facts = found[row.audio]
            yield row, replace(facts, where=row.where) if isinstance(facts, Problem) else facts
    finally:
        pool.shutdown(cancel_futures=True)


def sift(rows: Iterable[Row | Problem], *, root: Path) -> tuple[list[Row], list[Problem]]:
    """One row for each stretch of a recording inside `root` (resolved) that has a text; the rest as problems."""
    kept: dict[tuple[str, float, float | None], Row] = {}
    problems: list[Problem] = []
    for row in rows:
        if isinstance(row, Problem):
            problems.append(tidy(row))
            continue
        row = replace(row, audio=posixpath.normpath(row.audio))
        fault, why = _fault(row, root)
        span = (row.audio, row.start, row.seconds)
        first = kept.get(span)
        if not fault and first is not None and first.text != row.text:
            fault, why = f"{row.shown} has another text in {first.where}, which was kept: remove one", Why.TWICE
        if fault:
            problems.append(tidy(Problem(row.where, fault, why, seconds=_lost(row))))
        else:
            kept.setdefault(span, replace(row, where=printable(row.where)))
    return list(kept.values()), problems


def _lost(row: Row) -> float:
    seconds = row.seconds or 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _fault(row: Row, root: Path) -> tuple[str, Why]:
    shown = printable(row.audio)
    if shown != row.audio:
        return f"the name {shown} is not valid UTF-8: rename the file", Why.LETTERS
    if not is_inside(root, row.audio):
        return f"{row.audio} leads out of {root}: copy the file into it", Why.OUTSIDE
    if row.text is not None and not row.text.strip():
        return f"{row.audio} has no text: write what is said in it", Why.NO_TEXT
    for kind, given in (("text", row.text or ""), ("speaker", row.speaker or "")):
        if printable(given) != given:
            half = "holds half a character (a lone surrogate): write it again as UTF-8"
            return f"{row.audio}: the {kind} {half}", Why.LETTERS
    start, seconds = row.start, row.seconds
    if not (math.isfinite(start) and start >= 0):
        return f"{row.audio} cannot start at {start} s: write a time from 0 on", Why.TIMES
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        return f"{row.audio} cannot last {seconds} s: write an end after the start", Why.BACKWARDS
    return "", Why.OTHER


def printable(name: str) -> str:
    """A file name that is not UTF-8 cannot be printed or stored as it is."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def tidy(problem: Problem) -> Problem:
    """One line that can be printed and stored, whatever somebody's file names hold."""
    shown = (one_line(text) for text in (problem.where, problem.message, problem.missing))
    where, message, missing = shown
    return replace(problem, where=where, message=message, missing=missing)
