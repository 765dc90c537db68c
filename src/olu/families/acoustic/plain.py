"""A vocoder made of nothing: pulses and noise, filtered by what the mel says. Its pitch is right and it buzzes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from olu.features.mel import MelSpec
from olu.nn.source import pulses
from olu.nn.stft import Stft


class PlainVocoder(nn.Module):
    """The source filter of a trained vocoder with gains straight from the mel, and nothing else added."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = MelSpec()
        self.stft = Stft(self.spec.fft)
        self.inverse: Tensor
        inverse = np.linalg.pinv(self.spec.bank).astype(np.float32)
        self.register_buffer("inverse", torch.from_numpy(inverse), persistent=False)

    @torch.no_grad()
    def sounded(self, mel: Tensor, contour: Tensor, voicing: Tensor) -> Tensor:
        """Log mel [1, M, F], log2 of hertz [1, F], voicing [1, F] -> wave [1, 256 F]."""
        source = pulses(contour, voicing, hop=self.spec.hop, rate=self.spec.rate)
        drawn = torch.randn(source.shape, generator=torch.Generator().manual_seed(0)).to(source)
        breath = 1 - torch.repeat_interleave(voicing, self.spec.hop, 1).clamp(0, 1)
        excited = self.stft(source + breath.sqrt() * drawn)
        gain = (self.inverse @ mel.float().clamp(max=6).exp()).clamp_min(1e-5) / self.stft.square.sum().sqrt()
        return self.stft.inverse(excited * gain.transpose(1, 2).repeat(1, 1, 2))
