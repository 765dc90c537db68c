"""S3 codes to a mel: an encoder that doubles them in time, and the flow from noise to a mel. Names as published.

Shapes: B rows, T codes or frames, D wide, M bins of the mel (80), C channels of the estimator, G numbers of a speaker.
All frames see all frames, those of the reference too: there is no mask, and rows of one batch have one length.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.chatterbox.codec.estimator import FlowEstimator
from olu.families.chatterbox.codec.sizes import MELS, S3GenSizes

AHEAD = 3  # codes that a code's sound depends on
STEPS, MEAN_STEPS = 10, 2
GUIDANCE = 0.7


class S3Flow(nn.Module):
    """`flow` of a published file."""

    def __init__(self, sizes: S3GenSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.input_embedding = nn.Embedding(sizes.codes, sizes.width)
        self.spk_embed_affine_layer = nn.Linear(sizes.vector, MELS)
        self.encoder = CodeEncoder(sizes)
        self.encoder_proj = nn.Linear(sizes.width, MELS)
        self.decoder = FlowHolder(sizes)

    def speaker(self, vector_BG: Tensor) -> Tensor:
        made: Tensor = self.spk_embed_affine_layer(F.normalize(vector_BG, dim=1))
        return made

    def mean(self, codes_BT: Tensor) -> Tensor:
        """What the mel is drawn around, [B, M, 2 T]."""
        made: Tensor = self.encoder_proj(self.encoder(self.input_embedding(codes_BT)))
        return made.transpose(1, 2)

    def forward(
        self, codes_BT: Tensor, *, prompt_codes_BP: Tensor, prompt_mel_BFM: Tensor, vector_BG: Tensor, noise_BMT: Tensor
    ) -> Tensor:
        """The mel of the codes alone, [B, M, 2 T]; the reference stands before them, with two frames a code."""
        kept = prompt_mel_BFM.shape[1]
        if kept != 2 * prompt_codes_BP.shape[1]:
            raise ValueError(f"{kept} frames of a reference do not fit its {prompt_codes_BP.shape[1]} codes")
        mean = self.mean(torch.cat([prompt_codes_BP, codes_BT], dim=1))
        known = F.pad(prompt_mel_BFM.transpose(1, 2), (0, mean.shape[2] - kept))
        solve = solved_mean_flow if self.sizes.meanflow else solved_flow
        return solve(self.decoder.estimator, noise_BMT, mean, self.speaker(vector_BG), known)[:, :, kept:]


class FlowHolder(nn.Module):
    def __init__(self, sizes: S3GenSizes) -> None:
        super().__init__()
        self.estimator = FlowEstimator(sizes)


def flow_times(steps: int, *, meanflow: bool) -> list[float]:
    """Where the steps begin, and 1: evenly, or slowly at first."""
    even = [step / steps for step in range(steps + 1)]
    return even if meanflow else [1.0 - math.cos(0.5 * math.pi * one) for one in even]


def solved_flow(
    estimator: nn.Module, x: Tensor, mean: Tensor, speaker: Tensor, known: Tensor, *, steps: int = STEPS
) -> Tensor:
    """Euler's steps, each pushed away from where a row that knows nothing would go."""
    times = torch.tensor(flow_times(steps, meanflow=False), dtype=x.dtype)
    rows = [torch.cat([one, torch.zeros_like(one)]) for one in (mean, speaker, known)]
    for now, then in pairwise(times):
        told, untold = estimator(torch.cat([x, x]), *rows, now.expand(2 * len(x))).chunk(2)
        x = x + (then - now) * ((1.0 + GUIDANCE) * told - GUIDANCE * untold)
    return x


def solved_mean_flow(
    estimator: nn.Module, x: Tensor, mean: Tensor, speaker: Tensor, known: Tensor, *, steps: int = MEAN_STEPS
) -> Tensor:
    times = torch.tensor(flow_times(steps, meanflow=True), dtype=x.dtype)
    for now, then in pairwise(times):
        x = x + (then - now) * estimator(x, mean, speaker, known, now.expand(len(x)), then.expand(len(x)))
    return x


# ---------------------------------------------------------------- the encoder


