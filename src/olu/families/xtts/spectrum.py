"""The three mels of XTTS: of the DVAE, of the prompt and of the encoder of speakers. All on the HTK scale, power 2."""

from __future__ import annotations

import torch
from torch import Tensor

from olu.families.xtts.config import MELS, RATE
from olu.features.mel import FLOOR, mel_bank, power_mel

HOP, WINDOW, HIGH = 256, 1024, 8000.0
CODE_FFT, PROMPT_FFT = 1024, 2048


def code_mel(wave_BS: Tensor, mel_stats: Tensor) -> Tensor:
    """[B, 80, S // 256 + 1], as the DVAE takes it."""
    return _scaled(wave_BS, mel_stats, fft=CODE_FFT)


def prompt_mel(wave_BS: Tensor, mel_stats: Tensor) -> Tensor:
    """[B, 80, S // 256 + 1], as the conditioning encoder takes it."""
    return _scaled(wave_BS, mel_stats, fft=PROMPT_FFT)


def _scaled(wave_BS: Tensor, mel_stats: Tensor, *, fft: int) -> Tensor:
    with torch.autocast(wave_BS.device.type, enabled=False):
        wave, device = wave_BS.float(), wave_BS.device
        bank = torch.from_numpy(mel_bank(rate=RATE, fft_size=fft, bins=MELS, low=0.0, high=HIGH, scale="htk"))
        window = torch.hann_window(WINDOW, device=device)
        mel = power_mel(wave, fft=fft, hop=HOP, window=window, bank_MN=bank.to(device))
        return torch.log(mel.clamp(min=FLOOR)) / mel_stats.to(device)[:, None]
