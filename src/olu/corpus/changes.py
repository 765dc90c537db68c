"""What people changed last, decisions, texts and boundaries alike: what an undo takes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from olu.core.files import Workspace
from olu.core.words import many
from olu.corpus import corrections, decisions, hand_bounds
from olu.corpus.corrections import Correction
from olu.corpus.hand_bounds import HandBounds
from olu.corpus.journal import Journal

LOOKED_AT = 256 * 1024  # bytes at the end of each journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one person did at once."""

    batch: str
    what: Literal["drop", "keep", "text", "bounds"]
    who: str
    at: str
    ids: tuple[str, ...]

    def sentence(self) -> str:
        if self.what == "bounds":
            return f"the boundaries of {many(len(self.ids), 'clip')} set"
        done = {"drop": "dropped", "keep": "kept", "text": "corrected"}[self.what]
        return f"{many(len(self.ids), 'clip')} {done}"


def last_change(ws: Workspace, *, who: str | None = None) -> Change | None:
    """The last change that was not taken back (`who`: of this person), of those near the end of the journals."""
    decided = [one for one in decisions.held(decisions.journal(ws).last_rows(LOOKED_AT)) if one.batch]
    written = corrections.held(corrections.journal(ws).last_rows(LOOKED_AT))
    moved = hand_bounds.held(hand_bounds.journal(ws).last_rows(LOOKED_AT))
    last: list[tuple[str, int, str]] = []
    for rows, date in (
        ([(one.at, one.who, one.batch) for one in decided], _date(decisions.journal(ws))),
        (
            [(one.at, one.by, one.batch) for one in written if isinstance(one, Correction)],
            _date(corrections.journal(ws)),
        ),
        ([(one.at, one.by, one.batch) for one in moved if isinstance(one, HandBounds)], _date(hand_bounds.journal(ws))),
    ):
        own = [(at, date, batch) for at, by, batch in rows if who is None or by == who]
        last += own[-1:]
    return change(ws, max(last)[2]) if last else None


def change(ws: Workspace, batch: str) -> Change | None:
    """The change of this batch, as far as it was not taken back."""
    decided = decisions.held(one for one in decisions.journal(ws).rows_with(batch) if one.batch == batch)
    if decided:
        first = decided[0]
        kind: Literal["drop", "keep"] = "keep" if first.decision == "keep" else "drop"
        return Change(
            batch=batch, what=kind, who=first.who, at=first.at, ids=tuple(dict.fromkeys(one.id for one in decided))
        )
    written = [one for one in corrections.held(corrections.journal(ws).rows_with(batch)) if isinstance(one, Correction)]
    texts = [one for one in written if one.batch == batch]
    if texts:
        return Change(batch=batch, what="text", who=texts[0].by, at=texts[0].at, ids=tuple(one.id for one in texts))
    moved = [one for one in hand_bounds.held(hand_bounds.journal(ws).rows_with(batch)) if isinstance(one, HandBounds)]
    own = [one for one in moved if one.batch == batch]
    if own:
        return Change(batch=batch, what="bounds", who=own[0].by, at=own[0].at, ids=tuple(one.id for one in own))
    return None


def take_back(ws: Workspace, batch: str, *, who: str) -> Change | None:
    """Take one change back, whole; returns what it was."""
    found = change(ws, batch)
    if found is None:
        return None
    if found.what == "text":
        corrections.take_back_batch(ws, batch, who=who)
    elif found.what == "bounds":
        hand_bounds.take_back(ws, who=who, batch=batch)
    else:
        decisions.take_back_batch(ws, batch, who=who, at=corrections.now())
    return found


def done_since(ws: Workspace, since: str, *, who: str) -> int:
    """How many clips one person has changed since a time, of what stands near the end of the journals."""
    ids = {
        one.id
        for one in decisions.held(decisions.journal(ws).last_rows(LOOKED_AT))
        if one.who == who and one.at >= since
    }
    written = corrections.held(corrections.journal(ws).last_rows(LOOKED_AT))
    ids |= {one.id for one in written if isinstance(one, Correction) and one.by == who and one.at >= since}
    moved = hand_bounds.held(hand_bounds.journal(ws).last_rows(LOOKED_AT))
    ids |= {one.id for one in moved if isinstance(one, HandBounds) and one.by == who and one.at >= since}
    return len(ids)


def _date(journal: Journal[Any]) -> int:
    try:
        return journal.path.stat().st_mtime_ns
    except OSError:
        return 0
