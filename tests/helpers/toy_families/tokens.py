"""A toy language model of codes: prompt, BPE pieces and codes of a frozen codec through one causal layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from olu.core.config import Strict
from olu.core.types import Audio, Knob
from olu.features.store import FeatureClip, PreparedFeature
from olu.train.family import (
    Base,
    Bases,
    Clock,
    Companion,
    Data,
    Example,
    Family,
    Figures,
    Loss,
    Part,
    Speaks,
    SpokenSample,
    Update,
)

from .shared import HOP, RATE, advice, digest, framed, save_graph

CODES = 16
START, STOP = CODES, CODES + 1
MOST = 400  # places that are learnt


class TokensConfig(Strict):
    width: int = Field(24, ge=4)
    merges: int = Field(6, ge=0)
    learning_rate: float = Field(1e-2, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    head_clip: float = Field(5.0, gt=0)


class Codec(nn.Module):
    """Frozen: the nearest of CODES loudnesses of a frame, and a hum of that loudness."""

    def __init__(self) -> None:
        super().__init__()
        self.edges: Tensor
        self.register_buffer("edges", torch.linspace(-9.0, -1.0, CODES - 1))
        levels = torch.linspace(-9.0, -1.0, CODES).exp()
        hum = torch.sin(2 * torch.pi * torch.arange(HOP) * 4 / HOP)
        self.table: Tensor
        self.register_buffer("table", 1.4 * levels[:, None] * hum[None])

    def encode(self, frames: Tensor) -> Tensor:
        """[N, HOP] -> codes [N]."""
        return torch.bucketize((frames.square().mean(1) + 1e-9).log() / 2, self.edges)

    def forward(self, codes: Tensor) -> Tensor:
        """[B, N] -> wave [B, S]."""
        return self.table[codes].flatten(1)


class SpeakerCodec(nn.Module):
    """As the engine calls it; all speakers sound the same."""

    def __init__(self, codec: nn.Module) -> None:
        super().__init__()
        self.codec = codec

    def forward(self, codes: Tensor, speaker: Tensor) -> Tensor:
        wave: Tensor = self.codec(codes)
        return wave * (speaker >= 0)[:, None]


@cache
def codec() -> Codec:
    return Codec().eval()


def _companions(config: TokensConfig, base: Base | None) -> list[Companion]:
    return [Companion("codec", digest(codec()), Codec)]


def _features(config: TokensConfig, base: Base | None) -> list[PreparedFeature]:
    def make(device: str) -> Any:
        module = Codec().to(device).eval()

        def codes(clip: FeatureClip) -> NDArray[np.int16]:
            return module.encode(torch.from_numpy(framed(clip.samples)).to(device)).cpu().numpy().astype(np.int16)

        return codes

    return [PreparedFeature("codes", {"hop": HOP, "codes": CODES}, make, weights=digest(codec()))]


@dataclass(frozen=True)
class CodesBatch:
    ids: tuple[Tensor, ...]
    codes: tuple[Tensor, ...]
    prompts: tuple[Tensor, ...]
    counts: Mapping[str, float]
    clips: tuple[str, ...]
    seconds: tuple[float, ...] = field(default=())

    def to(self, device: Any) -> CodesBatch:
        moved = {name: tuple(t.to(device) for t in getattr(self, name)) for name in ("ids", "codes", "prompts")}
        return replace(self, **moved)


class CodesNet(nn.Module):
    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__()
        self.text = nn.Embedding(vocab_size, width)
        self.code = nn.Embedding(CODES + 2, width)
        self.text_at = nn.Embedding(MOST, width)
        self.code_at = nn.Embedding(MOST, width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(2 * width, 2 * width)
        self.head = nn.Linear(2 * width, CODES + 2)

    def rows(self, ids: Tensor, codes: Tensor, prompt: Tensor) -> Tensor:
        """[1, T, D] of a prompt's codes, a text and the codes before each place."""
        heard = (
            self.code(prompt).mean(0, keepdim=True)
            if len(prompt)
            else self.code.weight.new_zeros(1, self.code.embedding_dim)
        )
        text = self.text(ids) + self.text_at.weight[: len(ids)]
        before = torch.cat([codes.new_full((1,), START), codes])
        return torch.cat([heard, text, self.code(before) + self.code_at.weight[: len(before)]])[None]

    def forward(self, rows: Tensor, past_key: Tensor, past_value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits [1, T, V] and the cache [1, 1, P + T, D] of rows after a cache of P."""
        q, k, v = self.qkv(self.norm(rows)).unsqueeze(1).chunk(3, -1)
        k, v = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        now, all_ = q.shape[2], k.shape[2]
        allowed = torch.arange(all_)[None] <= torch.arange(now)[:, None] + (all_ - now)
        scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        heard = scores.masked_fill(~allowed.to(scores.device), -1e9).softmax(-1) @ v
        mixed = F.gelu(self.mix(torch.cat([rows, heard.squeeze(1)], -1)))
        return self.head(mixed), k, v


class CodesLearner(nn.Module):
    def __init__(self, config: TokensConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.config, self.frozen = config, {"codec": codec()}
        self.net = CodesNet(vocab_size, config.width)

    def accompany(self, modules: Mapping[str, nn.Module]) -> None:
        self.frozen = dict(modules)

    def parts(self) -> dict[str, Part]:
        c = self.config
        plain = ("text", "code", "norm", "head.bias")
        limits = {"head": c.head_clip}
        return {"net": Part(self.net, c.learning_rate, weight_decay=c.weight_decay, plain=plain, clips=limits, ema=0.9)}

    def collate(self, examples: Sequence[Example]) -> CodesBatch:
        codes = [torch.from_numpy(one.features["codes"].astype(np.int64)) for one in examples]
        beside = [
            one.beside.features["codes"].astype(np.int64) if one.beside else np.zeros(0, np.int64) for one in examples
        ]
        return CodesBatch(
            ids=tuple(torch.tensor(one.ids, dtype=torch.long) for one in examples),
            codes=tuple(codes),
            prompts=tuple(map(torch.from_numpy, beside)),
            counts={"codes": float(sum(len(one) + 1 for one in codes))},
            clips=tuple(one.id for one in examples),
            seconds=tuple(len(one.samples) / RATE for one in examples),
        )

    def _wrong(self, batch: CodesBatch) -> Tensor:
        total = torch.zeros((), device=self.net.head.weight.device)
        for ids, codes, prompt in zip(batch.ids, batch.codes, batch.prompts, strict=True):
            rows = self.net.rows(ids, codes, prompt)
            empty = rows.new_zeros(1, 1, 0, rows.shape[-1])
            logits = self.net(rows, empty, empty)[0][0, 1 + len(ids) :]
            targets = torch.cat([codes, codes.new_full((1,), STOP)])
            total = total + F.cross_entropy(logits.float(), targets, reduction="sum")
        return total

    def step(self, batch: CodesBatch, clock: Clock) -> Iterator[Update]:
        yield Update("net", {"code": Loss(self._wrong(batch), "codes")})

    def validate(self, batch: CodesBatch) -> dict[str, Loss]:
        return {"code": Loss(self._wrong(batch), "codes")}

    def demo(self, batch: CodesBatch) -> Iterator[SpokenSample]:
        for at, clip in enumerate(batch.clips):
            yield SpokenSample(clip, self._spoken(batch.ids[at], batch.prompts[at]), batch.seconds[at])

    def say(self, ids: Sequence[int], speaker: int, streams: Any = None) -> Audio:
        tensor = torch.tensor(list(ids), dtype=torch.long, device=self.net.head.weight.device)
        return self._spoken(tensor, tensor[:0])

    @torch.no_grad()
    def _spoken(self, ids: Tensor, prompt: Tensor) -> Audio:
        rows = self.net.rows(ids, ids[:0], prompt)
        k = v = rows.new_zeros(1, 1, 0, rows.shape[-1])
        made: list[int] = []
        while len(made) < min(MOST - 2, 8 * len(ids) + 20):
            logits, k, v = self.net(rows, k, v)
            logits[0, -1, START] = -1e9
            code = int(logits[0, -1].argmax())
            if code == STOP:
                break
            made.append(code)
            rows = (self.net.code.weight[code] + self.net.code_at.weight[len(made)])[None, None]
        device = self.net.head.weight.device
        wave = self.frozen["codec"](torch.tensor([made or [0]], device=device))[0]
        return Audio(wave.cpu().numpy(), RATE)


def _refuses(config: TokensConfig, *, samples: int, tokens: int) -> str | None:
    return "it is too long" if samples // HOP > MOST - 2 or tokens > MOST else None


def _knobs(config: TokensConfig) -> tuple[Knob, ...]:
    return (Knob("temperature", 0.0, 0.0, 2.0, "how freely it draws"), Knob("top_k", 8, 0, CODES, "codes to draw from"))


def _export(learner: Any, *, folder: Path) -> dict[str, Any]:
    net, width = learner.net, learner.config.width
    past = torch.zeros(1, 1, 3, width)
    save_graph(
        net,
        (torch.zeros(1, 2, width), past, past),
        folder / "step.onnx",
        inputs=["rows", "past.0.key", "past.0.value"],
        outputs=["logits", "present.0.key", "present.0.value"],
        axes={
            "rows": {1: "T"},
            **{f"{kind}.0.{name}": {2: "P"} for kind in ("past", "present") for name in ("key", "value")},
        },
    )
    save_graph(
        SpeakerCodec(learner.frozen["codec"]),
        (torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, dtype=torch.long)),
        folder / "decoder.onnx",
        inputs=["codes", "speaker"],
        outputs=["wave"],
        axes={"codes": {0: "B", 1: "N"}, "speaker": {0: "B"}, "wave": {0: "B", 1: "S"}},
    )
    arrays = {"text_rows": net.text.weight, "code_rows": net.code.weight, "prompt": torch.zeros(1, 1, width)}
    arrays |= {"text_positions": net.text_at.weight, "code_positions": net.code_at.weight}
    for name, tensor in arrays.items():
        np.save(folder / f"{name}.npy", tensor.detach().cpu().numpy())
    return {
        "rate": RATE,
        "hop": HOP,
        "context": 0,
        "parameters": sum(p.numel() for p in net.parameters()),
        "start_code": START,
        "stop_code": STOP,
        "stop_rules": {"least": 0.0, "most": 8.0, "extra": 20},
    }


def _resynthesis(learner: Any, audio: Audio, *, speaker: int) -> Audio:
    from olu.audio.io import resample, to_int16

    samples = to_int16(resample(audio, RATE))
    codes = learner.frozen["codec"].encode(torch.from_numpy(framed(samples)))
    return Audio(learner.frozen["codec"](codes[None])[0].numpy(), RATE)


FAMILY = Family(
    name="toytokens",
    summary="A toy language model of codes",
    config=TokensConfig,
    learner=lambda config, *, vocab_size, num_speakers: CodesLearner(config, vocab_size=vocab_size),
    data=Data(
        rate=lambda config: RATE,
        refuses=_refuses,
        tokens=len,
        needs=frozenset({"text", "codes"}),
        features=_features,
        vocabulary="pieces",
        merges=lambda config: config.merges,
        beside=True,
    ),
    figures=Figures(score="code", learns="net", steady=("code",)),
    advice=advice(),
    bases=Bases(read=lambda folder: (_ for _ in ()).throw(NotImplementedError), companions=_companions),
    speaks=Speaks(engine="tokens", export=_export, knobs=_knobs, resynthesis=_resynthesis),
)
