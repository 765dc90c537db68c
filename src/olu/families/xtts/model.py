"""The transformer of XTTS and what it hears a speaker with, under the published names of their parameters.

Shapes: B clips, K prompt rows, T text ids, N codes, F mel frames, D wide. Text goes in as START, ids, STOP; codes as
START, codes, stops: the caller puts them there.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.xtts.config import MELS, XttsConfig
from olu.families.xtts.decoder import WaveDecoder
from olu.families.xtts.speaker import SpeakerEncoder
from olu.nn.causal import Cache, Gpt2


class Xtts(nn.Module):
    """Everything in model.pth: 963 tensors at v2. A size with a table of speakers has no encoder of them."""

    def __init__(self, config: XttsConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.config = config
        self.mel_stats: Tensor
        self.register_buffer("mel_stats", torch.ones(MELS))
        self.gpt = Gpt(config, vocab_size=vocab_size)
        self.hifigan_decoder = SoundMaker(config)


class SoundMaker(nn.Module):
    """The decoder, and the encoder of speakers that it is told of them by."""

    def __init__(self, config: XttsConfig) -> None:
        super().__init__()
        self.waveform_decoder = WaveDecoder(config)
        if config.speakers == "encoder":
            self.speaker_encoder = SpeakerEncoder(config.speaker_width)


class Gpt(nn.Module):
    def __init__(self, config: XttsConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.conditioning_encoder = ConditioningEncoder(config)
        self.conditioning_perceiver = Perceiver(config)
        self.text_embedding = nn.Embedding(vocab_size, width)
        self.mel_embedding = nn.Embedding(config.codes + 2, width)
        self.gpt = Gpt2(width, layers=config.layers, heads=config.heads, dropout=config.dropout)
        self.text_pos_embedding = Positions(config.text_places, width)
        self.mel_pos_embedding = Positions(config.code_places, width)
        self.final_norm = nn.LayerNorm(width)
        self.text_head = nn.Linear(width, vocab_size)
        self.mel_head = nn.Linear(width, config.codes + 2)
        for table in (self.text_embedding, self.mel_embedding):
            nn.init.normal_(table.weight, std=0.02)

    def condition(self, mel_BMF: Tensor) -> Tensor:
        """Prompt rows [B, K, D] of scaled mels [B, 80, F] (`spectrum.prompt_mel`)."""
        rows: Tensor = self.conditioning_perceiver(self.conditioning_encoder(mel_BMF).transpose(1, 2))
        return rows

    def text_rows(self, ids_BT: Tensor) -> Tensor:
        return self.text_embedding(ids_BT) + self.text_pos_embedding(0, ids_BT.shape[1])

    def code_rows(self, codes_BN: Tensor, *, first: int = 0) -> Tensor:
        """`first`: the place of the first of them."""
        return self.mel_embedding(codes_BN) + self.mel_pos_embedding(first, codes_BN.shape[1])

    def latents(self, rows_BTD: Tensor, *, seen_BT: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """Rows through the transformer and both norms: what the heads and the decoder take."""
        normed: Tensor = self.final_norm(self.gpt(rows_BTD, seen_BT=seen_BT, cache=cache))
        return normed

    def forward(
        self,
        prompt_BKD: Tensor,
        ids_BT: Tensor,
        codes_BN: Tensor,
        *,
        text_lengths: Tensor | None = None,
        code_lengths: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the text [B, T, V], of the codes [B, N, codes + 2], and the latents of the codes [B, N, D].

        Lengths count what each clip has, with start and stops, and are given in training: then the last id of a text,
        its STOP, is hidden from what follows, as the published weights have learnt it. In speaking nothing is hidden.
        """
        seen = None
        if text_lengths is not None and code_lengths is not None:
            prompt = torch.ones(prompt_BKD.shape[:2], dtype=torch.bool, device=ids_BT.device)
            text = torch.arange(ids_BT.shape[1], device=ids_BT.device)[None] < text_lengths[:, None] - 1
            codes = torch.arange(codes_BN.shape[1], device=ids_BT.device)[None] < code_lengths[:, None]
            seen = torch.cat([prompt, text, codes], dim=1)
        rows = torch.cat([prompt_BKD, self.text_rows(ids_BT), self.code_rows(codes_BN)], dim=1)
        latents = self.latents(rows, seen_BT=seen)
        text_latents, code_latents = latents[:, prompt_BKD.shape[1] :].split([ids_BT.shape[1], codes_BN.shape[1]], 1)
        return self.text_head(text_latents), self.mel_head(code_latents), code_latents


