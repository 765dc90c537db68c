"""The vocoder: pulses and noise, filtered in short windows by what a ConvNeXt makes of mel, pitch and voicing.

Shape letters: B clips, F mel frames, S samples (= 256 F), T inner frames (= 2 F), K bins of the inner window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from olu.families.vocoder.config import INNER, MELS, VocoderConfig
from olu.nn.convnext import ConvNeXtBlock
from olu.nn.discriminators import PeriodDiscriminator, SpectrogramDiscriminator
from olu.nn.kernels.fused import weights_made_once
from olu.nn.kernels.streams import side_by_side
from olu.nn.stft import Stft

LARGEST = 4.0  # exponent of a gain: what is more is a fault, and would be no number soon
QUIET = -3.0  # the exponent that the gains of source and noise begin with
REST = 0.1  # the gate that the rest begins with
SOURCE_SCALE = 0.05  # brings the source's spectrum to about 1


class SourceFilter(nn.Module):
    """Y = exp(a) e^ib S + exp(c) N + g exp(r) e^iq, of which the inverse transform is the sound.

    S and N are the spectra of source and noise. It begins as a filtered pulse train, so its pitch is right from the
    first step; R, the rest, is what it may add to that.
    """

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        size = config.channels
        self.stft = Stft(INNER)
        bins = self.stft.bins
        self.enter = nn.Conv1d(MELS + 2, size, 7, padding=3)
        self.finer = nn.ConvTranspose1d(size, size, 4, stride=2, padding=1)
        self.hear = nn.Linear(2 * bins, size)
        self.first_norm = nn.LayerNorm(size)
        self.blocks = nn.ModuleList(
            ConvNeXtBlock(size, widening=config.widening, kernel=config.kernel) for _ in range(config.layers)
        )
        self.last_norm = nn.LayerNorm(size)
        self.filter = nn.Linear(size, 3 * bins)
        self.rest = nn.Linear(size, 2 * bins)
        self.gate = nn.Parameter(torch.full((bins,), REST))
        nn.init.normal_(self.filter.weight, 0, 0.01)
        nn.init.constant_(self.filter.bias, QUIET)
        with torch.no_grad():
            self.filter.bias[bins : 2 * bins] = 0

    def forward(self, mel_BMF: Tensor, contour_BF: Tensor, voicing_BF: Tensor, source_BS: Tensor, noise_BS: Tensor):
        """Log mel, log2 of hertz, voicing, and source and noise of power 1 -> wave [B, S], in 32 bits."""
        with torch.autocast(mel_BMF.device.type, enabled=False):
            source, noise = self.stft(torch.cat([source_BS, noise_BS])).chunk(2)
            x = torch.cat([(mel_BMF + 5) / 2.5, (contour_BF - 7).unsqueeze(1), voicing_BF.unsqueeze(1)], 1)
            x = self.finer(self.enter(x)).transpose(1, 2) + self.hear(source * SOURCE_SCALE)
            x = self.first_norm(x).transpose(1, 2)
            for block in self.blocks:
                x = block(x)
            x = self.last_norm(x.transpose(1, 2))
            return self.stft.inverse(self._spectrum(x, source, noise))

    def _spectrum(self, x_BTC: Tensor, source: Tensor, noise: Tensor) -> Tensor:
        bins = self.stft.bins
        gain, turn, breath = self.filter(x_BTC).split(bins, -1)
        level, angle = self.rest(x_BTC).split(bins, -1)
        gain, breath, level = (torch.exp(one.clamp(max=LARGEST)) for one in (gain, breath, level))
        level = level * self.gate
        across, up = gain * torch.cos(turn), gain * torch.sin(turn)
        real, imaginary = source.split(bins, -1)
        noise_real, noise_imaginary = noise.split(bins, -1)
        return torch.cat(
            [
                across * real - up * imaginary + breath * noise_real + level * torch.cos(angle),
                across * imaginary + up * real + breath * noise_imaginary + level * torch.sin(angle),
            ],
            -1,
        )


class VocoderDiscriminator(nn.Module):
    """One for each period of the wave, and one for each window of its spectrogram."""

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        channels = config.discriminator_period_channels
        self.periods = nn.ModuleList(PeriodDiscriminator(one, channels) for one in config.discriminator_periods)
        self.windows = nn.ModuleList(
            SpectrogramDiscriminator(config.discriminator_window_channels) for _ in config.discriminator_windows
        )

    def _pairs(self, wave_BS: Tensor, spectra: Sequence[Tensor]) -> list[tuple[nn.Module, Tensor]]:
        wave = wave_BS.unsqueeze(1)
        return [*((one, wave) for one in self.periods), *zip(self.windows, spectra, strict=True)]

    def forward(self, wave_BS: Tensor, spectra: Sequence[Tensor]) -> list[list[Tensor]]:
        """Feature maps and, last, the verdict of each. `spectra`: [B, 2, T, N] of each window."""
        works = [partial(one, heard) for one, heard in self._pairs(wave_BS, spectra)]
        return side_by_side(works, device=wave_BS.device)

    def compare(
        self, real: tuple[Tensor, Sequence[Tensor]], fake: tuple[Tensor, Sequence[Tensor]]
    ) -> list[tuple[Tensor, Tensor]]:
        """Each one's verdict on the fake wave and spectra, and the summed mean distance of its maps to the real's."""
        pairs = zip(self._pairs(*real), self._pairs(*fake), strict=True)
        works = [partial(one.compare, wanted, made) for (one, wanted), (_, made) in pairs]
        with weights_made_once():
            return side_by_side(works, device=real[0].device)
