"""What a validation finds (losses on held-out clips, samples and cheap figures of them), and which step is the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.activity import SILENT_DBFS, threshold
from olu.core.types import Audio
from olu.train.family import Batch, DemoSentence, Learner, SpokenSample
from olu.train.guards import SampleFigures
from olu.train.guards.progress import faults
from olu.train.guards.seen import GuardEvent, Verdict

if TYPE_CHECKING:
    import torch

    from olu.train.part import LivePart
    from olu.train.recipe import PlanSettings

Ear = Callable[[Sequence[SpokenSample]], Mapping[str, float]]  # figures of samples, 0 where nothing is wrong
Found = tuple[dict[str, float], tuple[SpokenSample, ...]]

HEARD = "heard"
DURATION_FREE = 0.1  # a tenth longer or shorter than the recording is how people differ from themselves


@contextmanager
def averaged(parts: Mapping[str, LivePart]) -> Iterator[None]:
    """The averaged weights in the place of those that learn, where a part has them."""
    from olu.train.part import assign  # torch comes with it

    held = {
        name: {n: p.detach().clone() for n, p in live.named.items()} for name, live in parts.items() if live.average
    }
    for name in held:
        assign(parts[name].named, parts[name].average or {})
    try:
        yield
    finally:
        for name, weights in held.items():
            assign(parts[name].named, weights)


class Cut(Exception):
    """Raised where an end was asked for while a validation went on."""


def validated(
    learner: Learner,
    batches: Sequence[Batch],
    *,
    plan: PlanSettings,
    sentences: Sequence[DemoSentence],
    device: torch.device,
    ear: Ear | None,
    asked: Callable[[], int] = lambda: 0,
) -> Found:
    """Every figure of a validation by its name, and the samples; those of hearing begin with "heard".

    `asked` is looked at between its pieces: a validation can be made again from the same weights.
    """
    sums: dict[str, float] = {}
    counts: dict[str, float] = {}
    weights: dict[str, float] = {}
    exhibits: list[SpokenSample] = []

    def go_on() -> None:
        if asked():
            raise Cut

    for batch in batches:
        go_on()
        placed = batch.to(device)
        for name, loss in learner.validate(placed).items():
            sums[name] = sums.get(name, 0.0) + float(loss.sum)
            counts[name] = counts.get(name, 0.0) + placed.counts[loss.over]
            weights[name] = float(loss.weight)
        for exhibit in islice(learner.demo(placed), plan.demo_clips - len(exhibits)):
            exhibits.append(exhibit)
            go_on()
    for one in sentences:
        go_on()
        beside = (one.streams,) if one.streams else ()
        exhibits.append(SpokenSample(one.name, learner.say(one.ids, one.speaker, *beside), one.natural))
    go_on()
    losses = {name: total / counts[name] for name, total in sums.items()}
    for name in getattr(learner, "weighed", ()):  # of a WeighedLearner
        losses["weighed"] = losses.get("weighed", 0.0) + weights[name] * losses[name]
    return {**losses, **heard(exhibits, ear)}, tuple(exhibits)


def heard(exhibits: Sequence[SpokenSample], ear: Ear | None = None) -> dict[str, float]:
    """Share of faulty samples, how far their lengths are off, what `ear` adds, and "heard", the sum of them."""
    if not exhibits:
        return {}
    sounds = [measure(one.name, one.audio, natural=one.natural) for one in exhibits]
    found = {f"{HEARD}_faults": mean(float(bool(faults(sound))) for sound in sounds)}
    off = [length_off(max(sound.seconds, 1e-3) / sound.natural) for sound in sounds if sound.natural]
    if off:
        found[f"{HEARD}_duration"] = mean(off)
    found |= {f"{HEARD}_{name}": value for name, value in (ear(exhibits) if ear else {}).items()}
    return {**found, HEARD: sum(found.values())}


def length_off(ratio: float) -> float:
    """How far a length is off the recording's, by their ratio: 0 within a tenth, at most 1."""
    return min(1.0, max(0.0, abs(math.log(ratio)) - math.log1p(DURATION_FREE)))


GRID = 0.02  # heard scores this close are equal, for a few samples tell no more; the loss then decides


def candidate(step: int, scores: Mapping[str, float], *, by: str, loss: str) -> dict[str, Any] | None:
    """What would be kept of a step as the best; None where its figures are not numbers."""
    value = scores.get(loss, math.nan)
    if by == "loss":
        return {"step": step, "score": value} if math.isfinite(value) else None
    if not math.isfinite(value) or not math.isfinite(scores.get(HEARD, math.nan)):
        return None
    parts = {name: score for name, score in scores.items() if name.startswith(f"{HEARD}_")}
    return {"step": step, "score": scores[HEARD], "loss": value, **parts}


