"""The discriminators of VITS training: one at full rate and one per period. Each gives feature maps, then a verdict.

Shape letters: B clips, S samples.
"""

from __future__ import annotations

import math
from functools import partial

from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from olu.families.vits.config import SCALE_GROUP, VitsConfig
from olu.nn.discriminators import ConvDiscriminator, PeriodDiscriminator
from olu.nn.kernels.convs import Conv1d
from olu.nn.kernels.fused import weights_made_once
from olu.nn.kernels.streams import side_by_side


class Discriminator(nn.Module):
    """The scale discriminator first (where there is one), then the periods."""

    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        scale = [ScaleDiscriminator(config)] if config.discriminator_scale_channels else []
        size = {"kernel": config.discriminator_kernel_size, "stride": config.discriminator_stride}
        channels = config.discriminator_period_channels
        periods = [PeriodDiscriminator(period, channels, **size) for period in config.discriminator_periods]
        self.discriminators = nn.ModuleList([*scale, *periods])

    def forward(self, wave_BS: Tensor) -> list[list[Tensor]]:
        wave = wave_BS.unsqueeze(1)
        return side_by_side([partial(discriminator, wave) for discriminator in self.discriminators], device=wave.device)

    def compare(self, real_BS: Tensor, fake_BS: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Each discriminator's verdict on the fake, and the summed mean distance of its feature maps to the real ones.

        The real side only sets the target: no graph, no backward.
        """
        real, fake = real_BS.unsqueeze(1), fake_BS.unsqueeze(1)
        works = [partial(discriminator.compare, real, fake) for discriminator in self.discriminators]  # type: ignore[union-attr]
        with weights_made_once():
            return side_by_side(works, device=real.device)


class ScaleDiscriminator(ConvDiscriminator):
    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        first, *rest = config.discriminator_scale_channels
        convs = [Conv1d(1, first, 15, padding=7)]
        before = first
        for size in [*rest, before if not rest else rest[-1]]:
            groups = math.gcd(before // SCALE_GROUP, size)
            convs.append(Conv1d(before, size, 41, stride=4, groups=groups, padding=20))
            before = size
        convs.append(Conv1d(before, before, 5, padding=2))
        self.convs = nn.ModuleList(weight_norm(conv) for conv in convs)
        self.final_conv = weight_norm(Conv1d(before, 1, 3, padding=1))
