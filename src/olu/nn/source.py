"""The source of a vocoder in torch: pulses that follow a pitch. `speak/source.py` is its twin in numpy.

Shape letters: B clips, F frames, S samples (= F x hop).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from olu.nn.precision import widened


def pulses(contour_BF: Tensor, voicing_BF: Tensor, *, hop: int, rate: int, turns_B: Tensor | None = None) -> Tensor:
    """Log2 of hertz and voicing (0 to 1) at the centres of frames -> [B, S], of power 1 where voiced.

    sqrt(2 / m) times the sum of the cosines of all m harmonics below half the rate, by the closed form of that sum.
    `turns_B` is the phase before the first sample; between centres pitch and voicing go in straight lines.
    """
    frames = contour_BF.shape[1]
    at = (torch.arange(frames * hop, device=contour_BF.device, dtype=torch.float32) - hop / 2) / hop
    at = at.clamp(0, frames - 1)
    left = at.floor().long()
    right = (left + 1).clamp(max=frames - 1)
    share = at - left
    hertz = torch.exp2(torch.lerp(contour_BF[:, left], contour_BF[:, right], share))
    gate = torch.lerp(voicing_BF[:, left], voicing_BF[:, right], share)
    phase = torch.cumsum(widened(hertz) / rate, 1)
    if turns_B is not None:
        phase = phase + widened(turns_B)[:, None]
    half = (math.pi * (phase - phase.round())).float()  # the sines below are exact near the pulses
    count = torch.floor(rate / 2 / hertz)
    under = torch.sin(half)
    tip = under.abs() < 1e-5
    inside = torch.sin((2 * count + 1) * half) / torch.where(tip, torch.ones_like(under), under) - 1
    return gate * torch.where(tip, count, inside / 2) * torch.sqrt(2 / count)