class CodeEncoder(nn.Module):
    """Conformer layers without convolutions, before and after the doubling."""

    def __init__(self, sizes: S3GenSizes) -> None:
        super().__init__()
        width = sizes.width
        self.embed, self.up_embed = LinearEmbedding(width), LinearEmbedding(width)
        self.pre_lookahead_layer = LookAhead(width)
        self.encoders = nn.ModuleList(CodeEncoderLayer(sizes) for _ in range(sizes.layers))
        self.up_layer = Doubling(width)
        self.up_encoders = nn.ModuleList(CodeEncoderLayer(sizes) for _ in range(sizes.up_layers))
        self.after_norm = nn.LayerNorm(width)

    def forward(self, rows_BTD: Tensor) -> Tensor:
        """[B, 2 T, D]."""
        x = self.pre_lookahead_layer(self.embed(rows_BTD))
        places = relative_places(x)
        for layer in self.encoders:
            x = layer(x, places)
        x = self.up_embed(self.up_layer(x))
        places = relative_places(x)
        for layer in self.up_encoders:
            x = layer(x, places)
        made: Tensor = self.after_norm(x)
        return made


class LinearEmbedding(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.out = nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width))
        self.scale = math.sqrt(width)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.out(x) * self.scale
        return made


class LookAhead(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(width, width, AHEAD + 1)
        self.conv2 = nn.Conv1d(width, width, 3)

    def forward(self, x_BTD: Tensor) -> Tensor:
        x = F.leaky_relu(self.conv1(F.pad(x_BTD.transpose(1, 2), (0, AHEAD))))
        made: Tensor = x_BTD + self.conv2(F.pad(x, (2, 0))).transpose(1, 2)
        return made


class Doubling(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(width, width, 5)

    def forward(self, x_BTD: Tensor) -> Tensor:
        twice = x_BTD.transpose(1, 2).repeat_interleave(2, dim=2)
        made: Tensor = self.conv(F.pad(twice, (4, 0)))
        return made.transpose(1, 2)


class CodeEncoderLayer(nn.Module):
    def __init__(self, sizes: S3GenSizes) -> None:
        super().__init__()
        self.self_attn = ShiftedAttention(sizes.width, sizes.heads)
        self.feed_forward = SwishLayers(sizes.width, sizes.inner)
        self.norm_ff = nn.LayerNorm(sizes.width, eps=1e-12)
        self.norm_mha = nn.LayerNorm(sizes.width, eps=1e-12)

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        x = x + self.self_attn(self.norm_mha(x), places)
        made: Tensor = x + self.feed_forward(self.norm_ff(x))
        return made


class SwishLayers(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.w_2(F.silu(self.w_1(x)))
        return made


class ShiftedAttention(nn.Module):
    """Attention whose scores also depend on how far apart two places are, as Transformer-XL has it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.linear_q, self.linear_k = nn.Linear(width, width), nn.Linear(width, width)
        self.linear_v, self.linear_out = nn.Linear(width, width), nn.Linear(width, width)
        self.linear_pos = nn.Linear(width, width, bias=False)
        self.pos_bias_u = nn.Parameter(torch.zeros(heads, width // heads))
        self.pos_bias_v = nn.Parameter(torch.zeros(heads, width // heads))

    def forward(self, x_BTD: Tensor, places: Tensor) -> Tensor:
        b, t, d = x_BTD.shape
        head = d // self.heads
        q = self.linear_q(x_BTD).reshape(b, t, self.heads, head)
        k, v = (one(x_BTD).reshape(b, t, self.heads, head) for one in (self.linear_k, self.linear_v))
        p = self.linear_pos(places).reshape(1, 2 * t - 1, self.heads, head)
        by_content = (q + self.pos_bias_u).transpose(1, 2) @ k.permute(0, 2, 3, 1)
        by_place = (q + self.pos_bias_v).transpose(1, 2) @ p.permute(0, 2, 3, 1)
        scores = (by_content + shifted(by_place)) / math.sqrt(head)
        heard = scores.softmax(-1) @ v.transpose(1, 2)
        made: Tensor = self.linear_out(heard.transpose(1, 2).reshape(b, t, d))
        return made


def shifted(scores: Tensor) -> Tensor:
    """[B, H, T, 2 T - 1] by distance -> [B, H, T, T] by place."""
    b, h, t, _ = scores.shape
    laid = F.pad(scores, (1, 0)).reshape(b, h, 2 * t, t)[:, :, 1:]
    return laid.reshape(b, h, t, 2 * t - 1)[..., :t]


def relative_places(x_BTD: Tensor) -> Tensor:
    """[1, 2 T - 1, D]: sines of the distances from T - 1 down to 1 - T."""
    t, d = x_BTD.shape[1], x_BTD.shape[2]
    rates = torch.exp(torch.arange(0, d, 2, dtype=torch.float32, device=x_BTD.device) * -(math.log(10000.0) / d))
    apart = torch.arange(2 * t - 1, dtype=torch.float32, device=x_BTD.device)
    angles = (t - 1 - apart)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None].to(x_BTD.dtype)
