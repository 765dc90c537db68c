"""The frame classifier that finds boundaries: a small network that hears 13 frames and says what part of a phone it is.

It learns from the alignment at hand, its scores give a better one, and so on. Its reach is short on purpose: what hears
a whole word need not wait for a sound to begin before it says so. Shapes: F frames, M mels, C classes (see chain.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch import nn

from olu.align.chain import STATES, Chain, StatePath, best_way, chain, classes
from olu.align.spans import Edges
from olu.audio.io import resample
from olu.core.errors import AlignError
from olu.core.files import read_json, whole, write_json
from olu.core.types import Audio

# ---- what the frame models hear: log mels every 10 ms, and cepstra with their slopes
# Frame i is centred on its own 10 ms, so the boundary between frames i - 1 and i lies at i * 10 ms. Numpy only, and
# one fixed rate: a model trained on one corpus hears any other the same way.


RATE = 16000
HOP = 160
FRAME_SECONDS = HOP / RATE
WINDOW = 400
FFT_SIZE = 512
BEYOND_SECONDS = (WINDOW - HOP) / 2 / RATE  # what a frame hears on either side of its own; loud drowns quiet
BINS = 40
LOW_HZ, HIGH_HZ = 60.0, 7600.0
CEPSTRA = 13
EMPHASIS = 0.97
QUIETEST = 1e-8  # mel power that counts as nothing: a little below the steps of 16-bit samples
BLOCK = 4096  # frames transformed at once


def log_mels(audio: Audio, *, centred: bool = True) -> Floats:
    """[frames, BINS], one for each whole or begun 10 ms; `centred`: with the clip's own mean taken off."""
    samples = resample(audio, RATE).samples
    count = max(1, -(-len(samples) // HOP))
    edge = (WINDOW - HOP) // 2
    padded = np.zeros(count * HOP + 2 * edge, dtype=np.float32)
    padded[edge : edge + len(samples)] = samples
    padded[1:] -= EMPHASIS * padded[:-1]
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    window = np.hamming(WINDOW).astype(np.float32)
    mels = np.empty((count, BINS), dtype=np.float32)
    for start in range(0, count, BLOCK):
        spectrum = np.fft.rfft(frames[start : start + BLOCK] * window, FFT_SIZE, axis=1)
        power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
        mels[start : start + BLOCK] = np.log(power @ _bank().T + QUIETEST)
    return np.asarray(mels - mels.mean(axis=0), dtype=np.float32) if centred else mels


def cepstra(mels_FM: Floats) -> Floats:
    """[frames, 3 * CEPSTRA]: the cosine transform of the mels, its slope and the slope of that."""
    still = mels_FM @ _cosines().T
    moving = _slope(still)
    return np.concatenate([still, moving, _slope(moving)], axis=1)


def _slope(values_FD: Floats, reach: int = 2) -> Floats:
    padded = np.pad(values_FD, ((reach, reach), (0, 0)), mode="edge")
    count = len(values_FD)
    total = np.zeros_like(values_FD)
    for step in range(1, reach + 1):
        total += step * (padded[reach + step : reach + step + count] - padded[reach - step : reach - step + count])
    return np.asarray(total / (2 * sum(step * step for step in range(1, reach + 1))), dtype=np.float32)


@lru_cache(maxsize=1)
def _cosines() -> Floats:
    order = np.arange(CEPSTRA)[:, None]
    place = (np.arange(BINS)[None, :] + 0.5) / BINS
    return np.asarray(np.cos(np.pi * order * place) * np.sqrt(2.0 / BINS), dtype=np.float32)


@lru_cache(maxsize=1)
def _bank() -> Floats:
    """Triangles [BINS, FFT_SIZE / 2 + 1] that are as wide as hearing is."""
    low, high = (2595.0 * np.log10(1.0 + hertz / 700.0) for hertz in (LOW_HZ, HIGH_HZ))
    edges = 700.0 * (10.0 ** (np.linspace(low, high, BINS + 2) / 2595.0) - 1.0)
    hertz = np.arange(FFT_SIZE // 2 + 1) * RATE / FFT_SIZE
    rising = (hertz[None, :] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hertz[None, :]) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0.0, np.minimum(rising, falling)).astype(np.float32)


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

    def fit(self, posteriors_FC: Floats, words: Words) -> float:
        """How well a text fits: the mean log probability of its frames, less that of the likeliest classes."""
        states = chain(self.ids(words), frames=len(posteriors_FC))
        way = best_way(states, self._scaled(posteriors_FC), self.stay_C, self.leave_C)
        own = posteriors_FC[np.arange(len(posteriors_FC)), states.emits[way.states_F]]
        return float((own - posteriors_FC.max(axis=1)).mean())

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
