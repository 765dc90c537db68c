"""A speaker as a vector of unit length, heard by a ResNet with attentive statistics (H/ASP). Names as published."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.features.mel import mel_bank, power_mel

RATE, FFT, WINDOW, HOP, MELS = 16_000, 512, 400, 160, 64
PREEMPHASIS = 0.97
WIDTHS, DEPTHS = (32, 64, 128, 256), (3, 4, 6, 3)
ATTENTION = 128
SQUEEZE = 8
FLOOR = 1e-6  # added to a power before its logarithm


class SpeakerEncoder(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.torch_spec = nn.Sequential(PreEmphasis(), SpeakerMel())
        self.conv1 = nn.Conv2d(1, WIDTHS[0], 3, padding=1)
        self.bn1 = nn.BatchNorm2d(WIDTHS[0])
        before = WIDTHS[0]
        for number, (size, depth) in enumerate(zip(WIDTHS, DEPTHS, strict=True), 1):
            blocks = [
                SqueezeBlock(before if at == 0 else size, size, halve=at == 0 < number - 1) for at in range(depth)
            ]
            self.add_module(f"layer{number}", nn.Sequential(*blocks))
            before = size
        deep = WIDTHS[-1] * MELS // 8
        self.attention = nn.Sequential(
            nn.Conv1d(deep, ATTENTION, 1), nn.ReLU(), nn.BatchNorm1d(ATTENTION), nn.Conv1d(ATTENTION, deep, 1)
        )
        self.fc = nn.Linear(2 * deep, width)

    def forward(self, wave_BS: Tensor) -> Tensor:
        """Waves at 16 kHz, of one length -> [B, G]."""
        return self.of_mel((self.torch_spec(wave_BS) + FLOOR).log())

    def of_mel(self, mel_BMF: Tensor) -> Tensor:
        x = F.instance_norm(mel_BMF).unsqueeze(1)
        x = self.bn1(F.relu(self.conv1(x)))
        for number in range(1, len(WIDTHS) + 1):
            x = getattr(self, f"layer{number}")(x)
        x = x.flatten(1, 2)
        weight = self.attention(x).softmax(2)
        mean = (x * weight).sum(2)
        spread = ((x.square() * weight).sum(2) - mean.square()).clamp(min=1e-5).sqrt()
        vector: Tensor = F.normalize(self.fc(torch.cat([mean, spread], dim=1)))
        return vector


class PreEmphasis(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filter: Tensor
        self.register_buffer("filter", torch.tensor([[[-PREEMPHASIS, 1.0]]]))

    def forward(self, wave_BS: Tensor) -> Tensor:
        return F.conv1d(F.pad(wave_BS.unsqueeze(1), (1, 0), mode="reflect"), self.filter).squeeze(1)


class Holder(nn.Module):
    """A buffer under a name."""

    def __init__(self, name: str, value: Tensor) -> None:
        super().__init__()
        self.register_buffer(name, value)


class SpeakerMel(nn.Module):
    """Its window and its bank are in the published file too, and count as they stand there."""

    def __init__(self) -> None:
        super().__init__()
        bank = mel_bank(rate=RATE, fft_size=FFT, bins=MELS, low=0.0, high=RATE / 2, scale="htk", area=False)
        self.spectrogram = Holder("window", torch.hamming_window(WINDOW))
        self.mel_scale = Holder("fb", torch.from_numpy(bank.T.copy()))

    @property
    def window(self) -> Tensor:
        held = self.spectrogram.window
        assert isinstance(held, Tensor)
        return held

    @property
    def bank(self) -> Tensor:
        """[M, N]"""
        held = self.mel_scale.fb
        assert isinstance(held, Tensor)
        return held.t()

    def forward(self, wave_BS: Tensor) -> Tensor:
        return power_mel(wave_BS, fft=FFT, hop=HOP, window=self.window, bank_MN=self.bank)


class SqueezeBlock(nn.Module):
    """Two convolutions whose channels are weighed by what they are as a whole; the ReLU comes before the norm."""

    def __init__(self, inner: int, outer: int, *, halve: bool) -> None:
        super().__init__()
        stride = 2 if halve else 1
        self.conv1 = nn.Conv2d(inner, outer, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.se = Squeeze(outer)
        self.downsample = None
        if halve:
            self.downsample = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride=stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, x: Tensor) -> Tensor:
        kept = x if self.downsample is None else self.downsample(x)
        x = self.se(self.bn2(self.conv2(self.bn1(F.relu(self.conv1(x))))))
        return F.relu(x + kept)


class Squeeze(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        small = channels // SQUEEZE
        self.fc = nn.Sequential(nn.Linear(channels, small), nn.ReLU(), nn.Linear(small, channels), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        weight: Tensor = self.fc(x.mean((2, 3)))
        return x * weight[:, :, None, None]
