"""The mels of the frozen networks: of the S3 tokenizer and the voice encoder at 16,000 Hz, of the decoder at 24,000."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from olu.families.chatterbox.config import OUT_RATE, RATE
from olu.features.mel import mel, mel_bank, power_mel, reflect

FFT, HOP = 400, 160  # samples
SOUND_FFT, SOUND_HOP, SOUND_MELS, SOUND_HIGH = 1920, 480, 80, 8000.0  # of what the decoder makes and is given
DEEP = 8.0  # decades under the loudest that are still heard
QUIETER, TRIM_FRAME, TRIM_HOP = 20.0, 2048, 512  # dB under the loudest frame at which the voice encoder cuts edges


def bank(bins: int) -> Tensor:
    return torch.from_numpy(mel_bank(rate=RATE, fft_size=FFT, bins=bins, low=0.0, high=RATE / 2))


def powers(wave_BS: Tensor, bank_MN: Tensor) -> Tensor:
    """[B, M, S // 160 + 1]."""
    window = torch.hann_window(FFT, device=wave_BS.device)
    return power_mel(wave_BS.float(), fft=FFT, hop=HOP, window=window, bank_MN=bank_MN)


def token_mel(wave_S: Tensor, bank_MN: Tensor) -> Tensor:
    """[M, S // 160] of one clip: decimal logarithms, scaled by the loudest of the whole clip."""
    logs = torch.log10(powers(wave_S[None], bank_MN)[0, :, :-1].clamp(min=1e-10))
    return (torch.maximum(logs, logs.max() - DEEP) + 4.0) / 4.0


def trimmed(wave: NDArray[np.float32]) -> NDArray[np.float32]:
    """Without the quiet edges; one that is silent all through stays whole."""
    padded = np.pad(wave, TRIM_FRAME // 2).astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(np.square(padded))])
    first = np.arange(0, len(padded) - TRIM_FRAME + 1, TRIM_HOP)
    loud = np.sqrt(np.maximum(sums[first + TRIM_FRAME] - sums[first], 0) / TRIM_FRAME)
    decibel = 20 * np.log10(np.maximum(loud, 1e-5) / max(float(loud.max()), 1e-5))
    heard = np.flatnonzero(decibel > -QUIETER)
    return wave[heard[0] * TRIM_HOP : (heard[-1] + 1) * TRIM_HOP] if len(heard) else wave


def sound_mel(wave_S: Tensor) -> Tensor:
    """[S // 480, 80] of a wave at 24,000 Hz: natural logarithms of magnitudes, as the flow makes them."""
    made = mel_bank(rate=OUT_RATE, fft_size=SOUND_FFT, bins=SOUND_MELS, low=0.0, high=SOUND_HIGH)
    window = torch.hann_window(SOUND_FFT, device=wave_S.device)
    edges = reflect(wave_S.float()[None], fft_size=SOUND_FFT, hop=SOUND_HOP)
    spectrum = torch.stft(edges, SOUND_FFT, SOUND_HOP, window=window, center=False, return_complex=True)
    magnitudes = torch.sqrt(spectrum.real.square() + spectrum.imag.square() + 1e-9)
    return mel(magnitudes, torch.from_numpy(made).to(wave_S.device))[0].T
