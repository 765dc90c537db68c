"""Where the flow goes from here: what stands in `flow.decoder.estimator` of a published file.

Shapes: B rows, T frames, M bins of the mel, C channels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.chatterbox.codec.sizes import MELS, S3GenSizes

INPUTS = 4 * MELS  # the noisy mel, its mean, the speaker, what is known of the mel


class FlowEstimator(nn.Module):
    def __init__(self, sizes: S3GenSizes) -> None:
        super().__init__()
        c, time = sizes.channels, 4 * sizes.channels
        self.time_mlp = TimeLayers(INPUTS, time)
        self.down_blocks = nn.ModuleList([_stage(INPUTS, sizes, last=CausalConv(c, c))])
        self.mid_blocks = nn.ModuleList(_stage(c, sizes) for _ in range(sizes.middle))
        self.up_blocks = nn.ModuleList([_stage(2 * c, sizes, last=CausalConv(c, c))])
        self.final_block = CausalBlock(c, c)
        self.final_proj = nn.Conv1d(c, MELS, 1)
        self.time_embed_mixer = nn.Linear(2 * time, time, bias=False) if sizes.meanflow else None

    def forward(
        self, x: Tensor, mean: Tensor, speaker_BM: Tensor, known: Tensor, time_B: Tensor, until_B: Tensor | None = None
    ) -> Tensor:
        """The way to go, [B, M, T]; a mean flow is also told `until_B` when."""
        told = self.time_mlp(time_places(time_B))
        if self.time_embed_mixer is not None:
            if until_B is None:
                raise ValueError("a mean flow needs the time it steps to")
            told = self.time_embed_mixer(torch.cat([told, self.time_mlp(time_places(until_B))], dim=1))
        speaker = speaker_BM[:, :, None].expand(-1, -1, x.shape[2])
        x = torch.cat([x, mean, speaker, known], dim=1)
        first: nn.ModuleList = self.down_blocks[0]  # type: ignore[assignment]
        beside = _through(first, x, told)
        x = first[2](beside)
        for stage in self.mid_blocks:
            x = _through(stage, x, told)
        last: nn.ModuleList = self.up_blocks[0]  # type: ignore[assignment]
        x = last[2](_through(last, torch.cat([x, beside], dim=1), told))
        made: Tensor = self.final_proj(self.final_block(x))
        return made


def _stage(inputs: int, sizes: S3GenSizes, last: nn.Module | None = None) -> nn.ModuleList:
    blocks = nn.ModuleList(
        AttentionBlock(sizes.channels, heads=sizes.flow_heads, head=sizes.flow_head) for _ in range(sizes.blocks)
    )
    return nn.ModuleList(
        [TimedResidual(inputs, sizes.channels, 4 * sizes.channels), blocks, *([last] if last is not None else [])]
    )


def _through(stage: nn.Module, x: Tensor, told: Tensor) -> Tensor:
    residual, blocks = stage[0], stage[1]  # type: ignore[index]
    x = residual(x, told).transpose(1, 2)
    for block in blocks:
        x = block(x)
    return x.transpose(1, 2)


def time_places(time_B: Tensor) -> Tensor:
    half = INPUTS // 2
    rates = torch.exp(torch.arange(half, device=time_B.device).float() * -(math.log(10000) / (half - 1)))
    angles = 1000.0 * time_B[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class TimeLayers(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(inner, outer), nn.Linear(outer, outer)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.linear_2(F.silu(self.linear_1(x)))
        return made


class CausalConv(nn.Conv1d):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__(inner, outer, 3)

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(F.pad(input, (2, 0)))


class Turned(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


class CausalBlock(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.block = nn.Sequential(CausalConv(inner, outer), Turned(), nn.LayerNorm(outer), Turned(), nn.Mish())

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.block(x)
        return made


class TimedResidual(nn.Module):
    def __init__(self, inner: int, outer: int, time: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Mish(), nn.Linear(time, outer))
        self.block1, self.block2 = CausalBlock(inner, outer), CausalBlock(outer, outer)
        self.res_conv = nn.Conv1d(inner, outer, 1)

    def forward(self, x: Tensor, told: Tensor) -> Tensor:
        h = self.block1(x) + self.mlp(told)[:, :, None]
        made: Tensor = self.block2(h) + self.res_conv(x)
        return made


class AttentionBlock(nn.Module):
    def __init__(self, width: int, *, heads: int, head: int) -> None:
        super().__init__()
        self.norm1, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn1 = FlowAttention(width, heads=heads, head=head)
        self.ff = GeluLayers(width)

    def forward(self, x_BTC: Tensor) -> Tensor:
        x_BTC = x_BTC + self.attn1(self.norm1(x_BTC))
        made: Tensor = x_BTC + self.ff(self.norm3(x_BTC))
        return made


class FlowAttention(nn.Module):
    def __init__(self, width: int, *, heads: int, head: int) -> None:
        super().__init__()
        self.heads, self.head = heads, head
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, heads * head, bias=False) for _ in range(3))
        self.to_out = nn.ModuleList([nn.Linear(heads * head, width)])

    def forward(self, x_BTC: Tensor) -> Tensor:
        b, t, _ = x_BTC.shape
        q, k, v = (
            one(x_BTC).reshape(b, t, self.heads, self.head).transpose(1, 2) for one in (self.to_q, self.to_k, self.to_v)
        )
        scores = (q * self.head**-0.5) @ k.transpose(2, 3)
        heard = scores.softmax(-1) @ v
        made: Tensor = self.to_out[0](heard.transpose(1, 2).reshape(b, t, self.heads * self.head))
        return made


class GeluLayers(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = nn.ModuleList([Projection(width, 4 * width), nn.Identity(), nn.Linear(4 * width, width)])

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.net[2](F.gelu(self.net[0](x)))
        return made


class Projection(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.proj = nn.Linear(inner, outer)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.proj(x)
        return made
