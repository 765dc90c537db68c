"""Real and made sound compared in further windows: a burst of 10 ms is lost in the one window of 64 ms."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from olu.families.vits.config import VitsConfig
from olu.features import mel as spectra


class Windows(nn.Module):
    """Each window moves by a quarter of itself, and has as many mel bins as it can tell apart."""

    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        self.sizes = config.mel_windows
        for size in self.sizes:
            bank = spectra.mel_bank(
                rate=config.sampling_rate,
                fft_size=size,
                bins=min(config.mel_bins, size // 8),
                low=config.mel_low_hz,
                high=config.mel_top_hz,
            )
            self.register_buffer(f"bank_{size}", torch.from_numpy(bank), persistent=False)

    def forward(self, real_BS: Tensor, fake_BS: Tensor) -> Tensor:
        """The mean distance within each clip and window, summed over clips."""
        total = torch.zeros((), device=fake_BS.device)
        for size in self.sizes:
            shape = {"fft_size": size, "hop": size // 4}
            bank = self.get_buffer(f"bank_{size}")
            both = torch.cat([real_BS, fake_BS])
            real, fake = spectra.mel(spectra.linear(spectra.reflect(both, **shape), **shape), bank).chunk(2)
            total = total + (fake - real).abs().mean() * len(fake) / len(self.sizes)
        return total
