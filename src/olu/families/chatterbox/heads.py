"""Heads of T3 that walk through the text while it speaks: found on clips whose codes are known, kept in a voice.

They tell when the end of a text is reached, and when each word is heard. Shapes: H heads, N codes, T tokens, D wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from olu.families.chatterbox.model import T3
from olu.nn.causal import Llama, rope_speeds

MOST_HEADS = 3
LEAST_SCORE = 0.6  # of a head that is followed; 1: all of its look is on the text, and walks through it evenly
TAIL, LINGER, PATIENCE = 3, 20, 1.5


@dataclass(frozen=True)
class KnownClip:
    """Ids with all that stands around them, and what was said of them."""

    condition_KD: Tensor
    ids_T: Tensor
    codes_N: Tensor
    bounded: bool = True  # the first and the last id are the bounds of a text


@torch.no_grad()
def looks(t3: T3, clip: KnownClip) -> list[Tensor]:
    """Of each layer [H, N, T]: how much the row of each code looks at each token."""
    begun = t3.begun(clip.condition_KD[None], clip.ids_T[None])
    rows = torch.cat([begun, t3.speech_rows(clip.codes_N[None], first=1)], dim=1)
    first, tokens, speech = len(clip.condition_KD), len(clip.ids_T), begun.shape[1]
    body, found = t3.tfmr, list[Tensor]()
    blocks: Any = body.layers if isinstance(body, Llama) else body.h
    turns = None
    if isinstance(body, Llama):
        turns = body.turns(first=0, count=rows.shape[1], device=rows.device)
    elif body.wpe is not None:
        rows = rows + body.wpe.weight[: rows.shape[1]]
    earlier = torch.ones(rows.shape[1], rows.shape[1], dtype=torch.bool, device=rows.device).tril()
    for number, block in enumerate(blocks):
        if turns is not None:
            q, k, _ = block.self_attn.heard_with(block.input_layernorm(rows), turns)
        else:
            heads = block.attn.heads
            parts = block.attn.c_attn(block.ln_1(rows)).chunk(3, dim=-1)[:2]
            q, k = (one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in parts)
        scores = (q[0, :, speech:] @ k[0].transpose(1, 2)) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~earlier[speech:], -torch.inf)
        found.append(scores.softmax(-1)[:, :, first : first + tokens])
        rows = block(rows, turns, None, None, number) if turns is not None else block(rows, None, None, number)
    return found


def walk_score(look_HNT: Tensor) -> Tensor:
    """[H] from 0 to 1: how much of a look is on the text, times how well its place goes with time."""
    on_text = look_HNT.sum(-1)
    shares = look_HNT / on_text.clamp(min=1e-9)[..., None]
    place = shares @ torch.arange(look_HNT.shape[-1], dtype=look_HNT.dtype, device=look_HNT.device)
    time = torch.arange(look_HNT.shape[1], dtype=look_HNT.dtype, device=look_HNT.device)
    place, time = place - place.mean(1, keepdim=True), time - time.mean()
    spread = place.square().sum(1).sqrt() * time.square().sum().sqrt()
    together = (place @ time) / spread.clamp(min=1e-9)
    sharp = shares.max(-1).values.mean(1)
    even = 1.0 / look_HNT.shape[-1]
    return together.clamp(min=0) * ((sharp - even) / (1 - even)).clamp(0, 1).sqrt() * on_text.mean(1).sqrt()


def found_heads(t3: T3, clips: Sequence[KnownClip]) -> list[tuple[int, int, float]]:
    """(layer, head, score), the best first; none where no head walks well enough."""
    usable = [clip for clip in clips if len(clip.codes_N) >= 4 and len(clip.ids_T) >= 4]
    if not usable:
        return []
    inside = {True: slice(1, -1), False: slice(None)}
    scores = torch.stack(
        [torch.stack([walk_score(one[..., inside[clip.bounded]]) for one in looks(t3, clip)]) for clip in usable]
    ).mean(0)
    order = scores.flatten().argsort(descending=True)[:MOST_HEADS].tolist()
    heads = scores.shape[1]
    best = [(at // heads, at % heads, float(scores.flatten()[at])) for at in order]
    return [one for one in best if one[2] >= LEAST_SCORE]


def follow_rules(t3: T3, clips: Sequence[KnownClip]) -> dict[str, Any] | None:
    """What voice.json says of the heads; nothing where there are none to follow."""
    heads = found_heads(t3, clips)
    if not heads:
        return None
    speeds: list[float] = []
    if isinstance(t3.tfmr, Llama):
        speeds = rope_speeds(t3.tfmr.head_width, t3.tfmr.scale).double().tolist()
    held = [[layer, head] for layer, head, _ in heads]
    scores = [round(score, 3) for _, _, score in heads]
    return {"heads": held, "scores": scores, "speeds": speeds, "tail": TAIL, "linger": LINGER, "patience": PATIENCE}
