"""The networks: tokens to durations, pitch and a mean mel, and a refiner of that mel by flow matching.

Shape letters: B clips, T tokens, F frames, C channels, M mel bins, K channels of `states`.
Masks are [B, 1, T] or [B, 1, F] of ones and zeros. Mels are scaled here, as `scaled` does; pitch is in semitones from
the speaker's median. Everything over frames is local: no clip's mel depends on its length or on its neighbours.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from olu.families.acoustic.config import AcousticConfig
from olu.nn.attention import RelativeAttention
from olu.nn.convnext import ConvNeXtBlock
from olu.nn.precision import widened
from olu.text.vocabulary import TONES

MEL_BINS = 80
KNOTS = 3  # of pitch, in each token: at 1/6, 1/2 and 5/6 of it
BESIDE = 3  # channels beside the text's: pitch, place inside the token, length of the token
SINES, TIME = 128, 64  # of the time of the flow
LEAST_NOISE = 1e-4  # what is left of the noise at the end of the flow
MOST_LOG_FRAMES = 6.0


def mask_of(lengths_B: Tensor, size: int) -> Tensor:
    return (torch.arange(size, device=lengths_B.device)[None] < lengths_B[:, None]).float().unsqueeze(1)


def scaled(mel: Tensor) -> Tensor:
    """A plain log mel in the units of the networks, always the same ones."""
    return (mel + 5.0) / 2.5


def unscaled(mel: Tensor) -> Tensor:
    return mel * 2.5 - 5.0


# ---------------------------------------------------------------- text


class Phrase(nn.Module):
    """Attention over all tokens, then those nearby."""

    def __init__(self, config: AcousticConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.attention = RelativeAttention(
            config.width, heads=config.heads, window=config.window, dropout=config.prosody_dropout
        )
        self.near = ConvNeXtBlock(config.width, kernel=config.kernel, dropout=config.prosody_dropout)

    def forward(self, hidden_BCT: Tensor, mask: Tensor) -> Tensor:
        heard = self.attention(self.norm(hidden_BCT.transpose(1, 2)), mask)
        return self.near(hidden_BCT + heard.transpose(1, 2) * mask, mask)  # type: ignore[no-any-return]


class Head(nn.Module):
    """Two convolutions over tokens, then so many numbers of each."""

    def __init__(self, config: AcousticConfig, *, numbers: int) -> None:
        super().__init__()
        kernel, width = config.head_kernel, config.width
        self.convs = nn.ModuleList(nn.Conv1d(width, width, kernel, padding=kernel // 2) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.dropout = nn.Dropout(config.prosody_dropout)
        self.out = nn.Conv1d(width, numbers, 1)
        nn.init.normal_(self.out.weight, 0.0, 0.01)

    def forward(self, hidden_BCT: Tensor, mask: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.norms, strict=True):
            hidden_BCT = norm(F.relu(conv(hidden_BCT * mask)).transpose(1, 2)).transpose(1, 2)
            hidden_BCT = self.dropout(hidden_BCT)
        return self.out(hidden_BCT * mask).float()  # type: ignore[no-any-return]


class TextSide(nn.Module):
    """Tokens as vectors: near ones for the mel, the whole phrase for durations, pauses and pitch.

    The phrase learns from the near vectors and does not shape them: a mel that knew it would be learnt by heart.
    """

    def __init__(self, config: AcousticConfig, *, vocab_size: int, num_speakers: int) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.symbols = nn.Embedding(vocab_size, width)
        self.tones = nn.Embedding(len(TONES) + 1, width)
        self.stress = nn.Embedding(2, width)
        for table, spread in ((self.symbols, 0.3), (self.tones, 0.1), (self.stress, 0.1)):
            nn.init.normal_(table.weight, 0.0, spread)
        if num_speakers > 1:
            self.speakers = nn.Embedding(num_speakers, width)
            nn.init.normal_(self.speakers.weight, 0.0, 0.1)
        self.near = nn.ModuleList(
            ConvNeXtBlock(width, widening=3, kernel=kernel, dropout=config.dropout) for kernel in config.near_kernels
        )
        self.phrase = nn.ModuleList(Phrase(config) for _ in range(config.phrase_layers))
        self.durations = Head(config, numbers=2)
        self.pitch = Head(config, numbers=KNOTS)

    def forward(
        self,
        ids_BT: Tensor,
        tones_BT: Tensor,
        stress_BT: Tensor,
        mask: Tensor,
        speaker_B: Tensor | None = None,
        language_BT: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Hidden [B, C, T] for the mel, log frames and a logit of a pause [B, T], knots [B, T, 3].

        A language is a symbol too, whose vector all tokens of its texts have; id 0 is none.
        """
        symbols = self.symbols(ids_BT)
        if self.training and self.config.symbol_dropout:
            kept = torch.rand(ids_BT.shape, device=ids_BT.device) >= self.config.symbol_dropout
            symbols = symbols * kept.unsqueeze(-1)
        hidden = (symbols + self.tones(tones_BT) + self.stress(stress_BT)).transpose(1, 2)
        if language_BT is not None:
            hidden = hidden + (self.symbols(language_BT) * (language_BT > 0).unsqueeze(-1)).transpose(1, 2)
        if speaker_B is not None and hasattr(self, "speakers"):
            hidden = hidden + self.speakers(speaker_B).unsqueeze(-1)
        for block in self.near:
            hidden = block(hidden, mask)
        far = hidden.detach()
        for layer in self.phrase:
            far = layer(far, mask)
        log_frames, pause = self.durations(far, mask).unbind(1)
        knots = self.pitch(far, mask).transpose(1, 2)
        return (hidden + far if self.config.phrase_mel else hidden) * mask, log_frames + 1.5, pause, knots


