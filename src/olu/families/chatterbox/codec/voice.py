"""The voice encoder: a speaker vector of unit length, without negative numbers, from sound at 16,000 Hz.

Shapes: S samples, W windows, M mels, G of the vector.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.chatterbox.codec.mels import FFT, bank, powers, trimmed
from olu.families.chatterbox.config import ChatterboxConfig

FRAMES, STEP = 160, 77  # of a window, and from one to the next
COVERED = 0.8  # of a last window that has to be sound
SILENT = 1e-8


class VoiceEncoder(nn.Module):
    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        width = config.voice_width
        self.lstm = nn.LSTM(config.voice_mels, width, num_layers=config.voice_layers, batch_first=True)
        first: nn.Parameter = self.lstm.weight_ih_l0  # type: ignore[assignment]
        nn.init.normal_(first, std=1e-3)  # what it hears are powers: else all sound alike to a new one
        self.proj = nn.Linear(width, width)
        self.similarity_weight = nn.Parameter(torch.tensor([10.0]))  # both were for its own learning
        self.similarity_bias = nn.Parameter(torch.tensor([-5.0]))
        self.mels = config.voice_mels

    def forward(self, windows_WFM: Tensor) -> Tensor:
        """[W, G] of windows of 160 frames."""
        _, (last, _) = self.lstm(windows_WFM)
        return _unit(F.relu(self.proj(last[-1])))

    @torch.no_grad()
    def vector(self, wave: NDArray[np.float32]) -> Tensor:
        """[G] of a whole recording: the mean over windows of what is not silent at its edges."""
        device = self.proj.weight.device
        kept = torch.from_numpy(trimmed(wave)).to(device)
        if len(kept) <= FFT // 2:  # the reflected edges need more
            kept = F.pad(kept, (0, FFT // 2 + 1 - len(kept)))
        with torch.autocast(device.type, enabled=False):
            mel = powers(kept[None], bank(self.mels).to(device))[0].T
            made: Tensor = _unit(self(windows(mel)).mean(0))
        return made


def windows(mel_FM: Tensor) -> Tensor:
    """[W, 160, M]: the last one is filled with silence, or left out where little of it is sound."""
    count, rest = divmod(max(len(mel_FM) - FRAMES + STEP, 0), STEP)
    if count == 0 or (rest + FRAMES - STEP) / FRAMES >= COVERED:
        count += 1
    whole = FRAMES + STEP * (count - 1)
    held = F.pad(mel_FM, (0, 0, 0, max(0, whole - len(mel_FM))))
    return torch.stack([held[at * STEP : at * STEP + FRAMES] for at in range(count)])


def _unit(x: Tensor) -> Tensor:
    length: Tensor = torch.linalg.norm(x, dim=-1, keepdim=True)
    return x / length.clamp(min=SILENT)
