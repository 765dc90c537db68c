"""A layer of depth-separable convolutions in few kernels: what stands around its one product. Rows [B, T, C], in fp32.

A program holds whole rows, so the norm over channels needs nobody else; the way back makes all again from the input.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from olu.nn.kernels.fused_triton import grid_of

TILE = 2048  # numbers a program holds at once: it holds several tiles


@triton.jit
def _gelu(u):  # type: ignore[no-untyped-def]
    return 0.5 * u * (1.0 + tl.erf(u * 0.7071067811865476))


@triton.jit
def _gelu_slope(u):  # type: ignore[no-untyped-def]
    return 0.5 * (1.0 + tl.erf(u * 0.7071067811865476)) + u * 0.3989422804014327 * tl.exp(-0.5 * u * u)


@triton.jit
def _normed(h, inside, C, eps):  # type: ignore[no-untyped-def]
    """Each row less its mean, over its deviation; and one over that."""
    h = tl.where(inside, h, 0.0)
    apart = tl.where(inside, h - (tl.sum(h, 1) / C)[:, None], 0.0)
    over = 1.0 / tl.sqrt(tl.sum(apart * apart, 1) / C + eps)
    return apart * over[:, None], over


@triton.jit
def _norm_slope(g, hat, over, gamma, C):  # type: ignore[no-untyped-def]
    d = g * gamma[None, :]
    return over[:, None] * (d - (tl.sum(d, 1) / C)[:, None] - hat * (tl.sum(d * hat, 1) / C)[:, None])


@triton.jit
def _tap(x, mask, r, c, k, T, C, D, inside, K: tl.constexpr):  # type: ignore[no-untyped-def]
    """What a tap of the convolution sees: the input some steps away, nothing beyond the clip or where it is masked."""
    t = r % T + (k - K // 2) * D
    there = r + (k - K // 2) * D
    seen = (t >= 0) & (t < T)
    m = tl.load(mask + there, mask=seen & (there >= 0), other=0.0)
    at = there.to(tl.int64)[:, None] * C + c[None, :]
    value = tl.load(x + at, mask=inside & seen[:, None], other=0.0).to(tl.float32)
    return value * m[:, None]


@triton.jit
def _depth_forward(  # type: ignore[no-untyped-def]
    x, mask, w, b, gamma, beta, y, N, T, C, D, eps, K: tl.constexpr, H: tl.constexpr, W: tl.constexpr
):
    r = tl.program_id(0) * H + tl.arange(0, H)
    c = tl.arange(0, W)
    inside = (r[:, None] < N) & (c[None, :] < C)
    h = tl.zeros([H, W], dtype=tl.float32) + tl.load(b + c, mask=c < C, other=0.0)[None, :]
    for k in tl.static_range(K):
        h += _tap(x, mask, r, c, k, T, C, D, inside, K) * tl.load(w + c * K + k, mask=c < C, other=0.0)[None, :]
    hat, _ = _normed(h, inside, C, eps)
    u = hat * tl.load(gamma + c, mask=c < C, other=0.0)[None, :] + tl.load(beta + c, mask=c < C, other=0.0)[None, :]
    at = r.to(tl.int64)[:, None] * C + c[None, :]
    tl.store(y + at, _gelu(u).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _depth_backward(  # type: ignore[no-untyped-def]
    grad, x, mask, w, b, gamma, beta, dh, sums, N, T, C, D, eps, TILES,
    K: tl.constexpr, KP: tl.constexpr, H: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """Leaves the gradient before the norm, and the sums for bias, gamma, beta and each tap, in this order."""
    c = tl.arange(0, W)
    wanted = c < C
    gain, lift = tl.load(gamma + c, mask=wanted, other=0.0), tl.load(beta + c, mask=wanted, other=0.0)
    first = tl.load(b + c, mask=wanted, other=0.0)
    s_b = tl.zeros([W], dtype=tl.float32)
    s_gamma = tl.zeros([W], dtype=tl.float32)
    s_beta = tl.zeros([W], dtype=tl.float32)
    number = tl.arange(0, KP)
    s_taps = tl.zeros([KP, W], dtype=tl.float32)
    for tile in range(TILES):
        r = (tl.program_id(0) * TILES + tile) * H + tl.arange(0, H)
        inside = (r[:, None] < N) & wanted[None, :]
        h = tl.zeros([H, W], dtype=tl.float32) + first[None, :]
        for k in tl.static_range(K):
            h += _tap(x, mask, r, c, k, T, C, D, inside, K) * tl.load(w + c * K + k, mask=wanted, other=0.0)[None, :]
        hat, over = _normed(h, inside, C, eps)
        at = r.to(tl.int64)[:, None] * C + c[None, :]
        g = tl.load(grad + at, mask=inside, other=0.0).to(tl.float32)
        g = tl.where(inside, g * _gelu_slope(hat * gain[None, :] + lift[None, :]), 0.0)
        d = tl.where(inside, _norm_slope(g, hat, over, gain, C), 0.0)
        tl.store(dh + at, d, mask=inside)
        s_b += tl.sum(d, 0)
        s_gamma += tl.sum(g * hat, 0)
        s_beta += tl.sum(g, 0)
        for k in tl.static_range(K):
            more = tl.sum(d * _tap(x, mask, r, c, k, T, C, D, inside, K), 0)
            s_taps += tl.where(number[:, None] == k, more[None, :], 0.0)
    row = sums + tl.program_id(0) * (3 + K) * C
    tl.store(row + c, s_b, mask=wanted)
    tl.store(row + C + c, s_gamma, mask=wanted)
    tl.store(row + 2 * C + c, s_beta, mask=wanted)
    there = (number[:, None] < K) & wanted[None, :]
    tl.store(row + (3 + number[:, None]) * C + c[None, :], s_taps, mask=there)


@triton.jit
def _depth_to_input(dh, mask, w, dx, N, T, C, D, K: tl.constexpr, H: tl.constexpr, W: tl.constexpr):  # type: ignore[no-untyped-def]
    r = tl.program_id(0) * H + tl.arange(0, H)
    c = tl.arange(0, W)
    inside = (r[:, None] < N) & (c[None, :] < C)
    total = tl.zeros([H, W], dtype=tl.float32)
    for k in tl.static_range(K):
        away = (k - K // 2) * D
        t = r % T - away
        seen = ((t >= 0) & (t < T))[:, None] & inside
        value = tl.load(dh + (r - away).to(tl.int64)[:, None] * C + c[None, :], mask=seen, other=0.0)
        total += value * tl.load(w + c * K + k, mask=c < C, other=0.0)[None, :]
    total *= tl.load(mask + r, mask=r < N, other=0.0)[:, None]
    tl.store(dx + r.to(tl.int64)[:, None] * C + c[None, :], total.to(dx.dtype.element_ty), mask=inside)


class DepthNormGelu(torch.autograd.Function):
    """gelu(norm(depthwise(x * mask))): `x` [B, T, C], `mask` [B, T], `w` [C, K]."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mask: Tensor, w: Tensor, b: Tensor, gamma: Tensor, beta: Tensor, dilation: int,
        eps: float, half: torch.dtype,
    ) -> Tensor:  # fmt: skip
        batch, steps, channels = x.shape
        y = torch.empty_like(x, dtype=half)
        programs, high, wide, _ = grid_of(batch * steps, channels, tile=TILE)
        size = {"K": w.shape[1], "H": high, "W": wide}
        _depth_forward[(programs,)](
            x, mask, w, b, gamma, beta, y, batch * steps, steps, channels, dilation, eps, **size
        )
        ctx.save_for_backward(x, mask, w, b, gamma, beta)
        ctx.dilation, ctx.eps = dilation, eps
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:  # type: ignore[override]
        x, mask, w, b, gamma, beta = ctx.saved_tensors
        batch, steps, channels = x.shape
        taps, rows = w.shape[1], batch * steps
        programs, high, wide, tiles = grid_of(rows, channels, sums=True, tile=TILE)
        dh = torch.empty_like(x, dtype=torch.float32)
        sums = torch.empty(programs, 3 + taps, channels, device=x.device)
        _depth_backward[(programs,)](
            grad.contiguous(), x, mask, w, b, gamma, beta, dh, sums, rows, steps, channels, ctx.dilation, ctx.eps,
            tiles, K=taps, KP=triton.next_power_of_2(taps), H=high, W=wide,
        )  # fmt: skip
        dx = torch.empty_like(x)
        programs, high, wide, _ = grid_of(rows, channels, tile=TILE)
        _depth_to_input[(programs,)](dh, mask, w, dx, rows, steps, channels, ctx.dilation, K=taps, H=high, W=wide)
        d_b, d_gamma, d_beta, *d_w = sums.sum(0)
        return dx, None, torch.stack(d_w, 1), d_b, d_gamma, d_beta, None, None, None


