"""The decoder for speaking on a CPU: the same numbers as pictures of one row, and how far it looks around.

ONNX Runtime has its fastest convolutions (blocked channels, no copies) for two dimensions only: 1.4 times the speed.
"""

from __future__ import annotations

import math
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from olu.families.vits.config import VitsConfig
from olu.families.vits.model import Decoder, ResBlock

Made = TypeVar("Made", nn.Conv2d, nn.ConvTranspose2d)
EDGE_KERNEL = 7  # of the first and the last convolution


class FlatDecoder(nn.Module):
    """Takes a decoder's weights (weight norm folded) and gives its wave, [B, C, F] to [B, S]."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.slope, self.kinds = decoder.slope, decoder.kinds
        self.conv_pre, self.conv_post = _flat(decoder.conv_pre), _flat(decoder.conv_post)
        self.upsampler = nn.ModuleList(_flat_up(up) for up in decoder.upsampler)
        self.resblocks = nn.ModuleList(FlatBlock(block) for block in decoder.resblocks)
        if hasattr(decoder, "cond"):
            self.cond = _flat(decoder.cond)

    def forward(self, latents_BCF: Tensor, g: Tensor | None) -> Tensor:
        x = self.conv_pre(latents_BCF.unsqueeze(2))
        if g is not None:
            x = x + self.cond(g.unsqueeze(2))
        for i, up in enumerate(self.upsampler):
            x = up(F.leaky_relu(x, self.slope))
            blocks = self.resblocks[i * self.kinds : (i + 1) * self.kinds]
            x = _sum(blocks, x) / self.kinds
        wave: Tensor = torch.tanh(self.conv_post(F.leaky_relu(x, 0.01))).squeeze(2).squeeze(1)
        return wave


class FlatBlock(nn.Module):
    """Both kinds of residual block: convolutions in ones or in pairs."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        pairs = isinstance(block, ResBlock)
        self.slope: float = block.slope  # type: ignore[assignment]
        steps = zip(block.convs1, block.convs2, strict=True) if pairs else ((conv,) for conv in block.convs)  # type: ignore
        self.steps = nn.ModuleList(nn.ModuleList(_flat(conv) for conv in step) for step in steps)

    def forward(self, x: Tensor) -> Tensor:
        for step in self.steps:
            y = x
            for conv in step:  # type: ignore[attr-defined]
                y = conv(F.leaky_relu(y, self.slope))
            x = x + y
        return x


def context_frames(config: VitsConfig) -> int:
    """Frames on either side that a frame's samples depend on: the overlap of chunks that join without a seam."""
    paired = config.resblock == "1"
    block = max(
        sum((kernel - 1) // 2 * (dilation + (1 if paired else 0)) for dilation in dilations)
        for kernel, dilations in zip(config.resblock_kernel_sizes, config.resblock_dilation_sizes, strict=True)
    )
    reach, per_frame = float(EDGE_KERNEL // 2), 1
    for rate, kernel in zip(config.upsample_rates, config.upsample_kernel_sizes, strict=True):
        reach += math.ceil(kernel / rate) / per_frame
        per_frame *= rate
        reach += block / per_frame
    return math.ceil(reach + EDGE_KERNEL // 2 / per_frame)


def _sum(blocks: nn.ModuleList, x: Tensor) -> Tensor:
    first, *others = blocks
    total: Tensor = first(x)
    for block in others:
        total = total + block(x)
    return total


def _flat(conv: nn.Module) -> nn.Conv2d:
    assert isinstance(conv, nn.Conv1d)
    made = nn.Conv2d(
        conv.in_channels,
        conv.out_channels,
        (1, conv.kernel_size[0]),
        padding=(0, int(conv.padding[0])),
        dilation=(1, conv.dilation[0]),
        bias=conv.bias is not None,
        device="meta",
    )
    return _given(made, conv)


def _flat_up(up: nn.Module) -> nn.ConvTranspose2d:
    assert isinstance(up, nn.ConvTranspose1d)
    made = nn.ConvTranspose2d(
        up.in_channels,
        up.out_channels,
        (1, up.kernel_size[0]),
        stride=(1, up.stride[0]),
        padding=(0, int(up.padding[0])),
        device="meta",
    )
    return _given(made, up)


def _given(made: Made, source: nn.Conv1d | nn.ConvTranspose1d) -> Made:
    made.weight = nn.Parameter(source.weight.detach().unsqueeze(2), requires_grad=False)
    if source.bias is not None:
        made.bias = nn.Parameter(source.bias.detach(), requires_grad=False)
    return made
