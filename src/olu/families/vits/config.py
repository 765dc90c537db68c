"""Every setting of the VITS family. Architecture fields carry transformers' `VitsConfig` names."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from olu.core.config import Sized
from olu.core.parse import load_toml

Width = Annotated[int, Field(ge=1, le=16384)]  # one more would be gigabytes in a single layer
Depth = Annotated[int, Field(ge=1, le=256)]
Count = Annotated[int, Field(ge=1, le=65536)]
Kernel = Annotated[int, Field(ge=1, le=1024)]
Window = Annotated[int, Field(ge=64, le=65536, multiple_of=4)]
Beta = Annotated[float, Field(ge=0, lt=1)]

MOST_NOISE, SPEAKING_RATE = 2.0, (0.25, 4.0)  # as whoever speaks may choose

SCALE_GROUP = 4  # channels per group of the strided scale convolutions, as in the original
SIZES: dict[str, dict[str, Any]] = load_toml(Path(__file__).with_name("sizes.toml"))

# Each duration predictor reads settings the other does not; setting one that would be ignored is an error.
PLAIN_ONLY = ("duration_predictor_filter_channels",)
STOCHASTIC_ONLY = (
    "duration_predictor_num_flows",
    "duration_predictor_flow_bins",
    "duration_predictor_tail_bound",
    "depth_separable_num_layers",
    "noise_scale_duration",
)
HIFIGAN_ONLY = (
    "upsample_initial_channel",
    "resblock",
    "resblock_kernel_sizes",
    "resblock_dilation_sizes",
    "leaky_relu_slope",
)
SOURCE_ONLY = ("source_channels", "source_layers", "pitch_dropout", "weight_pitch", "weight_voicing")
SOURCE_WINDOWS = (256, 512, 2048)  # in which its sound is compared too: phases are its own, so one window is little
PITCH_RATE, PITCH_HOP = 16000, 256  # of features/pitch.py, for those who import no torch


def _tuples(value: Any) -> Any:
    """TOML has lists, settings have tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


