"""What is done to the sound so that a network cannot learn its few clips by heart. Nothing here waits for the device.

Shape letters as in model.py; S samples, N masks.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as fn

from olu.families.recogniser.config import RecogniserConfig

QUIETEST, LOUDEST = 40.0, 12.0  # dB of the speech over the noise


def disturbed(wave_BS: Tensor, *, share: float) -> Tensor:
    """White noise in some of the clips, of a loudness that differs."""
    level = wave_BS.square().mean(1, keepdim=True).sqrt()
    chance, loud = torch.rand(2, len(wave_BS), 1, device=wave_BS.device)
    apart = QUIETEST + (LOUDEST - QUIETEST) * loud
    amount = level * 10 ** (-apart / 20) * (chance < share)
    noisy: Tensor = wave_BS + amount * torch.randn_like(wave_BS)
    return noisy


def paced(mel_BFM: Tensor, frames: list[int], *, share: float) -> tuple[Tensor, list[int]]:
    """The whole batch faster or slower."""
    rate = 1 + share * (2 * float(torch.rand(1)) - 1)
    size = max(4, round(mel_BFM.shape[1] * rate))
    scale = size / mel_BFM.shape[1]
    slow = fn.interpolate(mel_BFM.transpose(1, 2), size=size, mode="linear").transpose(1, 2)
    return slow, [max(1, min(size, int(count * scale))) for count in frames]


def hidden(mel_BFM: Tensor, frames: list[int], c: RecogniserConfig, *, grown: float = 1.0) -> Tensor:
    """SpecAugment: stretches of time and bands of pitch are set to the mean, which is 0. `grown`: how wide, up to 1."""
    if c.time_masks:
        sizes = torch.tensor(frames, device=mel_BFM.device, dtype=torch.float32)[:, None]
        kept = _outside(mel_BFM.shape[1], sizes, grown * c.time_mask_share * sizes, number=c.time_masks)
        mel_BFM = mel_BFM * kept.unsqueeze(2)
    if c.frequency_masks:
        bins = mel_BFM.new_full((len(mel_BFM), 1), float(c.mel_bins))
        width = mel_BFM.new_full((len(mel_BFM), 1), grown * c.frequency_mask_bins)
        mel_BFM = mel_BFM * _outside(c.mel_bins, bins, width, number=c.frequency_masks).unsqueeze(1)
    return mel_BFM


def _outside(length: int, sizes_B1: Tensor, most_B1: Tensor, *, number: int) -> Tensor:
    """True where none of `number` random stretches of up to `most` lies, [B, length]."""
    width, place = torch.rand(2, len(sizes_B1), number, device=sizes_B1.device)
    width = width * most_B1
    first = place * (sizes_B1 - width)
    at = torch.arange(length, device=sizes_B1.device)[None, None, :]
    covered = (at >= first.unsqueeze(2)) & (at < (first + width).unsqueeze(2))
    outside: Tensor = ~covered.any(1)
    return outside
