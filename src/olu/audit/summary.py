"""What an audit comes to, small enough for a stamp and a terminal, and what the corpus is enough for in plain words."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from olu.audit import coverage
from olu.audit.check import SEVERITIES, Finding, MeasuredClip, order
from olu.audit.coverage import main_scripts
from olu.audit.fix import Effect
from olu.audit.thresholds import Thresholds
from olu.core.types import Clip
from olu.core.words import many
from olu.core.words import minutes as in_minutes

WORST = 10
MOST_NAMED = 24  # letters or phones in one sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultTraining:
    """What training would do by default: the stage knows it, the audit does not."""

    batch_clips: int
    batch_seconds: float
    most_seconds: float  # longer clips are left out
    memory: Mapping[str, Callable[[int, float, int], float]]  # size -> (clips, seconds, letters of one) -> bytes


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
    record_next: list[str] = field(default_factory=list)  # sentences that add most of what is rare
    seconds_of_one: float = 0.0  # usable ones of the speaker who has most: what the verdict is on
    fresh: bool = field(default=False, compare=False)  # made before, and nothing has changed since

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
        """The summary as JSON, without its folder: a workspace may move."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("folder", "fresh")}

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
    record_next: Sequence[str] = (),
) -> AuditSummary:
    """`findings` are those of each check, worst first; `fixed` is what --fix would do.

    `aside` are clips that do not count, as they were cut; `long` those that could be. `start` says what so many
    seconds of one speaker should begin with; `spoken` reads a language that is learnt as phones.
    """
    broken = {f.id for found in findings.values() for f in found if f.mark.severity == "error"}
    good = _usable(heard, broken)
    units = coverage.count((clip.text for clip in good), spoken=spoken)
    scripts = main_scripts(((clip.language, clip.text) for clip in good), least=limits.script_main)
    rare = coverage.rare(units, few=limits.coverage_few, scripts=set(scripts.values()))
    by_speaker = _seconds_by_speaker(good)
    most = max(by_speaker.values(), default=0.0)
    aside_or_long = (lying_aside(aside), to_cut(long, most=plan.most_seconds, cut=bool(aside)))
    memory, needed = longest(good, plan=plan)
    return AuditSummary(
        folder=folder,
        clips=len(heard),
        seconds=_seconds(one.clip for one in heard),
        speakers=len({one.clip.speaker for one in heard}),
        counts={name: _counts(found) for name, found in findings.items()},
        clips_with_errors=len(broken),
        clips_out_by_error=sum(one.clip.id in broken and not one.kept for one in heard),
        clips_left=len(good),
        seconds_left=_seconds(good),
        worst=[row(f) for f in _worst(findings)[:WORST]],
        units=units.kind,
        letters=units.counts,
        rare=rare,
        verdict=verdict(most, speakers=len(by_speaker), limits=limits),
        start=start(most),
        seconds_of_one=round(most, 3),
        wanted=wanted(rare, units, few=limits.coverage_few),
        memory=memory,
        memory_bytes={size: round(amount) for size, amount in needed.items()},
        notes=[*notes, *filter(None, aside_or_long)],
        clips_fixed=fixed.clips_after,
        seconds_fixed=round(fixed.seconds_after, 3),
        aside=len(aside),
        aside_seconds=_seconds(aside),
        long=len(long),
        long_seconds=_seconds(long),
        deep=any(one.deep is not None for one in heard),
        record_next=list(record_next),
    )


def _usable(heard: Sequence[MeasuredClip], broken: Collection[str]) -> list[Clip]:
    """Clips with a text, without an error that no person overrules, and not dropped."""
    left = [one for one in heard if (one.clip.id not in broken or one.kept) and not one.dropped]
    return [one.clip for one in left if one.clip.transcribed]


