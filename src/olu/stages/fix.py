"""Turn an audit into decisions, and take them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olu.audit.checks import CHECKS
from olu.audit.fix import Effect, effect, lost, plan, read_edges, without_aside
from olu.audit.summary import AuditSummary
from olu.core.errors import ConfigError
from olu.core.files import Workspace
from olu.core.job import Job, phase
from olu.core.told import Remedy, TextTable, Told
from olu.core.types import Mark
from olu.core.words import length, many
from olu.core.workspace_lock import writing
from olu.corpus.decisions import Decision, load, replace_all, take_back
from olu.corpus.doubts import in_doubt
from olu.corpus.manifest import Corpus
from olu.stages.audit import STAGE, audit, most_seconds, read_thresholds
from olu.stages.status import status
from olu.stages.verbs.corpus import AuditOptions

WORDS = {
    "drop": "left out",
    "trim": "silent ends cut off",
    "cap": "over-long, cut to its speech",
    "keep": "taken as is",
}
NEXT_SHOWN = 3  # sentences to record, on a screen


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

    def row(self) -> dict[str, Any]:
        return {
            "decisions": [asdict(one) for one in self.decisions],
            "effect": effect_row(self.effect),
            **{name: getattr(self, name) for name in ("overruled", "lost", "lost_seconds")},
            "other": list(self.other),
            "written": self.written,
        }

    def sentences(self, options: AuditOptions) -> Iterator[Told]:
        now, ws = self.effect, options.ws
        for sentence in self.other:
            yield f"No decision is made on what changed: {sentence}"
        rows = [[WORDS[kind], check, str(clips), f"{seconds / 60:.1f}"] for kind, check, clips, seconds in now.kinds]
        if rows:
            yield TextTable(["decision", "because of", "clips", "minutes less"], rows)
        else:
            yield "Nothing else needs fixing." if self.other else "Nothing needs fixing."
        before = f"Before: {many(now.clips_before, 'clip')}, {length(now.seconds_before)}."
        yield f"{before} After: {many(now.clips_after, 'clip')}, {length(now.seconds_after)}."
        if self.overruled:
            yield f"{many(self.overruled, 'clip')} {'stays' if self.overruled == 1 else 'stay'} as a person decided."
        if self.lost:
            what = "is left out only because it is" if self.lost == 1 else "are left out only because they are"
            lost = f"{many(self.lost, 'clip')} ({self.lost_seconds / 60:.1f} minutes)"
            yield f"{lost} {what} too long: olu cut could save such."
            yield cut_instead(ws, undo=self.written or not self.changed)
        if self.written:
            back = Remedy("audit", (ws,), {"undo": True})
            yield f"Recorded in {ws / 'corpus' / 'decisions.jsonl'}; back again: {back}"
        elif self.changed:
            yield "Nothing was written (--dry-run)."


def cut_instead(ws: Path, *, undo: bool) -> str:
    """The commands, in order and ready to paste, that cut long clips instead of dropping them."""
    steps = [str(Remedy(verb, (ws,))) for verb in ("read", "align", "cut", "read")]
    steps.append(str(Remedy("audit", (ws,), {"fix": True})))
    if undo:
        return f"To cut instead: {' && '.join([str(Remedy('audit', (ws,), {'undo': True})), *steps])}"
    return f"Cut before you fix: {' && '.join(steps)}"


def effect_row(found: Effect) -> dict[str, Any]:
    names = ("decision", "check", "clips", "seconds")
    return {**asdict(found), "kinds": [dict(zip(names, kind, strict=True)) for kind in found.kinds]}


@dataclass(frozen=True, slots=True)
class FixUndone:
    undone: int
    effect: Effect

    def row(self, options: AuditOptions) -> dict[str, Any]:
        return {"undone": self.undone, "effect": effect_row(self.effect)}

    def sentences(self, options: AuditOptions) -> Iterator[str]:
        now = self.effect
        back = f"{many(self.undone, 'decision')} taken back; a person's decisions stay."
        yield back if self.undone else "There was nothing to take back."
        left = f"{now.clips_after} of {many(now.clips_before, 'clip')}, {length(now.seconds_after)}"
        yield f"Decisions now leave {left}."
        yield f"Next: {Remedy('status', (options.ws,))}"


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """What `olu audit` comes to: the audit, and the fix where one was asked for."""

    audit: AuditSummary
    fix: FixSummary | None

    def row(self, options: AuditOptions) -> dict[str, Any]:
        found = self.audit
        rest = {"fix": self.fix.row()} if self.fix else {"decided": asdict(decided(Workspace.open(options.ws)))}
        return {**found.row(), "report": str(found.report), "marks": str(found.marks), **rest}

    def sentences(self, options: AuditOptions) -> Iterator[Told]:
        ws, found = Workspace.open(options.ws), self.audit
        if self.fix and found.fresh:  # it was shown when it was made
            yield _in_all(found)
            yield f"Report: {found.report}"
        else:
            yield from _shown(found, told=self.fix.other if self.fix else ())
        if self.fix:
            yield from self.fix.sentences(options)
        else:
            if found.fresh:
                yield "The corpus has not changed since the last audit: nothing was done again (--force listens again)."
            yield from decided(ws).sentences(options)
            if found.long and not found.aside:  # clips that a cut could save
                yield cut_instead(options.ws, undo=decided(ws).lost > 0)
        now = status(ws)
        yield from in_doubt(now.doubts)
        yield f"Next: {now.next}"

    def failure(self, options: AuditOptions) -> str | None:
        bad = self.audit.clips_with_errors
        if not (options.strict and bad):
            return None
        have = "has errors" if bad == 1 else "have errors"
        return f"{bad} of {many(self.audit.clips, 'clip')} {have}: see {self.audit.report}"


def run(options: AuditOptions) -> Job[AuditOutcome | FixUndone]:
    """`olu audit`"""
    ws = Workspace.open(options.ws)
    if options.undo:
        if options.fix or options.dry_run or options.strict or options.force or options.deep:
            raise ConfigError("--undo only takes decisions back: give no other option but --json with it")
        return FixUndone(*undo_fix(ws))
    if options.dry_run and not options.fix:
        raise ConfigError("--dry-run shows what --fix would decide: add --fix")
    found = yield from audit(ws, force=options.force, deep=options.deep)
    fixed = (yield from phase("deciding", fix(ws, dry=options.dry_run))) if options.fix else None
    return AuditOutcome(found, fixed)


def _in_all(summary: AuditSummary) -> str:
    return (
        f"{many(summary.clips, 'clip')}, {length(summary.seconds)}, {many(summary.speakers, 'speaker')}; "
        f"{many(summary.clips_with_errors, 'clip')} with errors; {many(summary.clips_left, 'clip')} with a text and"
        f" without errors, {length(3600 * summary.hours_left)}"
    )


def _shown(summary: AuditSummary, *, told: Sequence[str]) -> Iterator[Told]:
    """What an audit found, as lines and a table, without the notes in `told`."""
    looked = [(check, summary.counts[check.name]) for check in CHECKS if check.name in summary.counts]
    marked = [(check, count) for check, count in looked if any(count.values())]
    rows = [[one.title, *(str(count[name] or "-") for name in ("error", "warn", "info"))] for one, count in marked]
    if rows:
        yield TextTable(["check", "errors", "warnings", "notes"], rows)
    if fine := len(looked) - len(marked):
        yield f"{many(fine, 'check')} found nothing{' more' if rows else ''}."
    for bad in summary.worst:
        yield f"{bad['severity']:5} {bad['check']}: {bad['id']}: {bad['message']}"
    yield _in_all(summary)
    yield from (note for note in summary.notes if note not in told)
    yield from filter(None, (summary.verdict, summary.start, summary.wanted, summary.memory))
    if summary.record_next:
        yield "Record these next; 'olu prompts' chooses more from any text:"
        yield from (f"  {text}" for text in summary.record_next[:NEXT_SHOWN])
    yield f"Report: {summary.report}"


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

    def sentences(self, options: AuditOptions) -> Iterator[str]:
        """Lines on the decisions, where there are some or could be."""
        if self.kinds:
            kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(self.kinds.items()))
            yield f"Decisions ({kinds}) and the audit together leave {length(self.seconds_left)} to train on."
        if self.unfixed:
            fixed = Remedy("audit", (options.ws,), {"fix": True})
            yield f"'{fixed}' would decide on {many(self.unfixed, 'clip')}; --dry-run shows how."


def decided(ws: Workspace) -> Decided:
    """What the decisions come to; what a fix could still do is known where the audit is fresh."""
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
    """What a fix would decide, but for clips whose recording changed since its import."""
    return plan(corpus.unchanged(), _marks(corpus), read_edges(ws), read_thresholds(ws))


def _same(corpus: Corpus) -> Corpus:
    """The corpus without clips whose recording is another one now, and which train no more."""
    gone = {clip.id for clip in corpus.changed_clips()}
    return corpus.where(lambda clip: clip.id not in gone)


def _marks(corpus: Corpus) -> dict[str, tuple[Mark, ...]]:
    return {clip.id: corpus.marks(clip) for clip in corpus}