class VitsConfig(Sized):
    """`size` chooses the defaults of everything below it; `mms` is the architecture of facebook/mms-tts."""

    sizes = SIZES
    size: Literal["tiny", "small", "mms"] = "small"

    # text encoder
    hidden_size: Width = Field(192, ge=2)
    num_hidden_layers: Depth = 6
    num_attention_heads: Count = 2
    window_size: Kernel = 4
    use_bias: bool = True
    ffn_dim: Width = 768
    ffn_kernel_size: Kernel = 3
    hidden_act: Literal["relu", "gelu"] = "relu"
    hidden_dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    activation_dropout: float = Field(0.1, ge=0, lt=1)
    layer_norm_eps: float = Field(1e-5, gt=0)

    # flow, posterior encoder
    flow_size: Width = Field(192, ge=2)
    prior_encoder_num_flows: Depth = 4
    prior_encoder_num_wavenet_layers: Depth = 4
    posterior_encoder_num_wavenet_layers: Depth = 16
    wavenet_kernel_size: Kernel = 5
    wavenet_dilation_rate: Kernel = 1
    wavenet_dropout: float = Field(0.0, ge=0, lt=1)

    # durations
    use_stochastic_duration_prediction: bool = True
    duration_predictor_filter_channels: Width = 256
    duration_predictor_kernel_size: Kernel = 3
    duration_predictor_dropout: float = Field(0.5, ge=0, lt=1)
    duration_predictor_num_flows: Depth = 4
    duration_predictor_flow_bins: Kernel = Field(10, ge=2)
    duration_predictor_tail_bound: float = Field(5.0, gt=0)
    depth_separable_num_layers: Depth = 3

    # decoder
    decoder: Literal["hifigan", "source"] = "hifigan"  # source: pulses and noise, filtered; its pitch comes of the text
    source_channels: Width = 256
    source_layers: Depth = 8
    pitch_dropout: float = Field(0.3, ge=0, lt=1)
    upsample_initial_channel: Width = Field(512, ge=2)
    upsample_rates: tuple[Count, ...] = (8, 8, 2, 2)
    upsample_kernel_sizes: tuple[Count, ...] = (16, 16, 4, 4)
    resblock: Literal["1", "2"] = "1"  # 2: half the convolutions, as in piper's low and medium voices
    resblock_kernel_sizes: tuple[Count, ...] = (3, 7, 11)
    resblock_dilation_sizes: tuple[tuple[Count, ...], ...] = ((1, 3, 5), (1, 3, 5), (1, 3, 5))
    leaky_relu_slope: float = Field(0.1, ge=0)
    speaker_embedding_size: Width = Field(256)  # read when there is more than one speaker

    # sound
    sampling_rate: int = Field(16000, ge=8000, le=768_000)
    spectrogram_bins: Count = Field(513, ge=65)
    mel_bins: Kernel = Field(80, ge=8)
    mel_low_hz: float = Field(0.0, ge=0)
    mel_high_hz: float | None = Field(None, gt=0)  # none: half the sampling rate
    mel_windows: tuple[Window, ...] = ()  # further windows, in samples, in which real and made sound are compared

    # discriminators
    discriminator_periods: tuple[Count, ...] = (2, 3, 5, 7, 11)
    discriminator_period_channels: tuple[Width, ...] = (32, 128, 512, 1024)
    discriminator_scale_channels: tuple[Width, ...] = (16, 64, 256, 1024)  # empty: no scale discriminator
    discriminator_kernel_size: Kernel = 5
    discriminator_stride: Kernel = 3
    discriminator_start: int = Field(0, ge=0)  # the step at which the discriminator joins
    discriminator_warmup: int = Field(0, ge=0)  # steps over which the generator comes to heed it, from not at all

    # training
    segment_size: int = Field(8192, ge=512, le=2**24)
    alignment_noise: float = Field(0.0, ge=0)  # added to the alignment score, in its deviations, as in VITS2; 0: none
    alignment_noise_decay: float = Field(2e-6, ge=0)  # and less of it by this at every step
    alignment_guide: int = Field(0, ge=0)  # steps in which the search is drawn to the diagonal, less and less; 0: never
    init_scale: float = Field(1.0, ge=0)  # rows of new symbols: how far from where they start, in the old rows' spread
    learning_rate: float = Field(2e-4, gt=0)
    discriminator_learning_rate: float = Field(2e-4, gt=0)
    adam_betas: tuple[Beta, Beta] = (0.8, 0.99)
    adam_epsilon: float = Field(1e-9, gt=0)
    gradient_checkpointing: bool = False  # less memory for more time: parts of the forward pass are made twice
    weight_decay: float = Field(0.01, ge=0)
    clip: float = Field(0.0, ge=0)  # gradient norm limit of each part; 0: measured, not clipped
    average: float = Field(0.999, ge=0, lt=1)  # decay of the averaged generator that is exported; 0: none
    weight_mel: float = Field(45.0, ge=0)
    weight_mel_windows: float = Field(22.5, ge=0)
    weight_kl: float = Field(1.0, ge=0)
    weight_duration: float = Field(1.0, ge=0)
    weight_pitch: float = Field(0.5, ge=0)
    weight_voicing: float = Field(0.5, ge=0)
    weight_adversarial: float = Field(1.0, ge=0)
    weight_features: float = Field(1.0, ge=0)
    weight_discriminator: float = Field(1.0, ge=0)

    # speaking defaults, stored in the voice
    noise_scale: float = Field(0.667, ge=0, le=MOST_NOISE)
    noise_scale_duration: float = Field(0.8, ge=0, le=MOST_NOISE)
    speaking_rate: float = Field(1.0, ge=SPEAKING_RATE[0], le=SPEAKING_RATE[1])

    @model_validator(mode="before")
    @classmethod
    def _source_defaults(cls, values: Any) -> Any:
        source = isinstance(values, dict) and values.get("decoder") == "source"
        return {"mel_windows": SOURCE_WINDOWS, **values} if source else values

    @model_validator(mode="after")
    def _kernels_fit(self) -> VitsConfig:
        odd = ("wavenet_kernel_size", "duration_predictor_kernel_size", "discriminator_kernel_size")
        for name in odd:
            if getattr(self, name) % 2 == 0:
                raise ValueError(f"{name} must be odd, so that lengths stay as they are")
        if any(kernel % 2 == 0 for kernel in self.resblock_kernel_sizes):
            raise ValueError("resblock_kernel_sizes must be odd, so that lengths stay as they are")
        if any(channels % SCALE_GROUP for channels in self.discriminator_scale_channels):
            raise ValueError(f"discriminator_scale_channels must be multiples of {SCALE_GROUP}")
        if self.fft_size < self.hop_length or (self.fft_size - self.hop_length) % 2:
            raise ValueError(
                f"spectrogram_bins gives a window of {self.fft_size}, which must exceed the hop, {self.hop_length}"
            )
        if self.mel_bins > self.spectrogram_bins:
            raise ValueError("mel_bins must not exceed spectrogram_bins")
        if self.hidden_size % self.num_attention_heads:
            raise ValueError("hidden_size must be a multiple of num_attention_heads")
        if self.flow_size % 2:
            raise ValueError("flow_size must be even")
        return self

    @model_validator(mode="after")
    def _decoder_fits(self) -> VitsConfig:
        for name in ("upsample_rates", "resblock_kernel_sizes", "discriminator_period_channels"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty")
        if not self.discriminator_periods and not self.discriminator_scale_channels:
            raise ValueError("there must be at least one discriminator")
        if max(self.discriminator_periods, default=0) >= self.segment_size:
            raise ValueError(f"discriminator_periods must be below segment_size, {self.segment_size}")
        if len(self.upsample_rates) != len(self.upsample_kernel_sizes):
            raise ValueError("upsample_rates and upsample_kernel_sizes must have the same length")
        for rate, kernel in zip(self.upsample_rates, self.upsample_kernel_sizes, strict=True):
            if kernel < rate or (kernel - rate) % 2:
                raise ValueError(f"upsample kernel {kernel} must exceed its rate {rate} by an even number")
        if self.upsample_initial_channel % 2 ** len(self.upsample_rates):
            raise ValueError("upsample_initial_channel must be divisible by 2 for every upsampling")
        if len(self.resblock_kernel_sizes) != len(self.resblock_dilation_sizes):
            raise ValueError("resblock_kernel_sizes and resblock_dilation_sizes must have the same length")
        if self.segment_size % self.hop_length:
            raise ValueError(
                f"segment_size must be a multiple of the hop, {self.hop_length} (product of upsample_rates)"
            )
        if self.segment_size <= (self.fft_size - self.hop_length) // 2:
            raise ValueError("segment_size is too short for one spectrogram frame")
        return self

    @model_validator(mode="after")
    def _pitch_fits(self) -> VitsConfig:
        sound = (self.sampling_rate, self.hop_length)
        if self.decoder == "source" and sound != (PITCH_RATE, PITCH_HOP):
            raise ValueError(
                f"decoder source hears pitch at {PITCH_RATE} Hz every {PITCH_HOP} samples (sampling_rate, product of"
                f" upsample_rates), not at {sound[0]} Hz every {sound[1]}"
            )
        return self

    @model_validator(mode="after")
    def _nothing_ignored(self) -> VitsConfig:
        stochastic, source = self.use_stochastic_duration_prediction, self.decoder == "source"
        kind = "stochastic" if stochastic else "plain"
        unread = dict.fromkeys(PLAIN_ONLY if stochastic else STOCHASTIC_ONLY, f"{kind} duration predictor")
        unread |= dict.fromkeys(HIFIGAN_ONLY if source else SOURCE_ONLY, f"{self.decoder} decoder")
        for name, what in unread.items():
            if getattr(self, name) != _tuples(self.usual(name)):
                raise ValueError(f"{name} has no effect with the {what}")
        decay = type(self).model_fields["alignment_noise_decay"].default
        if not self.alignment_noise and self.alignment_noise_decay != decay:
            raise ValueError("alignment_noise_decay has no effect while alignment_noise is 0")
        weight = type(self).model_fields["weight_mel_windows"].default
        if not self.mel_windows and self.weight_mel_windows != weight:
            raise ValueError("weight_mel_windows has no effect without mel_windows")
        if len(set(self.mel_windows)) < len(self.mel_windows) or max(self.mel_windows, default=0) > self.segment_size:
            raise ValueError("mel_windows must differ from each other, and none may exceed segment_size")
        if self.mel_top_hz > self.sampling_rate / 2 or self.mel_low_hz >= self.mel_top_hz:
            raise ValueError("mel_low_hz and mel_high_hz must lie between 0 and half the sampling rate")
        return self

    @property
    def hop_length(self) -> int:
        return prod(self.upsample_rates)

    @property
    def fft_size(self) -> int:
        return 2 * (self.spectrogram_bins - 1)

    @property
    def segment_frames(self) -> int:
        return self.segment_size // self.hop_length

    @property
    def mel_top_hz(self) -> float:
        return self.sampling_rate / 2 if self.mel_high_hz is None else self.mel_high_hz
