"""Turn an audit into decisions, and take them back."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from olu.audit.cut_clips import without_aside
from olu.audit.fix import Effect, effect, lost, plan, read_edges
from olu.core.files import Workspace
from olu.core.job import Job
from olu.core.types import Mark
from olu.core.workspace_lock import writing
from olu.corpus.decisions import Decision, load, replace_all, take_back
from olu.corpus.manifest import Corpus
from olu.stages.audit import STAGE, audit, most_seconds, read_thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class FixSummary:
    """What was decided, and how many hours it leaves."""

    decisions: tuple[Decision, ...]  # the fix's own
    effect: Effect  # of these and a person's together, on the clips that count: no long ones cut up, no changed ones
    overruled: int  # a person had decided otherwise
    lost: int  # clips left out for nothing but their length: a cut could have made shorter ones
    lost_seconds: float
    other: tuple[str, ...]  # a sentence on recordings that changed since their import: nothing is decided on them
    changed: bool
    written: bool


def fix(ws: Workspace, *, dry: bool = False) -> Job[FixSummary]:
    """Decide on every clip with an error or long silent ends; an audit that is missing or stale comes first."""
    yield from audit(ws)
    with nullcontext() if dry else writing(ws):
        corpus, _ = without_aside(Corpus.open(ws))
        planned = _plan(ws, corpus)
        before, after = replace_all(ws, planned, by="fix", dry=dry)
        changed = set(after) != set(before)
    own = {one.id for one in before if one.by == "person"}
    long = lost(corpus, _marks(corpus), after, most=most_seconds())
    return FixSummary(
        decisions=tuple(planned),
        effect=effect(_same(corpus), after),
        overruled=sum(one.id in own for one in planned),
        lost=len(long),
        lost_seconds=round(sum(clip.seconds for clip in long), 3),
        other=tuple(corpus.changed()),
        changed=changed,
        written=changed and not dry,
    )


def undo_fix(ws: Workspace) -> tuple[int, Effect]:
    """Take back every decision of the fix; a person's stay. Returns how many, and what holds now."""
    gone = take_back(ws, by="fix")
    return len(gone), effect(without_aside(Corpus.open(ws))[0], load(ws))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What the decisions on record come to, beside what a fix could still do."""

    kinds: dict[str, int]  # decision -> clips
    seconds_left: float  # that train: no error, or decided so
    unfixed: int  # decisions a fix would make or change
    lost: int  # clips that a fix left out for nothing but their length


def decided(ws: Workspace) -> Decided:
    """Of the last audit; without a fresh one nothing is known of what a fix would do."""
    corpus, _ = without_aside(Corpus.open(ws))
    kinds: dict[str, int] = {}
    for clip in corpus:
        if (decision := corpus.decision(clip)) is not None:
            kinds[decision.decision] = kinds.get(decision.decision, 0) + 1
    left = sum(corpus.taken(clip).seconds for clip in corpus if corpus.why_not(clip) is None)
    unfixed = set[Decision]()
    if STAGE.state(ws) == "fresh":
        on_record = load(ws)
        own = {one.id for one in on_record if one.by == "person"}
        unfixed = {one for one in _plan(ws, corpus) if one.id not in own} - set(on_record)
    long = lost(corpus, _marks(corpus), load(ws), most=most_seconds())
    return Decided(kinds=kinds, seconds_left=round(left, 3), unfixed=len(unfixed), lost=len(long))


def _plan(ws: Workspace, corpus: Corpus) -> list[Decision]:
    """A recording that changed since its import is not decided on: it may be put back, or be imported again."""
    return plan(corpus.unchanged(), _marks(corpus), read_edges(ws), read_thresholds(ws))


def _same(corpus: Corpus) -> Corpus:
    """Without what trains no more, whatever is decided, because its recording is another one."""
    gone = {clip.id for clip in corpus.changed_clips()}
    return corpus.where(lambda clip: clip.id not in gone)


def _marks(corpus: Corpus) -> dict[str, tuple[Mark, ...]]:
    return {clip.id: corpus.marks(clip) for clip in corpus}
