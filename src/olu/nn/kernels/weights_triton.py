"""A weight-normed convolution's weight in one kernel: norm, gain, half precision and the order that kernels want."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _forward(v, g, out, IN, K, SIZE, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < SIZE
    x = tl.load(v + row * SIZE + at, mask=inside, other=0.0)
    scale = tl.load(g + row) / tl.sqrt(tl.sum(x * x, 0))
    there = (at % K) * IN + at // K  # taps outside, channels inside
    tl.store(out + row * SIZE + there, (x * scale).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _backward(grad, v, g, g_v, g_g, IN, K, SIZE, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < SIZE
    x = tl.load(v + row * SIZE + at, mask=inside, other=0.0)
    there = (at % K) * IN + at // K
    d = tl.load(grad + row * SIZE + there, mask=inside, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, 0))
    along = tl.sum(d * x, 0) / norm
    gain = tl.load(g + row)
    tl.store(g_g + row, along)
    tl.store(g_v + row * SIZE + at, gain / norm * (d - along / norm * x), mask=inside)


class NormedWeight(torch.autograd.Function):
    """gain * direction / |direction| per row, as [R, I, ...] whose channels I lie together in memory."""

    @staticmethod
    def forward(ctx: Any, gain: Tensor, direction: Tensor, dtype: torch.dtype) -> Tensor:
        rows, channels = direction.shape[:2]
        size = direction[0].numel()
        out = torch.empty(direction.shape[0], size, dtype=dtype, device=direction.device)
        block = triton.next_power_of_2(size)
        _forward[(rows,)](direction, gain, out, channels, size // channels, size, BLOCK=block, num_warps=_warps(block))
        ctx.save_for_backward(gain, direction)
        return out.view(rows, *direction.shape[2:], channels).movedim(-1, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:  # type: ignore[override]
        gain, direction = ctx.saved_tensors
        rows, channels = direction.shape[:2]
        size = direction[0].numel()
        ordered = grad.movedim(1, -1).contiguous()
        g_gain, g_direction = torch.empty_like(gain), torch.empty_like(direction)
        block = triton.next_power_of_2(size)
        _backward[(rows,)](
            ordered,
            direction,
            gain,
            g_direction,
            g_gain,
            channels,
            size // channels,
            size,
            BLOCK=block,
            num_warps=_warps(block),
        )
        return g_gain, g_direction, None


def _warps(block: int) -> int:
    return 4 if block <= 2048 else 8
