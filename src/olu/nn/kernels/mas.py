"""Monotonic alignment search: the best path that gives every token at least one frame.

numba on the CPU: the search is a plain double loop that vectorises badly in torch.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import torch
from numba import njit
from torch import Tensor

LOWEST = np.float32(-1e9)
GUIDE_STRENGTH = 10.0  # deviations of the score
GUIDE_WIDTH = 0.2  # at this share of the clip beside an even pace


def best_path(score_BFT: Tensor, frames_B: Tensor, tokens_B: Tensor) -> Tensor:
    """Hard alignment [B, F, T] of ones and zeros that maximises the summed score. Needs frames >= tokens > 0."""
    if score_BFT.is_cuda and find_spec("triton") is not None:
        from olu.nn.kernels.mas_triton import best_path_on_gpu

        return best_path_on_gpu(score_BFT, frames_B, tokens_B)
    scores = score_BFT.detach().to("cpu", torch.float32).contiguous().numpy()
    path = _search(scores, frames_B.cpu().numpy(), tokens_B.cpu().numpy())
    return torch.from_numpy(path).to(device=score_BFT.device, dtype=score_BFT.dtype)


def shaken(score_BFT: Tensor, inside_BFT: Tensor, *, scale: float | Tensor) -> Tensor:
    """The score with noise, so that early alignments are not set in stone: VITS2's, but padding does not count."""
    return score_BFT + scale * _spread(score_BFT, inside_BFT) * torch.randn_like(score_BFT)


def guided(
    score_BFT: Tensor, inside_BFT: Tensor, frames_B: Tensor, tokens_B: Tensor, *, scale: float | Tensor
) -> Tensor:
    """The score less the squared distance from an even pace: a network that knows nothing yet has few clips to learn
    from, and what it finds alone is one token over nearly all frames."""
    device = score_BFT.device
    at_BF1 = (torch.arange(score_BFT.shape[1], device=device)[:, None] + 0.5) / frames_B[:, None, None]
    at_B1T = (torch.arange(score_BFT.shape[2], device=device)[None, :] + 0.5) / tokens_B[:, None, None]
    apart = (at_BF1 - at_B1T) / GUIDE_WIDTH
    return score_BFT - scale * GUIDE_STRENGTH * _spread(score_BFT, inside_BFT) * apart.square()


def _spread(score_BFT: Tensor, inside_BFT: Tensor) -> Tensor:
    """The deviation of each clip's scores, [B, 1, 1]."""
    count = inside_BFT.sum((1, 2), keepdim=True)
    mean = (score_BFT * inside_BFT).sum((1, 2), keepdim=True) / count
    return (((score_BFT - mean) * inside_BFT).square().sum((1, 2), keepdim=True) / count).sqrt()


@njit(cache=True, nogil=True)
def _search(scores, frames, tokens):  # type: ignore[no-untyped-def]
    paths = np.zeros(scores.shape, dtype=np.float32)
    for b in range(scores.shape[0]):
        last_frame, last_token = frames[b], tokens[b]
        value = scores[b, :last_frame, :last_token].copy()
        for y in range(last_frame):
            for x in range(max(0, last_token + y - last_frame), min(last_token, y + 1)):
                stay = LOWEST if x == y else value[y - 1, x]
                if x > 0:
                    advance = value[y - 1, x - 1]
                elif y == 0:
                    advance = np.float32(0.0)
                else:
                    advance = LOWEST
                value[y, x] += max(advance, stay)
        x = last_token - 1
        for y in range(last_frame - 1, -1, -1):
            paths[b, y, x] = 1.0
            if x != 0 and (x == y or value[y - 1, x] < value[y - 1, x - 1]):
                x -= 1
    return paths