def _worst(findings: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """Errors, then warnings; the worst of each check before the second worst of any."""
    ranked = [(order(f)[0], place, f) for found in findings.values() for place, f in enumerate(found)]
    ranked.sort(key=lambda item: item[:2])
    return [f for severity, _, f in ranked if SEVERITIES[severity] != "info"]


def _seconds(clips: Iterable[Clip]) -> float:
    return round(sum(clip.seconds for clip in clips), 3)


def row(finding: Finding) -> dict[str, Any]:
    return {"id": finding.id, **asdict(finding.mark)}


def verdict(seconds: float, *, speakers: int, limits: Thresholds) -> str:
    """Whether the corpus is enough, in a sentence; `seconds`: usable ones of the speaker who has most."""
    minutes = seconds / 60
    whose = "of usable speech" if speakers == 1 else "of usable speech by one speaker at most"
    tune, scratch, good = limits.enough_tune, limits.enough_scratch, limits.enough_good
    if minutes < tune:
        said = f"too little to train on yet; fine-tuning a ready voice takes about {tune:g} minutes"
    elif is_little(seconds, limits):
        said = f"enough to fine-tune a ready voice, too little to train one from scratch (about {scratch:g} minutes)"
    elif minutes < good:
        said = f"enough to fine-tune, and the least to train from scratch; {good:g} minutes would be safer"
    else:
        said = "enough to fine-tune and to train from scratch; more still helps"
    return f"{in_minutes(seconds)} {whose}: {said}. These are rules of thumb."


def is_little(seconds: float, limits: Thresholds) -> bool:
    """Whether a voice cannot be trained from scratch on so much of one speaker."""
    return seconds / 60 < limits.enough_scratch


def wanted(rare: Sequence[str], units: coverage.CoverageUnits, *, few: int) -> str:
    """A sentence on which letters or phones to record more of."""
    if not units.counts:
        return f"There is no usable text, so nothing can be said of its {units.kind}."
    if not rare:
        return f"Every {units.kind.removesuffix('s')} occurs at least {few} times."
    named = ", ".join(f"{unit} ({units.said(unit)})" for unit in rare[:MOST_NAMED])
    more = f" and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
    return f"Record more sentences with the {units.kind} that occur fewer than {few} times: {named}{more}."


def lying_aside(clips: Sequence[Clip]) -> str:
    """A sentence on the long clips that were cut into pieces; nothing where there are none."""
    if not clips:
        return ""
    number, minutes = len(clips), sum(clip.seconds for clip in clips) / 60
    lie, them = ("lies", "it") if number == 1 else ("lie", "them")
    return (
        f"{many(number, 'long clip')} ({minutes:.1f} minutes) {lie} aside: olu cut has made shorter clips of {them}, "
        "and only those are counted."
    )


def to_cut(clips: Sequence[Clip], *, most: float, cut: bool = False, place: str = "") -> str:
    """A sentence on clips that a cut could save; `cut`: there was one before; `place`: the workspace."""
    if not clips:
        return ""
    number, minutes = len(clips), sum(clip.seconds for clip in clips) / 60
    are, them = ("is", "it") if number == 1 else ("are", "them")
    long = f"{are} {'still ' if cut else ''}longer than {most:g} s"
    said = f"{many(number, 'clip')} ({minutes:.1f} minutes) {long}, and training leaves {them} out by default"
    ws = shlex.quote(place)
    if cut:
        command = f"olu cut {ws} --dry-run" if place else "olu cut --dry-run"
        return f"{said}: {command} says whether it can cut {them}, and why not."
    if place:
        return f"{said}. To make shorter clips of {them}: olu read {ws}, olu align {ws}, then olu cut {ws}"
    return f"{said}. olu cut can make shorter clips of {them}: olu read, olu align, olu cut, and only then --fix."


def longest(clips: Sequence[Clip], *, plan: DefaultTraining) -> tuple[str, dict[str, float]]:
    """What the longest usable clip asks of the memory, in words and in bytes by size."""
    fitting = [clip for clip in clips if clip.seconds <= plan.most_seconds]
    if not fitting:
        return "No clip is usable.", {}
    most = max(fitting, key=lambda clip: clip.seconds)
    together = max(1, min(plan.batch_clips, int(plan.batch_seconds / most.seconds)))
    letters = max(len(clip.text.strip()) for clip in fitting if clip.seconds >= 0.9 * most.seconds)
    needed = {size: predict(together, most.seconds, letters) for size, predict in plan.memory.items()}
    sizes = ", ".join(f"{amount / 1e9:.1f} GB for size {size}" for size, amount in needed.items())
    batch = f"{many(together, 'clip')}: up to {plan.batch_clips} clips or {plan.batch_seconds:g} s by default"
    said = (
        f"The longest clip that would train has {most.seconds:.1f} s ({most.id}). A batch of such ({batch}) takes "
        f"about {sizes} in fp32, by prediction."
    )
    if beyond := len(clips) - len(fitting):
        are, them = ("is", "it") if beyond == 1 else ("are", "them")
        said += (
            f" {many(beyond, 'usable clip')} {are} over {plan.most_seconds:g} s: a recipe leaves {them} out by default."
        )
    return said, needed


def _seconds_by_speaker(clips: Iterable[Clip]) -> dict[str, float]:
    found: dict[str, float] = {}
    for clip in clips:
        found[clip.speaker] = found.get(clip.speaker, 0.0) + clip.seconds
    return found


def _counts(found: Sequence[Finding]) -> dict[str, int]:
    """How many findings there are of each severity."""
    return {severity: sum(one.mark.severity == severity for one in found) for severity in SEVERITIES}