def is_better(new: Mapping[str, Any], old: Mapping[str, Any] | None) -> bool:
    return old is None or _order(new) < _order(old)


def _order(best: Mapping[str, Any]) -> tuple[float, float]:
    return (best["score"], 0.0) if "loss" not in best else (round(best["score"] / GRID), best["loss"])


def held_as(best: dict[str, Any] | None, *, by: str) -> dict[str, Any] | None:
    """The best step by its loss where the run now chooses by the loss; else as it is."""
    return {"step": best["step"], "score": best["loss"]} if by == "loss" and best and "loss" in best else best


def metric_of(by: str, *, loss: str) -> str:
    return loss if by == "loss" else HEARD


def why(best: Mapping[str, Any], *, metric: str) -> str:
    """One sentence for best.json."""
    if "loss" not in best:
        return f"the lowest {metric} on the validation clips of all validations so far"
    parts = ", ".join(f"{name.removeprefix('heard_')} {value:.3g}" for name, value in best.items() if "heard_" in name)
    return f"the best heard samples of all validations so far ({parts}); between equals the lower loss decides"


def nothing_better(best: Mapping[str, Any], *, step: int, since: int) -> GuardEvent:
    message = f"nothing better in {since} validations (plan.stop_patience): it ends here; step {best['step']} is best"
    return GuardEvent(step, "enough", Verdict.NOTE, message)


FRAME_SECONDS, HOP_SECONDS = 0.04, 0.01
STRETCH_FRAMES = 50  # half a second
EVERY = 5  # a stretch begins at every fifth frame, and is compared with those at every frame
BANDS = 32
LEAST_SOUND = 0.3  # share of a stretch that is no silence, or there is nothing in it that could come again
LONGEST_FRAMES = 3000
FULL_SCALE = 0.999


def measure(name: str, audio: Audio, *, natural: float | None = None) -> SampleFigures:
    samples = np.nan_to_num(audio.samples.astype(np.float64))
    power = float(np.mean(samples**2)) if len(samples) else 0.0
    return SampleFigures(
        name=name,
        seconds=audio.seconds,
        peak=float(np.max(np.abs(samples), initial=0.0)),
        level=10 * float(np.log10(max(power, 1e-12))),
        clipped=float(np.mean(np.abs(samples) >= FULL_SCALE)) if len(samples) else 0.0,
        repeats=repeats(samples, audio.rate),
        natural=natural,
    )


def repeats(samples: NDArray[np.float64], rate: int) -> float:
    """How alike the two most alike half seconds are that do not touch: speech stays below 0.98, a loop passes 0.99.

    Every hundredth of a second is tried: with coarser steps a loop is found only where its length happens to fit them.
    Silence is like every other silence and is left out: a pause is no repetition.
    """
    hop, size = round(HOP_SECONDS * rate), round(FRAME_SECONDS * rate)
    if len(samples) < size + 3 * STRETCH_FRAMES * hop:
        return 0.0
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop][:LONGEST_FRAMES]
    heard = _heard(frames)
    if not heard.any():
        return 0.0
    spectra = np.abs(np.fft.rfft(frames * np.hanning(size)))[:, 1:]
    edges = np.unique(np.geomspace(1, spectra.shape[1], BANDS + 1).astype(int) - 1)
    bands = np.log(np.add.reduceat(spectra, edges[:-1], axis=1) + 1e-4)
    moving = (bands - bands[heard].mean(0)).astype(np.float32)  # what never changes, such as hum, is no repetition
    moving[~heard] = 0
    stretches = np.lib.stride_tricks.sliding_window_view(moving, STRETCH_FRAMES, axis=0).reshape(
        len(moving) - STRETCH_FRAMES + 1, -1
    )
    sizes = np.linalg.norm(stretches, axis=1)
    filled = np.convolve(heard, np.ones(STRETCH_FRAMES), mode="valid") >= LEAST_SOUND * STRETCH_FRAMES
    loud = filled & (sizes > 0.2 * np.median(sizes[filled])) if filled.any() else filled
    unit = stretches / np.maximum(sizes, 1e-9)[:, None]
    place = np.arange(len(unit))
    alike = unit[::EVERY] @ unit.T
    apart = np.abs(place[::EVERY, None] - place) >= STRETCH_FRAMES
    return float(np.max(np.where(apart & loud[::EVERY, None] & loud, alike, 0.0), initial=0.0))


def _heard(frames: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Frames that are no silence: not in itself, and not against the rest of the file."""
    levels = (10 * np.log10(np.maximum(np.var(frames, axis=1), 1e-12))).astype(np.float32)
    above = np.asarray(levels > SILENT_DBFS)  # silence put between sentences is not the file's own floor
    return np.logical_and(above, levels >= threshold(levels[above])) if above.any() else above
