"""Toy learners in the real protocol, each with the control flow of a kind of family, and an engine around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from olu.core.types import Audio
from olu.train.batches import Batches
from olu.train.checkpoint import Checkpoints
from olu.train.engine import Engine
from olu.train.family import Clock, Example, Loss, Part, SpokenSample, Update
from olu.train.guards import Finite, Guard, Spike, Wiring
from olu.train.ranks import Ranks
from olu.train.recipe import GuardSettings, PlanSettings

SIZE, TARGET = 4, 8
TRUTH = torch.from_numpy(np.random.default_rng(7).normal(size=(SIZE, TARGET)).astype(np.float32))
Meddle = Callable[[Update, Clock], Update]


@dataclass(frozen=True)
class ToyBatch:
    """All tokens of all clips in a row; `first_B` is where each clip begins."""

    x_NC: Tensor
    y_NC: Tensor
    first_B: Tensor
    counts: Mapping[str, float]
    clips: tuple[str, ...]

    def to(self, device: torch.device) -> ToyBatch:
        return self


class Toy(nn.Module):
    """What the toys share. `meddle` may change an update before the engine sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.meddle: Meddle = lambda update, clock: update
        self.heard: list[tuple[str, ...]] = []  # the clips of every batch, in order

    def collate(self, examples: Sequence[Example]) -> ToyBatch:
        tokens = [len(e.ids) for e in examples]
        x = np.concatenate([e.samples.reshape(-1, SIZE) for e in examples]).astype(np.float32) / 8192
        x_NC = torch.from_numpy(x)
        return ToyBatch(
            x_NC=x_NC,
            y_NC=x_NC @ TRUTH,
            first_B=torch.tensor([0, *np.cumsum(tokens)[:-1]]),
            counts={"items": float(len(examples)), "tokens": float(sum(tokens))},
            clips=tuple(e.id for e in examples),
        )

    def step(self, batch: ToyBatch, clock: Clock) -> Iterator[Update]:
        self.heard.append(batch.clips)
        for update in self.updates(batch, clock):
            yield self.meddle(update, clock)

    def demo(self, batch: ToyBatch) -> Iterator[SpokenSample]:
        for clip in batch.clips:
            yield SpokenSample(clip, Audio(np.zeros(16, dtype=np.float32), 16000))


class Tokens(Toy):
    """One update; one loss is a mean over tokens, the other over clips."""

    def __init__(self, *, dropout: float = 0.0, **part: Any) -> None:
        super().__init__()
        self.body = nn.ModuleDict({"net": nn.Linear(SIZE, TARGET), "extra": nn.Linear(SIZE, 1)})
        self.dropout, self.part = dropout, {"lr": 0.02, **part}

    def parts(self) -> dict[str, Part]:
        return {"body": Part(self.body, **self.part)}

    def updates(self, batch: ToyBatch, clock: Clock) -> Iterator[Update]:
        x_NC = nn.functional.dropout(batch.x_NC, self.dropout)
        yield Update("body", self.losses(x_NC, batch))

    def losses(self, x_NC: Tensor, batch: ToyBatch) -> dict[str, Loss]:
        match = (self.body["net"](x_NC) - batch.y_NC).square().sum()
        length = (self.body["extra"](x_NC[batch.first_B]) - 1).square().sum()
        return {"match": Loss(match, "tokens"), "length": Loss(length, "items", 0.5)}

    def validate(self, batch: ToyBatch) -> Mapping[str, Loss]:
        return self.losses(batch.x_NC, batch)


