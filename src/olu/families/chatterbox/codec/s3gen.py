"""What the file s3gen holds: the tokenizer, and what makes sound of codes, all frozen.

Shapes: P codes of a reference, N codes to be heard, F frames, M mels, G of the speaker vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from olu.audio.io import resample
from olu.core.errors import OluError
from olu.core.types import Audio
from olu.families.chatterbox.codec.flow import S3Flow
from olu.families.chatterbox.codec.hift import HiFT
from olu.families.chatterbox.codec.mels import sound_mel
from olu.families.chatterbox.codec.sizes import HARMONICS, HOP, MELS, S3GenSizes
from olu.families.chatterbox.codec.tokens import S3Tokenizer
from olu.families.chatterbox.codec.xvector import SpeakerVector
from olu.families.chatterbox.config import OUT_RATE, RATE, ChatterboxConfig

REFERENCE_SECONDS, LEAST_SECONDS = 10, 0.4
SILENT, FADED = OUT_RATE // 50, OUT_RATE // 50  # samples at the start, where the reference would be heard


@dataclass(frozen=True)
class SoundReference:
    """What the decoder is told of a speaker; two frames a code."""

    codes_P: Tensor
    mel_FM: Tensor
    vector_G: Tensor


class S3Gen(nn.Module):
    def __init__(self, config: ChatterboxConfig) -> None:
        super().__init__()
        sizes = S3GenSizes.of(config)
        self.tokenizer = S3Tokenizer(config)
        self.speaker_encoder = SpeakerVector(sizes)
        self.flow = S3Flow(sizes)
        self.mel2wav = HiFT(sizes)

    @torch.no_grad()
    def heard(self, wave: NDArray[np.float32], *, seconds: float = REFERENCE_SECONDS) -> SoundReference:
        """Of a recording at 16,000 Hz, of which the first seconds count."""
        if len(wave) < LEAST_SECONDS * RATE:
            raise OluError(f"a reference of {len(wave) / RATE:.2f} s: it needs {LEAST_SECONDS} s at least")
        device = self.tokenizer._mel_filters.device
        kept = np.ascontiguousarray(wave[: round(seconds * RATE)], np.float32)
        at16 = torch.from_numpy(kept).to(device)
        at24 = torch.from_numpy(resample(Audio(kept, RATE), OUT_RATE).samples).to(device)
        codes, mel = self.tokenizer.codes(at16), sound_mel(at24)
        count = min(len(codes), len(mel) // 2)  # cut evenly: the public program cuts one of them alone
        return SoundReference(codes[:count], mel[: 2 * count], self.speaker_encoder.hear(at16[None])[0])

    @torch.no_grad()
    def sounded(self, codes_N: Tensor, reference: SoundReference, *, seed: int = 0) -> Tensor:
        """A wave [960 N] at 24,000 Hz, its first 20 ms silent and the next faded in."""
        device, random = codes_N.device, torch.Generator().manual_seed(seed)
        rows = 2 * (len(reference.codes_P) + len(codes_N))
        mel = self.flow(
            codes_N[None],
            prompt_codes_BP=reference.codes_P[None],
            prompt_mel_BFM=reference.mel_FM[None],
            vector_BG=reference.vector_G[None],
            noise_BMT=torch.randn(1, MELS, rows, generator=random).to(device),
        )
        phases = torch.rand(1, HARMONICS, generator=random).to(device) * 2 * torch.pi - torch.pi
        phases[:, 0] = 0.0
        noise = torch.randn(1, HARMONICS, mel.shape[2] * HOP, generator=random).to(device)
        wave: Tensor = self.mel2wav(mel, phases_BH=phases, noise_BHS=noise)[0]
        fade = torch.cat([torch.zeros(SILENT), 0.5 - 0.5 * torch.cos(torch.linspace(0, torch.pi, FADED))])
        count = min(len(wave), len(fade))
        return torch.cat([wave[:count] * fade[:count].to(device), wave[count:]])
