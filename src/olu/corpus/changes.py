"""What people changed last, decisions and texts alike: what an undo takes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from olu.core.files import Workspace
from olu.core.words import many
from olu.corpus import corrections, decisions
from olu.corpus.corrections import Correction

LOOKED_AT = 256 * 1024  # bytes at the end of each journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one person did at once."""

    batch: str
    what: Literal["drop", "keep", "text"]
    who: str
    at: str
    ids: tuple[str, ...]

    def sentence(self) -> str:
        done = {"drop": "dropped", "keep": "kept", "text": "corrected"}[self.what]
        return f"{many(len(self.ids), 'clip')} {done}"


def last_change(ws: Workspace, *, who: str | None = None) -> Change | None:
    """The last change that was not taken back (`who`: of this person), of those near the end of the journals."""
    decided = [
        one
        for one in decisions.held(decisions.journal(ws).last_rows(LOOKED_AT))
        if one.batch and (who is None or one.who == who)
    ]
    written = [
        one
        for one in corrections.held(corrections.journal(ws).last_rows(LOOKED_AT))
        if isinstance(one, Correction) and (who is None or one.by == who)
    ]
    if not decided and not written:
        return None
    if not written or (decided and (decided[-1].at, _date(ws, "decisions")) > (written[-1].at, _date(ws, "texts"))):
        return change(ws, decided[-1].batch)
    return change(ws, written[-1].batch)


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
    own = [one for one in written if one.batch == batch]
    if not own:
        return None
    return Change(batch=batch, what="text", who=own[0].by, at=own[0].at, ids=tuple(one.id for one in own))


def take_back(ws: Workspace, batch: str, *, who: str) -> Change | None:
    """Take one change back, whole; returns what it was."""
    found = change(ws, batch)
    if found is None:
        return None
    if found.what == "text":
        corrections.take_back_batch(ws, batch, who=who)
    else:
        decisions.take_back_batch(ws, batch, who=who, at=corrections.now())
    return found


def _date(ws: Workspace, name: str) -> int:
    try:
        return (ws.corpus / f"{name}.jsonl").stat().st_mtime_ns
    except OSError:
        return 0
