"""Linear and mel spectrograms exactly as VITS defines them.

Shapes: B clips, S samples, F frames (= S // hop), N spectrogram bins, M mel bins.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FLOOR = 1e-5  # smallest mel magnitude before the logarithm


def padding(*, fft_size: int, hop: int) -> int:
    """Samples of reflection on each side, so that there are exactly S // hop frames."""
    return (fft_size - hop) // 2


def linear(padded_BS: Tensor, *, fft_size: int, hop: int) -> Tensor:
    """Magnitudes [B, N, F] of waves that already carry their reflected edges."""
    window = torch.hann_window(fft_size, device=padded_BS.device, dtype=torch.float32)
    spectrum = torch.stft(padded_BS.float(), fft_size, hop_length=hop, window=window, center=False, return_complex=True)
    return torch.sqrt(spectrum.real.square() + spectrum.imag.square() + 1e-6)  # 1e-6 inside the root, as VITS


def reflect(wave_BS: Tensor, *, fft_size: int, hop: int) -> Tensor:
    pad = padding(fft_size=fft_size, hop=hop)
    return torch.nn.functional.pad(wave_BS.unsqueeze(1), (pad, pad), mode="reflect").squeeze(1)


def mel(linear_BNF: Tensor, bank_MN: Tensor) -> Tensor:
    """Log mel [B, M, F] of linear magnitudes (power 1)."""
    return torch.log(torch.clamp(bank_MN @ linear_BNF, min=FLOOR))


@lru_cache(maxsize=8)
def mel_bank(*, rate: int, fft_size: int, bins: int, low: float, high: float) -> NDArray[np.float32]:
    """Slaney-scale, area-normalised triangles [M, N]."""
    edges = _mel_to_hz(np.linspace(_hz_to_mel(low), _hz_to_mel(high), bins + 2))
    hertz = np.linspace(0, rate / 2, fft_size // 2 + 1)
    rising = (hertz[None, :] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hertz[None, :]) / (edges[2:] - edges[1:-1])[:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return (triangles * (2.0 / (edges[2:] - edges[:-2]))[:, None]).astype(np.float32)


_LINEAR_HZ = 200.0 / 3  # Hz per mel below the break
_BREAK_HZ = 1000.0
_LOG_STEP = float(np.log(6.4)) / 27.0


def _hz_to_mel(hertz: float) -> float:
    if hertz < _BREAK_HZ:
        return hertz / _LINEAR_HZ
    return _BREAK_HZ / _LINEAR_HZ + float(np.log(hertz / _BREAK_HZ)) / _LOG_STEP


def _mel_to_hz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    above = mels - _BREAK_HZ / _LINEAR_HZ
    return np.where(above < 0, mels * _LINEAR_HZ, _BREAK_HZ * np.exp(_LOG_STEP * above))
