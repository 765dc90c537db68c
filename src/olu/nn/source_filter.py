"""Pulses and noise, filtered in short windows by what a ConvNeXt makes of features, pitch and voicing.

Shape letters: B clips, C features, F frames, S samples (= 256 F), T inner frames (= 2 F), K bins of the inner window.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from olu.nn.convnext import ConvNeXtBlock
from olu.nn.stft import Stft

INNER = 512  # samples of the window in which the source is filtered; it moves by a quarter of it
LARGEST = 4.0  # exponent of a gain: what is more is a fault, and would be no number soon
QUIET = -3.0  # the exponent that the gains of source and noise begin with
REST = 0.1  # the gate that the rest begins with
SOURCE_SCALE = 0.05  # brings the source's spectrum to about 1
MIDDLE = 7.0  # log2 of hertz that the net hears as 0


class SourceFilter(nn.Module):
    """Y = exp(a) e^ib S + exp(c) N + g exp(r) e^iq, of which the inverse transform is the sound.

    S and N are the spectra of source and noise. It begins as a filtered pulse train, so its pitch is right from the
    first step; R, the rest, is what it may add to that. `condition`: numbers that say who speaks.
    """

    def __init__(
        self, features: int, *, channels: int, layers: int, widening: int = 3, kernel: int = 7, condition: int = 0
    ) -> None:
        super().__init__()
        self.stft = Stft(INNER)
        bins = self.stft.bins
        self.enter = nn.Conv1d(features + 2, channels, 7, padding=3)
        self.finer = nn.ConvTranspose1d(channels, channels, 4, stride=2, padding=1)
        self.hear = nn.Linear(2 * bins, channels)
        self.first_norm = nn.LayerNorm(channels)
        self.blocks = nn.ModuleList(ConvNeXtBlock(channels, widening=widening, kernel=kernel) for _ in range(layers))
        self.last_norm = nn.LayerNorm(channels)
        self.filter = nn.Linear(channels, 3 * bins)
        self.rest = nn.Linear(channels, 2 * bins)
        self.gate = nn.Parameter(torch.full((bins,), REST))
        nn.init.normal_(self.filter.weight, 0, 0.01)
        nn.init.constant_(self.filter.bias, QUIET)
        with torch.no_grad():
            self.filter.bias[bins : 2 * bins] = 0
        if condition:
            self.cond = nn.Conv1d(condition, channels, 1)

    def forward(
        self,
        features_BCF: Tensor,
        contour_BF: Tensor,
        voicing_BF: Tensor,
        source_BS: Tensor,
        noise_BS: Tensor,
        condition_BC1: Tensor | None = None,
    ) -> Tensor:
        """Features of about 1, log2 of hertz, voicing, and source and noise of power 1 -> wave [B, S], in 32 bits."""
        with torch.autocast(features_BCF.device.type, enabled=False):
            source, noise = self.stft(torch.cat([source_BS, noise_BS])).chunk(2)
            melody = torch.stack([contour_BF - MIDDLE, voicing_BF], 1)
            x = self.enter(torch.cat([features_BCF.float(), melody], 1))
            if condition_BC1 is not None:
                x = x + self.cond(condition_BC1.float())
            x = self.finer(x).transpose(1, 2) + self.hear(source * SOURCE_SCALE)
            x = self.first_norm(x).transpose(1, 2)
            for block in self.blocks:
                x = block(x)
            x = self.last_norm(x.transpose(1, 2))
            return self.stft.inverse(self._spectrum(x, source, noise))

    def _spectrum(self, x_BTC: Tensor, source: Tensor, noise: Tensor) -> Tensor:
        bins = self.stft.bins
        gain, turn, breath = torch.split(self.filter(x_BTC), bins, -1)
        level, angle = torch.split(self.rest(x_BTC), bins, -1)
        gain, breath, level = (torch.exp(one.clamp(max=LARGEST)) for one in (gain, breath, level))
        level = level * self.gate
        across, up = gain * torch.cos(turn), gain * torch.sin(turn)
        real, imaginary = torch.split(source, bins, -1)
        noise_real, noise_imaginary = torch.split(noise, bins, -1)
        return torch.cat(
            [
                across * real - up * imaginary + breath * noise_real + level * torch.cos(angle),
                across * imaginary + up * real + breath * noise_imaginary + level * torch.sin(angle),
            ],
            -1,
        )


def reach(*, layers: int, kernel: int = 7) -> int:
    """Frames to either side that a sample depends on: the first layer, the finer frames, both transforms."""
    finer = 1 + layers * (kernel // 2) + 2 * 2
    return 3 + -(-finer // 2)
