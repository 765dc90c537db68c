"""What an audit comes to, small enough for a stamp and a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from olu.audit import coverage
from olu.audit.check import SEVERITIES, Finding, MeasuredClip, order
from olu.audit.coverage import main_scripts
from olu.audit.fix import Effect
from olu.audit.thresholds import Thresholds
from olu.audit.verdict import DefaultTraining, longest, lying_aside, to_cut, verdict, wanted
from olu.core.types import Clip

WORST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSummary:
    folder: Path
    clips: int  # that count: not those that lie aside
    seconds: float
    speakers: int
    counts: dict[str, dict[str, int]]  # check -> severity -> clips
    clips_with_errors: int
    clips_out_by_error: int  # of these, without those that a person keeps
    clips_left: int  # without an error, and with a text
    seconds_left: float  # of these
    worst: list[dict[str, Any]]  # rows as in audit.jsonl
    units: str  # letters, or phones where the language is read as these
    letters: dict[str, int]  # how often each occurs in the clips without an error, the commonest first
    rare: list[str]  # those with few occurrences, the rarest first; of letters, only of the corpus' own script
    verdict: str  # what the corpus is enough for
    start: str  # what to begin with where that is too little to train from scratch; else nothing
    wanted: str  # what to record more of
    memory: str  # what the longest clip means for training
    memory_bytes: dict[str, float]  # the same as numbers, by size of the network
    notes: list[str]  # sentences on the corpus as a whole
    clips_fixed: int  # that --fix would leave
    seconds_fixed: float
    aside: int  # long clips that were cut into shorter ones
    aside_seconds: float
    long: int  # clips that only their length keeps from training: a cut could save them
    long_seconds: float
    deep: bool  # whether the networks listened too
    fresh: bool = False  # made before, and nothing has changed since

    @property
    def marks(self) -> Path:
        return self.folder / "audit.jsonl"

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.json"

    @property
    def hours_left(self) -> float:
        return self.seconds_left / 3600

    def total(self, severity: str) -> int:
        return sum(count[severity] for count in self.counts.values())

    def row(self) -> dict[str, Any]:
        """Without the folder: a workspace may move."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("folder", "fresh")
        }

    @staticmethod
    def from_row(row: dict[str, Any], *, folder: Path) -> AuditSummary:
        return AuditSummary(folder=folder, **row)


def summarise(
    heard: Sequence[MeasuredClip],
    findings: Mapping[str, Sequence[Finding]],
    *,
    limits: Thresholds,
    folder: Path,
    plan: DefaultTraining,
    fixed: Effect,
    aside: Sequence[Clip],
    long: Sequence[Clip],
    notes: Sequence[str],
    start: Callable[[float], str],
    spoken: coverage.Spoken | None,
) -> AuditSummary:
    """`findings` are those of each check, worst first; `fixed` is what --fix would do.

    `aside` are clips that do not count, as they were cut; `long` those that could be. `start` says what so many
    seconds of one speaker should begin with; `spoken` reads a language that is learnt as phones.
    """
    broken = {f.id for found in findings.values() for f in found if f.mark.severity == "error"}
    counts: dict[str, dict[str, int]] = {
        name: {severity: sum(f.mark.severity == severity for f in found) for severity in SEVERITIES}
        for name, found in findings.items()
    }
    ranked = sorted(
        ((order(f)[0], place, f) for found in findings.values() for place, f in enumerate(found)),
        key=lambda item: item[:2],  # the worst of each check before the second worst of any
    )
    left = [one for one in heard if (one.clip.id not in broken or one.kept) and not one.dropped]
    good = [one.clip for one in left if one.clip.transcribed]
    units = coverage.count((clip.text for clip in good), spoken=spoken)
    scripts = main_scripts(((clip.language, clip.text) for clip in good), least=limits.script_main)
    rare = coverage.rare(units, few=limits.coverage_few, scripts=set(scripts.values()))
    by_speaker: dict[str, float] = {}
    for clip in good:
        by_speaker[clip.speaker] = by_speaker.get(clip.speaker, 0.0) + clip.seconds
    most = max(by_speaker.values(), default=0.0)
    memory, needed = longest(good, plan=plan)
    return AuditSummary(
        folder=folder,
        clips=len(heard),
        seconds=round(sum(one.clip.seconds for one in heard), 3),
        speakers=len({one.clip.speaker for one in heard}),
        counts=counts,
        clips_with_errors=len(broken),
        clips_out_by_error=sum(one.clip.id in broken and not one.kept for one in heard),
        clips_left=len(good),
        seconds_left=round(sum(clip.seconds for clip in good), 3),
        worst=[row(f) for severity, _, f in ranked if SEVERITIES[severity] != "info"][:WORST],
        units=units.kind,
        letters=units.counts,
        rare=rare,
        verdict=verdict(most, speakers=len(by_speaker), limits=limits),
        start=start(most),
        wanted=wanted(rare, units, few=limits.coverage_few),
        memory=memory,
        memory_bytes={size: round(amount) for size, amount in needed.items()},
        notes=[
            *notes,
            *(said for said in (lying_aside(aside), to_cut(long, most=plan.most_seconds, cut=bool(aside))) if said),
        ],
        clips_fixed=fixed.clips_after,
        seconds_fixed=round(fixed.seconds_after, 3),
        aside=len(aside),
        aside_seconds=round(sum(clip.seconds for clip in aside), 3),
        long=len(long),
        long_seconds=round(sum(clip.seconds for clip in long), 3),
        deep=any(one.deep is not None for one in heard),
    )


def row(finding: Finding) -> dict[str, Any]:
    return {"id": finding.id, **asdict(finding.mark)}
