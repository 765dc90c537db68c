"""Heads of T3 that walk through the text while it speaks: found on clips whose codes are known, kept in a voice.

They tell when the end of a text is reached, and when each word is heard. Shapes: H heads, N codes, T tokens, D wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from olu.families.chatterbox.model import T3
from olu.nn.causal import Llama, rope_speeds
from olu.speak.engines.following import glances, ways_of

MOST_HEADS = 3
LEAST_SCORE = 0.6  # of a head that is followed; 1: it glances once at each token, and at nothing else of the text
SPARED = 0.25  # of the tokens, which need no glance
FAINTEST = 0.05  # of all that a head looks at: a glance below that is none
TAIL, LINGER, PATIENCE = 3, 20, 1.5

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KnownClip:
    """Ids with all that stands around them, and what was said of them."""

    condition_KD: Tensor
    ids_T: Tensor
    codes_N: Tensor
    bounded: bool = True  # the first and the last id are the bounds of a text


@dataclass(frozen=True)
class FoundHead:
    layer: int
    head: int
    score: float
    loud: float  # what it gives a token at a glance, of all it looks at


@torch.no_grad()
def looks(t3: T3, clip: KnownClip) -> list[Tensor]:
    """Of each layer [H, N + 1, T]: how much the row that each code is drawn from looks at each token, and that of the
    stop."""
    begun = t3.begun(clip.condition_KD[None], clip.ids_T[None])
    rows = torch.cat([begun, t3.speech_rows(clip.codes_N[None], first=1)], dim=1)
    first, tokens, speech = len(clip.condition_KD), len(clip.ids_T), begun.shape[1] - 1
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


def scores_of(looks_HNT: Floats, louds_H: Floats) -> Floats:
    """[H] from 0 to 1: how whole and how sharp the glances at the tokens are on the way through the text.

    A quarter of the tokens may go without one: tags, spaces and signs are said by nobody.
    """
    glanced = glances(looks_HNT, louds_H[:, None])
    ways, tokens = ways_of(glanced), glanced.shape[2]
    on_way = glanced * (ways[..., None] == np.arange(tokens))
    best = np.sort(on_way.max(1), axis=1)
    return np.asarray(best[:, math.ceil(SPARED * tokens) :].mean(1))


def louds_of(looks_HNT: Floats) -> Floats:
    """[H]: the share that a head gives a token where it glances at one."""
    peaks = np.sort(looks_HNT.max(2), axis=1)[:, -looks_HNT.shape[2] :]
    return np.asarray(np.median(peaks, axis=1))


def found_heads(t3: T3, clips: Sequence[KnownClip]) -> list[FoundHead]:
    """The best first; none where no head walks well enough."""
    usable = [clip for clip in clips if len(clip.codes_N) >= 4 and len(clip.ids_T) >= 4]
    if not usable:
        return []
    seen = []
    for clip in usable:
        layers = torch.stack(looks(t3, clip)).flatten(0, 1).double().cpu().numpy()
        seen.append(layers[..., 1:-1] if clip.bounded else layers)
    louds = np.maximum(FAINTEST, np.mean([louds_of(one) for one in seen], axis=0))
    scores = np.mean([scores_of(one, louds) for one in seen], axis=0)
    heads = t3.config.heads
    order = np.argsort(-scores)[:MOST_HEADS].tolist()
    best = [FoundHead(at // heads, at % heads, float(scores[at]), float(louds[at])) for at in order]
    return [one for one in best if one.score >= LEAST_SCORE]


def follow_rules(t3: T3, clips: Sequence[KnownClip]) -> dict[str, Any] | None:
    """What voice.json says of the heads; nothing where there are none to follow."""
    heads = found_heads(t3, clips)
    if not heads:
        return None
    speeds: list[float] = []
    if isinstance(t3.tfmr, Llama):
        speeds = rope_speeds(t3.tfmr.head_width, t3.tfmr.scale).double().tolist()
    return {
        "heads": [[one.layer, one.head] for one in heads],
        "scores": [round(one.score, 3) for one in heads],
        "louds": [round(one.loud, 4) for one in heads],
        "speeds": speeds,
        "tail": TAIL,
        "linger": LINGER,
        "patience": PATIENCE,
    }
