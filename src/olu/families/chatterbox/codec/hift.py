"""A mel to sound: its pitch, sines that follow it, and a vocoder that filters them (HiFTNet). Names as published.

Shapes: B clips, F frames (50 a second), M bins, S samples (480 a frame), K bins of the small transform (9).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.chatterbox.codec.sizes import HARMONICS, HOP, MELS, S3GenSizes
from olu.families.chatterbox.config import OUT_RATE
from olu.nn.weight_norm import weight_norm

RATES, KERNELS = (8, 5, 3), (16, 11, 7)
BLOCK_KERNELS, SOURCE_KERNELS, DILATIONS = (3, 7, 11), (7, 7, 11), (1, 3, 5)
SIZE, STEP = 16, 4  # of the transform that sound is written in
BINS = SIZE // 2 + 1
LIMIT, MOST_MAGNITUDE = 0.99, 1e2
SINE, NOISE, VOICED = 0.1, 0.003, 10.0  # loudness of sines, of noise beside them, hertz from which a frame is voiced


class HiFT(nn.Module):
    """`mel2wav` of a published file."""

    def __init__(self, sizes: S3GenSizes) -> None:
        super().__init__()
        wide = sizes.vocoder_width
        self.sizes = sizes
        self.m_source = SineMixer()
        self.conv_pre = weight_norm(nn.Conv1d(MELS, wide, 7, padding=3))
        self.ups, self.source_downs, self.source_resblocks = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        self.resblocks = nn.ModuleList()
        for at, (rate, kernel) in enumerate(zip(RATES, KERNELS, strict=True)):
            inner, outer = wide // 2**at, wide // 2 ** (at + 1)
            up = nn.ConvTranspose1d(inner, outer, kernel, stride=rate, padding=(kernel - rate) // 2)
            self.ups.append(weight_norm(up))
            down = math.prod(RATES[at + 1 :])
            size, edge = (1, 0) if down == 1 else (2 * down, down // 2)
            self.source_downs.append(nn.Conv1d(2 * BINS, outer, size, stride=down, padding=edge))
            self.source_resblocks.append(SnakeBlock(outer, SOURCE_KERNELS[at]))
            self.resblocks.extend(SnakeBlock(outer, size) for size in BLOCK_KERNELS)
        self.conv_post = weight_norm(nn.Conv1d(wide // 2 ** len(RATES), 2 * BINS, 7, padding=3))
        self.f0_predictor = PitchPredictor(sizes.pitch_width)
        self.transform = SmallTransform()

    def forward(self, mel_BMF: Tensor, *, phases_BH: Tensor, noise_BHS: Tensor) -> Tensor:
        """[B, S]; the first phase is 0, and noise is drawn for every sine."""
        pitch = self.f0_predictor(mel_BMF)
        return self.filtered(mel_BMF, self.m_source(pitch, phases_BH, noise_BHS))

    def filtered(self, mel_BMF: Tensor, source_BS: Tensor) -> Tensor:
        source = self.transform(source_BS)
        x, kinds = self.conv_pre(mel_BMF), len(BLOCK_KERNELS)
        for at, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, 0.1))
            if at == len(RATES) - 1:
                x = torch.cat([x[:, :, 1:2], x], dim=2)
            x = x + self.source_resblocks[at](self.source_downs[at](source))
            first, *rest = self.resblocks[at * kinds : (at + 1) * kinds]
            x = sum((block(x) for block in rest), start=first(x)) / kinds
        x = self.conv_post(F.leaky_relu(x))
        wave = self.transform.inverse(torch.exp(x[:, :BINS]), torch.sin(x[:, BINS:]))
        return wave.clamp(-LIMIT, LIMIT)


class PitchPredictor(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        layers = list[nn.Module]()
        for at in range(5):
            layers += [weight_norm(nn.Conv1d(width if at else MELS, width, 3, padding=1)), nn.ELU()]
        self.condnet = nn.Sequential(*layers)
        self.classifier = nn.Linear(width, 1)

    def forward(self, mel_BMF: Tensor) -> Tensor:
        """Hertz [B, F]."""
        made: Tensor = self.classifier(self.condnet(mel_BMF).transpose(1, 2)).squeeze(-1)
        return made.abs()


class SineMixer(nn.Module):
    """Sines of a pitch and of its multiples, mixed into one source; `speak/engines/sines.py` is its twin in numpy."""

    def __init__(self) -> None:
        super().__init__()
        self.l_linear = nn.Linear(HARMONICS, 1)

    def forward(self, pitch_BF: Tensor, phases_BH: Tensor, noise_BHS: Tensor) -> Tensor:
        pitch = pitch_BF.repeat_interleave(HOP, dim=1)[:, None]
        turns = torch.cumsum(pitch * torch.arange(1, HARMONICS + 1)[None, :, None] / OUT_RATE, dim=-1) % 1
        sines = SINE * torch.sin(2 * math.pi * turns + phases_BH[:, :, None])
        voiced = (pitch > VOICED).float()
        rough = (voiced * NOISE + (1 - voiced) * SINE / 3) * noise_BHS
        mixed: Tensor = self.l_linear((sines * voiced + rough).transpose(1, 2)).squeeze(-1)
        return torch.tanh(mixed)


class Snake(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        alpha = self.alpha[None, :, None]
        bent = torch.sin(x * alpha)
        return x + (1.0 / (alpha + 1e-9)) * bent * bent


class SnakeBlock(nn.Module):
    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.convs1 = nn.ModuleList(_same(channels, kernel, dilation) for dilation in DILATIONS)
        self.convs2 = nn.ModuleList(_same(channels, kernel, 1) for _ in DILATIONS)
        self.activations1 = nn.ModuleList(Snake(channels) for _ in DILATIONS)
        self.activations2 = nn.ModuleList(Snake(channels) for _ in DILATIONS)

    def forward(self, x: Tensor) -> Tensor:
        for bend1, conv1, bend2, conv2 in zip(
            self.activations1, self.convs1, self.activations2, self.convs2, strict=True
        ):
            x = x + conv2(bend2(conv1(bend1(x))))
        return x


def _same(channels: int, kernel: int, dilation: int) -> nn.Module:
    conv = nn.Conv1d(channels, channels, kernel, dilation=dilation, padding=(kernel - 1) * dilation // 2)
    nn.init.normal_(conv.weight, std=0.01)
    normed: nn.Module = weight_norm(conv)
    return normed


class SmallTransform(nn.Module):
    """A transform of 16 samples every 4, centred, and its inverse, as convolutions: alike in torch and in a graph."""

    def __init__(self) -> None:
        super().__init__()
        window = torch.hann_window(SIZE, dtype=torch.float64)
        angle = 2 * math.pi / SIZE * torch.outer(torch.arange(BINS).double(), torch.arange(SIZE).double())
        twice = torch.full((BINS, 1), 2.0, dtype=torch.float64)  # a bin stands for itself and its mirror
        twice[0] = twice[-1] = 1.0
        forth = torch.cat([angle.cos(), -angle.sin()]) * window
        back = torch.cat([angle.cos() * twice, -angle.sin() * twice]) * window / SIZE
        self.forth: Tensor
        self.back: Tensor
        self.square: Tensor
        self.register_buffer("forth", forth.float()[:, None], persistent=False)
        self.register_buffer("back", back.float()[:, None], persistent=False)
        self.register_buffer("square", window.square().float()[None, None], persistent=False)

    def forward(self, wave_BS: Tensor) -> Tensor:
        """Real parts, then imaginary ones, [B, 2 K, S / 4 + 1]."""
        padded = F.pad(wave_BS[:, None], (SIZE // 2, SIZE // 2), mode="reflect")
        return F.conv1d(padded, self.forth, stride=STEP)

    def inverse(self, magnitude: Tensor, phase: Tensor) -> Tensor:
        """[B, K, T] each -> [B, 4 (T - 1)]."""
        magnitude = magnitude.clamp(max=MOST_MAGNITUDE)
        parts = torch.cat([magnitude * phase.cos(), magnitude * phase.sin()], dim=1)
        made = F.conv_transpose1d(parts, self.back, stride=STEP)
        weight = F.conv_transpose1d(torch.ones_like(parts[:1, :1]), self.square, stride=STEP)
        half = SIZE // 2
        return made[:, 0, half:-half] / weight[:, 0, half:-half]
