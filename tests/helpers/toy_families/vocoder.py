"""A toy vocoder: bands and pitch to sound, no text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from olu.core.config import Strict
from olu.core.types import Audio
from olu.train.family import Clock, Data, Example, Family, Figures, Loss, Part, SpokenSample, Update

from .shared import BANDS, HOP, RATE, advice, bands, framed, of_samples, pitch

FEATURES = [of_samples("mel", bands), of_samples("pitch", pitch)]


class VocoderConfig(Strict):
    channels: int = Field(16, ge=2)
    learning_rate: float = Field(3e-3, gt=0)


@dataclass(frozen=True)
class FramesBatch:
    mel: tuple[Tensor, ...]  # [1, BANDS, F] each
    pitch: tuple[Tensor, ...]  # [1, F]
    wave: tuple[Tensor, ...]  # [F, HOP]
    counts: Mapping[str, float]
    clips: tuple[str, ...]
    seconds: tuple[float, ...] = field(default=())

    def to(self, device: Any) -> FramesBatch:
        return replace(
            self, **{name: tuple(t.to(device) for t in getattr(self, name)) for name in ("mel", "pitch", "wave")}
        )


class Vocoder(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.near = nn.Conv1d(BANDS + 1, channels, 3, padding=1)
        self.wide = nn.ConvTranspose1d(channels, 1, HOP, stride=HOP)

    def forward(self, mel: Tensor, contour: Tensor) -> Tensor:
        """[B, BANDS, F] and [B, F] -> [B, F * HOP]."""
        both = torch.cat([mel / 8, contour.unsqueeze(1) / 8], 1)
        return torch.tanh(self.wide(torch.tanh(self.near(both)))).squeeze(1)


class VocoderLearner(nn.Module):
    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config, self.gen = config, Vocoder(config.channels)

    def parts(self) -> dict[str, Part]:
        return {"gen": Part(self.gen, self.config.learning_rate, ema=0.9)}

    def collate(self, examples: Sequence[Example]) -> FramesBatch:
        frames = [torch.from_numpy(framed(one.samples)) for one in examples]
        return FramesBatch(
            mel=tuple(torch.from_numpy(np.array(one.features["mel"].T, np.float32))[None] for one in examples),
            pitch=tuple(torch.from_numpy(np.array(one.features["pitch"], np.float32))[None] for one in examples),
            wave=tuple(frames),
            counts={"frames": float(sum(map(len, frames)))},
            clips=tuple(one.id for one in examples),
            seconds=tuple(len(one.samples) / RATE for one in examples),
        )

    def _apart(self, batch: FramesBatch) -> Tensor:
        """Of the spectra of every frame, and a little of the waves."""
        total = torch.zeros((), device=self.gen.near.weight.device)
        for mel, contour, wave in zip(batch.mel, batch.pitch, batch.wave, strict=True):
            made = self.gen(mel, contour)[0].view(-1, HOP).float()
            one, other = (torch.fft.rfft(frames, dim=1).abs() for frames in (made, wave))
            total = total + (one - other).abs().mean(1).sum() + (made - wave).square().mean(1).sum()
        return total

    def step(self, batch: FramesBatch, clock: Clock) -> Iterator[Update]:
        yield Update("gen", {"spectrum": Loss(self._apart(batch), "frames")})

    def validate(self, batch: FramesBatch) -> dict[str, Loss]:
        return {"spectrum": Loss(self._apart(batch), "frames")}

    def demo(self, batch: FramesBatch) -> Iterator[SpokenSample]:
        for clip, mel, contour, seconds in zip(batch.clips, batch.mel, batch.pitch, batch.seconds, strict=True):
            with torch.no_grad():
                yield SpokenSample(clip, Audio(self.gen(mel, contour)[0].cpu().numpy(), RATE), seconds)

    def say(self, ids: Sequence[int], speaker: int, streams: Any = None) -> Audio:
        raise NotImplementedError


FAMILY = Family(
    name="toyvocoder",
    summary="A toy vocoder",
    kind="vocoder",
    config=VocoderConfig,
    learner=lambda config, *, vocab_size, num_speakers: VocoderLearner(config),
    data=Data(
        rate=lambda config: RATE,
        refuses=lambda config, *, samples, tokens: None if samples >= HOP else "it has no frame",
        tokens=len,
        needs=frozenset({"pitch"}),
        features=lambda config, base: FEATURES,
    ),
    figures=Figures(score="spectrum", learns="gen", steady=("spectrum",)),
    advice=advice(),
)
