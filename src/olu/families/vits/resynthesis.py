"""A recording through the voice's own encoder of sound and its decoder: what these two lose of it."""

from __future__ import annotations

import hashlib
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from olu.audio.io import resample, to_int16
from olu.core.types import Audio
from olu.families.vits.learn import VitsLearner
from olu.families.vits.model import mask_of
from olu.features import mel as spectra
from olu.train.family import Example


@torch.no_grad()
def copied(learner: nn.Module, audio: Audio, *, speaker: int) -> Audio:
    """Taken apart and put together again: the same recording gives the same copy."""
    voice = cast(VitsLearner, learner)
    config, gen = voice.config, voice.gen
    samples = to_int16(resample(audio, config.sampling_rate))
    batch = voice.collate([Example(id="", ids=(0,), samples=samples, speaker=speaker)]).to(voice.mel_bank.device)
    g = gen.speaker(batch.speaker_B)
    linear = spectra.linear(batch.padded_BS, fft_size=config.fft_size, hop=config.hop_length)
    mask = mask_of(batch.frames_B, linear.shape[2])
    mean, log_std = gen.posterior_encoder(linear * mask, mask, g)
    # Drawn as in training: the decoder never met the means alone, and answers them with a bad sound.
    latents = mean + torch.exp(log_std) * _noise(samples, like=mean)
    frames = int(batch.frames_B[0])
    wave = gen.decoder((latents * mask)[:, :, :frames], g)[0].float().cpu().numpy()
    return Audio(wave, config.sampling_rate)


def _noise(samples: NDArray[np.int16], *, like: Tensor) -> Tensor:
    """Chance that belongs to the recording, on every device the same."""
    seed = int.from_bytes(hashlib.blake2b(samples.tobytes(), digest_size=7).digest(), "big")
    drawn = torch.randn(like.shape, generator=torch.Generator().manual_seed(seed))
    return drawn.to(like.device, like.dtype)
