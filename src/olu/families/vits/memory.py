"""How much memory a batch takes in training, without torch.

Fitted to what autograd keeps for one step in fp32, measured for the sizes small and mms with clips of 2 to 20 s, 13 to
801 tokens and segments of 4096 and 8192 samples: every measurement is met to 3 %. Two things grow with a clip: its
frames (posterior encoder and flow) and the square of its tokens (attention). The decoder and the discriminators hear
one segment of each clip, however long it is.
"""

from __future__ import annotations

from math import prod

from olu.families.vits.config import VitsConfig

BYTES = 4  # of a float
PARAMETERS = {"tiny": 0.1e6, "small": 9.3e6, "mms": 83.0e6}  # generator and discriminators
PER_PARAMETER = 26  # bytes: weight, gradient, two moments, average, and what normed weights keep
PASSING = 1.2  # times: what the backward pass holds for a moment, and blocks an allocator cannot reuse


def memory(config: VitsConfig, *, clips: int, seconds: float, tokens: int) -> float:
    """Bytes at the peak of a step on `clips` clips, padded to the longest; a GPU driver's own 0.5 GB come on top."""
    frames = seconds * config.sampling_rate / config.hop_length
    per_clip = (
        frames * _per_frame(config)
        + tokens * _per_token(config)
        + tokens**2 * 5 * config.num_hidden_layers * config.num_attention_heads
        + config.segment_size * _per_sample(config)
    )
    return PER_PARAMETER * PARAMETERS[config.size] + PASSING * BYTES * clips * per_clip


def _per_frame(c: VitsConfig) -> float:
    layers = c.posterior_encoder_num_wavenet_layers + c.prior_encoder_num_flows * c.prior_encoder_num_wavenet_layers
    return 4.58 * layers * c.hidden_size + 2.28 * c.spectrogram_bins


def _per_token(c: VitsConfig) -> float:
    durations = (
        190 * c.hidden_size if c.use_stochastic_duration_prediction else 17 * c.duration_predictor_filter_channels
    )
    return c.num_hidden_layers * (8 * c.hidden_size + 3 * c.ffn_dim) + durations


def _per_sample(c: VitsConfig) -> float:
    convolutions = 2 * sum(len(dilations) for dilations in c.resblock_dilation_sizes)
    wide = sum(
        c.upsample_initial_channel / 2 ** (stage + 1) * prod(c.upsample_rates[: stage + 1]) / c.hop_length
        for stage in range(len(c.upsample_rates))
    )
    judged = sum(
        channels / c.discriminator_stride ** (place + 1)
        for place, channels in enumerate(c.discriminator_period_channels)
    )
    return float(2 * convolutions * wide + 10.6 * len(c.discriminator_periods) * judged)
