"""A small classifier that names tones from pitch, trained on natural speech and asked about the voice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.evaluate.estimates import Estimate, figure, mean
from olu.evaluate.metrics.tones import Syllable
from olu.features.pitch import instrument

FOLDS = 5
ROUNDS, PACE, WEAKEN = 300, 0.5, 1e-3
LEAST = 50  # syllables to learn from
REASON = "a classifier that knows only pitch; natural speech is its ceiling"

Floats = NDArray[np.float64]
Clip = Sequence[Syllable]


class ToneModel:
    """Multinomial logistic regression over numpy."""

    def __init__(self, features: Floats, tones: Sequence[str]) -> None:
        self.tones = sorted(set(tones))
        self.middle, spread = features.mean(axis=0), features.std(axis=0)
        self.spread = np.where(spread > 1e-9, spread, 1.0)
        wanted = np.array([self.tones.index(tone) for tone in tones])
        self.weights = _fit(self._scaled(features), np.eye(len(self.tones))[wanted])

    def name(self, features: Floats) -> list[str]:
        return [self.tones[place] for place in (self._scaled(features) @ self.weights).argmax(axis=1)]

    def _scaled(self, features: Floats) -> Floats:
        scaled = (features - self.middle) / self.spread
        return np.hstack([scaled, np.ones((len(scaled), 1))])


def features(clip: Clip) -> tuple[Floats, list[str]]:
    """[N, 7] steps from and to the neighbours, height in the phrase, slope, place in the phrase, and the tones."""
    rows, tones = [], []
    for phrase in {one.phrase for one in clip}:
        heard = [one for one in clip if one.phrase == phrase and one.semitones is not None]
        heights = np.array([one.semitones for one in heard], dtype=np.float64)
        steps = [0.0, *(float(b - a) for a, b in pairwise(heights)), 0.0]
        for place, one in enumerate(heard):
            if one.tone not in ("H", "M", "L", "D"):
                continue
            z = float(heights[place] - heights.mean())
            here = [steps[place], steps[place + 1], z, one.slope, place / max(1, len(heard) - 1)]
            rows.append([*here, float(place == 0), float(place == len(heard) - 1)])
            tones.append(one.tone)
    return np.array(rows, dtype=np.float64).reshape(len(rows), 7), tones


def judge(spoken: Sequence[Clip], *, natural: Sequence[Clip], train: Sequence[Clip] = ()) -> tuple[Estimate, ...]:
    """tone_named: share of tones named right in the voice, and in natural speech.

    `spoken` and `natural` say the same texts. A clip is judged by a model that heard neither it nor its natural
    recording; `train` are further natural clips, which every model may hear.
    """
    known = [features(clip) for clip in natural]
    more = [features(clip) for clip in train]
    folds = [place % FOLDS for place in range(len(natural))]
    right: list[float | None] = []
    held: list[float | None] = []
    counts: list[float] = []
    held_counts: list[float] = []
    models = [
        _model([one for one, fold in zip(known, folds, strict=True) if fold != turn] + more) for turn in range(FOLDS)
    ]
    for place, clip in enumerate(spoken):
        model = models[folds[place]]
        for into, weight, pair in ((right, counts, features(clip)), (held, held_counts, known[place])):
            share = None if model is None else _share(model, *pair)
            into.append(share)
            weight.append(float(len(pair[1])))
    said: dict[str, Any] = {"instrument": f"logistic regression on {instrument()}", "trust": "medium"}
    held_share = mean(held, weights=held_counts)
    return (figure("tone_named", right, natural=held_share, weights=counts, unit="share", reason=REASON, **said),)


def _model(parts: Sequence[tuple[Floats, list[str]]]) -> ToneModel | None:
    tones = [tone for _, names in parts for tone in names]
    if len(tones) < LEAST or len(set(tones)) < 2:
        return None
    return ToneModel(np.concatenate([rows for rows, _ in parts]), tones)


def _share(model: ToneModel, rows: Floats, tones: Sequence[str]) -> float | None:
    if not tones:
        return None
    return float(np.mean([one == two for one, two in zip(model.name(rows), tones, strict=True)]))


def _fit(features: Floats, wanted: Floats) -> Floats:
    """Full gradient descent with momentum: a few thousand rows of seven numbers."""
    weights = np.zeros((features.shape[1], wanted.shape[1]))
    push = np.zeros_like(weights)
    for _ in range(ROUNDS):
        scores = features @ weights
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        gradient = features.T @ (chances - wanted) / len(features) + WEAKEN * weights
        push = 0.9 * push - PACE * gradient
        weights = weights + push
    return weights
