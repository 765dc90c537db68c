"""What to do about an audit's marks: leave out, trim, cap; and which long clips lie aside, as they were cut.

Decisions only; no sound is touched.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from olu.audit.thresholds import Thresholds
from olu.core.files import Workspace, read_rows, write_jsonl
from olu.core.types import EXACT, Clip, Mark
from olu.corpus.decisions import CURES, Decision, in_force, load, set_aside, stretch
from olu.corpus.manifest import Corpus


class Quiet(Protocol):
    """Where the speech of a clip lies: part of its facts."""

    @property
    def seconds(self) -> float: ...
    @property
    def leading(self) -> float: ...
    @property
    def trailing(self) -> float: ...
    @property
    def pause(self) -> float: ...
    @property
    def speech(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeFacts:
    """The facts of a clip that audit/facts.jsonl keeps, in the form of `Quiet`."""

    seconds: float
    leading: float
    trailing: float
    pause: float
    speech: float
    __pydantic_config__ = EXACT

    @staticmethod
    def of(facts: Quiet) -> EdgeFacts:
        names = ("seconds", "leading", "trailing", "pause", "speech")
        return EdgeFacts(**{name: round(float(getattr(facts, name)), 4) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRow(EdgeFacts):
    """The facts of one clip."""

    id: str


def edges_path(ws: Workspace) -> Path:
    return ws.audit_folder / "facts.jsonl"


def write_edges(ws: Workspace, facts: Mapping[str, Quiet]) -> None:
    """Keep of an audit what a later fix needs, so that it does not have to listen again."""
    write_jsonl(edges_path(ws), ({"id": id, **asdict(EdgeFacts.of(one))} for id, one in facts.items()))


def read_edges(ws: Workspace) -> dict[str, EdgeFacts]:
    return {one.id: one for one in read_rows(edges_path(ws), EdgeRow)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How much of a corpus is left for training, clips without a text not counted."""

    clips_before: int
    clips_after: int
    seconds_before: float
    seconds_after: float
    kinds: tuple[tuple[str, str, int, float], ...]  # decision, check or "a person", clips, seconds taken away

    @property
    def hours_before(self) -> float:
        return self.seconds_before / 3600

    @property
    def hours_after(self) -> float:
        return self.seconds_after / 3600


def plan(
    corpus: Iterable[Clip], marks: Mapping[str, Sequence[Mark]], facts: Mapping[str, Quiet], limits: Thresholds
) -> list[Decision]:
    """A decision for every clip that has an error, or more silence at its ends than the limits allow.

    A text stands for the whole of its speech, so only silence is ever cut off: a clip whose speech is too long is
    left out, until a cut divides its text as well.
    """
    planned = []
    for clip in corpus:
        if clip.text.strip():  # what has no transcript does not train anyway
            decision = _decide(clip, marks.get(clip.id, ()), facts.get(clip.id), limits)
            planned += [decision] if decision else []
    return planned


def _decide(clip: Clip, marks: Sequence[Mark], facts: Quiet | None, limits: Thresholds) -> Decision | None:
    errors = [mark for mark in marks if mark.severity == "error"]
    cut = _speech(facts, limits) if facts else None
    if errors and facts and cut and all(e.check in CURES["cap"] for e in errors) and _good(facts, cut[1], limits):
        reason = f"{errors[0].check}: {errors[0].message}"
        return Decision(id=clip.id, decision="cap", by="fix", reason=reason, start=cut[0], seconds=cut[1])
    if errors:
        return Decision(id=clip.id, decision="drop", by="fix", reason=f"{errors[0].check}: {errors[0].message}")
    if facts and cut and cut[1] >= limits.duration_error_under:
        reason = f"edges: {facts.leading:.1f} s of silence before the speech, {facts.trailing:.1f} s after it"
        return Decision(id=clip.id, decision="trim", by="fix", reason=reason, start=cut[0], seconds=cut[1])
    return None


def _speech(facts: Quiet, limits: Thresholds) -> tuple[float, float] | None:
    """Start and seconds of what stays when long silent ends are cut, or nothing when no end is long."""
    if facts.speech == 0.0 or max(facts.leading, facts.trailing) <= limits.edge_info:
        return None
    keep = min(limits.trim_keep, limits.edge_info)
    ends = (facts.leading, facts.trailing)
    before, after = (silent - keep if silent > limits.edge_info else 0.0 for silent in ends)
    return round(before, 3), round(facts.seconds - before - after, 3)


def _good(facts: Quiet, seconds: float, limits: Thresholds) -> bool:
    """Whether what stays is neither too long nor mostly silence."""
    long_enough = limits.duration_error_under <= seconds <= limits.duration_error_over
    spoken = facts.speech * facts.seconds / max(seconds, 1e-3)
    return long_enough and facts.pause <= limits.pause_error and spoken >= limits.speech_error


def too_long(
    corpus: Iterable[Clip], marks: Mapping[str, Sequence[Mark]], decisions: Iterable[Decision], *, most: float
) -> list[Clip]:
    """Clips over `most` seconds that nothing but their length keeps from training: a cut can make shorter ones."""
    held = in_force(decisions)
    found = []
    for clip in corpus:
        decision = held.get(clip.id)
        dropped = decision is not None and decision.decision == "drop"
        by_fix = decision is not None and decision.by == "fix"
        errors = {mark.check for mark in marks.get(clip.id, ()) if mark.severity == "error"}
        if not clip.text.strip() or errors.difference(CURES["cap"]) or (dropped and not by_fix):
            continue
        if (clip if dropped else stretch(clip, decision)).seconds > most:
            found.append(clip)
    return found


def lost(
    corpus: Iterable[Clip], marks: Mapping[str, Sequence[Mark]], decisions: Iterable[Decision], *, most: float
) -> list[Clip]:
    """The clips that are too long and that a fix left out: no cut finds them any more."""
    on_record = tuple(decisions)
    held = in_force(on_record)
    long = too_long(corpus, marks, on_record, most=most)
    return [clip for clip in long if clip.id in held and held[clip.id].decision == "drop"]


def effect(corpus: Iterable[Clip], decisions: Iterable[Decision]) -> Effect:
    """Clips and seconds before and after, and what each kind of decision takes away; of clips that count."""
    held = in_force(decisions)
    clips = [clip for clip in corpus if clip.text.strip()]
    count: Counter[tuple[str, str]] = Counter()
    taken: defaultdict[tuple[str, str], float] = defaultdict(float)
    left, seconds = len(clips), 0.0
    for clip in clips:
        decision = held.get(clip.id)
        dropped = decision is not None and decision.decision == "drop"
        stays = 0.0 if dropped else stretch(clip, decision).seconds
        left -= dropped
        seconds += stays
        if decision:
            who = "a person" if decision.by == "person" else decision.reason.partition(":")[0]
            kind = (decision.decision, who)
            count[kind] += 1
            taken[kind] += clip.seconds - stays
    return Effect(
        clips_before=len(clips),
        clips_after=left,
        seconds_before=sum(clip.seconds for clip in clips),
        seconds_after=seconds,
        kinds=tuple((*kind, count[kind], round(taken[kind], 3)) for kind in sorted(count)),
    )


def without_aside(corpus: Corpus) -> tuple[Corpus, tuple[Clip, ...]]:
    """The clips that count, and the long ones that lie aside."""
    ids = set_aside(load(corpus.ws))
    return corpus.where(lambda clip: clip.id not in ids), tuple(clip for clip in corpus if clip.id in ids)
