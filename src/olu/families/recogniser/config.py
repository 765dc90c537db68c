"""Every setting of the recogniser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from olu.core.config import Sized
from olu.core.parse import load_toml

Beta = Annotated[float, Field(ge=0, lt=1)]

SIZES: dict[str, dict[str, Any]] = load_toml(Path(__file__).with_name("sizes.toml"))
NEEDS = (  # a setting, and the one without which it does nothing
    ("time_mask_share", "time_masks"),
    ("frequency_mask_bins", "frequency_masks"),
)


class RecogniserConfig(Sized):
    """`size` chooses the defaults of everything below it."""

    sizes = SIZES
    size: Literal["tiny", "cpu", "gpu"] = "gpu"

    # what it writes
    units: Literal["letters", "symbols"] = "letters"  # letters of the text, or the phones a voice reads
    tone_marks: Literal["remove", "keep"] = "remove"  # over letters, in languages of tones

    # sound
    sampling_rate: int = Field(16000, ge=8000)
    hop_length: int = Field(160, ge=40)
    fft_size: int = Field(512, ge=128)
    mel_bins: int = Field(80, ge=8)
    mel_low_hz: float = Field(20.0, ge=0)

    # network
    subsample: Literal[2, 4] = 4  # mel frames that become one
    channels: int = Field(32, ge=1)  # of the two convolutions over time and pitch
    width: int = Field(256, ge=8)
    blocks: int = Field(8, ge=1)
    heads: int = Field(0, ge=0)  # of attention; 0: convolutions only, which learn less by heart from little speech
    kernel: int = Field(15, ge=3)  # frames a convolution hears
    feed_forward: int = Field(512, ge=8)
    recurrent: int = Field(0, ge=0)  # layers of a bidirectional GRU after the blocks
    dropout: float = Field(0.25, ge=0, lt=1)
    drop_path: float = Field(0.1, ge=0, lt=1)  # chance that a clip goes past a block's part
    inter_weight: float = Field(0.3, ge=0, lt=1)  # of the same loss halfway up

    # what is done to the sound in training
    time_masks: int = Field(10, ge=0)
    time_mask_share: float = Field(0.05, gt=0, le=0.5)  # of a clip that one of them takes at most
    frequency_masks: int = Field(2, ge=0)
    frequency_mask_bins: int = Field(27, ge=1)
    ease: float = Field(0.1, ge=0, le=1)  # share of the steps over which masks grow to their size
    speed: float = Field(0.1, ge=0, lt=0.5)  # faster or slower by up to this share
    noise: float = Field(0.3, ge=0, le=1)  # share of the clips that get white noise

    # training
    learning_rate: float = Field(1.5e-3, gt=0)
    adam_betas: tuple[Beta, Beta] = (0.9, 0.98)
    adam_epsilon: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.05, ge=0)
    clip: float = Field(1.0, ge=0)  # gradient norm limit; 0: measured, not clipped
    average: float = Field(0.999, ge=0, lt=1)  # decay of the averaged weights that are used; 0: none

    @model_validator(mode="after")
    def _fits_together(self) -> RecogniserConfig:
        if self.kernel % 2 == 0:
            raise ValueError("kernel must be odd, so that lengths stay as they are")
        if self.fft_size < self.hop_length or (self.fft_size - self.hop_length) % 2:
            raise ValueError("fft_size must exceed hop_length by an even number")
        if self.mel_bins > self.fft_size // 2 or self.mel_bins % 4:
            raise ValueError("mel_bins must be a multiple of 4 and at most half of fft_size")
        if self.mel_low_hz >= self.sampling_rate / 2:
            raise ValueError("mel_low_hz must lie below half the sampling rate")
        if self.heads and (self.width % self.heads or (self.width // self.heads) % 2):
            raise ValueError("width must be an even multiple of heads")
        if self.frequency_masks and self.frequency_mask_bins > self.mel_bins:
            raise ValueError("frequency_mask_bins must not exceed mel_bins")
        if self.inter_weight and self.blocks < 2:
            raise ValueError("inter_weight needs two blocks or more: there is nothing halfway up")
        for name, needed in NEEDS:
            if not getattr(self, needed) and getattr(self, name) != self.usual(name):
                raise ValueError(f"{name} has no effect while {needed} is 0")
        return self

    @property
    def frame_seconds(self) -> float:
        return self.subsample * self.hop_length / self.sampling_rate

    def frames(self, samples: int) -> int:
        """How many frames of the network that many samples make."""
        frames = samples // self.hop_length
        return frames // 2 // (self.subsample // 2)
