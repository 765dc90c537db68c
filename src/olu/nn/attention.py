"""Attention with relative positions, as VITS's text encoder has it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RelativeAttention(nn.Module):
    """Attention with learned keys and values for distances up to the window."""

    def __init__(self, size: int, *, heads: int, window: int, bias: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.head_size = size // self.heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(size, size, bias=bias) for _ in range(4))
        for layer in (self.q_proj, self.k_proj, self.v_proj):
            nn.init.xavier_uniform_(layer.weight)
        self.emb_rel_k = nn.Parameter(torch.randn(1, 2 * self.window + 1, self.head_size) * self.head_size**-0.5)
        self.emb_rel_v = nn.Parameter(torch.randn(1, 2 * self.window + 1, self.head_size) * self.head_size**-0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden_BTC: Tensor, mask: Tensor) -> Tensor:
        """[B, T, C] and a mask [B, 1, T] of ones and zeros -> [B, T, C]."""
        b, t, c = hidden_BTC.shape
        q, k, v = (
            proj(hidden_BTC).view(b, t, self.heads, self.head_size).transpose(1, 2)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        q = q * self.head_size**-0.5
        at = torch.arange(t, device=hidden_BTC.device)
        distance_TT = at[None, :] - at[:, None]
        near = (distance_TT.abs() <= self.window).to(q.dtype)
        slot_TT = distance_TT.clamp(-self.window, self.window) + self.window
        by_distance = q @ self.emb_rel_k.transpose(1, 2)  # [B, H, T, 2w+1]
        bias = by_distance.gather(3, slot_TT.expand(b, self.heads, t, t)) * near
        scores = (q @ k.transpose(2, 3) + bias).masked_fill(mask.unsqueeze(1) == 0, -1e4)
        weights = self.dropout(torch.softmax(scores.float(), dim=-1).to(v.dtype))
        other_TW = at[:, None] + torch.arange(-self.window, self.window + 1, device=at.device)[None]
        inside = ((other_TW >= 0) & (other_TW < t)).to(q.dtype)
        index = torch.minimum(other_TW.clamp_min(0), at[-1]).expand(b, self.heads, t, 2 * self.window + 1)
        near_weights = weights.gather(3, index) * inside
        heard = weights @ v + near_weights @ self.emb_rel_v
        mixed: Tensor = self.out_proj(heard.transpose(1, 2).reshape(b, t, c))
        return mixed
