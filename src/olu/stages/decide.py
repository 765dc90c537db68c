"""Record what a person decided of single clips."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from olu.config import did_you_mean
from olu.corpus.claim import writing
from olu.corpus.decisions import Decision, load, record, take_back
from olu.corpus.manifest import Corpus
from olu.errors import CorpusError
from olu.files import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideSummary:
    decision: str
    ids: tuple[str, ...]  # those it was recorded for, or taken back from
    already: int  # stood so before
    clips: int  # of the corpus
    left: int  # clips that may train now, after the audit and all decisions


def decide(ws: Workspace, ids: Iterable[str], *, decision: Literal["drop", "keep"], reason: str = "") -> DecideSummary:
    """All of them or none: one unknown id, and nothing is recorded."""
    wanted = tuple(dict.fromkeys(ids))
    with writing(ws):
        _check(wanted, {clip.id for clip in Corpus.open(ws)})
        before = {one.id: one for one in load(ws) if one.by == "person"}
        new = [Decision(id=id, decision=decision, by="person", reason=reason) for id in wanted]
        changed = [one for one in new if before.get(one.id) != one]
        if changed:
            record(ws, changed)
    return _summary(ws, decision, tuple(one.id for one in changed), already=len(wanted) - len(changed))


def undo(ws: Workspace, ids: Iterable[str], *, decision: Literal["drop", "keep"]) -> DecideSummary:
    """Take a person's decision of this kind back; what the audit or its fix says then holds again."""
    wanted = tuple(dict.fromkeys(ids))
    with writing(ws):
        on_record = {one.id: one for one in load(ws) if one.by == "person"}
        _check(wanted, {clip.id for clip in Corpus.open(ws)} | set(on_record))
        held = [id for id in wanted if id in on_record and on_record[id].decision == decision]
        take_back(ws, by="person", ids=set(held))
    return _summary(ws, decision, tuple(held), already=len(wanted) - len(held))


def _check(ids: Iterable[str], known: set[str]) -> None:
    unknown = [id for id in ids if id not in known]
    if unknown:
        more = f" (and {len(unknown) - 1} more ids)" if len(unknown) > 1 else ""
        begun = sorted(id for id in known if id.startswith(unknown[0]))[:1]
        hint = did_you_mean(unknown[0], begun or known) or (did_you_mean(begun[0], begun) if begun else "")
        hint = hint or "; 'olu clips WS --ids' lists them all"
        raise CorpusError(f"no clip {unknown[0]!r}{more}, so nothing was recorded{hint}")


def _summary(ws: Workspace, decision: str, ids: tuple[str, ...], *, already: int) -> DecideSummary:
    corpus = Corpus.open(ws)
    left = sum(corpus.why_not(clip) is None for clip in corpus)
    return DecideSummary(decision=decision, ids=ids, already=already, clips=len(corpus), left=left)
