"""Who speaks, as 256 numbers, by the weights of Resemblyzer (Apache-2.0): a GE2E network of three LSTM layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RATE, WINDOW, HOP, MELS = 16000, 400, 160, 40
PART = 160  # frames that the network hears at once: 1.6 s
STEP = 80
MOST_PARTS = 10  # of a clip, spread evenly
LEAST_SECONDS = 1.0  # of voice
LOUDNESS_DB = -30.0  # quieter speech is turned up to this
HIDDEN = 256


def load(path: Path) -> Any:
    """The network with the numbers of a file; no code in the file can run."""
    import torch

    held = torch.load(path, map_location="cpu", weights_only=True)["model_state"]
    lstm = torch.nn.LSTM(MELS, HIDDEN, 3, batch_first=True)
    lstm.load_state_dict({name.removeprefix("lstm."): held[name] for name in held if name.startswith("lstm.")})
    linear = torch.nn.Linear(HIDDEN, HIDDEN)
    linear.load_state_dict({"weight": held["linear.weight"], "bias": held["linear.bias"]})
    return lstm.eval(), linear.eval()


def embed(network: Any, speech: NDArray[np.float32]) -> tuple[float, ...]:
    """The voice of a stretch of speech at 16 kHz, of length 1; empty where there is too little."""
    import torch

    if len(speech) < LEAST_SECONDS * RATE:
        return ()
    mels = _mels(_loud(speech))
    if len(mels) < PART:
        mels = np.pad(mels, ((0, PART - len(mels)), (0, 0)))
    count = min(MOST_PARTS, 1 + (len(mels) - PART) // STEP)
    starts = np.linspace(0, len(mels) - PART, count).astype(int)
    lstm, linear = network
    with torch.inference_mode():
        _, (hidden, _) = lstm(torch.from_numpy(np.stack([mels[at : at + PART] for at in starts])))
        parts = torch.relu(linear(hidden[-1]))
        parts = parts / parts.norm(dim=1, keepdim=True).clamp(min=1e-6)
        mean = parts.mean(0)
        return tuple(round(float(one), 5) for one in mean / mean.norm().clamp(min=1e-6))


def _loud(speech: NDArray[np.float32]) -> NDArray[np.float32]:
    power = float(np.dot(speech, speech)) / len(speech)
    gain = 10 ** (LOUDNESS_DB / 20) / max(power**0.5, 1e-6)
    return speech * np.float32(max(1.0, gain))


def _mels(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """(frames, 40) mel power, not its log: what the network was trained on."""
    padded = np.pad(samples, WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    window = np.hanning(WINDOW + 1)[:-1].astype(np.float32)
    spectrum = np.fft.rfft(frames * window, axis=1)
    mels: NDArray[np.float32] = (spectrum.real**2 + spectrum.imag**2).astype(np.float32) @ BANK
    return mels


def _bank() -> NDArray[np.float32]:
    """(bins, 40) triangles of equal area on Slaney's mel scale."""
    mels = np.linspace(0.0, _mel(RATE / 2), MELS + 2)
    edges = np.where(mels < 15.0, mels * 200.0 / 3.0, 1000.0 * np.exp((mels - 15.0) * np.log(6.4) / 27.0))
    hertz = np.arange(WINDOW // 2 + 1) * RATE / WINDOW
    rise = (hertz[:, None] - edges[:-2]) / np.diff(edges)[:-1]
    fall = (edges[2:] - hertz[:, None]) / np.diff(edges)[1:]
    bank: NDArray[np.float32] = (np.maximum(0.0, np.minimum(rise, fall)) * 2.0 / (edges[2:] - edges[:-2])).astype(
        np.float32
    )
    return bank


def _mel(hertz: float) -> float:
    return float(15.0 + 27.0 * np.log(hertz / 1000.0) / np.log(6.4))


BANK = _bank()