class Positions(nn.Module):
    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.emb = nn.Embedding(places, width)
        nn.init.normal_(self.emb.weight, std=0.02)

    def forward(self, first: int, count: int) -> Tensor:
        return self.emb.weight[first : first + count]


# ---------------------------------------------------------------- what is heard of a speaker


class ConditioningEncoder(nn.Module):
    """Mel frames look at each other: [B, 80, F] -> [B, D, F]."""

    def __init__(self, config: XttsConfig) -> None:
        super().__init__()
        self.init = nn.Conv1d(MELS, config.width, 1)
        self.attn = nn.Sequential(
            *(FrameAttention(config.width, heads=config.heads) for _ in range(config.conditioning_layers))
        )

    def forward(self, mel_BMF: Tensor) -> Tensor:
        heard: Tensor = self.attn(self.init(mel_BMF))
        return heard


class FrameAttention(nn.Module):
    """Attention over frames; what it adds to is the normalised input."""

    def __init__(self, width: int, *, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(_groups(width), width)
        self.qkv = nn.Conv1d(width, 3 * width, 1)
        self.proj_out = nn.Conv1d(width, width, 1)
        nn.init.zeros_(self.proj_out.weight)
        nn.init.zeros_(self.proj_out.bias)  # type: ignore[arg-type]

    def forward(self, x_BDF: Tensor) -> Tensor:
        b, d, f = x_BDF.shape
        normed = F.group_norm(x_BDF.float(), self.norm.num_groups, self.norm.weight.float(), self.norm.bias.float()).to(
            x_BDF.dtype
        )
        rows = self.qkv(normed).view(b, self.heads, 3, d // self.heads, f).transpose(3, 4).contiguous()
        q, k, v = rows.unbind(2)  # fast kernels want the channels of a row side by side
        heard = F.scaled_dot_product_attention(q, k, v)
        added: Tensor = self.proj_out(heard.transpose(2, 3).reshape(b, d, f))
        return normed + added


def _groups(width: int) -> int:
    """As many groups of channels as the published networks of this width have."""
    groups = 8 if width <= 16 else 16 if width <= 64 else 32
    while width % groups:
        groups //= 2
    return groups


class Perceiver(nn.Module):
    """Frames [B, F, D], however many, to K rows [B, K, D] of a fixed length."""

    def __init__(self, config: XttsConfig) -> None:
        super().__init__()
        width, inner = config.width, int(config.width * 4 * 2 / 3)
        self.latents = nn.Parameter(torch.randn(config.prompt_rows, width) * 0.02)
        self.layers = nn.ModuleList(
            nn.ModuleList(
                [
                    PerceiverAttention(width, heads=config.perceiver_heads, head_width=config.perceiver_head_width),
                    nn.Sequential(nn.Linear(width, 2 * inner), GatedGelu(), nn.Linear(inner, width)),
                ]
            )
            for _ in range(config.perceiver_layers)
        )
        self.norm = UnitNorm(width)

    def forward(self, frames_BFD: Tensor) -> Tensor:
        rows = self.latents.expand(len(frames_BFD), -1, -1)
        for attention, mlp in self.layers:  # type: ignore[misc]
            rows = rows + attention(rows, frames_BFD)
            rows = rows + mlp(rows)
        normed: Tensor = self.norm(rows)
        return normed


class PerceiverAttention(nn.Module):
    """Rows look at themselves and at the frames; nothing is normed before."""

    def __init__(self, width: int, *, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads, inner = heads, heads * head_width
        self.to_q = nn.Linear(width, inner, bias=False)
        self.to_kv = nn.Linear(width, 2 * inner, bias=False)
        self.to_out = nn.Linear(inner, width, bias=False)

    def forward(self, rows_BKD: Tensor, frames_BFD: Tensor) -> Tensor:
        def apart(x: Tensor) -> Tensor:
            return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        k, v = self.to_kv(torch.cat([rows_BKD, frames_BFD], dim=1)).chunk(2, dim=-1)
        heard = F.scaled_dot_product_attention(apart(self.to_q(rows_BKD)), apart(k), apart(v))
        mixed: Tensor = self.to_out(heard.transpose(1, 2).flatten(2))
        return mixed


class GatedGelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        value, gate = x.chunk(2, dim=-1)
        return value * F.gelu(gate)


class UnitNorm(nn.Module):
    """Rows at the length of the root of their width, then scaled."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x.float(), dim=-1).to(x.dtype) * x.shape[-1] ** 0.5 * self.gamma
