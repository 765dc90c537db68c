"""How good it would sound to people who were asked about noise: DNSMOS, deaf to what is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from olu.audio import io
from olu.core.machine import version_of
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate, differences, figure, mean, pick
from olu.evaluate.metrics.duration import numbers_only
from olu.networks import models as network
from olu.networks.models import RATE, weights

REASON = "it rates the sound alone, and knows nothing of the language: babble can score well"


@dataclass(frozen=True, slots=True)
class Opinion:
    """Three scores of a recording, 1 to 5 each."""

    overall: float
    signal: float
    background: float


def opinion(audio: Audio) -> Opinion | None:
    """What people would say of a recording; None for one without samples."""
    if len(audio.samples) == 0:
        return None
    sound = np.clip(io.resample(numbers_only(audio), RATE).samples, -1.0, 1.0)
    return Opinion(**network.scores(_session(), sound))


def summarise(
    spoken: Sequence[Opinion | None], *, natural: Sequence[Opinion | None] | None = None
) -> tuple[Estimate, ...]:
    """dnsmos, dnsmos_signal, dnsmos_background, and dnsmos_difference to the natural recordings."""
    said: dict[str, Any] = {"unit": "1 to 5", "instrument": instrument(), "trust": "low", "reason": REASON}
    figures = [
        figure(name, pick(spoken, part), natural=None if natural is None else mean(pick(natural, part)), **said)
        for name, part in (("dnsmos", "overall"), ("dnsmos_signal", "signal"), ("dnsmos_background", "background"))
    ]
    if natural is not None:
        off = differences(pick(natural, "overall"), pick(spoken, "overall"))
        figures.append(figure("dnsmos_difference", off, **said))
    return tuple(figures)


def instrument() -> str:
    version = version_of("speechmos")
    return "DNSMOS, 16 kHz" if version == "?" else f"DNSMOS of speechmos {version}, 16 kHz"


@cache
def _session() -> Any:
    return network.load(weights("speechmos", "dnsmos_models/sig_bak_ovr.onnx", verb="olu evaluate"))
