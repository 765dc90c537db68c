"""Mel-cepstral distortion: how far the colour of the sound is from the natural recording's, in decibels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from olu.evaluate.estimates import Estimate, figure, lowest
from olu.evaluate.metrics.paired import Paired

SCALE = 10 * np.sqrt(2) / np.log(10)  # 6.1419: from cepstra to decibels
REASON = "it follows what is heard only roughly; compare it with equal settings alone"


def distortion(pair: Paired | None) -> float | None:
    """Decibels, the mean over the paired frames; the level (c0) does not count."""
    if pair is None:
        return None
    natural = pair.natural.cepstra[pair.path[:, 0], 1:]
    spoken = pair.spoken.cepstra[pair.path[:, 1], 1:]
    return float(SCALE * np.mean(np.linalg.norm(natural - spoken, axis=1)))


def summarise(values: Sequence[float | None], *, settings: str) -> tuple[Estimate, ...]:
    """mcd. `settings` is `Paired.settings` of the clips (one voice has one rate)."""
    trust, reason = lowest(("medium", REASON))
    return (figure("mcd", values, unit="dB", instrument=instrument(settings), trust=trust, reason=reason),)


def instrument(settings: str) -> str:
    return f"mel-cepstra as SPTK's mcep, exact DTW, {settings}"