class Judged(Toy):
    """A GAN: one forward serves two updates. `seen` holds the judge's first weight as each update was built."""

    def __init__(self, *, noise: float = 0.0, start: int = 0, **gen: Any) -> None:
        super().__init__()
        self.gen = nn.Linear(SIZE, TARGET)
        self.disc = nn.Sequential(nn.Linear(TARGET, 6), nn.Tanh(), nn.Linear(6, 1))
        self.noise, self.start, self.settings = noise, start, {"lr": 0.02, "clip": 5.0, "ema": 0.9, **gen}
        self.seen: list[tuple[str, Tensor]] = []

    def parts(self) -> dict[str, Part]:
        return {"disc": Part(self.disc, lr=0.01, start=self.start), "gen": Part(self.gen, **self.settings)}

    def updates(self, batch: ToyBatch, clock: Clock) -> Iterator[Update]:
        fake = self.gen(batch.x_NC + self.noise * torch.randn_like(batch.x_NC))
        if judged := clock.step >= self.start:
            self.seen.append(("disc", self.disc[0].weight.detach().clone()))
            told = (1 - self.disc(batch.y_NC)).square().sum() + self.disc(fake.detach()).square().sum()
            yield Update("disc", {"told": Loss(told, "tokens")})
        losses = {"match": Loss((fake - batch.y_NC).abs().sum(), "tokens", 5.0)}
        if judged:
            self.seen.append(("gen", self.disc[0].weight.detach().clone()))
            losses["fool"] = Loss((1 - self.disc(fake)).square().sum(), "tokens")
        yield Update("gen", losses)

    def validate(self, batch: ToyBatch) -> Mapping[str, Loss]:
        return {"match": Loss((self.gen(batch.x_NC) - batch.y_NC).abs().sum(), "tokens")}


class Adapter(Toy):
    """A frozen codec with buffers of its own; only the adapter is a part."""

    def __init__(self, **part: Any) -> None:
        super().__init__()
        self.codec = nn.Sequential(nn.Linear(SIZE, 6), nn.BatchNorm1d(6), nn.Dropout(0.5))
        self.adapter = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, TARGET))
        self.part = {"lr": 0.02, **part}

    def parts(self) -> dict[str, Part]:
        return {"adapter": Part(self.adapter, **self.part)}

    def updates(self, batch: ToyBatch, clock: Clock) -> Iterator[Update]:
        yield Update("adapter", self.validate(batch))

    def validate(self, batch: ToyBatch) -> Mapping[str, Loss]:
        made = self.adapter(self.codec(batch.x_NC))
        return {"match": Loss((made - batch.y_NC).square().sum(), "tokens")}


TOYS: dict[str, Callable[[], Toy]] = {
    "tokens": lambda: Tokens(dropout=0.2, ema=0.9, clip=1.0),
    "judged": lambda: Judged(noise=0.1),
    "adapter": lambda: Adapter(ema=0.5),
}


def examples(count: int = 24, *, seed: int = 0) -> dict[str, Example]:
    """Clips of 2 to 9 tokens."""
    random = np.random.default_rng(seed)
    made = {}
    for number in range(count):
        tokens = int(random.integers(2, 10))
        samples = np.clip(random.normal(size=tokens * SIZE) * 8192, -32767, 32767).astype(np.int16)
        made[f"c{number:02d}"] = Example(id=f"c{number:02d}", ids=(1,) * tokens, samples=samples, speaker=0)
    return made


def stream(learner: Toy, clips: Mapping[str, Example], *, plan: PlanSettings, seed: int = 1) -> Batches:
    return Batches(
        list(clips),
        [len(e.ids) / 10 for e in clips.values()],
        example=clips.__getitem__,
        collate=learner.collate,
        seed=seed,
        batch_clips=plan.batch_clips,
        batch_seconds=plan.batch_seconds,
        curriculum_epochs=plan.curriculum_epochs,
    )


def engine(
    learner: Toy,
    folder: Path,
    *,
    guards: Sequence[Guard] | None = None,
    limits: Mapping[str, Any] | None = None,
    clips: Mapping[str, Example] | None = None,
    score: str = "match",
    seed: int = 1,
    ranks: Ranks | None = None,
    **plan: Any,
) -> Engine:
    settings = {"steps": 40, "batch_clips": 4, "schedule": "constant", "validate_every": 10, "save_every": 10}
    checked = PlanSettings(**{**settings, **plan})
    held = examples(8, seed=99)
    return Engine(
        learner,
        stream(learner, clips or examples(), plan=checked, seed=seed),
        validation=lambda: [learner.collate(list(held.values())[at : at + 3]) for at in (0, 3, 6)],
        score=score,
        plan=checked,
        rewinds=GuardSettings(**(limits or {})),
        guards=[Wiring(), Finite(), Spike()] if guards is None else guards,
        checkpoints=Checkpoints(folder, keep=checked.keep),
        seed=seed,
        ranks=ranks,
    )


def made(name: str, *, seed: int = 1) -> Toy:
    torch.manual_seed(seed)
    return TOYS[name]()


def weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def differing(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> set[str]:
    """Names of tensors that are not equal bit for bit."""
    assert one.keys() == other.keys()
    return {name for name in one if not torch.equal(one[name], other[name])}
