"""What a deep audit heard of who speaks: the voice of every clip as numbers, and its pitch. Kept beside the marks.

A clip's id stands for its sound, so what was heard holds whatever the clip is called, and whoever it is said to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from olu.audit.check import MeasuredClip
from olu.core.files import Workspace, whole
from olu.core.rows import corrupt_file

ROUNDS = 20
LEAST_CLIPS = 10  # of a speaker: fewer have no middle
LEAST_SHARE = 0.03  # of the clips: fewer are outliers, not a second person
APART = 4.0  # times their own spread, between the middles of two groups

Voices = NDArray[np.float64]


@dataclass(frozen=True)
class HeardVoices:
    """Of every clip that networks heard: 256 numbers of length 1 (nothing where too little is spoken), and hertz."""

    voices: Mapping[str, Voices]
    pitches: Mapping[str, float]


def voices_path(ws: Workspace) -> Path:
    return ws.audit_folder / "voices.npz"


def save_voices(ws: Workspace, heard: Iterable[MeasuredClip]) -> None:
    found = [one for one in heard if one.deep is not None]
    spoken = [one for one in found if one.deep and one.deep.voice]
    pitched = [one for one in found if one.pitch is not None]
    with whole(voices_path(ws)) as partial, partial.open("wb") as out:
        np.savez(
            out,
            voice_ids=np.array([one.clip.id for one in spoken], dtype=np.str_),
            voices=np.array([one.deep.voice for one in spoken if one.deep], dtype=np.float32),
            pitch_ids=np.array([one.clip.id for one in pitched], dtype=np.str_),
            pitches=np.array([one.pitch for one in pitched], dtype=np.float32),
        )


def read_voices(ws: Workspace) -> HeardVoices | None:
    """What the last deep audit heard; nothing where none was made."""
    path = voices_path(ws)
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as held:
            names = ("voice_ids", "voices", "pitch_ids", "pitches")
            voice_ids, voices, pitch_ids, pitches = (held[name] for name in names)
            return HeardVoices(
                dict(zip(voice_ids.tolist(), voices.astype(np.float64), strict=True)),
                dict(zip(pitch_ids.tolist(), map(float, pitches), strict=True)),
            )
    except (OSError, ValueError, KeyError, EOFError) as bad:
        raise corrupt_file(path, f"{type(bad).__name__}: {bad}") from None


def unit(voice: Voices) -> Voices:
    made: Voices = voice / max(float(np.linalg.norm(voice)), 1e-6)
    return made


def second_voice(voices: Voices, *, most_alike: float) -> NDArray[np.bool_] | None:
    """Which clips make the smaller of two groups, or nothing when they are one."""
    if len(voices) < 2:
        return None
    away = voices - voices.mean(axis=0)
    side: NDArray[np.bool_] = away @ np.linalg.svd(away, full_matrices=False)[2][0] > 0
    for _ in range(ROUNDS):
        if side.all() or not side.any():
            return None
        one, other = unit(voices[side].mean(axis=0)), unit(voices[~side].mean(axis=0))
        side = voices @ one > voices @ other
    if side.all() or not side.any():
        return None
    if side.sum() * 2 > len(side):
        side = ~side
    if side.sum() < max(3, LEAST_SHARE * len(side)):
        return None
    lean = voices @ one - voices @ other
    spread = float(np.sqrt((lean[side].var() + lean[~side].var()) / 2))
    apart = abs(float(lean[side].mean() - lean[~side].mean())) / max(spread, 1e-6)
    return side if float(one @ other) < most_alike and apart > APART else None
