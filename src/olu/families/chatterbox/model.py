"""T3, the transformer of Chatterbox, under the published names of its parameters: a Llama, or a GPT-2 (Turbo, Nano).

Shapes: B clips, K rows of the condition, T text ids, N codes, L rows in all, D wide, G of the speaker vector.

How it is spoken with, one row for each clip and, with guidance, a second one whose text is dropped:

    cache = Cache()
    heard = t3.condition(voices_BG, prompt_BN, emotion_B)         # [B, K, D]: speaker 1 | prompt 32 | emotion 1
    rows = t3.begun(heard, ids_BT, dropped_B)                     # [B, K + T + starts, D]
    logits_BV = t3.speech_head(t3.hidden(rows, cache=cache)[:, -1])
    rows = t3.speech_rows(code_B1, first=n)                       # the n-th code said, from 1: its place is n
    logits_BV = t3.speech_head(t3.hidden(rows, cache=cache)[:, -1])

`ids_BT` come with START and STOP where `config.text_bounds`; `begun` puts the start of speech behind the text, twice
where `config.start_twice`, always at place 0. The cache holds keys and values [B, H, P, D / H] for each block, keys
turned by their places already. A Llama's rows carry learned places of their kind (`text_pos_emb`, `speech_pos_emb`)
and RoPE turns by the place in the whole sequence; a GPT-2 adds `tfmr.wpe` by that place inside `hidden`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.chatterbox.config import ChatterboxConfig
from olu.nn.causal import Cache, Gpt2, Llama
from olu.nn.sequence import CODE, PROMPT, TEXT, Sequences

UNREAD = {"llama": 8, "gpt2": 50_276}  # rows of the table of words that no row of ours is looked up in
GPT2_PLACES = 8196


class T3(nn.Module):
    def __init__(self, config: ChatterboxConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.config, width = config, config.width
        sizes = {"layers": config.layers, "heads": config.heads}
        self.tfmr: Llama | Gpt2
        if config.backbone == "llama":
            self.tfmr = Llama(width, inner=config.inner, unread=UNREAD["llama"], **sizes)
        else:
            unread = UNREAD["gpt2"] if not config.small else 8
            self.tfmr = Gpt2(width, dropout=config.dropout, places=GPT2_PLACES, unread=unread, **sizes)
        self.cond_enc = ConditionEncoder(config)
        self.text_emb = nn.Embedding(vocab_size, width)
        self.speech_emb = nn.Embedding(config.speech_ids, width)
        if config.backbone == "llama":
            self.text_pos_emb = LearnedPlaces(config.text_places, width)
            self.speech_pos_emb = LearnedPlaces(config.code_places, width)
        self.text_head = nn.Linear(width, vocab_size, bias=False)
        self.speech_head = nn.Linear(width, config.speech_ids, bias=config.backbone == "gpt2")
        tables = [self.text_emb, self.speech_emb]
        if isinstance(self.tfmr, Gpt2) and self.tfmr.wpe is not None:
            tables.append(self.tfmr.wpe)  # places as loud as torch draws them would drown what stands there
        for table in tables:
            nn.init.normal_(table.weight, std=0.02)

    @property
    def learns_places(self) -> bool:
        return self.config.backbone == "llama"

    # ------------------------------------------------------------ rows

    def condition(
        self,
        voices_BG: Tensor,
        prompt_BN: Tensor | None = None,
        emotion_B: Tensor | None = None,
        *,
        prompt_lengths: Tensor | None = None,
    ) -> Tensor:
        """Rows [B, K, D] of a speaker vector, codes of a prompt, and how exaggerated to speak (none: 0.5).

        Prompts of several lengths are padded at their end. With a perceiver the padding is not heard; without one it
        makes rows after the prompt, which the caller leaves out.
        """
        emotion = emotion_B if emotion_B is not None else torch.full_like(voices_BG[:, 0], 0.5)
        prompt = None
        if prompt_BN is not None:
            prompt = self.speech_emb(prompt_BN)
            if self.learns_places:
                prompt = prompt + self.speech_pos_emb.emb.weight[: prompt_BN.shape[1]]
        rows: Tensor = self.cond_enc(voices_BG, prompt, emotion, prompt_lengths)
        return rows

    def text_rows(self, ids_BT: Tensor, dropped_B: Tensor | None = None) -> Tensor:
        """`dropped_B`: clips whose text is not heard; its places still are."""
        rows: Tensor = self.text_emb(ids_BT)
        if dropped_B is not None:
            rows = rows * (~dropped_B.bool())[:, None, None].to(rows.dtype)
        return rows + self.text_pos_emb.emb.weight[: ids_BT.shape[1]] if self.learns_places else rows

    def speech_rows(self, codes_BN: Tensor, *, first: int = 0) -> Tensor:
        """`first`: the place of the first of them; the start has place 0."""
        rows: Tensor = self.speech_emb(codes_BN)
        if self.learns_places:
            rows = rows + self.speech_pos_emb.emb.weight[first : first + codes_BN.shape[1]]
        return rows

    def begun(self, condition_BKD: Tensor, ids_BT: Tensor, dropped_B: Tensor | None = None) -> Tensor:
        """All rows before the first code."""
        start = torch.full_like(ids_BT[:, :1], self.config.start_code)
        starts = [self.speech_rows(start)] * self.config.starts
        return torch.cat([condition_BKD, self.text_rows(ids_BT, dropped_B), *starts], dim=1)

    def rows_of(self, condition_BKD: Tensor, sequences: Sequences, dropped_B: Tensor | None = None) -> Tensor:
        """Rows [B, L, D] of packed sequences. The condition is padded at its end, as far as the longest goes."""
        kinds = sequences.kind_BL
        text, code, prompt = (kinds == kind for kind in (TEXT, CODE, PROMPT))
        ids, places = sequences.id_BL, sequences.place_BL
        heard = text if dropped_B is None else text & ~dropped_B.bool()[:, None]
        rows = self.text_emb(ids * text) * heard[..., None] + self.speech_emb(ids * code) * code[..., None]
        if self.learns_places:
            rows = rows + self.text_pos_emb.emb(places * text) * text[..., None]
            rows = rows + self.speech_pos_emb.emb(places * code) * code[..., None]
        width = condition_BKD.shape[-1]
        chosen = condition_BKD.gather(1, (places * prompt)[..., None].expand(-1, -1, width)).to(rows.dtype)
        return torch.where(prompt[..., None], chosen, rows)

    # ------------------------------------------------------------ the transformer

    def hidden(self, rows_BLD: Tensor, *, cache: Cache | None = None) -> Tensor:
        """Rows through the transformer and its last norm: what both heads take."""
        made: Tensor = self.tfmr(rows_BLD, cache=cache)
        return made

    def forward(
        self, condition_BKD: Tensor, ids_BT: Tensor, codes_BN: Tensor, dropped_B: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Logits of the text [B, T, V] and of the speech [B, 1 + N, speech_ids], which begin with the last start's.

        Codes stand without their start and stop, all clips alike long.
        """
        begun = self.begun(condition_BKD, ids_BT, dropped_B)
        hidden = self.hidden(torch.cat([begun, self.speech_rows(codes_BN, first=1)], dim=1))
        k, t = condition_BKD.shape[1], ids_BT.shape[1]
        return self.text_head(hidden[:, k : k + t]), self.speech_head(hidden[:, begun.shape[1] - 1 :])


