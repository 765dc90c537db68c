"""Latents of the transformer to sound: HiFi-GAN at 24 kHz, told of the speaker before every scale. Names as published.

Shapes: B clips, n latents, F frames (93.75 a second), D wide, G wide for a speaker.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.xtts.config import CODE_SAMPLES, OUT_HOP, OUT_RATE, RATE, XttsConfig
from olu.nn.weight_norm import weight_norm

RATES, KERNELS = (8, 8, 2, 2), (16, 16, 4, 4)
BLOCK_KERNELS, DILATIONS = (3, 7, 11), (1, 3, 5)
SLOPE, LAST_SLOPE = 0.1, 0.01
CONTEXT = 13  # frames on either side that a frame's sound depends on


def frames_of(latents_BnD: Tensor, *, speed: float = 1.0) -> Tensor:
    """[B, D, F]: latents as frames of the decoder, drawn in straight lines in between, in the published two steps."""
    x = latents_BnD.transpose(1, 2)
    if speed != 1.0:
        x = F.interpolate(x, scale_factor=1.0 / speed, mode="linear")
    x = F.interpolate(x, scale_factor=CODE_SAMPLES / OUT_HOP, mode="linear")
    return F.interpolate(x, scale_factor=OUT_RATE / RATE, mode="linear")


class WaveDecoder(nn.Module):
    def __init__(self, config: XttsConfig) -> None:
        super().__init__()
        self.config = config
        channels, speaker = config.decoder_width, config.speaker_width
        self.conv_pre = nn.Conv1d(config.width, channels, 7, padding=3)
        self.cond_layer = nn.Conv1d(speaker, channels, 1)
        self.ups, self.resblocks, self.conds = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for rate, kernel in zip(RATES, KERNELS, strict=True):
            up = nn.ConvTranspose1d(channels, channels // 2, kernel, stride=rate, padding=(kernel - rate) // 2)
            nn.init.normal_(up.weight, std=0.01)
            self.ups.append(weight_norm(up))
            channels //= 2
            self.conds.append(nn.Conv1d(speaker, channels, 1))
            self.resblocks.extend(DecoderBlock(channels, size) for size in BLOCK_KERNELS)
        self.conv_post = nn.Conv1d(channels, 1, 7, padding=3, bias=False)

    def forward(self, frames_BDF: Tensor, speaker_BG: Tensor) -> Tensor:
        """A wave [B, 256 F]."""
        g = speaker_BG.unsqueeze(-1)
        x = self.conv_pre(frames_BDF) + self.cond_layer(g)
        kinds = len(BLOCK_KERNELS)
        for at, (up, cond) in enumerate(zip(self.ups, self.conds, strict=True)):
            x = up(F.leaky_relu(x, SLOPE)) + cond(g)
            first, *rest = self.resblocks[at * kinds : (at + 1) * kinds]
            x = sum((block(x) for block in rest), start=first(x)) / kinds
        return torch.tanh(self.conv_post(F.leaky_relu(x, LAST_SLOPE))).squeeze(1)


class DecoderBlock(nn.Module):
    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.convs1 = nn.ModuleList(_same(channels, kernel, dilation) for dilation in DILATIONS)
        self.convs2 = nn.ModuleList(_same(channels, kernel, 1) for _ in DILATIONS)

    def forward(self, x: Tensor) -> Tensor:
        for conv1, conv2 in zip(self.convs1, self.convs2, strict=True):
            x = x + conv2(F.leaky_relu(conv1(F.leaky_relu(x, SLOPE)), SLOPE))
        return x


def _same(channels: int, kernel: int, dilation: int) -> nn.Module:
    conv = nn.Conv1d(channels, channels, kernel, dilation=dilation, padding=(kernel - 1) * dilation // 2)
    nn.init.normal_(conv.weight, std=0.01)
    normed: nn.Module = weight_norm(conv)
    return normed
