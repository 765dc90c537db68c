"""Where a human voice is heard, by the Silero network (MIT)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.networks.session import open_session, quiet, read_network

FRAME = 512  # samples at 16 kHz
CONTEXT = 64  # samples of the frame before
MOST_FRAMES = 4096  # in one call: two minutes
SURE, STILL = 0.5, 0.35  # a voice begins at the first and lasts while above the second
GUARD = 3  # frames beside the voice that count for neither side
LEAST_NOISE = 12  # frames: 0.4 s
QUIETEST = 1e-9  # mean square: -90 dB, digital silence tells nothing of the room

Samples = NDArray[np.float32]


def load(path: Path) -> Any:
    return open_session(read_network(path), quiet(1))


def spoken(session: Any, samples: Samples) -> NDArray[np.bool_]:
    """(frames,) whether each 32 ms holds a voice; 16 kHz."""
    chances = _chances(session, samples)
    heard = np.zeros(len(chances), dtype=bool)
    on = False
    for place, chance in enumerate(chances.tolist()):
        on = chance >= (STILL if on else SURE)
        heard[place] = on
    return heard


def _chances(session: Any, samples: Samples) -> NDArray[np.float32]:
    count = max(1, -(-len(samples) // FRAME))
    padded = np.zeros(CONTEXT + count * FRAME, dtype=np.float32)
    padded[CONTEXT : CONTEXT + len(samples)] = samples
    frames = np.lib.stride_tricks.sliding_window_view(padded, CONTEXT + FRAME)[::FRAME]
    hidden = cell = np.zeros((1, 1, 128), dtype=np.float32)
    parts = []
    for start in range(0, count, MOST_FRAMES):
        block = np.ascontiguousarray(frames[start : start + MOST_FRAMES])
        chances, hidden, cell = session.run(None, {"input": block, "h": hidden, "c": cell})
        parts.append(np.asarray(chances, dtype=np.float32))
    return np.concatenate(parts)


def snr(samples: Samples, spoken: NDArray[np.bool_]) -> float | None:
    """Decibels between the frames with a voice and those well outside it."""
    frames = _frames(samples)
    power = np.einsum("ij,ij->i", frames, frames) / FRAME - frames.mean(axis=1) ** 2  # an offset is no noise
    inside = spoken[: len(frames)]
    if not inside.any():
        return None
    near = np.convolve(inside, np.ones(2 * GUARD + 1))[GUARD : GUARD + len(inside)] > 0
    quiet = power[~near]
    quiet = quiet[quiet > QUIETEST]
    if len(quiet) < LEAST_NOISE:
        return None
    return float(10 * np.log10(np.mean(power[inside]) / np.median(quiet)))


def only(samples: Samples, spoken: NDArray[np.bool_]) -> Samples:
    """The frames with a voice, joined."""
    frames = _frames(samples)
    return np.ascontiguousarray(frames[spoken[: len(frames)]].reshape(-1))


def _frames(samples: Samples) -> Samples:
    count = len(samples) // FRAME
    return samples[: count * FRAME].reshape(count, FRAME)