class LearnedPlaces(nn.Module):
    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.emb = nn.Embedding(places, width)
        nn.init.normal_(self.emb.weight, std=0.02)


# ---------------------------------------------------------------- what is heard of a speaker


class ConditionEncoder(nn.Module):
    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        self.spkr_enc = nn.Linear(config.voice_width, config.width)
        self.emotion_adv_fc = nn.Linear(1, config.width, bias=False) if config.emotion else None
        self.perceiver = PromptPerceiver(config) if config.prompt_rows else None

    def forward(
        self, voices_BG: Tensor, prompt_BND: Tensor | None, emotion_B: Tensor, prompt_lengths: Tensor | None
    ) -> Tensor:
        rows = [self.spkr_enc(voices_BG)[:, None]]
        if prompt_BND is not None:
            rows.append(self.perceiver(prompt_BND, prompt_lengths) if self.perceiver is not None else prompt_BND)
        if self.emotion_adv_fc is not None:
            rows.append(self.emotion_adv_fc(emotion_B[:, None, None].to(voices_BG.dtype)))
        return torch.cat(rows, dim=1)


class PromptPerceiver(nn.Module):
    """A prompt [B, N, D], however long, to a fixed number of rows: they look at it, then at themselves."""

    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        span = (3.0 / config.prompt_rows) ** 0.5
        self.pre_attention_query = nn.Parameter(torch.empty(1, config.prompt_rows, config.width).uniform_(-span, span))
        self.attn = PromptAttention(config.width, heads=config.perceiver_heads, dropout=config.perceiver_dropout)

    def forward(self, prompt_BND: Tensor, lengths: Tensor | None = None) -> Tensor:
        seen = None
        if lengths is not None:
            seen = torch.arange(prompt_BND.shape[1], device=prompt_BND.device)[None] < lengths[:, None]
        rows = self.pre_attention_query.expand(len(prompt_BND), -1, -1).to(prompt_BND.dtype)
        rows = self.attn(rows, prompt_BND, seen)
        looked: Tensor = self.attn(rows, rows)
        return looked


class PromptAttention(nn.Module):
    def __init__(self, width: int, *, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm = nn.LayerNorm(width)  # of both sides
        self.to_q, self.to_k, self.to_v, self.proj_out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, rows_BKD: Tensor, prompt_BND: Tensor, seen_BN: Tensor | None = None) -> Tensor:
        def apart(x: Tensor) -> Tensor:
            return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        mine, theirs = self.norm(rows_BKD), self.norm(prompt_BND)
        q, k, v = apart(self.to_q(mine)), apart(self.to_k(theirs)), apart(self.to_v(theirs))
        mask = None if seen_BN is None else seen_BN[:, None, None]
        heard = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.dropout if self.training else 0.0
        )
        added: Tensor = self.proj_out(heard.transpose(1, 2).flatten(2))
        return rows_BKD + added
