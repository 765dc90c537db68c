"""The judges of VITS training: one at full rate and one per period. Each returns every feature map, its verdict last.

Shape letters: B clips, S samples, P a period.
"""

from __future__ import annotations

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from olu.families.vits.config import SCALE_GROUP, VitsConfig
from olu.nn.convs import Conv1d, conv_leaky
from olu.nn.streams import side_by_side

SLOPE = 0.1


class Discriminator(nn.Module):
    """The scale discriminator first (where there is one), then the periods."""

    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        scale = [ScaleDiscriminator(config)] if config.discriminator_scale_channels else []
        periods = [PeriodDiscriminator(config, period) for period in config.discriminator_periods]
        self.discriminators = nn.ModuleList([*scale, *periods])

    def forward(self, wave_BS: Tensor) -> list[list[Tensor]]:
        wave = wave_BS.unsqueeze(1)
        return side_by_side([partial(judge, wave) for judge in self.discriminators], device=wave.device)


class ScaleDiscriminator(nn.Module):
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

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = []
        for conv in self.convs:
            x = conv_leaky(conv, x, SLOPE)
            maps.append(x)
        return [*maps, self.final_conv(x).flatten(1)]


class PeriodDiscriminator(nn.Module):
    def __init__(self, config: VitsConfig, period: int) -> None:
        super().__init__()
        self.period = period
        kernel, stride = config.discriminator_kernel_size, config.discriminator_stride
        pad, before, convs = (kernel // 2, 0), 1, []
        for size in config.discriminator_period_channels:
            convs.append(nn.Conv2d(before, size, (kernel, 1), stride=(stride, 1), padding=pad))
            before = size
        convs.append(nn.Conv2d(before, before, (kernel, 1), padding=pad))
        self.convs = nn.ModuleList(weight_norm(conv) for conv in convs)
        self.final_conv = weight_norm(nn.Conv2d(before, 1, (3, 1), padding=(1, 0)))

    def forward(self, x: Tensor) -> list[Tensor]:
        x = F.pad(x, (0, -x.shape[-1] % self.period), mode="reflect")
        x = torch.unflatten(x, -1, (-1, self.period))  # [B, 1, S / P, P]
        maps = []
        for conv in self.convs:
            x = conv_leaky(conv, x, SLOPE)
            if x.is_cuda and not maps:
                x = x.contiguous(memory_format=torch.channels_last)  # from here on no kernel needs a transpose
            maps.append(x)
        return [*maps, self.final_conv(x).flatten(1)]
