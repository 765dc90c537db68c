"""What a corpus is enough for, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from olu.audit.thresholds import Thresholds

MOST_NAMED = 24


def verdict(seconds: float, *, speakers: int, limits: Thresholds) -> str:
    """`seconds` without errors of the speaker who has most."""
    minutes = seconds / 60
    whose = "of usable speech" if speakers == 1 else "of usable speech by one speaker at most"
    tune, scratch, good = limits.enough_tune, limits.enough_scratch, limits.enough_good
    if minutes < tune:
        said = f"too little to train on yet; fine-tuning a ready voice takes about {tune:g} minutes"
    elif minutes < scratch:
        said = f"enough to fine-tune a ready voice, too little to train one from scratch (about {scratch:g} minutes)"
    elif minutes < good:
        said = f"enough to fine-tune, and the least to train from scratch; {good:g} minutes would be safer"
    else:
        said = "enough to fine-tune and to train from scratch; more still helps"
    return f"{minutes:.0f} minutes {whose}: {said}. These are rules of thumb."


def wanted(rare: Sequence[str], counts: dict[str, int], *, few: int) -> str:
    """What to record more of."""
    if not counts:
        return "There is no usable text, so nothing can be said of its letters."
    if not rare:
        return f"Every letter occurs at least {few} times."
    named = ", ".join(f"{unit} ({counts[unit]})" for unit in rare[:MOST_NAMED])
    more = f" and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
    return f"Record more sentences with the letters that occur fewer than {few} times: {named}{more}."


def longest(seconds: float, id: str, *, middle: float) -> str:
    """What the longest clip does to memory."""
    if seconds <= 2 * middle:
        return f"The longest usable clip has {seconds:.1f} s ({id}): memory in training will be even."
    return (
        f"The longest usable clip has {seconds:.1f} s ({id}), {seconds / middle:.1f} times the middle one: "
        "a batch must have room for it, so cutting the longest clips saves memory in training."
    )
