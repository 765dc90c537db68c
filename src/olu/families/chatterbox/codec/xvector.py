"""Who speaks, as 192 numbers: CAM++ over logarithms of mel power as Kaldi makes them. Names as published.

Shapes: B clips, T frames (100 a second), M bins (80), C channels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.chatterbox.codec.sizes import MELS, S3GenSizes

RATE = 16000
WINDOW, SHIFT, FFT = 400, 160, 512
LOWEST = 20.0
PREEMPHASIS = 0.97
SEGMENT = 100  # frames that share a context


class SpeakerVector(nn.Module):
    """`speaker_encoder` of a published file."""

    def __init__(self, sizes: S3GenSizes) -> None:
        super().__init__()
        self.head = FrequencyHead(sizes.planes)
        self.xvector = nn.Sequential()
        c, grow = sizes.tdnn, sizes.growth
        self.xvector.add_module("tdnn", TdnnLayer(sizes.planes * MELS // 8, c))
        for number, (layers, dilation) in enumerate(zip(sizes.dense, (1, 2, 2), strict=True), start=1):
            self.xvector.add_module(f"block{number}", DenseTdnn(layers, c, grow, dilation=dilation))
            c += layers * grow
            self.xvector.add_module(f"transit{number}", TransitLayer(c, c // 2))
            c //= 2
        self.xvector.add_module("out_nonlinear", _normed(c))
        self.xvector.add_module("stats", MeanAndSpread())
        self.xvector.add_module("dense", VectorLayer(2 * c, sizes.vector))

    def forward(self, bands_BTM: Tensor) -> Tensor:
        """[B, 192]."""
        made: Tensor = self.xvector(self.head(bands_BTM.transpose(1, 2)))
        return made

    def hear(self, wave_BS: Tensor) -> Tensor:
        """Of waves at 16 kHz, of one length."""
        bands = bands_of(wave_BS)
        made: Tensor = self(bands - bands.mean(1, keepdim=True))
        return made


def bands_of(wave_BS: Tensor) -> Tensor:
    """[B, T, M]: Kaldi's filter bank, without dither."""
    frames: Tensor = wave_BS.unfold(1, WINDOW, SHIFT)
    frames = frames - frames.mean(2, keepdim=True)
    before = torch.cat([frames[:, :, :1], frames[:, :, :-1]], dim=2)
    frames = (frames - PREEMPHASIS * before) * _povey().to(frames)
    power = torch.fft.rfft(frames, FFT).abs().square()
    least = torch.finfo(torch.float32).eps
    logs: Tensor = (power[:, :, : FFT // 2] @ _bank().to(power)).clamp(min=least).log()
    return logs


def _povey() -> Tensor:
    return torch.hann_window(WINDOW, periodic=False).pow(0.85)


def _bank() -> Tensor:
    """[bins, M] triangles, even on the mel scale, with their tops at 1."""
    low, high = (1127.0 * math.log(1.0 + hertz / 700.0) for hertz in (LOWEST, RATE / 2))
    edges = low + (high - low) / (MELS + 1) * torch.arange(MELS + 2, dtype=torch.float32)
    at = 1127.0 * (1.0 + RATE / FFT * torch.arange(FFT // 2, dtype=torch.float32) / 700.0).log()
    rise = (at[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - at[:, None]) / (edges[2:] - edges[1:-1])
    return torch.minimum(rise, fall).clamp(min=0.0)


# ---------------------------------------------------------------- layers


class PlaneBlock(nn.Module):
    def __init__(self, planes: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(planes, planes, 3, stride=(stride, 1), padding=1, bias=False)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(planes), nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(planes, planes, 1, stride=(stride, 1), bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x: Tensor) -> Tensor:
        inner = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(inner)) + self.shortcut(x))


class FrequencyHead(nn.Module):
    """Pictures of the bands, an eighth as high."""

    def __init__(self, planes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, planes, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.layer1 = nn.Sequential(PlaneBlock(planes, 2), PlaneBlock(planes, 1))
        self.layer2 = nn.Sequential(PlaneBlock(planes, 2), PlaneBlock(planes, 1))
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=(2, 1), padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)

    def forward(self, bands_BMT: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(bands_BMT[:, None])))
        x = F.relu(self.bn2(self.conv2(self.layer2(self.layer1(x)))))
        return x.flatten(1, 2)


def _normed(channels: int, *, plain: bool = False) -> nn.Sequential:
    made = nn.Sequential()
    made.add_module("batchnorm", nn.BatchNorm1d(channels, affine=not plain))
    if not plain:
        made.add_module("relu", nn.ReLU())
    return made


class TdnnLayer(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.linear = nn.Conv1d(inner, outer, 5, stride=2, padding=2, bias=False)
        self.nonlinear = _normed(outer)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.nonlinear(self.linear(x))
        return made


class ContextLayer(nn.Module):
    """A convolution gated by what is heard around it: in its segment and in the whole clip."""

    def __init__(self, inner: int, outer: int, *, dilation: int) -> None:
        super().__init__()
        self.linear_local = nn.Conv1d(inner, outer, 3, padding=dilation, dilation=dilation, bias=False)
        self.linear1 = nn.Conv1d(inner, inner // 2, 1)
        self.linear2 = nn.Conv1d(inner // 2, outer, 1)

    def forward(self, x: Tensor) -> Tensor:
        segments = F.avg_pool1d(x, SEGMENT, SEGMENT, ceil_mode=True).repeat_interleave(SEGMENT, dim=2)
        context = x.mean(-1, keepdim=True) + segments[:, :, : x.shape[2]]
        gate = torch.sigmoid(self.linear2(F.relu(self.linear1(context))))
        made: Tensor = self.linear_local(x) * gate
        return made


class DenseTdnnLayer(nn.Module):
    def __init__(self, inner: int, grow: int, *, dilation: int) -> None:
        super().__init__()
        self.nonlinear1 = _normed(inner)
        self.linear1 = nn.Conv1d(inner, 4 * grow, 1, bias=False)
        self.nonlinear2 = _normed(4 * grow)
        self.cam_layer = ContextLayer(4 * grow, grow, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.cam_layer(self.nonlinear2(self.linear1(self.nonlinear1(x))))
        return made


class DenseTdnn(nn.Module):
    """Each layer hears all before it."""

    def __init__(self, layers: int, inner: int, grow: int, *, dilation: int) -> None:
        super().__init__()
        for at in range(layers):
            self.add_module(f"tdnnd{at + 1}", DenseTdnnLayer(inner + at * grow, grow, dilation=dilation))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.children():
            x = torch.cat([x, layer(x)], dim=1)
        return x


class TransitLayer(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.nonlinear = _normed(inner)
        self.linear = nn.Conv1d(inner, outer, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.linear(self.nonlinear(x))
        return made


class MeanAndSpread(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.mean(-1), x.std(-1)], dim=-1)


class VectorLayer(nn.Module):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.linear = nn.Conv1d(inner, outer, 1, bias=False)
        self.nonlinear = _normed(outer, plain=True)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.nonlinear(self.linear(x[:, :, None]).squeeze(-1))
        return made
