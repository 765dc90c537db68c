"""Mixtures of Gaussians over cepstra, one for each class: they find the sounds of a language from a flat start.

A network trained on evenly cut phones learns the even cuts; Gaussians have too few parameters to, so a few quick rounds
of them come before it. Shapes: N frames of all clips, D dimensions, C classes, K Gaussians of a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

NARROWEST = 0.05  # of the variance of all frames: a class of a few frames must not become a needle
FEWEST = 20  # frames below which a class leans on all frames
SPLIT_APART = 0.5  # standard deviations between the halves of a split Gaussian


@dataclass(frozen=True, slots=True)
class Mixtures:
    """Diagonal Gaussians: `means` and `variances` [C, K, D], log `weights` [C, K]."""

    means: Floats
    variances: Floats
    weights: Floats

    def scores(self, frames_FD: Floats) -> Floats:
        """[F, C] log densities."""
        classes, many, size = self.means.shape
        precise = 1.0 / self.variances
        constant = self.weights - 0.5 * (
            size * np.log(2 * np.pi) + np.log(self.variances).sum(2) + (self.means**2 * precise).sum(2)
        )
        flat = (self.means * precise).reshape(-1, size)
        each = frames_FD @ flat.T - 0.5 * (frames_FD**2) @ precise.reshape(-1, size).T
        each = each.reshape(-1, classes, many) + constant
        if many == 1:
            return np.ascontiguousarray(each[:, :, 0], dtype=np.float32)
        top = each.max(axis=2)
        return np.asarray(top + np.log(np.exp(each - top[:, :, None]).sum(axis=2)), dtype=np.float32)


def fit(frames_ND: Floats, classes_N: Ints, *, classes: int, before: Mixtures | None = None, many: int = 1) -> Mixtures:
    """One round of estimation from hard classes; `before` shares a class's frames among its Gaussians."""
    overall = frames_ND.var(axis=0) + 1e-6
    centre = frames_ND.mean(axis=0)
    order = np.argsort(classes_N, kind="stable")
    edges = np.searchsorted(classes_N[order], np.arange(classes + 1))
    means = np.tile(centre, (classes, many, 1)).astype(np.float32)
    variances = np.tile(overall, (classes, many, 1)).astype(np.float32)
    weights = np.full((classes, many), -np.log(many), dtype=np.float32)
    for which in range(classes):
        mine = frames_ND[order[edges[which] : edges[which + 1]]]
        shares = _shares(mine, which, before, many)
        counts = shares.sum(axis=0)
        lean = FEWEST / (counts + FEWEST)  # towards all frames, when there are few
        sums = shares.T @ mine
        squares = shares.T @ mine**2
        safe = np.maximum(counts, 1e-3)[:, None]
        mean = sums / safe
        spread = np.maximum(squares / safe - mean**2, NARROWEST * overall)
        means[which] = mean * (1 - lean[:, None]) + centre * lean[:, None]
        variances[which] = spread * (1 - lean[:, None]) + overall * lean[:, None]
        weights[which] = np.log((counts + 1.0) / (counts.sum() + many))
    return Mixtures(means, variances, weights)


def split(mixtures: Mixtures) -> Mixtures:
    """Twice as many Gaussians, each pair a little apart."""
    apart = SPLIT_APART * np.sqrt(mixtures.variances)
    return Mixtures(
        np.concatenate([mixtures.means - apart, mixtures.means + apart], axis=1),
        np.concatenate([mixtures.variances, mixtures.variances], axis=1),
        np.concatenate([mixtures.weights, mixtures.weights], axis=1) - np.float32(np.log(2.0)),
    )


def _shares(mine: Floats, which: int, before: Mixtures | None, many: int) -> Floats:
    if many == 1 or before is None or len(mine) == 0:
        return np.full((len(mine), many), 1.0 / many, dtype=np.float32)
    precise = 1.0 / before.variances[which]
    means = before.means[which]
    each = mine @ (means * precise).T - 0.5 * (mine**2) @ precise.T
    each += before.weights[which] + 0.5 * (np.log(precise).sum(1) - (means**2 * precise).sum(1))
    each = np.exp(each - each.max(axis=1, keepdims=True))
    return np.asarray(each / each.sum(axis=1, keepdims=True), dtype=np.float32)
