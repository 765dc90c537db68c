"""A recording through the voice's own encoder of sound and its decoder: the most that its text side could reach."""

from __future__ import annotations

from typing import cast

import torch
from torch import nn

from olu.audio.io import resample, to_int16
from olu.families.vits.learn import VitsLearner
from olu.families.vits.model import mask_of
from olu.features import mel as spectra
from olu.train.family import Example
from olu.types import Audio


@torch.no_grad()
def copied(learner: nn.Module, audio: Audio, *, speaker: int) -> Audio:
    """Taken apart and put together again, without chance."""
    voice = cast(VitsLearner, learner)
    config, gen = voice.config, voice.gen
    samples = to_int16(resample(audio, config.sampling_rate))
    batch = voice.collate([Example(id="", ids=(0,), samples=samples, speaker=speaker)]).to(voice.mel_bank.device)
    g = gen.speaker(batch.speaker_B)
    linear = spectra.linear(batch.padded_BS, fft_size=config.fft_size, hop=config.hop_length)
    mask = mask_of(batch.frames_B, linear.shape[2])
    latents, _ = gen.posterior_encoder(linear * mask, mask, g)
    frames = int(batch.frames_B[0])
    wave = gen.decoder((latents * mask)[:, :, :frames], g)[0].float().cpu().numpy()
    return Audio(wave, config.sampling_rate)
