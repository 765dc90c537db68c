"""What an acoustic model must know of a corpus beside its weights: which sounds are voiced, how long sounds last, whose
pitch lies where, and where its recordings pause. It is counted once, when a run begins, and kept with the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import TrainError
from olu.features.pitch import clip_bounds, contour
from olu.train.family import Example

RATE, HOP = 16000, 256
NO_MEDIAN = 7.2  # log2 of 147 Hz: of a speaker of whom nothing is known
RARELY = 0.3  # share of voiced frames below which a line of pitch passes over a sound
LONGEST, CENTILE = 3.0, 99.0  # times that centile of its durations that a sound may last
HURRIED = 0.25  # share of sounds with one frame, from which an alignment is doubted
ROWS = ("tones", "stress", "gaps", "language")  # beside the ids, one number for each
SENTENCES = 64  # of the validation side, by which the bound of a pause is set
PAUSE = 0.2  # seconds from which a break is heard as a pause

Frames = NDArray[np.float32]


@dataclass(frozen=True)
class CorpusFigures:
    symbols: Sequence[str] = ()  # by their ids
    speakers: Sequence[str] = ()
    voiced: Mapping[str, float] = field(default_factory=dict)  # symbol -> share of its frames
    longest: Mapping[str, int] = field(default_factory=dict)  # symbol -> frames
    medians: Sequence[float] = ()  # of each speaker's pitch, log2 of hertz
    ranges: Sequence[tuple[float, float]] = ()  # 1 to 99 % of it
    frames: tuple[float, float] = (1.0, 400.0)  # 1 to 99 % of the durations of sounds
    sentences: Sequence[Mapping[str, Any]] = ()  # rows of tokens; pauses and frames of sound in their recordings
    threshold: float = 0.5  # probability from which a gap is a pause
    notes: Sequence[str] = ()


def melody_of(example: Example) -> tuple[Frames, Frames]:
    """log2 of hertz and voicing of every frame of a clip."""
    pitch = example.features["pitch"]
    return contour(pitch[:, 0], pitch[:, 1], clip_bounds(pitch))


def figures_of(
    train: Iterable[Example],
    valid: Iterable[Example],
    *,
    symbols: Sequence[str],
    speakers: Sequence[str],
    before: Mapping[str, Any] | None = None,
    config: Any = None,
) -> dict[str, Any]:
    """The document of `CorpusFigures`; `before`: of the run that this one starts from, for what is not heard here."""
    voiced = defaultdict[int, NDArray[np.float64]](lambda: np.zeros(2))
    lengths, lines = defaultdict[int, list[int]](list), defaultdict[int, list[Frames]](list)
    sounds: list[int] = []
    for one in train:
        line, sure = melody_of(one)
        lines[one.speaker].append(line[sure > 0])
        frames = one.features.get("frames")
        if frames is None or not frames.sum():
            continue
        gaps, starts = one.features["gaps"], np.concatenate([[0], np.cumsum(frames)])
        for place, id in enumerate(one.ids):
            voiced[id] += (sure[starts[place] : starts[place + 1]].sum(), frames[place])
            if frames[place]:
                lengths[id].append(int(frames[place]))
        sounds += [int(count) for count, gap in zip(frames, gaps, strict=True) if not gap]
    if not any(len(part) for parts in lines.values() for part in parts):
        raise TrainError("no clip has a pitch: an acoustic model learns melodies, and none can be heard here")
    old = CorpusFigures(**(before or {}))
    medians, ranges = _pitches(lines, old, speakers=speakers)
    share = {symbols[id]: round(float(a / max(1, b)), 4) for id, (a, b) in sorted(voiced.items())}
    most = {symbols[id]: int(np.ceil(LONGEST * np.percentile(one, CENTILE))) for id, one in sorted(lengths.items())}
    found = CorpusFigures(
        symbols=list(symbols),
        speakers=list(speakers),
        voiced={**old.voiced, **share},
        longest={**old.longest, **most},
        medians=medians,
        ranges=ranges,
        frames=_between(sounds) if sounds else old.frames,
        sentences=[_sentence(one) for one, _ in zip(valid, range(SENTENCES), strict=False)],
        notes=_hurried(sounds),
    )
    return asdict(found)


def _pitches(
    lines: Mapping[int, Sequence[Frames]], old: CorpusFigures, *, speakers: Sequence[str]
) -> tuple[list[float], list[tuple[float, float]]]:
    medians, ranges = list[float](), list[tuple[float, float]]()
    for speaker, name in enumerate(speakers):
        heard = np.concatenate([*lines.get(speaker, ()), np.zeros(0, np.float32)])
        if len(heard):
            medians.append(round(float(np.median(heard)), 4))
            ranges.append(_between(heard))
        else:
            at = list(old.speakers).index(name) if name in old.speakers else None
            medians.append(NO_MEDIAN if at is None else old.medians[at])
            ranges.append((NO_MEDIAN - 1, NO_MEDIAN + 1) if at is None else old.ranges[at])
    return medians, ranges


def _between(values: Any) -> tuple[float, float]:
    low, high = np.percentile(values, (100 - CENTILE, CENTILE))
    return round(float(low), 4), round(float(high), 4)


def _sentence(one: Example) -> dict[str, Any]:
    rows = {name: one.features.get(name, np.zeros(len(one.ids), np.int64)) for name in ROWS}
    frames = one.features.get("frames", np.zeros(len(one.ids), np.int64))
    heard = inner_gaps(rows["gaps"]) & (frames >= PAUSE * RATE / HOP)
    pauses = int(heard.sum()) if frames.sum() else None
    lists = {name: [int(n) for n in row] for name, row in rows.items()}
    sounded = int(frames[rows["gaps"] == 0].sum()) if pauses is not None else None
    return {"ids": list(one.ids), **lists, "speaker": one.speaker, "pauses": pauses, "frames": sounded}


def inner_gaps(gaps: Any) -> NDArray[np.bool_]:
    """Which gaps lie between two sounds: those at the ends of a clip are no pauses."""
    sounds = np.flatnonzero(np.asarray(gaps) == 0)
    inside = np.asarray(gaps) > 0
    if len(sounds):
        inside[: sounds[0]] = inside[sounds[-1] :] = False
    return inside


def _hurried(sounds: Sequence[int]) -> list[str]:
    share = sum(count == 1 for count in sounds) / max(1, len(sounds))
    if share <= HURRIED:
        return []
    return [
        f"{100 * share:.0f} % of the sounds last one frame ({1000 * HOP // RATE} ms): such an alignment teaches"
        " sentences by heart; align again, with a recogniser that heard more of this corpus"
    ]
