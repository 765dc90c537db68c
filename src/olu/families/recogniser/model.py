"""The network that hears: two convolutions over time and pitch, blocks of attention and convolution, a symbol a frame.

Shapes: B clips, F mel frames, M mel bins, T frames after subsampling, D width, H heads, V symbols. Nothing of a clip
depends on the padding beside it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as fn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from olu.families.recogniser.config import RecogniserConfig

ROTATION = 10_000.0


class RecogniserNetwork(nn.Module):
    def __init__(self, config: RecogniserConfig, *, vocab_size: int) -> None:
        super().__init__()
        c = self.config = config
        self.front = Front(c)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.blocks))
        self.recurrent = Recurrent(c) if c.recurrent else None
        self.norm = nn.LayerNorm(c.width)
        self.head = nn.Linear(c.width, vocab_size)
        nn.init.zeros_(self.head.bias)

    def forward(self, mel_BFM: Tensor, frames: list[int]) -> tuple[Tensor, Tensor | None, list[int]]:
        """Log probabilities at the end and halfway [B, T, V], and how many frames of each clip count."""
        x, sizes = self.front(mel_BFM, frames)
        inside_BT = mask_of(sizes, x.shape[1], x.device)
        turn = rotation(x.shape[1], self.config, x.device) if self.config.heads else None
        halfway, middle = None, len(self.blocks) // 2
        for number, block in enumerate(self.blocks, 1):
            x = block(x, inside_BT, turn)
            if number == middle and self.training and self.config.inter_weight:
                halfway = self.written(x)
        if self.recurrent is not None:
            x = self.recurrent(x, sizes)
        return self.written(x), halfway, sizes

    def written(self, x_BTD: Tensor) -> Tensor:
        return fn.log_softmax(self.head(self.norm(x_BTD)).float(), dim=-1)


class Front(nn.Module):
    """Each frame that comes out lies in the middle of the mel frames it stands for."""

    def __init__(self, c: RecogniserConfig) -> None:
        super().__init__()
        second = c.subsample // 2
        self.first = nn.Conv2d(1, c.channels, (4, 3), stride=(2, 2), padding=(1, 1))
        self.second = nn.Conv2d(
            c.channels, c.channels, (4 if second == 2 else 3, 3), stride=(second, 2), padding=(1, 1)
        )
        self.out = nn.Linear(c.channels * (c.mel_bins // 4), c.width)
        self.drop = nn.Dropout(c.dropout)

    def forward(self, mel_BFM: Tensor, frames: list[int]) -> tuple[Tensor, list[int]]:
        short = 4 - mel_BFM.shape[1]
        x = fn.pad(mel_BFM, (0, 0, 0, short)) if short > 0 else mel_BFM
        x = fn.gelu(self.first(x.unsqueeze(1)))
        sizes = [count // 2 for count in frames]
        x = x * mask_of(sizes, x.shape[2], x.device)[:, None, :, None]
        x = fn.gelu(self.second(x))
        sizes = [count // self.second.stride[0] for count in sizes]
        x = x.transpose(1, 2).flatten(2)
        return self.drop(self.out(x)), sizes


class Block(nn.Module):
    def __init__(self, c: RecogniserConfig) -> None:
        super().__init__()
        self.before, self.after = ConformerFeedForward(c), ConformerFeedForward(c)
        self.attention = Attention(c) if c.heads else None
        self.convolution = Convolution(c)
        self.norm = nn.LayerNorm(c.width)
        self.drop_path = c.drop_path

    def forward(self, x: Tensor, inside_BT: Tensor, turn: tuple[Tensor, Tensor] | None) -> Tensor:
        x = x + self._kept(0.5 * self.before(x))
        if self.attention is not None and turn is not None:
            x = x + self._kept(self.attention(x, inside_BT, turn))
        x = x + self._kept(self.convolution(x, inside_BT))
        x = x + self._kept(0.5 * self.after(x))
        normed: Tensor = self.norm(x)
        return normed

    def _kept(self, x: Tensor) -> Tensor:
        if not self.training or not self.drop_path:
            return x
        stays = torch.rand(len(x), 1, 1, device=x.device) >= self.drop_path
        return x * (stays / (1 - self.drop_path)).to(x.dtype)


class ConformerFeedForward(nn.Sequential):
    def __init__(self, c: RecogniserConfig) -> None:
        super().__init__(
            nn.LayerNorm(c.width),
            nn.Linear(c.width, c.feed_forward),
            nn.SiLU(),
            nn.Dropout(c.dropout),
            nn.Linear(c.feed_forward, c.width),
            nn.Dropout(c.dropout),
        )


class Attention(nn.Module):
    def __init__(self, c: RecogniserConfig) -> None:
        super().__init__()
        self.heads, self.dropout = c.heads, c.dropout
        self.norm = nn.LayerNorm(c.width)
        self.inner = nn.Linear(c.width, 3 * c.width)
        self.out = nn.Linear(c.width, c.width)
        self.drop = nn.Dropout(c.dropout)

    def forward(self, x_BTD: Tensor, inside_BT: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        inner = self.inner(self.norm(x_BTD)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = turned(inner[:2], turn).unbind(0)
        heard = fn.scaled_dot_product_attention(
            q, k, inner[2], attn_mask=inside_BT[:, None, None, :], dropout_p=self.dropout if self.training else 0.0
        )
        out: Tensor = self.drop(self.out(heard.transpose(1, 2).flatten(2)))
        return out


class Convolution(nn.Module):
    def __init__(self, c: RecogniserConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(c.width)
        self.gate = nn.Linear(c.width, 2 * c.width)
        self.along = nn.Conv1d(c.width, c.width, c.kernel, padding=c.kernel // 2, groups=c.width)
        self.middle = nn.LayerNorm(c.width)
        self.out = nn.Linear(c.width, c.width)
        self.drop = nn.Dropout(c.dropout)

    def forward(self, x_BTD: Tensor, inside_BT: Tensor) -> Tensor:
        x = fn.glu(self.gate(self.norm(x_BTD)), dim=-1) * inside_BT.unsqueeze(2)
        x = self.along(x.transpose(1, 2)).transpose(1, 2)
        out: Tensor = self.drop(self.out(fn.silu(self.middle(x))))
        return out


class Recurrent(nn.Module):
    def __init__(self, c: RecogniserConfig) -> None:
        super().__init__()
        self.drop = nn.Dropout(c.dropout)
        between = c.dropout if c.recurrent > 1 else 0.0
        self.gru = nn.GRU(c.width, c.width, c.recurrent, batch_first=True, bidirectional=True, dropout=between)
        self.out = nn.Linear(2 * c.width, c.width)

    def forward(self, x_BTD: Tensor, sizes: list[int]) -> Tensor:
        some = [max(1, size) for size in sizes]
        packed = pack_padded_sequence(x_BTD.float(), torch.tensor(some), batch_first=True, enforce_sorted=False)
        heard, _ = pad_packed_sequence(self._run(packed), batch_first=True, total_length=x_BTD.shape[1])
        out: Tensor = x_BTD + self.out(self.drop(heard))
        return out

    def _run(self, packed: PackedSequence) -> PackedSequence:
        with torch.autocast(packed.data.device.type, enabled=False):  # in bf16 the fast kernels are not used
            heard: PackedSequence = self.gru(packed)[0]
        return heard


def mask_of(sizes: list[int], length: int, device: torch.device) -> Tensor:
    """True where a clip is, [B, length]."""
    return torch.arange(length, device=device) < torch.tensor(sizes, device=device).clamp_min(1).unsqueeze(1)


def rotation(length: int, c: RecogniserConfig, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosine and sine by which queries and keys are turned, so that attention knows how far apart two frames are."""
    half = c.width // c.heads // 2
    speed = ROTATION ** (-torch.arange(half, device=device) / half)
    angle = torch.arange(length, device=device)[:, None] * speed
    return angle.cos(), angle.sin()


def turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = (one.to(x.dtype) for one in turn)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
