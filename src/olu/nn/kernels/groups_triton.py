"""A convolution of many small groups that moves in strides, as one kernel each way.

A stride S turns the input into rows of S steps: the output at u reads J rows around row u, so every pass is a product
over short rows that are read where they lie. Shape letters: B clips, T steps in, U steps out, G groups, I channels
in and O out of a group; the kernel has J x S taps, the last of them zeros where it has fewer.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

BLOCK_M, BLOCK_K = 128, 64
PROGRAMS = 1056  # enough to keep a large GPU busy when the sum over all steps is split


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    x, w, y, M, T, U, C, CO, Q, S: tl.constexpr, IN: tl.constexpr, OUT: tl.constexpr, KK: tl.constexpr,
    BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(0)  # neighbours work on the same steps: what lies beside each other is read once
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    base = x + (m // U).to(tl.int64)[:, None] * T * C + g * IN
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for first in tl.static_range(0, KK, BK):
        k = first + tl.arange(0, BK)
        s = ((m % U)[:, None] + (k // (S * IN))[None, :] - Q) * S + ((k // IN) % S)[None, :]
        inside = (m[:, None] < M) & (k[None, :] < KK) & (s >= 0) & (s < T)
        a = tl.load(base + s * C + (k % IN)[None, :], mask=inside, other=0.0)
        b = tl.load(
            w + (g * KK + k[:, None]) * OUT + n[None, :], mask=(k[:, None] < KK) & (n[None, :] < OUT), other=0.0
        )
        total = tl.dot(a, b, total, input_precision="ieee")
    at = m.to(tl.int64)[:, None] * CO + g * OUT + n[None, :]
    tl.store(y + at, total.to(y.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < OUT))


@triton.jit
def _to_input(  # type: ignore[no-untyped-def]
    dy, w, dx, M, T, U, V, C, CO, Q, S: tl.constexpr, IN: tl.constexpr, OUT: tl.constexpr, KK: tl.constexpr,
    KB: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(0)
    m = tl.program_id(1) * BM + tl.arange(0, BM)  # rows of S steps of the input, V of each clip
    n = tl.arange(0, BN)  # a step of the row and a channel
    clip = (m // V).to(tl.int64)[:, None]
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for first in tl.static_range(0, KB, BK):
        k = first + tl.arange(0, BK)
        j, o = k // OUT, k % OUT
        u = (m % V)[:, None] - j[None, :] + Q
        inside = (m[:, None] < M) & (k[None, :] < KB) & (u >= 0) & (u < U)
        a = tl.load(dy + (clip * U + u) * CO + g * OUT + o[None, :], mask=inside, other=0.0)
        row = (g * KK + j[:, None] * (S * IN) + n[None, :]) * OUT + o[:, None]
        b = tl.load(w + row, mask=(k[:, None] < KB) & (n[None, :] < S * IN), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    s = (m % V)[:, None] * S + (n // IN)[None, :]
    at = (clip * T + s) * C + g * IN + (n % IN)[None, :]
    tl.store(dx + at, total.to(dx.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < S * IN) & (s < T))


@triton.jit
def _to_weight(  # type: ignore[no-untyped-def]
    x, dy, dw, M, T, U, C, CO, Q, G, STEPS, S: tl.constexpr, IN: tl.constexpr, OUT: tl.constexpr, KK: tl.constexpr,
    BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(0)
    k = tl.program_id(1) * BK + tl.arange(0, BK)
    n = tl.arange(0, BN)
    total = tl.zeros([BK, BN], dtype=tl.float32)
    for step in range(STEPS):
        m = (tl.program_id(2) * STEPS + step) * BM + tl.arange(0, BM)
        s = ((m % U)[:, None] + (k // (S * IN))[None, :] - Q) * S + ((k // IN) % S)[None, :]
        inside = (m[:, None] < M) & (k[None, :] < KK) & (s >= 0) & (s < T)
        base = x + (m // U).to(tl.int64)[:, None] * T * C + g * IN
        a = tl.load(base + s * C + (k % IN)[None, :], mask=inside, other=0.0)
        at = m.to(tl.int64)[:, None] * CO + g * OUT + n[None, :]
        b = tl.load(dy + at, mask=(m[:, None] < M) & (n[None, :] < OUT), other=0.0)
        total = tl.dot(tl.trans(a), b, total, input_precision="ieee")
    place = ((tl.program_id(2) * G + g) * KK + k[:, None]) * OUT + n[None, :]
    tl.store(dw + place, total, mask=(k[:, None] < KK) & (n[None, :] < OUT))


class GroupedConv(torch.autograd.Function):
    """`x` [B, T, C] and `w` [G, J, S, I, O] to [B, U, G x O]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, before: int, steps: int) -> Tensor:
        """`before` rows lie before row 0 of the first window."""
        batch, length, channels = x.shape
        groups, taps, stride, inside, outside = w.shape
        y = x.new_empty(batch, steps, groups * outside)
        size = {"S": stride, "IN": inside, "OUT": outside, "KK": taps * stride * inside}
        grid = (groups, triton.cdiv(batch * steps, BLOCK_M))
        _forward[grid](
            x, w, y, batch * steps, length, steps, channels, y.shape[2], before, **size,
            BM=BLOCK_M, BK=BLOCK_K, BN=_wide(outside),
        )  # fmt: skip
        ctx.save_for_backward(x, w)
        ctx.before, ctx.size = before, size
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Any, ...]:  # type: ignore[override]
        x, w = ctx.saved_tensors
        dy = dy.contiguous()
        dx = _input_gradient(x, w, dy, ctx.before, ctx.size) if ctx.needs_input_grad[0] else None
        dw = _weight_gradient(x, w, dy, ctx.before, ctx.size) if ctx.needs_input_grad[1] else None
        return dx, dw, None, None


