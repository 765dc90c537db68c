"""How a voice hears somebody it was not made from: recordings to what stands before the text and to a speaker's vector.

Only a package that was exported for it can. It has two networks more:

prompt:  mel [1, M, F] -> rows [1, K, D], of a piece of the recordings
speaker: mel [1, M, F] -> vector [1, G], of one recording

and the arrays that make their mels: prompt_bank, prompt_window and prompt_scale, speaker_bank and speaker_window, and
voices [S, G] of its own speakers, which its decoder is told in place of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.io import resample
from olu.core.errors import VoiceError
from olu.core.types import Audio
from olu.speak.engines import MOST_HOP, MOST_RATE, count, number
from olu.speak.graphs import OnnxGraph

if TYPE_CHECKING:
    from olu.speak.package import Package

Floats = NDArray[np.float32]
LEAST_SECONDS = 3.0  # of all recordings together: less says too little of a voice
MOST_FFT = 16_384


@dataclass(frozen=True)
class MelRules:
    """Log mels of frames around every hop, the edges reflected."""

    rate: int
    fft: int
    hop: int
    floor: float  # of a power before its logarithm
    added: float  # to it
    emphasis: float  # of what changes from sample to sample
    window: Floats
    bank_MN: Floats
    scale: Floats | None  # that each band is divided by

    @staticmethod
    def of(told: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], name: str) -> MelRules:
        window, bank = (np.asarray(arrays[f"{name}_{one}"], np.float32) for one in ("window", "bank"))
        scale = arrays.get(f"{name}_scale")
        fft = count(told["fft"], MOST_FFT)
        if window.ndim != 1 or len(window) > fft or bank.ndim != 2 or bank.shape[1] != fft // 2 + 1:
            raise ValueError("its mels do not fit each other")
        return MelRules(
            count(told["rate"], MOST_RATE),
            fft,
            count(told["hop"], MOST_HOP),
            number(told["floor"]),
            number(told["added"]),
            number(told["emphasis"], 0.0, 1.0),
            window,
            bank,
            None if scale is None else np.asarray(scale, np.float32),
        )

    def mel(self, audio: Audio) -> Floats:
        """[1, M, F]"""
        wave = resample(audio, self.rate).samples.astype(np.float64)
        if self.emphasis:
            wave = wave - self.emphasis * np.concatenate(
                [wave[1:2], wave[:-1]]
            )  # the first has its neighbour before it
        around = np.pad(wave, self.fft // 2, mode="reflect")
        first = (self.fft - len(self.window)) // 2
        held = np.lib.stride_tricks.sliding_window_view(around, self.fft)[:: self.hop, first : first + len(self.window)]
        power = np.abs(np.fft.rfft(held * self.window, self.fft)) ** 2  # where a frame begins turns phases alone
        bands = self.bank_MN.astype(np.float64) @ power.T
        mel = np.log(np.maximum(bands, self.floor) + self.added)
        if self.scale is not None:
            mel /= self.scale[:, None]
        return np.asarray(mel[None], np.float32)


class Hearing:
    """What is heard of recordings of one person."""

    def __init__(self, package: Package) -> None:
        told = package.facts["hearing"]
        self._prompt_mel = MelRules.of(told["prompt"], package.arrays, "prompt")
        self._speaker_mel = MelRules.of(told["speaker"], package.arrays, "speaker")
        self._most = number(told["most_seconds"], 1.0, 600.0)  # of all recordings together, and of each for the vector
        self._piece = number(told["piece_seconds"], 0.5, 600.0)
        self._least = number(told["least_seconds"], 0.0, 10.0)  # of the last piece
        self.voices = np.asarray(package.arrays["voices"], np.float32)
        if self.voices.ndim != 2 or len(self.voices) != len(package.facts["speakers"]):
            raise ValueError("its arrays do not fit its speakers")

    def connect(self, prompt: OnnxGraph, speaker: OnnxGraph) -> None:
        self._prompt, self._speaker = prompt, speaker

    def heard(self, recordings: Sequence[Audio]) -> tuple[Floats, Floats]:
        """Rows [K, D] and a vector [G]."""
        seconds = sum(len(one.samples) / one.rate for one in recordings)
        if seconds < LEAST_SECONDS:
            raise VoiceError(
                f"{seconds:.1f} s of a voice say too little of it: give recordings of {LEAST_SECONDS:g} s or more"
            )
        if not all(np.isfinite(one.samples).all() and np.abs(one.samples).max() > 0 for one in recordings):
            raise VoiceError("a recording to speak like is silent or damaged: give another")
        return self._rows(recordings), self._vector(recordings)

    def _rows(self, recordings: Sequence[Audio]) -> Floats:
        """The mean of what is heard in pieces of the recordings, one after the other."""
        rate = self._prompt_mel.rate
        whole = np.concatenate([resample(one, rate).samples for one in recordings])[: round(self._most * rate)]
        size = round(self._piece * rate)
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
        kept = [piece for piece in pieces if len(piece) >= self._least * rate]
        heard = [self._prompt.run({"mel": self._prompt_mel.mel(Audio(one, rate))})[0][0] for one in kept]
        return np.asarray(np.mean(heard, axis=0), np.float32)

    def _vector(self, recordings: Sequence[Audio]) -> Floats:
        cut = [Audio(one.samples[: round(self._most * one.rate)], one.rate) for one in recordings]
        heard = [self._speaker.run({"mel": self._speaker_mel.mel(one)})[0][0] for one in cut]
        return np.asarray(np.mean(heard, axis=0), np.float32)
