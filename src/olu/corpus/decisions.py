"""What was decided of single clips: left out, taken all the same, or only a stretch of them. Lies beside the clips."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from olu.core.files import Workspace, hash_value
from olu.core.types import EXACT, Clip, Mark
from olu.core.workspace_lock import appending
from olu.corpus.journal import Journal

Kind = Literal["drop", "keep", "trim", "cap", "undo"]  # undo: what was decided before holds no more
By = Literal["person", "cut", "fix"]  # the first of them that decided of a clip has the last word
BY: tuple[By, ...] = ("person", "cut", "fix")
STRETCHES = ("trim", "cap")  # the kinds that say which part of the clip stays
CURES = {"cap": ("duration", "silence")}  # errors of the whole clip that the stretch no longer has


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision of one clip. A person's beats a cut's, that the fix's, and all beat the audit's marks."""

    id: str
    decision: Kind
    by: By
    reason: str = ""
    start: float = 0.0  # trim and cap: the stretch that stays, from the clip's own start
    seconds: float | None = None
    who: str = ""  # which person
    at: str = ""  # when, in UTC
    batch: str = ""  # the same for all that were decided at once: they are taken back together
    __pydantic_config__ = EXACT

    def __post_init__(self) -> None:
        known = self.decision in ("drop", "keep", "undo", *STRETCHES) and self.by in BY
        stretch = self.seconds is not None and self.seconds > 0 and self.start >= 0
        if not known or (self.decision in STRETCHES) != stretch:
            raise ValueError(f"no decision: {asdict(self)}")


def held(rows: Iterable[Decision]) -> list[Decision]:
    """The rows without those that were taken back, in order.

    An undo that names a batch takes that one back, and what was decided before holds again; one without takes all.
    """
    found: dict[tuple[str, By, str], Decision] = {}
    batches: dict[tuple[str, By], list[str]] = {}
    for one in rows:
        key = one.id, one.by
        if not one.batch:
            for batch in batches.pop(key, ()):
                found.pop((*key, batch), None)
        if one.decision == "undo":
            found.pop((*key, one.batch), None)
        else:
            found[*key, one.batch] = one
            batches.setdefault(key, []).append(one.batch)
    return list(found.values())


def _latest(rows: Iterable[Decision]) -> tuple[Decision, ...]:
    """The decisions that count: of each clip and side (person, cut, fix) the last."""
    return tuple({(one.id, one.by): one for one in held(rows)}.values())


def journal(ws: Workspace) -> Journal[Decision]:
    return Journal(ws, "decisions.jsonl", Decision, held)


def path(ws: Workspace) -> Path:
    return journal(ws).path


def load(ws: Workspace) -> tuple[Decision, ...]:
    """Every decision that was not taken back, also of clips that are no longer there: they may come back."""
    return _latest(journal(ws).rows())


def of_clips(ws: Workspace, ids: Collection[str]) -> tuple[Decision, ...]:
    """As `load`, of these clips alone: quick where they are few, however many the corpus has."""
    return tuple(one for one in _latest(journal(ws).rows_of(ids)) if one.id in ids)


def save(ws: Workspace, decisions: Iterable[Decision]) -> None:
    """Write them whole, in place of all others."""
    rows = held(decisions)
    if rows or path(ws).exists():
        journal(ws).replace(rows)


def record(ws: Workspace, new: Iterable[Decision]) -> list[str]:
    """Add them to the others; returns what a person should know of the file."""
    return journal(ws).append(list(new))


def replace_all(
    ws: Workspace, new: Sequence[Decision], *, by: By, dry: bool = False
) -> tuple[tuple[Decision, ...], tuple[Decision, ...]]:
    """Put these in the place of all that one side decided; returns all decisions before and after."""
    with nullcontext() if dry else appending(ws):
        rows = held(journal(ws).rows())
        before, others = _latest(rows), [one for one in rows if one.by != by]
        after = (*_latest(others), *new)
        if not dry and set(after) != set(before):
            save(ws, [*others, *new])
    return before, after


def take_back(ws: Workspace, *, by: By, ids: Collection[str] | None = None) -> tuple[Decision, ...]:
    """Take back the decisions of one side, of these clips or of all; returns what was taken back."""
    with appending(ws):
        gone = [one for one in (load(ws) if ids is None else of_clips(ws, ids)) if one.by == by]
        record(ws, [Decision(id=one.id, decision="undo", by=by) for one in gone])
    return tuple(gone)


def take_back_batch(ws: Workspace, batch: str, *, who: str, at: str) -> tuple[Decision, ...]:
    """Take back what was decided at once; what was decided of these clips before holds again."""
    with appending(ws):
        gone = held(one for one in journal(ws).rows_with(batch) if one.batch == batch)
        record(ws, [Decision(id=one.id, decision="undo", by=one.by, who=who, at=at, batch=batch) for one in gone])
    return tuple(gone)


def in_force(decisions: Iterable[Decision]) -> dict[str, Decision]:
    """Clip id -> the one decision that holds."""
    held: dict[str, Decision] = {}
    for one in decisions:
        if one.id not in held or BY.index(one.by) <= BY.index(held[one.id].by):
            held[one.id] = one
    return held


def stretch(clip: Clip, decision: Decision | None) -> Clip:
    """The clip as training hears it: the whole, or the part that stays."""
    if decision is None or decision.seconds is None or decision.start >= clip.seconds:
        return clip
    start = decision.start
    return replace(clip, start=clip.start + start, seconds=min(decision.seconds, clip.seconds - start))


def why_left_out(
    clip: Clip, *, decision: Decision | None, marks: Sequence[Mark], errors: bool = True, texts: bool = True
) -> str | None:
    """Why a clip is not for training, or nothing. With `errors` false the audit's marks do not count.

    Without `texts` it needs none.
    """
    if texts and not clip.text.strip():
        return "it has no transcript"
    if decision is not None and decision.decision == "drop":
        who = {"person": "dropped", "cut": "cut into shorter clips", "fix": "left out by the audit's fix"}[decision.by]
        return f"{who}: {decision.reason}" if decision.reason else who
    if not errors or (decision is not None and decision.decision == "keep"):
        return None
    cured = CURES.get(decision.decision, ()) if decision else ()
    found = next((mark for mark in marks if mark.severity == "error" and mark.check not in cured), None)
    return f"audit: {found.message}" if found else None


def hash_chosen(ws: Workspace) -> str:
    """Changes when a decision does that alters which clips train, or which part of them."""
    return hash_value([_row(one) for _, one in sorted(in_force(load(ws)).items())])


def hash_dropped(ws: Workspace) -> str:
    """Changes when another set of clips is left out by decision."""
    return hash_value(sorted(id for id, one in in_force(load(ws)).items() if one.decision == "drop"))


def hash_stretches(ws: Workspace) -> str:
    """Changes when other parts of clips are heard, or other long ones lie aside for their pieces."""
    decisions = load(ws)
    kept = [_row(one) for _, one in sorted(in_force(decisions).items()) if one.decision in STRETCHES]
    return hash_value([kept, sorted(aside)] if (aside := set_aside(decisions)) else kept)


def _row(one: Decision) -> list[Any]:
    return [one.id, one.decision, one.start, one.seconds]  # who decided, and why, changes nothing


def set_aside(decisions: Iterable[Decision]) -> frozenset[str]:
    """Ids of the clips that were cut, but for those that a person takes whole."""
    on_record = tuple(decisions)
    whole = {one.id for one in on_record if (one.by, one.decision) == ("person", "keep")}
    return frozenset(one.id for one in on_record if one.by == "cut" and one.id not in whole)
