"""Turn an audit into decisions, and take them back."""

from __future__ import annotations

from dataclasses import dataclass

from olu.audit.fix import Effect, effect, plan, read_edges
from olu.corpus.decisions import Decision, load, save, take_back
from olu.corpus.manifest import Corpus
from olu.files import Workspace
from olu.stages.audit import STAGE, audit, read_thresholds
from olu.types import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class FixSummary:
    """What was decided, and how many hours it leaves."""

    decisions: tuple[Decision, ...]  # the fix's own
    effect: Effect  # of these and a person's together, against the corpus as it was imported
    overruled: int  # a person had decided otherwise
    changed: bool
    written: bool


def fix(ws: Workspace, *, dry: bool = False) -> Work[FixSummary]:
    """Decide on every clip with an error or long silent ends; an audit that is missing or stale comes first."""
    yield from audit(ws)
    corpus = Corpus.open(ws)
    before = load(ws)
    planned = _plan(ws, corpus)
    after = [*(one for one in before if one.by != "fix"), *planned]
    changed = set(after) != set(before)
    if changed and not dry:
        save(ws, after)
    own = {one.id for one in before if one.by != "fix"}
    return FixSummary(
        decisions=tuple(planned),
        effect=effect(corpus, after),
        overruled=sum(one.id in own for one in planned),
        changed=changed,
        written=changed and not dry,
    )


def undo_fix(ws: Workspace) -> tuple[int, Effect]:
    """Take back every decision of the fix; a person's stay. Returns how many, and what holds now."""
    gone = take_back(ws, by="fix")
    return len(gone), effect(Corpus.open(ws), load(ws))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the decisions on record come to, beside what a fix could still do."""

    kinds: dict[str, int]  # decision -> clips
    seconds_left: float  # that train: no error, or decided so
    unfixed: int  # decisions a fix would make or change


def decided(ws: Workspace) -> Decided:
    """Of the last audit; without a fresh one nothing is known of what a fix would do."""
    corpus = Corpus.open(ws)
    kinds: dict[str, int] = {}
    for clip in corpus:
        if (decision := corpus.decision(clip)) is not None:
            kinds[decision.decision] = kinds.get(decision.decision, 0) + 1
    left = sum(corpus.taken(clip).seconds for clip in corpus if corpus.why_not(clip) is None)
    unfixed = set[Decision]()
    if STAGE.state(ws) == "fresh":
        on_record = load(ws)
        own = {one.id for one in on_record if one.by != "fix"}
        unfixed = {one for one in _plan(ws, corpus) if one.id not in own} - set(on_record)
    return Decided(kinds=kinds, seconds_left=round(left, 3), unfixed=len(unfixed))


def _plan(ws: Workspace, corpus: Corpus) -> list[Decision]:
    marks = {clip.id: corpus.marks(clip) for clip in corpus}
    return plan(corpus, marks, read_edges(ws), read_thresholds(ws))
