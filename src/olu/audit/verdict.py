"""What a corpus is enough for, in plain words."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from olu.audit.coverage import CoverageUnits
from olu.audit.thresholds import Thresholds
from olu.core.types import Clip
from olu.core.units import minutes as in_minutes
from olu.core.words import many

MOST_NAMED = 24


def verdict(seconds: float, *, speakers: int, limits: Thresholds) -> str:
    """`seconds` without errors of the speaker who has most."""
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


def wanted(rare: Sequence[str], units: CoverageUnits, *, few: int) -> str:
    """What to record more of."""
    if not units.counts:
        return f"There is no usable text, so nothing can be said of its {units.kind}."
    if not rare:
        return f"Every {units.kind.removesuffix('s')} occurs at least {few} times."
    named = ", ".join(f"{unit} ({units.said(unit)})" for unit in rare[:MOST_NAMED])
    more = f" and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
    return f"Record more sentences with the {units.kind} that occur fewer than {few} times: {named}{more}."


def lying_aside(clips: Sequence[Clip]) -> str:
    """On the long clips that a cut has made pieces of; nothing where there are none."""
    if not clips:
        return ""
    number, minutes = len(clips), sum(clip.seconds for clip in clips) / 60
    lie, them = ("lies", "it") if number == 1 else ("lie", "them")
    return (
        f"{many(number, 'long clip')} ({minutes:.1f} minutes) {lie} aside: olu cut has made shorter clips of {them}, "
        "and only those are counted."
    )


def to_cut(clips: Sequence[Clip], *, most: float, cut: bool = False, place: str = "") -> str:
    """On the clips that a cut could save for training; `cut`: there was a cut before; `place`: of the workspace."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultTraining:
    """What training would do by default: the stage knows it, the audit does not."""

    batch_clips: int
    batch_seconds: float
    most_seconds: float  # longer clips are left out
    memory: Mapping[str, Callable[[int, float, int], float]]  # size -> (clips, seconds, letters of one) -> bytes


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
