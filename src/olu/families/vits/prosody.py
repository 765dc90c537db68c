"""Pitch and voicing of frames, from the text alone: what a source needs to speak with.

Shape letters as in model.py; K knots of a token. The gradient stops at the input, as that of durations does.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from olu.families.vits.config import VitsConfig
from olu.nn.attention import RelativeAttention
from olu.nn.convnext import ConvNeXtBlock

KNOTS = 3  # of pitch, in each token: at 1/6, 1/2 and 5/6 of it
MIDDLE = 7.0  # log2 of hertz that knots begin at
UNVOICED = 0.1  # how much the pitch of a frame counts that has none, whose contour is a bridge
BESIDE = 2  # numbers of a frame beside its token's: place inside the token, log of the token's length


class TextMelody(nn.Module):
    def __init__(self, config: VitsConfig, *, cond: int) -> None:
        super().__init__()
        size, drop = config.hidden_size, config.pitch_dropout
        self.norm = nn.LayerNorm(size)
        self.attention = RelativeAttention(
            size, heads=config.num_attention_heads, window=config.window_size, dropout=drop
        )
        self.near = nn.ModuleList(ConvNeXtBlock(size, kernel=5, dropout=drop) for _ in range(2))
        self.knots = nn.Conv1d(size, KNOTS, 1)
        self.enter = nn.Conv1d(size + BESIDE, size, 1)
        self.blocks = nn.ModuleList(ConvNeXtBlock(size, dropout=drop) for _ in range(2))
        self.voicing = nn.Conv1d(size, 1, 1)
        nn.init.zeros_(self.knots.weight)
        if cond:
            self.cond = nn.Conv1d(cond, size, 1)

    def forward(
        self, hidden_BCT: Tensor, mask: Tensor, g: Tensor | None, path_BFT: Tensor, frame_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log2 of hertz and the logit of voicing, [B, F] each, where a path says which token each frame belongs to."""
        with torch.autocast(hidden_BCT.device.type, enabled=False):  # 8 bits of a pitch are a third of a semitone off
            return self._forward(hidden_BCT.detach().float(), mask, g, path_BFT, frame_mask)

    def _forward(
        self, x: Tensor, mask: Tensor, g: Tensor | None, path_BFT: Tensor, frame_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        if g is not None:
            x = x + self.cond(g.detach().float())
        far = x + self.attention(self.norm(x.transpose(1, 2)), mask).transpose(1, 2)
        for block in self.near:
            far = block(far, mask)
        durations_BT = path_BFT.sum(1)
        place_BF, length_BF = _places(durations_BT, path_BFT)
        contour = contour_of(MIDDLE + self.knots(far), durations_BT, path_BFT, place_BF)
        beside = torch.stack([place_BF / length_BF, torch.log(length_BF)], 1)
        frames = (path_BFT @ x.transpose(1, 2)).transpose(1, 2)
        y = self.enter(torch.cat([frames, beside], 1)) * frame_mask
        for block in self.blocks:
            y = block(y, frame_mask)
        return contour, self.voicing(y).squeeze(1)

    def loss(
        self,
        hidden_BCT: Tensor,
        mask: Tensor,
        g: Tensor | None,
        path_BFT: Tensor,
        frame_mask: Tensor,
        melody_B2F: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Semitones away from the pitch, and the cross entropy of the voicing, each summed over frames."""
        contour, logit = self(hidden_BCT, mask, g, path_BFT, frame_mask)
        inside, (wanted, voicing) = frame_mask.squeeze(1), melody_B2F.unbind(1)
        with torch.autocast(contour.device.type, enabled=False):
            counts = inside * (UNVOICED + (1 - UNVOICED) * voicing)
            pitch = 12 * (counts * (contour - wanted).abs()).sum()
            unsure = F.binary_cross_entropy_with_logits(logit, voicing, weight=inside, reduction="sum")
        return pitch, unsure


def _places(durations_BT: Tensor, path_BFT: Tensor) -> tuple[Tensor, Tensor]:
    """How far into its token each frame's centre lies, and how long the token is, both in frames, [B, F]."""
    starts = torch.cumsum(durations_BT, 1) - durations_BT
    start, length = (path_BFT @ torch.stack([starts, durations_BT], 2)).unbind(2)
    centre = torch.arange(path_BFT.shape[1], device=path_BFT.device) + 0.5
    return centre - start, length.clamp_min(1)  # a frame after the end has no token


def contour_of(knots_BKT: Tensor, durations_BT: Tensor, path_BFT: Tensor, place_BF: Tensor) -> Tensor:
    """A line through the knots [B, F]; before the first and after the last it is level.

    Written with products alone, so that a recorded step and a graph can hold it.
    """
    low, middle, high = knots_BKT.unbind(1)
    there = durations_BT > 0
    before = torch.cat([low[:, :1], high[:, :-1]], 1)
    follows = F.pad(there[:, 1:], (0, 1))
    after = torch.where(follows, F.pad(low[:, 1:], (0, 1)), high)
    left, right = F.pad(durations_BT[:, :-1], (1, 0)), F.pad(durations_BT[:, 1:], (0, 1))
    known = torch.stack([low, middle, high, before, after, durations_BT, left, right], 2)
    low, middle, high, before, after, own, left, right = (path_BFT @ known).unbind(2)
    own = own.clamp_min(1)
    at = KNOTS * place_BF / own - 0.5  # in knots: -0.5 at the token's start, 0 at its first knot
    from_left = torch.lerp(before, low, ((6 * place_BF + left) / (own + left)).clamp(0, 1))
    to_right = torch.lerp(high, after, ((6 * place_BF - 5 * own) / (own + right)).clamp(0, 1))
    inner = torch.where(at < 1, torch.lerp(low, middle, at.clamp(0, 1)), torch.lerp(middle, high, (at - 1).clamp(0, 1)))
    return torch.where(at < 0, from_left, torch.where(at > KNOTS - 1, to_right, inner))
