from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark

NAME = "speakers"
LEAST_CLIPS = 10  # of a speaker: fewer have no middle
ROUNDS = 20
LEAST_SHARE = 0.03  # of the clips: fewer are outliers, not a second person
APART = 4.0  # times their own spread, between the middles of two groups

Voices = NDArray[np.float64]


def look(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    for clips, voices in _by_speaker(heard):
        likeness = voices @ _unit(np.median(voices, axis=0))
        for one, value in zip(clips, likeness.tolist(), strict=True):
            if value < limits.speaker_warn:
                message = f"sounds unlike the other clips of {one.clip.speaker}: a likeness of {value:.2f}"
                mark = Mark(check=NAME, severity="warn", value=value, message=message)
                yield Finding(id=one.clip.id, mark=mark, badness=-value)


def tell(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    said = []
    for clips, voices in _by_speaker(heard):
        second = _second(voices, limits)
        if second is not None:
            few = [one.clip.id for one, other in zip(clips, second.tolist(), strict=True) if other]
            said.append(
                f"{clips[0].clip.speaker} may be two people, or one recorded in two ways: {len(few)} of {len(clips)} "
                f"clips sound alike and unlike the rest, such as {', '.join(few[:3])}. Listen, and import them as "
                "another speaker if so."
            )
    return " ".join(said)


def _by_speaker(heard: Sequence[MeasuredClip]) -> Iterator[tuple[list[MeasuredClip], Voices]]:
    groups: dict[str, list[MeasuredClip]] = {}
    for one in heard:
        if one.deep is not None and one.deep.voice:
            groups.setdefault(one.clip.speaker, []).append(one)
    for clips in groups.values():
        if len(clips) >= LEAST_CLIPS:
            yield clips, np.array([one.deep.voice for one in clips if one.deep])


def _second(voices: Voices, limits: Thresholds) -> NDArray[np.bool_] | None:
    """Which clips make the smaller of two groups, or nothing when they are one."""
    away = voices - voices.mean(axis=0)
    side: NDArray[np.bool_] = away @ np.linalg.svd(away, full_matrices=False)[2][0] > 0
    for _ in range(ROUNDS):
        if side.all() or not side.any():
            return None
        one, other = _unit(voices[side].mean(axis=0)), _unit(voices[~side].mean(axis=0))
        side = voices @ one > voices @ other
    if side.sum() * 2 > len(side):
        side = ~side
    if side.sum() < max(3, LEAST_SHARE * len(side)):
        return None
    lean = voices @ one - voices @ other
    spread = float(np.sqrt((lean[side].var() + lean[~side].var()) / 2))
    apart = abs(float(lean[side].mean() - lean[~side].mean())) / max(spread, 1e-6)
    return side if float(one @ other) < limits.speaker_parts and apart > APART else None


def _unit(voice: Voices) -> Voices:
    unit: Voices = voice / max(float(np.linalg.norm(voice)), 1e-6)
    return unit


CHECK = Check(
    name=NAME,
    title="Another speaker",
    rule=lambda t: (
        f"By the Resemblyzer network: warning for a clip whose likeness to the middle of its speaker's clips "
        f"({LEAST_CLIPS} or more) is under {t.speaker_warn:g} of 1. Two clear groups with a likeness under "
        f"{t.speaker_parts:g} are "
        "named as perhaps two people."
    ),
    reason="A second person's clips under one name blur the voice: it wavers between the two.",
    fix="Listen. Import the other person's clips with --speaker and a name of their own, or leave them out.",
    look=look,
    tell=tell,
    deep=True,
)
