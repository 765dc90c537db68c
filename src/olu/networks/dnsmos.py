"""How good a recording would sound to people, by the DNSMOS network (MIT)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.networks.session import open_session, quiet, read_network

WINDOW = 144160  # samples at 16 kHz: 9.01 s
MOST_WINDOWS = 4  # of a long clip, spread evenly
CURVES = {  # the published fits from the network's outputs to opinions, in the order it gives them
    "signal": (-0.08397278, 1.22083953, 0.0052439),
    "background": (-0.13166888, 1.60915514, -0.39604546),
    "overall": (-0.06766283, 1.11546468, 0.04602535),
}


def load(path: Path) -> Any:
    return open_session(read_network(path), quiet(1))


def overall(session: Any, samples: NDArray[np.float32]) -> float:
    """The overall score, 1 to 5."""
    return scores(session, samples)["overall"]


def scores(session: Any, samples: NDArray[np.float32]) -> dict[str, float]:
    """The three scores, 1 to 5, as means of windows; a short clip is repeated, as the authors do."""
    if len(samples) < WINDOW:
        samples = np.tile(samples, -(-WINDOW // max(1, len(samples))))
        starts = np.zeros(1, dtype=np.intp)
    else:
        count = min(MOST_WINDOWS, -(-len(samples) // WINDOW))
        starts = np.linspace(0, len(samples) - WINDOW, count).astype(np.intp)
    raw = [session.run(None, {"input_1": samples[None, at : at + WINDOW]})[0][0] for at in starts]
    outputs = np.asarray(raw, dtype=np.float64).T
    return {name: float(np.mean(np.polyval(CURVES[name], row))) for name, row in zip(CURVES, outputs, strict=True)}
