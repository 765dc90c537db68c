"""A vocoder made of nothing: pulses and noise, filtered by what the mel says. Its pitch is right and it buzzes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from olu.families.acoustic.corpus import HOP, RATE
from olu.features import mel as spectra

FFT, BINS = 1024, 80
GAIN = 2.0 / FFT  # of a magnitude to an amplitude


class PlainVocoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        bank = spectra.mel_bank(rate=RATE, fft_size=FFT, bins=BINS, low=0.0, high=RATE / 2)
        self.inverse: Tensor
        self.register_buffer("inverse", torch.from_numpy(np.linalg.pinv(bank).astype(np.float32)), persistent=False)

    @torch.no_grad()
    def sounded(self, mel: Tensor, contour: Tensor, voicing: Tensor) -> Tensor:
        """Log mel [1, M, F], log2 of hertz [1, F], voicing [1, F] -> wave [1, 256 F]."""
        frames = mel.shape[2]
        size = (frames * HOP,)
        hertz = nn.functional.interpolate(contour.double().exp2()[:, None], size=size, mode="linear")[:, 0]
        voiced = nn.functional.interpolate(voicing.double()[:, None], size=size, mode="linear")[:, 0]
        phase = (hertz / RATE).cumsum(1)
        pulses = torch.diff(phase.floor(), dim=1, prepend=torch.zeros_like(phase[:, :1])) * (RATE / hertz).sqrt()
        noise = torch.randn(phase.shape, generator=torch.Generator().manual_seed(0)).to(phase)
        excited = (pulses * voiced.sqrt() + noise * (1 - voiced).clamp(0, 1).sqrt()).float()
        window = torch.hann_window(FFT, device=mel.device)
        spectrum = torch.stft(excited, FFT, HOP, window=window, center=True, return_complex=True)
        size_of = (self.inverse @ mel.float().clamp(max=6).exp()).clamp_min(1e-5)
        size_of = nn.functional.pad(size_of, (0, spectrum.shape[2] - frames), mode="replicate")
        level = (window.square().sum()).sqrt()  # of noise of deviation 1 in that window
        return torch.istft(spectrum * size_of / level, FFT, HOP, window=window, center=True, length=size[0])
