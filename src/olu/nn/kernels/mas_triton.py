"""Monotonic alignment search on a GPU, exactly equal to the one on the CPU, ties included.

One program per clip: a row of the table stays in registers, directions are packed 32 frames to a word.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

WARPS = 4


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]
def _search(value, path, words, frames, tokens, F, T, NW, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    b = tl.program_id(0).to(tl.int64)
    last_frame = tl.load(frames + b).to(tl.int32)
    last_token = tl.load(tokens + b).to(tl.int32)
    x = tl.arange(0, BLOCK)
    inside = x < last_token
    before = tl.where(x > 0, x - 1, 0)
    V = value + b * F * T
    P = path + b * F * T
    W = words + b * NW * BLOCK
    LOWEST = -1e9
    row = tl.load(V + x, mask=inside, other=0.0)
    best = tl.where(x == 0, row, LOWEST)
    packed = tl.zeros([BLOCK], dtype=tl.int32)
    for y in range(1, last_frame):
        score = tl.load(V + y * T + x, mask=inside, other=0.0)
        left = tl.where(x == 0, LOWEST, tl.gather(best, before, 0))
        packed = packed | ((best < left).to(tl.int32) << (y & 31))
        best = tl.where(x <= y, score + tl.maximum(left, best), LOWEST)
        if ((y & 31) == 31) | (y == last_frame - 1):
            tl.store(W + (y // 32) * BLOCK + x, packed, mask=inside)
            packed = tl.zeros([BLOCK], dtype=tl.int32)
    tl.debug_barrier()
    at = last_token - 1
    for i in range(last_frame):
        y = last_frame - 1 - i
        tl.store(P + y * T + at, 1.0)
        word = tl.load(W + (y // 32) * BLOCK + at)
        came = (word >> (y & 31)) & 1
        back = (at > 0) & (y > 0) & ((at == y) | (came != 0))
        at = tl.where(back, at - 1, at)


def best_path_on_gpu(score_BFT: Tensor, frames_B: Tensor, tokens_B: Tensor) -> Tensor:
    batch, frames, tokens = score_BFT.shape
    score = score_BFT.detach().float().contiguous()
    block = max(32, triton.next_power_of_2(tokens))
    number = (frames + 31) // 32
    words = torch.empty(batch, number, block, dtype=torch.int32, device=score.device)
    path = torch.zeros_like(score)
    _search[(batch,)](score, path, words, frames_B, tokens_B, frames, tokens, number, BLOCK=block, num_warps=WARPS)
    return path.to(score_BFT.dtype)
