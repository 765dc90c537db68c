"""How long each token lasts: the plain predictor and the stochastic one (a flow over log durations).

Shape letters as in model.py. Both stop the gradient at their input, so durations never bend the text encoder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from olu.families.vits.config import VitsConfig
from olu.nn.kernels.fused import can_fuse, half_of
from olu.nn.kernels.streams import LEVERS

# ---- monotonic rational-quadratic splines (Durkan and others, 2019) with straight tails
# No boolean indexing: points outside the bound are computed on the bound and then replaced, so the graph has a fixed
# shape for export and never waits for the host.


SMALLEST = 1e-3  # bin width, bin height and slope are never below this


def rational_quadratic(
    x: Tensor, widths: Tensor, heights: Tensor, slopes: Tensor, *, bound: float, reverse: bool
) -> tuple[Tensor, Tensor]:
    """x and log |dy/dx|, same shape as x. Widths and heights [..., K], inner slopes [..., K-1], all unnormalised."""
    outside = (x < -bound) | (x > bound)
    inner = x.clamp(-bound, bound)
    left, width = _knots(widths, bound)
    bottom, height = _knots(heights, bound)
    edge = math.log(math.exp(1 - SMALLEST) - 1)  # slope 1 where the tails begin
    slope = SMALLEST + F.softplus(F.pad(slopes, (1, 1), value=edge))
    slot = ((inner.unsqueeze(-1) >= (bottom if reverse else left)).sum(-1, keepdim=True) - 1).clamp_min(0)

    def pick(values: Tensor) -> Tensor:
        return values.gather(-1, slot).squeeze(-1)

    x0, w, y0, h = pick(left), pick(width), pick(bottom), pick(height)
    d0, d1 = pick(slope[..., :-1]), pick(slope[..., 1:])
    steep = h / w
    bend = d0 + d1 - 2 * steep
    if reverse:
        rise = inner - y0
        a = rise * bend + h * (steep - d0)
        b = h * d0 - rise * bend
        c = -steep * rise
        t = 2 * c / (-b - torch.sqrt((b * b - 4 * a * c).clamp_min(0)))
        moved = t * w + x0
    else:
        t = (inner - x0) / w
        moved = y0 + h * (steep * t * t + d0 * t * (1 - t)) / (steep + bend * t * (1 - t))
    below = steep + bend * t * (1 - t)
    above = steep * steep * (d1 * t * t + 2 * steep * t * (1 - t) + d0 * (1 - t) * (1 - t))
    log_slope = torch.log(above) - 2 * torch.log(below)
    log_slope = -log_slope if reverse else log_slope
    return torch.where(outside, x, moved), torch.where(outside, torch.zeros_like(x), log_slope)


def _knots(raw: Tensor, bound: float) -> tuple[Tensor, Tensor]:
    """Left edges and sizes of the bins, which fill [-bound, bound]."""
    share = SMALLEST + (1 - SMALLEST * raw.shape[-1]) * torch.softmax(raw, dim=-1)
    edges = F.pad(torch.cumsum(share, dim=-1), (1, 0)) * (2 * bound) - bound
    edges = torch.cat([edges[..., :-1], torch.full_like(edges[..., -1:], bound)], dim=-1)
    return edges[..., :-1], edges[..., 1:] - edges[..., :-1]


LOG_2PI = math.log(2 * math.pi)
PAIR = 2  # the stochastic predictor's flow works on pairs: the log duration and one helper


class PlainDurations(nn.Module):
    def __init__(self, config: VitsConfig, *, cond: int) -> None:
        super().__init__()
        kernel, size = config.duration_predictor_kernel_size, config.duration_predictor_filter_channels
        self.dropout = nn.Dropout(config.duration_predictor_dropout)
        self.conv_1 = nn.Conv1d(config.hidden_size, size, kernel, padding=kernel // 2)
        self.norm_1 = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.conv_2 = nn.Conv1d(size, size, kernel, padding=kernel // 2)
        self.norm_2 = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.proj = nn.Conv1d(size, 1, 1)
        if cond:
            self.cond = nn.Conv1d(cond, config.hidden_size, 1)

    def infer(self, hidden: Tensor, mask: Tensor, g: Tensor | None, noise_B2T: Tensor) -> Tensor:
        """Log durations [B, 1, T]; the noise is for the stochastic twin."""
        x = hidden.detach()
        if g is not None:
            x = x + self.cond(g.detach())
        x = self.dropout(channel_norm(self.norm_1, torch.relu(self.conv_1(x * mask))))
        x = self.dropout(channel_norm(self.norm_2, torch.relu(self.conv_2(x * mask))))
        return self.proj(x * mask) * mask

    def loss(self, hidden: Tensor, mask: Tensor, g: Tensor | None, durations_B1T: Tensor) -> Tensor:
        """Squared error of log durations, summed over tokens."""
        target = torch.log(durations_B1T + 1e-6) * mask
        return (self.infer(hidden, mask, g, hidden).float() - target).square().sum()


class StochasticDurations(nn.Module):
    def __init__(self, config: VitsConfig, *, cond: int) -> None:
        super().__init__()
        size = config.hidden_size
        self.conv_pre, self.conv_proj = nn.Conv1d(size, size, 1), nn.Conv1d(size, size, 1)
        self.conv_dds = SeparableConvs(config, dropout=config.duration_predictor_dropout)
        self.flows = _flows(config)
        self.post_conv_pre, self.post_conv_proj = nn.Conv1d(1, size, 1), nn.Conv1d(size, size, 1)
        self.post_conv_dds = SeparableConvs(config, dropout=config.duration_predictor_dropout)
        self.post_flows = _flows(config)
        if cond:
            self.cond = nn.Conv1d(cond, size, 1)

    def _condition(self, hidden: Tensor, mask: Tensor, g: Tensor | None) -> Tensor:
        x = self.conv_pre(hidden.detach())
        if g is not None:
            x = x + self.cond(g.detach())
        return self.conv_proj(self.conv_dds(x, mask, None)) * mask

    def infer(self, hidden: Tensor, mask: Tensor, g: Tensor | None, noise_B2T: Tensor) -> Tensor:
        """Log durations [B, 1, T]. The first conv flow only moves the helper, so going back it is left out."""
        condition = self._condition(hidden, mask, g)
        pair = noise_B2T
        for flow in [*list(self.flows)[:1:-1], self.flows[0]]:
            pair, _ = flow(torch.flip(pair, [1]), mask, condition, reverse=True)
        return pair[:, :1]

    def loss(self, hidden: Tensor, mask: Tensor, g: Tensor | None, durations_B1T: Tensor) -> Tensor:
        """Negative log likelihood (a variational bound), summed over tokens."""
        condition = self._condition(hidden, mask, g)
        seen = self.post_conv_dds(self.post_conv_pre(durations_B1T), mask, None)
        seen = self.post_conv_proj(seen) * mask
        noise = torch.randn(hidden.shape[0], PAIR, hidden.shape[2], device=hidden.device) * mask
        pair, log_det = _forward(self.post_flows, noise, mask, condition + seen)
        lift, helper = pair.split(1, dim=1)
        log_det = log_det + ((F.logsigmoid(lift) + F.logsigmoid(-lift)) * mask).sum()
        log_q = (-0.5 * (LOG_2PI + noise.square()) * mask).sum() - log_det
        log_w = torch.log(torch.clamp_min((durations_B1T - torch.sigmoid(lift)) * mask, 1e-5)) * mask
        pair, log_det = _forward(self.flows, torch.cat([log_w, helper], 1), mask, condition)
        return (0.5 * (LOG_2PI + pair.square()) * mask).sum() - (log_det - log_w.sum()) + log_q


def _flows(config: VitsConfig) -> nn.ModuleList:
    return nn.ModuleList([Affine(), *(ConvFlow(config) for _ in range(config.duration_predictor_num_flows))])


def _forward(flows: nn.ModuleList, pair: Tensor, mask: Tensor, condition: Tensor) -> tuple[Tensor, Tensor]:
    """Affine first, then each conv flow and a flip. (A flip after the affine, as transformers' training code has it,
    would make the flow that inference leaves out move the durations.)"""
    pair, total = flows[0](pair, mask, condition)
    for flow in list(flows)[1:]:
        pair, log_det = flow(pair, mask, condition)
        pair, total = torch.flip(pair, [1]), total + log_det
    return pair, total


class Affine(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.translate, self.log_scale = nn.Parameter(torch.zeros(PAIR, 1)), nn.Parameter(torch.zeros(PAIR, 1))

    def forward(self, x: Tensor, mask: Tensor, condition: Tensor, *, reverse: bool = False) -> tuple[Tensor, Tensor]:
        if reverse:
            return (x - self.translate) * torch.exp(-self.log_scale) * mask, x.new_zeros(())
        return (self.translate + torch.exp(self.log_scale) * x) * mask, (self.log_scale * mask).sum()


class ConvFlow(nn.Module):
    """Bends the second of the pair by a spline whose shape the first one and the text decide."""

    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        self.size, self.bins = config.hidden_size, config.duration_predictor_flow_bins
        self.bound = config.duration_predictor_tail_bound
        self.conv_pre = nn.Conv1d(PAIR // 2, self.size, 1)
        self.conv_dds = SeparableConvs(config, dropout=0.0)
        self.conv_proj = nn.Conv1d(self.size, PAIR // 2 * (3 * self.bins - 1), 1)
        nn.init.zeros_(self.conv_proj.weight)
        nn.init.zeros_(self.conv_proj.bias)

    def forward(self, x: Tensor, mask: Tensor, condition: Tensor, *, reverse: bool = False) -> tuple[Tensor, Tensor]:
        kept, moved = x.split(PAIR // 2, dim=1)
        shape = self.conv_proj(self.conv_dds(self.conv_pre(kept), mask, condition)) * mask
        shape = shape.unsqueeze(1).permute(0, 1, 3, 2).float()  # [B, 1, T, 3 bins - 1]
        scale = self.size**-0.5
        widths, heights = shape[..., : self.bins] * scale, shape[..., self.bins : 2 * self.bins] * scale
        slopes = shape[..., 2 * self.bins :]
        moved, log_det = rational_quadratic(moved.float(), widths, heights, slopes, bound=self.bound, reverse=reverse)
        return torch.cat([kept, moved], dim=1) * mask, (log_det * mask).sum()


class SeparableConvs(nn.Module):
    """Dilated depth-separable convolutions with residual connections."""

    def __init__(self, config: VitsConfig, *, dropout: float) -> None:
        super().__init__()
        size, kernel = config.hidden_size, config.duration_predictor_kernel_size
        self.convs_dilated, self.convs_pointwise = nn.ModuleList(), nn.ModuleList()
        self.norms_1, self.norms_2 = nn.ModuleList(), nn.ModuleList()
        for i in range(config.depth_separable_num_layers):
            dilation = kernel**i
            pad = (kernel * dilation - dilation) // 2
            self.convs_dilated.append(nn.Conv1d(size, size, kernel, groups=size, dilation=dilation, padding=pad))
            self.convs_pointwise.append(nn.Conv1d(size, size, 1))
            self.norms_1.append(nn.LayerNorm(size))
            self.norms_2.append(nn.LayerNorm(size))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor, condition: Tensor | None) -> Tensor:
        if condition is not None:
            x = x + condition
        if LEVERS.separable and can_fuse(x):
            return self._fused(x, mask)
        for dilated, pointwise, norm_1, norm_2 in self._layers():
            y = F.gelu(channel_norm(norm_1, dilated(x * mask)))
            x = x + self.dropout(F.gelu(channel_norm(norm_2, pointwise(y))))
        return x * mask

    def _layers(self) -> Iterator[tuple[Any, ...]]:
        return zip(self.convs_dilated, self.convs_pointwise, self.norms_1, self.norms_2, strict=True)

    def _fused(self, x: Tensor, mask: Tensor) -> Tensor:
        """The same on a GPU, with the channels of a token beside each other all the way."""
        from olu.nn.kernels.separable_triton import DepthNormGelu, NormGelu

        rows, line = x.transpose(1, 2).contiguous().float(), mask.squeeze(1).contiguous()
        drops = self.training and self.dropout.p > 0
        for dilated, pointwise, norm_1, norm_2 in self._layers():
            taps, norm = dilated.weight.squeeze(1), (norm_1.weight, norm_1.bias)
            y = DepthNormGelu.apply(
                rows, line, taps, dilated.bias, *norm, dilated.dilation[0], norm_1.eps, half_of(rows)
            )
            product = F.linear(y, pointwise.weight.squeeze(2))
            known = (product, pointwise.bias, norm_2.weight, norm_2.bias)
            if drops:
                rows = rows + self.dropout(NormGelu.apply(*known, None, norm_2.eps))
            else:
                rows = NormGelu.apply(*known, rows, norm_2.eps)
        return rows.transpose(1, 2) * mask


def channel_norm(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    return norm(x.transpose(1, 2)).transpose(1, 2)
