"""The S3 tokenizer (version 2): 25 codes a second of sound at 16,000 Hz, each eight digits of three levels.

Shapes: S samples, M mels, F frames, N codes, D wide, Q digits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.core.errors import OluError
from olu.families.chatterbox.codec.mels import FFT, bank, token_mel
from olu.families.chatterbox.config import CODE_SAMPLES, RATE, ChatterboxConfig
from olu.nn.causal import RopeScale, rope_speeds, rope_turned, rope_turns

HEARD_BACK = 31  # codes around one that its memory mixes
NEARLY = 0.9990000128746033  # so that no digit is rounded beyond its levels
MOST_SECONDS = 30  # beyond, the published program cuts and joins: such clips are refused
PLAIN = RopeScale(theta=10_000.0, factor=1.0)


def code_count(samples: int) -> int:
    """Codes of a clip: one for every four frames begun, of whole frames of 160 samples."""
    return -(-(samples // (CODE_SAMPLES // 4)) // 4)


class S3Tokenizer(nn.Module):
    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        self.encoder = TokenEncoder(config)
        self.quantizer = Quantizer(config)
        self._mel_filters: Tensor
        self.register_buffer("_mel_filters", bank(config.s3_mels))
        self.register_buffer("window", torch.hann_window(FFT), persistent=config.meanflow)  # that file alone has it

    @torch.no_grad()
    def codes(self, wave_S: Tensor) -> Tensor:
        """[N] of one clip."""
        if not FFT // 2 < len(wave_S) <= MOST_SECONDS * RATE:
            seconds = len(wave_S) / RATE
            raise OluError(f"{seconds:.2f} s: codes are made of clips between {FFT / 2 / RATE} and {MOST_SECONDS} s")
        with torch.autocast(wave_S.device.type, enabled=False):  # in bf16 some would be others
            mel = token_mel(wave_S.float(), self._mel_filters)
            made: Tensor = self.quantizer.codes(self.encoder(mel[None]))[0]
        return made

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name in ("_mel_filters", "window"):  # nothing was learnt in them, and some files leave them out
            state_dict.pop(prefix + name, None)
            if name not in self._non_persistent_buffers_set:
                state_dict[prefix + name] = self._buffers[name]
        super()._load_from_state_dict(state_dict, prefix, *rest)


class TokenEncoder(nn.Module):
    """Mels [B, M, F] to rows [B, N, D]."""

    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        width = config.s3_width
        self.conv1 = nn.Conv1d(config.s3_mels, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(TokenBlock(width, heads=config.s3_heads) for _ in range(config.s3_layers))
        self.head_width = width // config.s3_heads

    def forward(self, mel_BMF: Tensor) -> Tensor:
        rows = F.gelu(self.conv2(F.gelu(self.conv1(mel_BMF)))).transpose(1, 2)
        turns = rope_turns(rope_speeds(self.head_width, PLAIN).to(rows.device), first=0, count=rows.shape[1])
        for block in self.blocks:
            rows = block(rows, turns)
        return rows


class TokenBlock(nn.Module):
    def __init__(self, width: int, *, heads: int) -> None:
        super().__init__()
        self.attn = MemoryAttention(width, heads=heads)
        self.attn_ln, self.mlp_ln = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, rows_BND: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
        rows_BND = rows_BND + self.attn(self.attn_ln(rows_BND), turns)
        mixed: Tensor = rows_BND + self.mlp(self.mlp_ln(rows_BND))
        return mixed


class MemoryAttention(nn.Module):
    """Attention both ways, and beside it a memory: the values around a row, mixed by a convolution (FSMN)."""

    def __init__(self, width: int, *, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.value, self.out = (nn.Linear(width, width) for _ in range(3))
        self.key = nn.Linear(width, width, bias=False)
        self.fsmn_block = nn.Conv1d(width, width, HEARD_BACK, padding=HEARD_BACK // 2, groups=width, bias=False)

    def forward(self, rows_BND: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
        def apart(x: Tensor) -> Tensor:
            return x.view(*x.shape[:-1], self.heads, -1).transpose(1, 2)

        q, k = (rope_turned(apart(layer(rows_BND)), turns) for layer in (self.query, self.key))
        value = self.value(rows_BND)
        memory = self.fsmn_block(value.transpose(1, 2)).transpose(1, 2) + value
        heard = F.scaled_dot_product_attention(q, k, apart(value))
        mixed: Tensor = self.out(heard.transpose(1, 2).flatten(2)) + memory
        return mixed


class Quantizer(nn.Module):
    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        self._codebook = DigitCodebook(config.s3_width, digits=config.code_digits)

    def codes(self, rows_BND: Tensor) -> Tensor:
        made: Tensor = self._codebook(rows_BND)
        return made


class DigitCodebook(nn.Module):
    def __init__(self, width: int, *, digits: int) -> None:
        super().__init__()
        self.project_down = nn.Linear(width, digits)

    def before_rounding(self, rows_BND: Tensor) -> Tensor:
        """[B, N, Q] between -1 and 1."""
        digits: Tensor = self.project_down(rows_BND).float().tanh() * NEARLY
        return digits

    def forward(self, rows_BND: Tensor) -> Tensor:
        digits = self.before_rounding(rows_BND).round().long() + 1
        places = 3 ** torch.arange(digits.shape[-1], device=digits.device)
        return (digits * places).sum(-1)
