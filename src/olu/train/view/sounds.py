"""A sample as bytes to play and a picture to look at."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.core.types import Audio
from olu.pages.png import heat_png, shrunk

LONGEST_SECONDS = 15.0
WIDTH, BINS = 320, 80
WINDOW_SECONDS = 0.05
RANGE = 9.0  # natural logarithms between the loudest and black


def wav(audio: Audio) -> bytes:
    """The first seconds as 16-bit PCM."""
    packed = io.BytesIO()
    samples = np.nan_to_num(audio.samples[: round(LONGEST_SECONDS * audio.rate)]).clip(-1.0, 1.0)
    soundfile.write(packed, samples, audio.rate, format="WAV", subtype="PCM_16")
    return packed.getvalue()


def mel_picture(audio: Audio) -> bytes:
    """A log-mel spectrogram as PNG: time to the right, low tones below, bright where it is loud."""
    from olu.features.mel import mel_bank  # it comes with torch

    samples = np.nan_to_num(audio.samples[: round(LONGEST_SECONDS * audio.rate)])
    size = 1 << max(8, round(np.log2(audio.rate * WINDOW_SECONDS)))
    starts = np.linspace(0, max(len(samples), 1), WIDTH, endpoint=False).astype(np.intp)
    frames = np.pad(samples, size // 2 + 1, mode="constant")[starts[:, None] + np.arange(size)]
    levels = np.abs(np.fft.rfft(frames * np.hanning(size), axis=1))
    bank = mel_bank(rate=audio.rate, fft_size=size, bins=BINS, low=0.0, high=audio.rate / 2)
    mel = np.log(np.maximum(levels @ bank.T, 1e-5))
    shade: NDArray[Any] = 1 + (mel.T[::-1] - max(float(mel.max()), -2.0)) / RANGE
    return heat_png(shade)


def picture(values: NDArray[Any]) -> bytes:
    """A family's own picture, such as an alignment [tokens, frames]: the first row at the bottom."""
    return heat_png(shrunk(np.asarray(values)[::-1], width=WIDTH, height=2 * BINS))
