"""Discriminators of sound, each with feature maps and a verdict: one per period, one per window of a spectrogram.

Shape letters: B clips, S samples, P a period, T frames, N bins.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from olu.nn.kernels.convs import conv_leaky, conv_leaky_apart
from olu.nn.kernels.streams import LEVERS
from olu.nn.weight_norm import weight_norm

SLOPE = 0.1


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


class PeriodDiscriminator(ConvDiscriminator):
    """Waves [B, 1, S], folded at a period."""

    def __init__(self, period: int, channels: Sequence[int], *, kernel: int = 5, stride: int = 3) -> None:
        super().__init__()
        self.period = period
        pad, before, convs = (kernel // 2, 0), 1, []
        for size in channels:
            convs.append(nn.Conv2d(before, size, (kernel, 1), stride=(stride, 1), padding=pad))
            before = size
        convs.append(nn.Conv2d(before, before, (kernel, 1), padding=pad))
        self.convs = nn.ModuleList(weight_norm(conv) for conv in convs)
        self.final_conv = weight_norm(nn.Conv2d(before, 1, (3, 1), padding=(1, 0)))

    def folded(self, x: Tensor) -> Tensor:
        x = F.pad(x, (0, -x.shape[-1] % self.period), mode="reflect")
        x = torch.unflatten(x, -1, (-1, self.period))  # [B, 1, S / P, P]
        return _channels_last(x)


class SpectrogramDiscriminator(ConvDiscriminator):
    """Complex spectrograms [B, 2, T, N], real and imaginary, and beside them the place of each bin.

    One row of convolutions hears all frequencies; the third channel, -1 at the lowest bin and 1 at the highest, tells
    it which. Each of them but the last halves the bins.
    """

    def __init__(self, channels: int, *, layers: int = 5) -> None:
        super().__init__()
        convs = [nn.Conv2d(3, channels, (3, 9), stride=(1, 2), padding=(1, 4))]
        convs += [nn.Conv2d(channels, channels, (3, 9), stride=(1, 2), padding=(1, 4)) for _ in range(layers - 2)]
        convs += [nn.Conv2d(channels, channels, 3, padding=1)]
        self.convs = nn.ModuleList(weight_norm(conv) for conv in convs)
        self.final_conv = weight_norm(nn.Conv2d(channels, 1, 3, padding=1))

    def folded(self, x: Tensor) -> Tensor:
        place = torch.linspace(-1, 1, x.shape[3], device=x.device, dtype=x.dtype)
        return _channels_last(torch.cat([x, place.expand(len(x), 1, x.shape[2], -1)], 1))


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last) if x.is_cuda and LEVERS.channels_last else x


def item_means(x: Tensor) -> Tensor:
    """Mean within each clip, summed over clips: divided by the number of clips it is the mean over the batch.

    All clips of `x` have the same size, so one sum will do, in whatever order they lie in memory.
    """
    return x.sum(dtype=torch.float32) * (len(x) / x.numel())


def discriminator_loss(verdicts: list[list[Tensor]]) -> Tensor:
    """Of verdicts on real sound and then on as much that was made."""
    total = verdicts[0][-1].new_zeros((), dtype=torch.float32)
    for maps in verdicts:
        real, fake = maps[-1].chunk(2)
        total = total + item_means((1 - real.float()).square()) + item_means(fake.float().square())
    return total


def may_move(parameters: Sequence[nn.Parameter], may: bool) -> None:
    for parameter in parameters:
        parameter.requires_grad_(may)
