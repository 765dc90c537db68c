"""A ConvNeXt block over time: what the vocoder and the acoustic model are made of.

Shape letters: B clips, C channels, T frames or tokens, V size of a condition.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvNeXtBlock(nn.Module):
    """Depthwise convolution, LayerNorm over channels, wider, GELU, narrow again, scaled and added.

    With a `condition` (of so many numbers) the norm is scaled and shifted by it; at first it changes nothing.
    """

    def __init__(
        self,
        channels: int,
        *,
        widening: int = 2,
        kernel: int = 7,
        scale: float = 0.15,
        dropout: float = 0.0,
        condition: int = 0,
    ) -> None:
        super().__init__()
        self.depthwise = nn.Conv1d(channels, channels, kernel, padding=kernel // 2, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.widen = nn.Linear(channels, widening * channels)
        self.narrow = nn.Linear(widening * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), scale))
        self.dropout = nn.Dropout(dropout)
        self.modulate = nn.Linear(condition, 2 * channels) if condition else None
        if self.modulate is not None:
            nn.init.zeros_(self.modulate.weight)
            nn.init.zeros_(self.modulate.bias)

    def forward(self, x_BCT: Tensor, mask_B1T: Tensor | None = None, condition_BV: Tensor | None = None) -> Tensor:
        """[B, C, T] -> [B, C, T]. With a mask padding is 0 before and after, so that no clip sees its neighbours'."""
        x = x_BCT if mask_B1T is None else x_BCT * mask_B1T
        hidden_BTC = self.norm(self.depthwise(x).transpose(1, 2))
        if self.modulate is not None and condition_BV is not None:
            scale, shift = self.modulate(condition_BV).unsqueeze(1).chunk(2, -1)
            hidden_BTC = hidden_BTC * (1 + scale) + shift
        hidden_BTC = self.narrow(F.gelu(self.widen(hidden_BTC), approximate="tanh"))
        x = x + torch.transpose(self.dropout(self.scale * hidden_BTC), 1, 2)
        return x if mask_B1T is None else x * mask_B1T
