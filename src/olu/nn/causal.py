"""Causal transformers with a cache: what language models of codes are made of.

A body takes rows and gives hidden rows. Rows of a GPT-2 carry their positions already, or it has a table of them
(`places`); a Llama turns queries and keys by their place (RoPE). Parameters have the published names and layouts: the
matrices of a GPT-2 stand [in, out]. Shapes: B clips, T rows, P rows of the cache, D wide, H heads.
"""

from __future__ import annotations

import math
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


class UnreadTable(nn.Module):
    """A table that published files hold and nothing looks at: it is kept as it is, and never learns."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.weight: Tensor
        self.register_buffer("weight", torch.zeros(rows, width))


class Gpt2(nn.Module):
    """Blocks `h` and the norm `ln_f` after them; with `places`, positions are added to the rows by a table.

    `unread`: rows of a table of words that published files hold and nothing looks at.
    """

    def __init__(
        self, width: int, *, layers: int, heads: int, dropout: float = 0.0, places: int = 0, unread: int = 0
    ) -> None:
        super().__init__()
        std = 0.02 * (2 * layers) ** -0.5  # of what is added to the residual, as GPT-2 begins
        if unread:
            self.wte = UnreadTable(unread, width)
        self.wpe = nn.Embedding(places, width) if places else None
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
        if self.wpe is not None:
            rows_BTD = rows_BTD + self.wpe.weight[past : past + rows_BTD.shape[1]]
        rows_BTD = self.drop(rows_BTD)
        for number, block in enumerate(self.h):
            if self.checkpointing and self.training and torch.is_grad_enabled():
                rows_BTD = checkpoint(block, rows_BTD, allowed, None, number, use_reentrant=False)
            else:
                rows_BTD = block(rows_BTD, allowed, cache, number)
        hidden: Tensor = self.ln_f(rows_BTD)
        return hidden


# ---------------------------------------------------------------- Llama


@dataclass(frozen=True)
class RopeScale:
    """How fast queries and keys turn with their place: slower than they were first taught, as Llama 3 has it."""

    theta: float = 500_000.0
    factor: float = 8.0
    low: float = 1.0
    high: float = 4.0
    original: int = 8192


def rope_speeds(width: int, scale: RopeScale) -> Tensor:
    """Angle by place [width / 2] of each pair of a head's channels, in float32."""
    plain = 1.0 / scale.theta ** (torch.arange(0, width, 2, dtype=torch.float32) / width)
    turns = 2 * math.pi / plain  # places until a pair has gone round
    smooth = (scale.original / turns - scale.low) / (scale.high - scale.low)
    between = (1 - smooth) * plain / scale.factor + smooth * plain
    slow = torch.where(turns > scale.original / scale.low, plain / scale.factor, plain)
    middle = (turns >= scale.original / scale.high) & (turns <= scale.original / scale.low)
    return torch.where(middle, between, slow)


def rope_turns(speeds: Tensor, *, first: int, count: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines [count, width] of the places from `first` on; both halves of a head's channels alike."""
    places = torch.arange(first, first + count, device=speeds.device, dtype=torch.float32)
    angles = places[:, None] * speeds.float()[None]
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rope_turned(x_BHTW: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
    """Channel i and channel i + width / 2 turn together."""
    cos, sin = (one.to(x_BHTW.dtype) for one in turns)
    left, right = x_BHTW.chunk(2, dim=-1)
    return x_BHTW * cos + torch.cat([-right, left], dim=-1) * sin


class RmsNorm(nn.Module):
    def __init__(self, width: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)).to(x.dtype)


class LlamaAttention(nn.Module):
    def __init__(self, width: int, *, heads: int, std: float) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(4))
        for layer in (self.q_proj, self.k_proj, self.v_proj):
            nn.init.normal_(layer.weight, std=0.02)
        nn.init.normal_(self.o_proj.weight, std=std)

    def heard_with(self, rows_BTD: Tensor, turns: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys, turned by their places, and values [B, H, T, D / H]."""
        q, k, v = (
            layer(rows_BTD).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        return rope_turned(q, turns), rope_turned(k, turns), v

    def forward(
        self,
        rows_BTD: Tensor,
        turns: tuple[Tensor, Tensor],
        allowed: Tensor | None,
        cache: Cache | None,
        block: int,
    ) -> Tensor:
        q, k, v = self.heard_with(rows_BTD, turns)
        if cache is not None:
            k, v = cache.grown(block, k, v)
        causal = allowed is None and rows_BTD.shape[1] > 1
        heard = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, is_causal=causal)
        mixed: Tensor = self.o_proj(heard.transpose(1, 2).flatten(2))
        return mixed


class LlamaMlp(nn.Module):
    def __init__(self, width: int, *, inner: int, std: float) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(inner, width, bias=False)
        for layer in (self.gate_proj, self.up_proj):
            nn.init.normal_(layer.weight, std=0.02)
        nn.init.normal_(self.down_proj.weight, std=std)

    def forward(self, rows_BTD: Tensor) -> Tensor:
        mixed: Tensor = self.down_proj(F.silu(self.gate_proj(rows_BTD)) * self.up_proj(rows_BTD))
        return mixed


class LlamaBlock(nn.Module):
    def __init__(self, width: int, *, heads: int, inner: int, std: float) -> None:
        super().__init__()
        self.self_attn = LlamaAttention(width, heads=heads, std=std)
        self.mlp = LlamaMlp(width, inner=inner, std=std)
        self.input_layernorm, self.post_attention_layernorm = RmsNorm(width), RmsNorm(width)

    def forward(
        self,
        rows_BTD: Tensor,
        turns: tuple[Tensor, Tensor],
        allowed: Tensor | None,
        cache: Cache | None,
        block: int,
    ) -> Tensor:
        rows_BTD = rows_BTD + self.self_attn(self.input_layernorm(rows_BTD), turns, allowed, cache, block)
        mixed: Tensor = rows_BTD + self.mlp(self.post_attention_layernorm(rows_BTD))
        return mixed


class Llama(nn.Module):
    """Blocks `layers` and the norm after them. `unread`: as in `Gpt2`."""

    def __init__(
        self, width: int, *, layers: int, heads: int, inner: int, unread: int = 0, scale: RopeScale | None = None
    ) -> None:
        super().__init__()
        std = 0.02 * (2 * layers) ** -0.5
        if unread:
            self.embed_tokens = UnreadTable(unread, width)
        self.layers = nn.ModuleList(LlamaBlock(width, heads=heads, inner=inner, std=std) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.scale, self.head_width = scale or RopeScale(), width // heads
        self.checkpointing = False

    def turns(self, *, first: int, count: int, device: torch.device) -> tuple[Tensor, Tensor]:
        return rope_turns(rope_speeds(self.head_width, self.scale).to(device), first=first, count=count)

    def forward(self, rows_BTD: Tensor, *, seen_BT: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """As of `Gpt2`; the place of a row is its number in the sequence, with the cache's."""
        past = cache.length if cache is not None else 0
        allowed = causal_mask(rows_BTD, past=past, seen_BT=seen_BT)
        turns = self.turns(first=past, count=rows_BTD.shape[1], device=rows_BTD.device)
        for number, block in enumerate(self.layers):
            if self.checkpointing and self.training and torch.is_grad_enabled():
                rows_BTD = checkpoint(block, rows_BTD, turns, allowed, None, number, use_reentrant=False)
            else:
                rows_BTD = block(rows_BTD, turns, allowed, cache, number)
        hidden: Tensor = self.norm(rows_BTD)
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