@triton.jit
def _norm_forward(  # type: ignore[no-untyped-def]
    a, b, gamma, beta, x, y, N, C, eps, ADD: tl.constexpr, H: tl.constexpr, W: tl.constexpr
):
    r = tl.program_id(0) * H + tl.arange(0, H)
    c = tl.arange(0, W)
    wanted = c < C
    inside = (r[:, None] < N) & wanted[None, :]
    at = r.to(tl.int64)[:, None] * C + c[None, :]
    h = tl.load(a + at, mask=inside, other=0.0).to(tl.float32) + tl.load(b + c, mask=wanted, other=0.0)[None, :]
    hat, _ = _normed(h, inside, C, eps)
    u = hat * tl.load(gamma + c, mask=wanted, other=0.0)[None, :] + tl.load(beta + c, mask=wanted, other=0.0)[None, :]
    out = _gelu(u)
    if ADD:
        out += tl.load(x + at, mask=inside, other=0.0)
    tl.store(y + at, out, mask=inside)


@triton.jit
def _norm_backward(  # type: ignore[no-untyped-def]
    grad, a, b, gamma, beta, da, sums, N, C, eps, TILES, H: tl.constexpr, W: tl.constexpr
):
    c = tl.arange(0, W)
    wanted = c < C
    gain, lift = tl.load(gamma + c, mask=wanted, other=0.0), tl.load(beta + c, mask=wanted, other=0.0)
    first = tl.load(b + c, mask=wanted, other=0.0)
    s_b = tl.zeros([W], dtype=tl.float32)
    s_gamma = tl.zeros([W], dtype=tl.float32)
    s_beta = tl.zeros([W], dtype=tl.float32)
    for tile in range(TILES):
        r = (tl.program_id(0) * TILES + tile) * H + tl.arange(0, H)
        inside = (r[:, None] < N) & wanted[None, :]
        at = r.to(tl.int64)[:, None] * C + c[None, :]
        hat, over = _normed(tl.load(a + at, mask=inside, other=0.0).to(tl.float32) + first[None, :], inside, C, eps)
        g = tl.load(grad + at, mask=inside, other=0.0).to(tl.float32)
        g = tl.where(inside, g * _gelu_slope(hat * gain[None, :] + lift[None, :]), 0.0)
        d = tl.where(inside, _norm_slope(g, hat, over, gain, C), 0.0)
        tl.store(da + at, d.to(da.dtype.element_ty), mask=inside)
        s_b += tl.sum(d, 0)
        s_gamma += tl.sum(g * hat, 0)
        s_beta += tl.sum(g, 0)
    row = sums + tl.program_id(0) * 3 * C
    tl.store(row + c, s_b, mask=wanted)
    tl.store(row + C + c, s_gamma, mask=wanted)
    tl.store(row + 2 * C + c, s_beta, mask=wanted)