def _input_gradient(x: Tensor, w: Tensor, dy: Tensor, before: int, size: dict[str, int]) -> Tensor:
    batch, length, channels = x.shape
    groups, taps, stride, inside, outside = w.shape
    dx = torch.empty_like(x)
    rows = triton.cdiv(length, stride)
    grid = (groups, triton.cdiv(batch * rows, BLOCK_M))
    _to_input[grid](
        dy, w, dx, batch * rows, length, dy.shape[1], rows, channels, dy.shape[2], before, **size,
        KB=taps * outside, BM=BLOCK_M, BK=BLOCK_K, BN=_wide(stride * inside),
    )  # fmt: skip
    return dx


def _weight_gradient(x: Tensor, w: Tensor, dy: Tensor, before: int, size: dict[str, int]) -> Tensor:
    batch, length, channels = x.shape
    groups, outside = w.shape[0], w.shape[4]
    tiles, blocks = triton.cdiv(size["KK"], BLOCK_K), triton.cdiv(batch * dy.shape[1], BLOCK_M)
    steps = triton.cdiv(blocks, max(1, min(blocks, PROGRAMS // (groups * tiles))))
    splits = triton.cdiv(blocks, steps)
    parts = torch.empty(splits, *w.shape, device=x.device)
    _to_weight[(groups, tiles, splits)](
        x, dy, parts, batch * dy.shape[1], length, dy.shape[1], channels, dy.shape[2], before, groups, steps, **size,
        BM=BLOCK_M, BK=BLOCK_K, BN=_wide(outside),
    )  # fmt: skip
    return parts.sum(0).to(w.dtype)


def _wide(size: int) -> int:
    return max(16, triton.next_power_of_2(size))


def by_rows(weight: Tensor, *, groups: int, stride: int) -> Tensor:
    """A weight [G x O, I, K] as [G, J, S, I, O]."""
    weight = F.pad(weight, (0, -weight.shape[2] % stride))
    return weight.unflatten(0, (groups, -1)).unflatten(3, (-1, stride)).permute(0, 3, 4, 2, 1).contiguous()


def grouped_conv(x_BCT: Tensor, rows: Tensor, *, taps: int, padding: int) -> Tensor:
    """`rows` as `by_rows` gives them; the padding is a multiple of the stride."""
    stride = rows.shape[2]
    steps = (x_BCT.shape[2] + 2 * padding - taps) // stride + 1
    y: Tensor = GroupedConv.apply(x_BCT.transpose(1, 2).contiguous(), rows, padding // stride, steps)
    return y.transpose(1, 2)
