"""The source of a vocoder: sines of a pitch and of its multiples, mixed into one. A twin of `SineMixer` in torch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SINE, NOISE, VOICED = 0.1, 0.003, 10.0  # loudness of sines, of noise beside them, hertz from which a frame is voiced
BLOCK = 50  # frames of noise that are drawn together

Wave = NDArray[np.float32]


@dataclass
class SineSource:
    """Goes on where it was left: pieces of a sentence have the phases and the noise of the whole.

    `weights`: of each sine, and what is added to all of them.
    """

    rate: int
    hop: int
    weights: NDArray[np.float64]
    random: np.random.Generator
    phases: NDArray[np.float64] = field(init=False)
    turns: float = 0.0  # of the lowest sine, before the next sample
    _noise: list[NDArray[np.float32]] = field(default_factory=list)  # of frames [hop, sines] that were drawn

    def __post_init__(self) -> None:
        sines = len(self.weights) - 1
        self.phases = self.random.uniform(-np.pi, np.pi, sines)
        self.phases[0] = 0.0

    def made(self, pitch: NDArray[np.float32], *, first: int) -> tuple[Wave, float]:
        """The source of frames from `first` on, which begin at `turns`, and the turns after them."""
        count, sines = len(pitch), len(self.phases)
        hertz = np.repeat(pitch.astype(np.float64), self.hop)
        turns = self.turns + np.cumsum(hertz / self.rate)
        angles = 2 * np.pi * ((turns[:, None] * np.arange(1, sines + 1)) % 1) + self.phases
        voiced = (hertz > VOICED)[:, None]
        rough = np.where(voiced, NOISE, SINE / 3) * self._drawn(first, count)
        waves = np.where(voiced, SINE * np.sin(angles), 0.0) + rough
        mixed = np.tanh(waves @ self.weights[:-1] + self.weights[-1])
        return mixed.astype(np.float32), float(turns[-1] % 1) if count else self.turns

    def _drawn(self, first: int, count: int) -> NDArray[np.float64]:
        """Noise by the number of the frame, however often it is asked for."""
        if count == 0:
            return np.zeros((0, len(self.phases)))
        shape = (BLOCK, self.hop, len(self.phases))
        while len(self._noise) * BLOCK < first + count:
            self._noise.append(self.random.standard_normal(shape, dtype=np.float32))
        whole = np.concatenate(self._noise[first // BLOCK :])[first % BLOCK :][:count]
        made: NDArray[np.float64] = whole.reshape(-1, len(self.phases)).astype(np.float64)
        return made
