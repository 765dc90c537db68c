"""Causal transformers with a cache: what language models of codes are made of.

A body takes rows that already carry their positions and gives hidden rows. Parameters have the names and the layout of
the published GPT-2 weights: matrices stand [in, out]. Shapes: B clips, T rows, P rows of the cache, D wide, H heads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


@dataclass
class Cache:
    """Keys and values [B, H, P, D / H] of every block, for the rows that went through."""

    held: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    @property
    def length(self) -> int:
        return self.held[0][0].shape[2] if self.held else 0

    def grown(self, block: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values of a block, with these at their end."""
        if block < len(self.held):
            before = self.held[block]
            keys, values = torch.cat([before[0], keys], 2), torch.cat([before[1], values], 2)
            self.held[block] = keys, values
        else:
            self.held.append((keys, values))
        return keys, values


class InOut(nn.Module):
    """A linear layer whose matrix stands [in, out]."""

    def __init__(self, inner: int, outer: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inner, outer))
        self.bias = nn.Parameter(torch.zeros(outer))
        nn.init.normal_(self.weight, std=std)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.t(), self.bias)


class Gpt2Attention(nn.Module):
    def __init__(self, width: int, *, heads: int, dropout: float, std: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.c_attn = InOut(width, 3 * width)
        self.c_proj = InOut(width, width, std=std)

    def forward(self, rows_BTD: Tensor, allowed: Tensor | None, cache: Cache | None, block: int) -> Tensor:
        b, t, d = rows_BTD.shape
        q, k, v = (
            part.view(b, t, self.heads, d // self.heads).transpose(1, 2)
            for part in self.c_attn(rows_BTD).split(d, dim=-1)
        )
        if cache is not None:
            k, v = cache.grown(block, k, v)
        chance = self.dropout if self.training else 0.0
        causal = allowed is None and t > 1
        heard = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, dropout_p=chance, is_causal=causal)
        mixed: Tensor = self.c_proj(heard.transpose(1, 2).reshape(b, t, d))
        return mixed


class Gpt2Mlp(nn.Module):
    def __init__(self, width: int, *, std: float) -> None:
        super().__init__()
        self.c_fc = InOut(width, 4 * width)
        self.c_proj = InOut(4 * width, width, std=std)

    def forward(self, rows_BTD: Tensor) -> Tensor:
        mixed: Tensor = self.c_proj(F.gelu(self.c_fc(rows_BTD), approximate="tanh"))
        return mixed


class Gpt2Block(nn.Module):
    def __init__(self, width: int, *, heads: int, dropout: float, std: float) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Gpt2Attention(width, heads=heads, dropout=dropout, std=std)
        self.mlp = Gpt2Mlp(width, std=std)
        self.drop = nn.Dropout(dropout)

    def forward(self, rows_BTD: Tensor, allowed: Tensor | None, cache: Cache | None, block: int) -> Tensor:
        rows_BTD = rows_BTD + self.drop(self.attn(self.ln_1(rows_BTD), allowed, cache, block))
        mixed: Tensor = rows_BTD + self.drop(self.mlp(self.ln_2(rows_BTD)))
        return mixed


class Gpt2(nn.Module):
    """Blocks `h` and the norm `ln_f` after them, without tables and positions."""

    def __init__(self, width: int, *, layers: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        std = 0.02 * (2 * layers) ** -0.5  # of what is added to the residual, as GPT-2 begins
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList(Gpt2Block(width, heads=heads, dropout=dropout, std=std) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.checkpointing = False  # keep only the rows between blocks, and make the rest again on the way back

    def forward(self, rows_BTD: Tensor, *, seen_BT: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """`seen_BT`: of all rows with the cache's, which may be looked at; none: all.

        A row always looks back only. One that may look at nothing at all gets the mean of all values it could see.
        """
        past = cache.length if cache is not None else 0
        allowed = causal_mask(rows_BTD, past=past, seen_BT=seen_BT)
        rows_BTD = self.drop(rows_BTD)
        for number, block in enumerate(self.h):
            if self.checkpointing and self.training and torch.is_grad_enabled():
                rows_BTD = checkpoint(block, rows_BTD, allowed, None, number, use_reentrant=False)
            else:
                rows_BTD = block(rows_BTD, allowed, cache, number)
        hidden: Tensor = self.ln_f(rows_BTD)
        return hidden


def causal_mask(rows_BTD: Tensor, *, past: int, seen_BT: Tensor | None) -> Tensor | None:
    """What each row may look at, to be added to its scores [B or 1, 1, T, P + T]; None: plainly what was before it."""
    t = rows_BTD.shape[1]
    if seen_BT is None and (past == 0 or t == 1):
        return None
    now = torch.arange(past, past + t, device=rows_BTD.device)
    allowed = torch.arange(past + t, device=rows_BTD.device)[None] <= now[:, None]
    both = allowed[None] if seen_BT is None else allowed[None] & seen_BT.bool()[:, None]
    # The least number instead of minus infinity: a row without anything to look at stays finite.
    least = torch.finfo(rows_BTD.dtype).min
    return torch.zeros_like(both, dtype=rows_BTD.dtype).masked_fill_(~both, least)[:, None]
