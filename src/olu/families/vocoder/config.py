"""Every setting of the vocoder family. The spectrogram it reads is fixed: see `features/mel.py`, MelSpec."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from olu.core.config import Sized

RATE, HOP, MELS = 16000, 256, 80  # of MelSpec, for those who import no torch

Width = Annotated[int, Field(ge=1, le=16384)]
Depth = Annotated[int, Field(ge=1, le=256)]
Kernel = Annotated[int, Field(ge=1, le=1024)]
Window = Annotated[int, Field(ge=64, le=65536, multiple_of=4)]
Beta = Annotated[float, Field(ge=0, lt=1)]

TINY: dict[str, Any] = {
    "channels": 24,
    "layers": 2,
    "segment_frames": 32,
    "discriminator_periods": (2, 3),
    "discriminator_period_channels": (4, 8),
    "discriminator_windows": (512,),
    "discriminator_window_channels": 4,
    "discriminator_start": 4,
    "discriminator_warmup": 4,
    "learning_rate": 2e-3,
    "discriminator_learning_rate": 1e-3,
}
SIZES: dict[str, dict[str, Any]] = {"tiny": TINY, "small": {}}
# What is for the first steps of new weights: a vocoder that has learnt is past it.
BEGINNING: dict[str, Any] = {"discriminator_start": 0, "discriminator_warmup": 0}


class VocoderConfig(Sized):
    """`size` chooses the defaults of everything below it; `tiny` is for tests."""

    sizes = SIZES
    size: Literal["tiny", "small"] = "small"

    # generator
    channels: Width = 256
    layers: Depth = 8
    widening: Depth = 3
    kernel: Kernel = 7

    # discriminators
    discriminator_periods: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = (2, 3, 5, 7, 11)
    discriminator_period_channels: tuple[Width, ...] = (16, 64, 128, 256)
    discriminator_windows: tuple[Window, ...] = (2048, 1024, 512)  # of the spectrograms, in samples
    discriminator_window_channels: Width = 16
    discriminator_start: int = Field(500, ge=0)  # the step at which they join
    discriminator_warmup: int = Field(500, ge=0)  # steps over which the generator comes to heed them

    # what it hears
    segment_frames: int = Field(64, ge=8, le=4096)
    level: float = Field(6.0, ge=0, le=20)  # decibels up or down, for half of the segments
    resampled: float = Field(0.0, ge=0, le=1)  # share played faster or slower: other voices than those of the corpus
    blurred: float = Field(1 / 3, ge=0, le=1)  # share of the segments whose mel is blurred, so that pitch is heeded

    # training
    learning_rate: float = Field(5e-4, gt=0)
    discriminator_learning_rate: float = Field(2e-4, gt=0)
    adam_betas: tuple[Beta, Beta] = (0.8, 0.95)
    adam_epsilon: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    clip: float = Field(100.0, ge=0)  # gradient norm limit of each part; 0: measured, not clipped
    average: float = Field(0.999, ge=0, lt=1)  # decay of the averaged generator that is exported; 0: none
    magnitude_windows: tuple[Window, ...] = (256, 512, 1024, 2048)  # in which real and made sound are compared
    weight_mel: float = Field(45.0, ge=0)
    weight_magnitudes: float = Field(10.0, ge=0)
    weight_adversarial: float = Field(1.0, ge=0)
    weight_features: float = Field(2.0, ge=0)
    weight_discriminator: float = Field(1.0, ge=0)

    @model_validator(mode="after")
    def _fits(self) -> VocoderConfig:
        if self.kernel % 2 == 0:
            raise ValueError("kernel must be odd, so that lengths stay as they are")
        if not self.discriminator_periods and not self.discriminator_windows:
            raise ValueError("there must be at least one discriminator")
        if not self.discriminator_period_channels:
            raise ValueError("discriminator_period_channels must not be empty")
        windows = (*self.discriminator_windows, *self.magnitude_windows)
        longest = max((*windows, *self.discriminator_periods), default=0)
        if longest > self.segment_size:
            raise ValueError(f"no window or period may exceed the segment, {self.segment_size} samples")
        return self

    @property
    def segment_size(self) -> int:
        """In samples."""
        return self.segment_frames * HOP

    @property
    def context(self) -> int:
        """Frames to either side that a sample depends on: the first layer, the finer frames, both transforms."""
        finer = 1 + self.layers * (self.kernel // 2) + 2 * 2
        return 3 + -(-finer // 2)