# ---------------------------------------------------------------- from tokens to frames


def contour_of(knots_BTK: Tensor, valid_BTK: Tensor, durations_BT: Tensor, size: int) -> Tensor:
    """A line [B, size] through the knots that are valid, in straight pieces; 0 where none is.

    Knots lie evenly inside their tokens: three of them at 1/6, 1/2 and 5/6.
    """
    b, t, k = knots_BTK.shape
    ends = durations_BT.cumsum(1)
    inside = (torch.arange(k, device=ends.device) + 0.5) / k
    starts = (ends - durations_BT).unsqueeze(-1)
    places = (starts + durations_BT.unsqueeze(-1) * inside).reshape(b, t * k).float()
    valid = (valid_BTK & (durations_BT > 0).unsqueeze(-1)).reshape(b, t * k)
    number = torch.arange(t * k, device=ends.device).expand(b, -1)
    before = number.masked_fill(~valid, -1).cummax(1).values
    after = number.masked_fill(~valid, t * k).flip(1).cummin(1).values.flip(1)
    before = F.pad(before, (1, 0), value=-1)  # by how many knots lie at or before a frame
    after = F.pad(after, (0, 1), value=t * k)
    centres = torch.arange(size, device=ends.device).expand(b, -1) + 0.5
    passed = torch.searchsorted(places.contiguous(), centres.contiguous(), right=True)
    left, right = before.gather(1, passed), after.gather(1, passed)
    left, right = torch.where(left < 0, right, left), torch.where(right >= t * k, left, right)
    none = (left < 0) | (left >= t * k)
    left, right = left.clamp(0, t * k - 1), right.clamp(0, t * k - 1)
    knots = knots_BTK.reshape(b, t * k)
    at_left, at_right = places.gather(1, left), places.gather(1, right)
    share = ((centres - at_left) / (at_right - at_left).clamp_min(1e-6)).clamp(0, 1)
    low, high = knots.gather(1, left), knots.gather(1, right)
    return (low + share * (high - low)).masked_fill(none, 0.0)


def knots_of(pitch_BF: Tensor, voiced_BF: Tensor, durations_BT: Tensor) -> tuple[Tensor, Tensor]:
    """The mean pitch of the voiced frames in each third of a token, and how many they are; both [B, T, 3]."""
    ends = durations_BT.cumsum(1)
    starts, third = ends - durations_BT, torch.arange(KNOTS + 1, device=ends.device)
    # the first frame whose centre lies in a third: ceil(d k / 3 - 1/2)
    first = (2 * durations_BT.unsqueeze(-1) * third + KNOTS - 1).div(2 * KNOTS, rounding_mode="floor")
    first = (starts.unsqueeze(-1) + first).clamp(max=pitch_BF.shape[1])  # [B, T, 4]
    sums = [F.pad(widened(x).cumsum(1), (1, 0)) for x in (voiced_BF * pitch_BF, voiced_BF)]
    flat = first.reshape(len(first), -1)
    total, count = (x.gather(1, flat).view_as(first).diff(dim=2).float() for x in sums)
    return total / count.clamp_min(1.0), count


def states_of(hidden_BCT: Tensor, durations_BT: Tensor, contour_BF: Tensor) -> Tensor:
    """What every frame knows, [B, K, F]: its token's vector, pitch in octaves, place inside the token, its length."""
    ends = durations_BT.cumsum(1)
    frame = torch.arange(contour_BF.shape[1], device=ends.device)
    token_BF = (frame[None, :, None] >= ends[:, None, :]).long().sum(2).clamp(max=hidden_BCT.shape[2] - 1)
    length = durations_BT.gather(1, token_BF).clamp_min(1).float()
    start = (ends - durations_BT).gather(1, token_BF).float()
    place = ((frame + 0.5 - start) / length).clamp(0, 1)
    beside = torch.stack([contour_BF / 12, place, length.log()], 1)
    held = hidden_BCT.gather(2, token_BF.unsqueeze(1).expand(-1, hidden_BCT.shape[1], -1))
    return torch.cat([held.float(), beside], 1)


def token_means(mel_BMF: Tensor, durations_BT: Tensor) -> Tensor:
    """The mean mel of each token, [B, M, T]; 0 where it has no frame."""
    ends = durations_BT.cumsum(1).clamp(max=mel_BMF.shape[2])
    sums = F.pad(widened(mel_BMF).cumsum(2), (1, 0))
    both = (sums.gather(2, at[:, None].expand(-1, mel_BMF.shape[1], -1)) for at in (ends, ends - durations_BT))
    last, first = both
    return ((last - first) / durations_BT.clamp_min(1)[:, None]).float()


