"""The frame classifier that finds boundaries: a small network that hears 13 frames and says what part of a phone it is.

It learns from the alignment at hand, its scores give a better one, and so on. Its reach is short on purpose: what hears
a whole word need not wait for a sound to begin before it says so. Shapes: F frames, M mels, C classes (see chain.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch import nn

from olu.align.chain import STATES, Chain, StatePath, best_way, chain, classes
from olu.align.sound import BEYOND_SECONDS, BINS, FRAME_SECONDS
from olu.align.spans import Edges
from olu.core.errors import AlignError
from olu.core.files import read_json, whole, write_json

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Words = Sequence[Sequence[str]]  # the phones of each word

WIDTH = 128
KERNEL = 5  # three layers of it: 13 frames, 60 ms to either side
# A class's share of the frames is divided out of its score, but half (in logarithms) only: in full, rare phones win
# frames from silence in every round, and pauses shrink.
PRIOR_SHARE = 0.5
SCHEMA = 1


@dataclass(frozen=True)
class FrameModel:
    """A trained classifier of one corpus's phones."""

    phones: tuple[str, ...]
    network: nn.Module
    spread_M: Floats  # of each mel over the training clips
    priors_C: Floats  # logarithms
    stay_C: Floats
    leave_C: Floats

    def posteriors(self, mels_FM: Floats) -> Floats:
        """[F, C] log probabilities."""
        device = next(self.network.parameters()).device
        with torch.inference_mode():
            heard = torch.from_numpy(mels_FM / self.spread_M).to(device)
            found = self.network(heard.T.unsqueeze(0))[0].log_softmax(0)
        return np.ascontiguousarray(found.T.cpu().numpy(), dtype=np.float32)

    def scores(self, mels_FM: Floats) -> Floats:
        """[F, C] what the search adds up."""
        return self._scaled(self.posteriors(mels_FM))

    def _scaled(self, posteriors_FC: Floats) -> Floats:
        return np.asarray(posteriors_FC - PRIOR_SHARE * self.priors_C, dtype=np.float32)

    def ids(self, words: Words) -> list[list[int]]:
        """Phones as numbers, or one sentence about the phone that was never heard."""
        known = {phone: number for number, phone in enumerate(self.phones)}
        for word in words:
            for phone in word:
                if phone not in known:
                    raise AlignError(
                        f"the sound {phone!r} was in no clip that the aligner learnt from: align again with --force"
                    )
        return [[known[phone] for phone in word] for word in words if word]

    def align(self, mels_FM: Floats, words: Words) -> tuple[Edges, list[float]]:
        """Start and end of each phone in seconds, and the mean log probability of its frames."""
        ids = self.ids(words)
        posteriors = self.posteriors(mels_FM)
        scores = self._scaled(posteriors)
        states = chain(ids, frames=len(mels_FM))
        way = best_way(states, scores, self.stay_C, self.leave_C)
        chances = posteriors[np.arange(len(scores)), states.emits[way.states_F]]
        return edges(states, way), phone_means(states, way, chances)

    def save(self, folder: Path) -> None:
        """Two files: what it is, and its numbers."""
        with whole(folder) as partial:
            partial.mkdir()
            arrays = {name: value.cpu().numpy() for name, value in self.network.state_dict().items()}
            for name in ("spread_M", "priors_C", "stay_C", "leave_C"):
                arrays[f"frames.{name}"] = getattr(self, name)
            save_file(
                {name: np.ascontiguousarray(value) for name, value in arrays.items()}, partial / "frames.safetensors"
            )
            write_json(partial / "frames.json", {"schema": SCHEMA, "phones": list(self.phones)})

    @staticmethod
    def load(folder: Path, *, device: str = "cpu") -> FrameModel:
        about = read_json(folder / "frames.json")
        if about.get("schema") != SCHEMA:
            raise AlignError(f"{folder} is of another version of Olu: run 'olu align --force' to make it again")
        arrays: dict[str, Any] = load_file(folder / "frames.safetensors")
        own = {name.removeprefix("frames."): arrays.pop(name) for name in list(arrays) if name.startswith("frames.")}
        network = build(classes(len(about["phones"])))
        network.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
        return FrameModel(phones=tuple(about["phones"]), network=network.eval().to(device), **own)


def build(outputs: int) -> nn.Sequential:
    """Three convolutions and a layer for the classes."""
    layers: list[nn.Module] = []
    size = BINS
    for _ in range(3):
        layers += [nn.Conv1d(size, WIDTH, KERNEL, padding=KERNEL // 2), nn.BatchNorm1d(WIDTH), nn.ReLU()]
        size = WIDTH
    return nn.Sequential(*layers, nn.Conv1d(size, outputs, 1))


def firsts(chain: Chain, way: StatePath) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first frame of each phone, and the frame after its last."""
    owner = chain.owner[way.states_F]
    spoken = np.flatnonzero(owner >= 0)
    changes = np.flatnonzero(np.diff(owner[spoken], prepend=-1))
    return spoken[changes], np.append(spoken[changes[1:] - 1], spoken[-1]) + 1


def edges(chain: Chain, way: StatePath) -> Edges:
    """Start and end of each phone in seconds; beside silence a little inward, since a frame hears beyond its 10 ms."""
    begin, end = firsts(chain, way)
    quiet = np.concatenate([[True], chain.owner[way.states_F] < 0, [True]])  # from the frame before the first on
    found = []
    for first, last in zip(begin.tolist(), end.tolist(), strict=True):
        inward = min(BEYOND_SECONDS, (last - first) * FRAME_SECONDS / 3)
        start = first * FRAME_SECONDS + (inward if quiet[first] else 0.0)
        found.append((start, last * FRAME_SECONDS - (inward if quiet[last + 1] else 0.0)))
    return found


def phone_means(chain: Chain, way: StatePath, values_F: Floats) -> list[float]:
    begin, end = firsts(chain, way)
    return [float(values_F[at:to].mean()) for at, to in zip(begin, end, strict=True)]


def thirds(edges: Edges, phones: Sequence[int], frames: int) -> Ints:
    """[F] classes for phones that lie at these times: each cut evenly into its states, all else silence."""
    found = np.zeros(frames, dtype=np.int32)
    for phone, (start, end) in zip(phones, edges, strict=True):
        first, last = (min(frames, round(at / FRAME_SECONDS)) for at in (start, end))
        part = np.arange(last - first) * STATES // max(1, last - first)
        found[first:last] = 1 + STATES * phone + part
    return found
