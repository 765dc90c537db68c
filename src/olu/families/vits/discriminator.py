"""The discriminators of VITS training: one at full rate and one per period. Each gives feature maps, then a verdict.

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
from olu.families.vits.kernels.convs import Conv1d, conv_leaky, conv_leaky_apart
from olu.families.vits.kernels.fused import weights_made_once
from olu.families.vits.kernels.streams import LEVERS, side_by_side

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
        return side_by_side([partial(discriminator, wave) for discriminator in self.discriminators], device=wave.device)

    def compare(self, real_BS: Tensor, fake_BS: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Each discriminator's verdict on the fake, and the summed mean distance of its feature maps to the real ones.

        The real side only sets the target: no graph, no backward.
        """
        real, fake = real_BS.unsqueeze(1), fake_BS.unsqueeze(1)
        works = [partial(discriminator.compare, real, fake) for discriminator in self.discriminators]  # type: ignore[union-attr]
        with weights_made_once():
            return side_by_side(works, device=real.device)


class ConvDiscriminator(nn.Module):
    """Convolutions with a bend after each, and one that gives the verdict."""

    convs: nn.ModuleList
    final_conv: nn.Module

    def folded(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.folded(x)
        maps = []
        for conv in self.convs:
            x = conv_leaky(conv, x, SLOPE)
            maps.append(x)
        return [*maps, self.final_conv(x).flatten(1)]

    def compare(self, real: Tensor, fake: Tensor) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            *wanted, last = self(real)
        x = self.folded(fake)
        distance = torch.zeros((), device=x.device)
        for conv, like in zip(self.convs, wanted, strict=True):
            x, apart = conv_leaky_apart(conv, x, like, SLOPE)
            distance = distance + apart / like[0].numel()
        verdict = self.final_conv(x).flatten(1)
        return verdict, distance + (verdict.float() - last.float()).abs().sum() / last[0].numel()


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


class PeriodDiscriminator(ConvDiscriminator):
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

    def folded(self, x: Tensor) -> Tensor:
        x = F.pad(x, (0, -x.shape[-1] % self.period), mode="reflect")
        x = torch.unflatten(x, -1, (-1, self.period))  # [B, 1, S / P, P]
        return x.contiguous(memory_format=torch.channels_last) if x.is_cuda and LEVERS.channels_last else x
