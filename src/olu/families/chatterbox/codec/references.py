"""What the flow is given of a recording, to sound as its speaker does: codes, a mel and a vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from olu.audio.io import resample
from olu.core.types import Audio
from olu.families.chatterbox.codec.s3gen import S3Gen
from olu.families.chatterbox.codec.sizes import HOP, MELS
from olu.families.chatterbox.config import OUT_RATE, RATE
from olu.features.mel import FLOOR, mel_bank, reflect

FFT, HIGHEST = 1920, 8000.0
FLOW_SECONDS = 4.0  # of a reference: all frames look at it, and ten would take more than twice as long


@dataclass(frozen=True)
class FlowReference:
    """Two frames of the mel for each code: where the sound is longer, both are cut."""

    codes_P: Tensor
    mel_FM: Tensor
    vector_G: Tensor


@torch.no_grad()
def flow_reference(s3gen: S3Gen, wave: NDArray[np.float32], *, seconds: float = FLOW_SECONDS) -> FlowReference:
    """Of a wave at 16 kHz."""
    heard = wave[: round(seconds * RATE)]
    codes = s3gen.tokenizer.codes(torch.from_numpy(heard))
    mel = flow_mel(torch.from_numpy(resample(Audio(heard, RATE), OUT_RATE).samples)[None])[0].T
    kept = min(len(codes), len(mel) // 2)
    vector = s3gen.speaker_encoder.hear(torch.from_numpy(heard)[None])[0]
    return FlowReference(codes[:kept], mel[: 2 * kept], vector)


def flow_mel(wave_BS: Tensor) -> Tensor:
    """[B, M, S // 480] of waves at 24 kHz: logarithms of magnitudes up to 8 kHz."""
    padded = reflect(wave_BS, fft_size=FFT, hop=HOP)
    window = torch.hann_window(FFT, device=wave_BS.device)
    spectrum = torch.stft(padded, FFT, hop_length=HOP, window=window, center=False, return_complex=True)
    magnitude = torch.sqrt(spectrum.real.square() + spectrum.imag.square() + 1e-9)
    bank = torch.from_numpy(mel_bank(rate=OUT_RATE, fft_size=FFT, bins=MELS, low=0.0, high=HIGHEST))
    return (bank.to(magnitude) @ magnitude).clamp(min=FLOOR).log()
