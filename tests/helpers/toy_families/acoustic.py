"""A toy acoustic model: symbols with given durations and pitch to bands; its voice needs a vocoder's run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from olu.core.config import Strict
from olu.core.types import Audio, Knob
from olu.features.store import PreparedFeature
from olu.train.family import Clock, Data, Example, Family, Figures, Loss, Part, Speaks, SpokenSample, Update

from .shared import BANDS, HOP, RATE, advice, phone_ends, save_graph
from .vocoder import FEATURES as FRAME_FEATURES

ENDS = PreparedFeature("ends", {"hop": HOP}, lambda device: phone_ends)


class AcousticConfig(Strict):
    width: int = Field(24, ge=4)
    learning_rate: float = Field(1e-2, gt=0)
    clip: float = Field(10.0, gt=0)


@dataclass(frozen=True)
class TextBatch:
    ids: tuple[Tensor, ...]  # [1, T] each
    frames: tuple[Tensor, ...]  # [1, T]: whole numbers that sum to F
    knots: tuple[Tensor, ...]  # [1, T, 1]
    pitch: tuple[Tensor, ...]  # [1, F]
    mel: tuple[Tensor, ...]  # [1, BANDS, F]
    counts: Mapping[str, float]
    clips: tuple[str, ...]
    seconds: tuple[float, ...] = field(default=())

    def to(self, device: Any) -> TextBatch:
        names = ("ids", "frames", "knots", "pitch", "mel")
        return replace(self, **{name: tuple(t.to(device) for t in getattr(self, name)) for name in names})


class TextSide(nn.Module):
    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, width)
        self.near = nn.Conv1d(width, width, 3, padding=1)
        self.heads = nn.Conv1d(width, 2, 1)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[1, T] -> hidden [1, C, T], log_frames [1, T], knots [1, T, 1]."""
        hidden = torch.tanh(self.near(self.embed(ids).transpose(1, 2)))
        both = self.heads(hidden)
        return hidden, both[:, 0] + 1.0, both[:, 1].unsqueeze(-1) + 7.0