class NormGelu(torch.autograd.Function):
    """gelu(norm(a + bias)), and `x` added to it where there is one. Rows [B, T, C]."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, gamma: Tensor, beta: Tensor, x: Tensor | None, eps: float) -> Tensor:
        rows, channels = a.shape[0] * a.shape[1], a.shape[2]
        y = torch.empty_like(a, dtype=torch.float32)
        programs, high, wide, _ = grid_of(rows, channels, tile=TILE)
        _norm_forward[(programs,)](
            a, b, gamma, beta, a if x is None else x, y, rows, channels, eps, ADD=x is not None, H=high, W=wide
        )
        ctx.save_for_backward(a, b, gamma, beta)
        ctx.eps, ctx.adds = eps, x is not None
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:  # type: ignore[override]
        a, b, gamma, beta = ctx.saved_tensors
        rows, channels = a.shape[0] * a.shape[1], a.shape[2]
        programs, high, wide, tiles = grid_of(rows, channels, sums=True, tile=TILE)
        da = torch.empty_like(a)
        sums = torch.empty(programs, 3, channels, device=a.device)
        grad = grad.contiguous()
        _norm_backward[(programs,)](grad, a, b, gamma, beta, da, sums, rows, channels, ctx.eps, tiles, H=high, W=wide)
        d_b, d_gamma, d_beta = sums.sum(0)
        return da, d_b, d_gamma, d_beta, grad if ctx.adds else None, None
