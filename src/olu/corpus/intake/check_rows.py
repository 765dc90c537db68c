"""Rows that can be used, and what is wrong with the others, in lines that can be printed."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from olu.core.escape import one_line
from olu.core.inside import is_inside
from olu.corpus.readers.rows import Problem, Row, Why


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
            problems.append(tidy(Problem(where=row.where, message=fault, why=why, seconds=_lost(row))))
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