class MeanMel(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.out = nn.Conv1d(width + 1, BANDS, 1)

    def forward(self, hidden: Tensor, frames: Tensor, contour: Tensor) -> Tensor:
        """[1, C, T], [1, T] whole, [1, F] -> mel [1, BANDS, F]."""
        ends = frames[0].cumsum(0)
        token = (torch.arange(contour.shape[1], device=ends.device)[:, None] >= ends[None]).long().sum(1)
        held = hidden.index_select(2, token.clamp(max=hidden.shape[2] - 1))
        return self.out(torch.cat([held, contour.unsqueeze(1) / 8], 1)) - 3.0


class AcousticNet(nn.Module):
    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__()
        self.text, self.mean = TextSide(vocab_size, width), MeanMel(width)


class AcousticLearner(nn.Module):
    def __init__(self, config: AcousticConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.config, self.frozen = config, dict[str, nn.Module]()
        self.net = AcousticNet(vocab_size, config.width)

    def accompany(self, modules: Mapping[str, nn.Module]) -> None:
        self.frozen = dict(modules)

    def parts(self) -> dict[str, Part]:
        return {"net": Part(self.net, self.config.learning_rate, clip=self.config.clip, plain=("text.embed",), ema=0.9)}

    def collate(self, examples: Sequence[Example]) -> TextBatch:
        made: list[tuple[np.ndarray, np.ndarray]] = []
        for one in examples:
            tokens, contour = len(one.ids), one.features["pitch"]
            ends = one.features["ends"]
            at = np.interp(np.arange(1, tokens + 1) * len(ends) / tokens, np.arange(len(ends) + 1), [0, *ends])
            whole = np.clip(np.rint(at).astype(np.int64), 0, len(contour))
            whole[-1] = len(contour)
            frames = np.diff(whole, prepend=0)
            knots = [contour[max(0, end - size) : max(1, end)].mean() for end, size in zip(whole, frames, strict=True)]
            made.append((frames, np.array(knots, np.float32)))
        return TextBatch(
            ids=tuple(torch.tensor([one.ids], dtype=torch.long) for one in examples),
            frames=tuple(torch.from_numpy(frames)[None] for frames, _ in made),
            knots=tuple(torch.from_numpy(knots)[None, :, None] for _, knots in made),
            pitch=tuple(torch.from_numpy(np.array(one.features["pitch"], np.float32))[None] for one in examples),
            mel=tuple(torch.from_numpy(np.array(one.features["mel"].T, np.float32))[None] for one in examples),
            counts={
                "frames": float(sum(len(one.features["pitch"]) for one in examples)),
                "tokens": float(sum(len(one.ids) for one in examples)),
            },
            clips=tuple(one.id for one in examples),
            seconds=tuple(len(one.samples) / RATE for one in examples),
        )

    def _losses(self, batch: TextBatch) -> dict[str, Loss]:
        zero = torch.zeros((), device=self.net.mean.out.weight.device)
        mel, length, melody = zero, zero, zero
        for at, ids in enumerate(batch.ids):
            hidden, log_frames, knots = self.net.text(ids)
            made = self.net.mean(hidden, batch.frames[at], batch.pitch[at]).float()
            mel = mel + (made - batch.mel[at]).abs().mean(1).sum()
            length = length + F.mse_loss(log_frames.float(), (batch.frames[at] + 0.5).log(), reduction="sum")
            melody = melody + F.mse_loss(knots.float(), batch.knots[at], reduction="sum")
        return {"mel": Loss(mel, "frames"), "length": Loss(length, "tokens"), "melody": Loss(melody, "tokens")}

    def step(self, batch: TextBatch, clock: Clock) -> Iterator[Update]:
        yield Update("net", self._losses(batch))

    def validate(self, batch: TextBatch) -> dict[str, Loss]:
        return self._losses(batch)

    def demo(self, batch: TextBatch) -> Iterator[SpokenSample]:
        for clip, ids, seconds in zip(batch.clips, batch.ids, batch.seconds, strict=True):
            yield SpokenSample(clip, self._spoken(ids), seconds)

    def say(self, ids: Sequence[int], speaker: int, streams: Any = None) -> Audio:
        return self._spoken(torch.tensor([list(ids)], device=self.net.mean.out.weight.device))

    @torch.no_grad()
    def _spoken(self, ids: Tensor) -> Audio:
        hidden, log_frames, knots = self.net.text(ids)
        frames = log_frames.clamp(max=4).exp().round().clamp(min=1).long()
        contour = knots[..., 0].repeat_interleave(frames[0], 1)
        wave = self.frozen["vocoder"].gen(self.net.mean(hidden, frames, contour), contour)
        return Audio(wave[0].cpu().numpy(), RATE)


def _knobs(config: AcousticConfig) -> tuple[Knob, ...]:
    return (Knob("pitch", 0.0, -12.0, 12.0, "semitones"),)


def _export(learner: Any, *, folder: Path, vocoder: Any) -> dict[str, Any]:
    width, long = learner.config.width, torch.long
    save_graph(
        learner.net.text,
        (torch.zeros(1, 4, dtype=long),),
        folder / "text.onnx",
        inputs=["ids"],
        outputs=["hidden", "log_frames", "knots"],
        axes={"ids": {1: "T"}, "hidden": {2: "T"}, "log_frames": {1: "T"}, "knots": {1: "T"}},
    )
    save_graph(
        learner.net.mean,
        (torch.zeros(1, width, 4), torch.tensor([[1, 2, 1, 2]]), torch.zeros(1, 6)),
        folder / "mean.onnx",
        inputs=["hidden", "frames", "contour"],
        outputs=["mel"],
        axes={"hidden": {2: "T"}, "frames": {1: "T"}, "contour": {1: "F"}, "mel": {2: "F"}},
    )
    save_graph(
        vocoder.gen,
        (torch.zeros(2, BANDS, 6), torch.zeros(2, 6)),
        folder / "decoder.onnx",
        inputs=["mel", "contour"],
        outputs=["wave"],
        axes={"mel": {0: "B", 2: "F"}, "contour": {0: "B", 1: "F"}, "wave": {0: "B", 1: "S"}},
    )
    both = [*learner.net.parameters(), *vocoder.gen.parameters()]
    return {
        "rate": RATE,
        "hop": HOP,
        "context": 1,
        "parameters": sum(p.numel() for p in both),
    }


FAMILY = Family(
    name="toyacoustic",
    summary="A toy acoustic model",
    config=AcousticConfig,
    learner=lambda config, *, vocab_size, num_speakers: AcousticLearner(config, vocab_size=vocab_size),
    data=Data(
        rate=lambda config: RATE,
        refuses=lambda config, *, samples, tokens: None if samples // HOP >= tokens else "its text is too long",
        tokens=len,
        needs=frozenset({"text", "alignment", "pitch"}),
        features=lambda config, base: [*FRAME_FEATURES, ENDS],
        vocabulary="streams",
    ),
    figures=Figures(score="mel", learns="net", steady=("mel", "length", "melody")),
    advice=advice(),
    speaks=Speaks(engine="mel", export=_export, knobs=_knobs, needs=("vocoder",)),
)
