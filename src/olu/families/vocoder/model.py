"""The vocoder: pulses and noise, filtered in short windows by what a ConvNeXt makes of mel, pitch and voicing.

Shape letters: B clips, F mel frames, S samples (= 256 F), T inner frames (= 2 F), K bins of the inner window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import Tensor, nn

from olu.families.vocoder.config import MELS, VocoderConfig
from olu.nn.discriminators import PeriodDiscriminator, SpectrogramDiscriminator
from olu.nn.kernels.fused import weights_made_once
from olu.nn.kernels.streams import side_by_side
from olu.nn.source_filter import SourceFilter


class MelSourceFilter(SourceFilter):
    def __init__(self, config: VocoderConfig) -> None:
        shape = {"channels": config.channels, "layers": config.layers}
        super().__init__(MELS, **shape, widening=config.widening, kernel=config.kernel)

    def forward(self, features_BCF: Tensor, *beside: Tensor) -> Tensor:  # type: ignore[override]
        """Log mel and what is beside it, see `SourceFilter` -> wave [B, S]."""
        return super().forward((features_BCF + 5) / 2.5, *beside)


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
