"""A short-time Fourier transform and its inverse as products with fixed matrices: alike in training and in a graph.

Shape letters: B clips, S samples (a multiple of the hop), T frames (= S / hop), K bins (= size / 2 + 1).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

QUARTERS = 4  # hops in a window


class Stft(nn.Module):
    """Windows of `size` that move by a quarter of it; frame t lies around the middle of its hop.

    No complex numbers: real parts, then imaginary ones.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.hop, self.bins = size, size // QUARTERS, size // 2 + 1
        window = torch.hann_window(size, dtype=torch.float64)
        angle = 2 * math.pi / size * torch.outer(torch.arange(size).double(), torch.arange(self.bins).double())
        whole = torch.cat([angle.cos(), -angle.sin()], 1)  # [size, 2 K]
        once = torch.full((self.bins,), 2.0 / size, dtype=torch.float64)  # a bin stands for itself and its mirror
        once[0] = once[-1] = 1.0 / size
        self.forth: Tensor
        self.back: Tensor
        self.square: Tensor
        self.register_buffer("forth", (window[:, None] * whole).float(), persistent=False)
        self.register_buffer("back", (whole.T * once.repeat(2)[:, None] * window).float(), persistent=False)
        self.register_buffer("square", window.square().float(), persistent=False)

    def as_weights(self) -> None:
        """For an export: a package keeps weights in 16 bits, and constants in 32."""
        for name in ("forth", "back"):
            matrix = getattr(self, name)
            delattr(self, name)
            self.register_parameter(name, nn.Parameter(matrix, requires_grad=False))

    def forward(self, wave_BS: Tensor) -> Tensor:
        """[B, S] -> [B, T, 2 K]."""
        edge = (self.size - self.hop) // 2
        blocks = F.pad(wave_BS, (edge, edge)).reshape(wave_BS.shape[0], -1, self.hop)
        count = blocks.shape[1] - QUARTERS + 1
        frames = torch.cat([blocks[:, at : at + count] for at in range(QUARTERS)], -1)
        return frames @ self.forth

    def inverse(self, spectrum_BTK: Tensor) -> Tensor:
        """[B, T, 2 K] -> [B, S], with the windows' own shape divided out."""
        made = self._laid(spectrum_BTK @ self.back)
        return made / self._laid(self.square.expand(1, spectrum_BTK.shape[1], self.size))

    def _laid(self, frames: Tensor) -> Tensor:
        """Frames [B, T, size] one over the other, [B, S]."""
        edge = (self.size - self.hop) // 2
        parts = frames.reshape(frames.shape[0], -1, QUARTERS, self.hop)
        last = QUARTERS - 1
        rows = sum(
            (F.pad(parts[:, :, at], (0, 0, at, last - at)) for at in range(1, QUARTERS)),
            start=F.pad(parts[:, :, 0], (0, 0, 0, last)),
        )
        return rows.flatten(1)[:, edge:-edge]
