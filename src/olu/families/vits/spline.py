"""Monotonic rational-quadratic splines (Durkan and others, 2019) with straight tails.

No boolean indexing: points outside the bound are computed on the bound and then replaced, so the graph has a fixed
shape for export and never waits for the host.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

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