def spread_of(mel_BMF: Tensor, mask: Tensor) -> Tensor:
    """How much each clip's mel moves over time: its deviation, a mean over bins, [B]."""
    count = mask.sum(2).clamp_min(1.0)
    mean = (mel_BMF * mask).sum(2) / count
    apart = ((mel_BMF - mean[..., None]) * mask).square().sum(2) / count
    return (apart + 1e-8).sqrt().mean(1)


def shaken(durations_BT: Tensor, *, by: float) -> Tensor:
    """The same sum, with boundaries moved by so many frames (deviation); no token loses or gains its last frame."""
    room = ((durations_BT - 1).clamp_min(0) // 2).float()
    near = torch.minimum(durations_BT[:, :-1], durations_BT[:, 1:]) > 0
    moved = (by * torch.randn_like(room[:, :-1])).round()
    moved = torch.maximum(torch.minimum(moved, room[:, 1:]), -room[:, :-1]) * near
    return durations_BT + (F.pad(moved, (0, 1)) - F.pad(moved, (1, 0))).long()


# ---------------------------------------------------------------- frames


class MeanDecoder(nn.Module):
    def __init__(self, config: AcousticConfig) -> None:
        super().__init__()
        self.into = nn.Conv1d(config.width + BESIDE, config.mean_width, 1)
        self.blocks = nn.ModuleList(
            ConvNeXtBlock(config.mean_width, kernel=config.kernel, dropout=config.dropout)
            for _ in range(config.mean_layers)
        )
        self.out = nn.Conv1d(config.mean_width, MEL_BINS + 1, 1)

    def forward(self, states_BKF: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The mean mel [B, M, F], scaled, and the logit of voicing [B, F]."""
        hidden = self.into(states_BKF) * mask
        for block in self.blocks:
            hidden = block(hidden, mask)
        both = self.out(hidden).float() * mask
        return both[:, :MEL_BINS], both[:, MEL_BINS]


class Refiner(nn.Module):
    """The velocity of the flow from noise to a mel."""

    def __init__(self, config: AcousticConfig) -> None:
        super().__init__()
        self.into = nn.Conv1d(2 * MEL_BINS + config.width + BESIDE, config.refiner_width, 1)
        self.time = nn.Sequential(nn.Linear(SINES, SINES), nn.SiLU(), nn.Linear(SINES, TIME))
        self.blocks = nn.ModuleList(
            ConvNeXtBlock(config.refiner_width, kernel=config.kernel, condition=TIME)
            for _ in range(config.refiner_layers)
        )
        self.out = nn.Conv1d(config.refiner_width, MEL_BINS, 1)
        nn.init.zeros_(self.out.weight)
        rates = torch.exp(torch.arange(SINES // 2) * (-math.log(1000.0) / (SINES // 2 - 1)))
        self.rates: Tensor
        self.register_buffer("rates", 1000.0 * rates, persistent=False)

    def forward(self, x_BMF: Tensor, mean_BMF: Tensor, states_BKF: Tensor, time_B: Tensor, mask: Tensor) -> Tensor:
        angle = time_B[:, None] * self.rates
        time = self.time(torch.cat([angle.sin(), angle.cos()], 1))
        hidden = self.into(torch.cat([x_BMF, mean_BMF, states_BKF], 1)) * mask
        for block in self.blocks:
            hidden = block(hidden, mask, time)
        return self.out(hidden).float() * mask  # type: ignore[no-any-return]


def flow_target(mel: Tensor, noise: Tensor, time_B: Tensor) -> tuple[Tensor, Tensor]:
    """Where the flow is at a time, and the velocity it has there: straight from noise to the mel."""
    time, kept = time_B[:, None, None], 1 - LEAST_NOISE
    return (1 - kept * time) * noise + time * mel, mel - kept * noise


class AcousticNet(nn.Module):
    def __init__(self, config: AcousticConfig, *, vocab_size: int, num_speakers: int) -> None:
        super().__init__()
        self.text = TextSide(config, vocab_size=vocab_size, num_speakers=num_speakers)
        self.mean = MeanDecoder(config)
        if config.refiner_layers:
            self.refiner = Refiner(config)
        if config.alignment != "given":
            self.prior = nn.Conv1d(config.width, MEL_BINS, 1)  # a mel of each token, for the search; not exported

    def frames(self, hidden_BCT: Tensor, durations_BT: Tensor, contour_BF: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """Mean mel, logit of voicing and states: the one way from tokens to frames, forced or free."""
        states = states_of(hidden_BCT, durations_BT, contour_BF) * mask
        return *self.mean(states, mask), states

    def refined(self, x: Tensor, mean: Tensor, states: Tensor, mask: Tensor, *, steps: int) -> Tensor:
        """Noise carried along the flow by Euler's method; without steps the mean itself."""
        if not steps:
            return mean
        for at in range(steps):
            time = torch.full((len(x),), at / steps, device=x.device)
            x = x + self.refiner(x, mean, states, time, mask) / steps
        return x * mask
