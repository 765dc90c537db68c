"""The VITS network, inference path first. Parameter names equal transformers' `VitsModel` once weight norm is folded.

Shape letters: B clips, T tokens, F frames, C channels, N spectrogram bins, S samples, H heads.
Masks are [B, 1, T] or [B, 1, F] of ones and zeros. g is a speaker vector [B, C, 1] or None.
"""

from __future__ import annotations

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from olu.families.vits.config import SCALE_GROUP, VitsConfig
from olu.families.vits.durations import PlainDurations, StochasticDurations
from olu.families.vits.prosody import TextMelody
from olu.nn.attention import RelativeAttention
from olu.nn.discriminators import ConvDiscriminator, PeriodDiscriminator
from olu.nn.kernels.convs import Conv1d, ConvTranspose1d, channels_last
from olu.nn.kernels.fused import bias_add_leaky, bias_gate, bias_leaky, can_fuse, skip_add, weights_made_once
from olu.nn.kernels.streams import side_by_side
from olu.nn.source_filter import SourceFilter
from olu.nn.weight_norm import weight_norm


class Generator(nn.Module):
    """Text to sound, and in training sound to latents."""

    def __init__(self, config: VitsConfig, *, vocab_size: int, num_speakers: int) -> None:
        super().__init__()
        self.config = config
        cond = config.speaker_embedding_size if num_speakers > 1 else 0
        self.text_encoder = TextEncoder(config, vocab_size=vocab_size)
        predictor = StochasticDurations if config.use_stochastic_duration_prediction else PlainDurations
        self.duration_predictor = predictor(config, cond=cond)
        self.flow = Flow(config, cond=cond)
        self.decoder = _decoder(config, cond=cond)
        self.posterior_encoder = PosteriorEncoder(config, cond=cond)
        if cond:
            self.embed_speaker = nn.Embedding(num_speakers, cond)
        self.prosody = TextMelody(config, cond=cond) if config.decoder == "source" else None

    def speaker(self, speaker_B: Tensor | None) -> Tensor | None:
        return self.embed_speaker(speaker_B).unsqueeze(-1) if hasattr(self, "embed_speaker") else None

    def latents(
        self,
        ids_BT: Tensor,
        lengths_B: Tensor,
        *,
        g: Tensor | None,
        noise_BCF: Tensor | None,
        duration_noise_B2T: Tensor,
        noise_scale: Tensor | float,
        noise_scale_duration: Tensor | float,
        length_scale: Tensor | float,
    ) -> tuple[Tensor, ...]:
        """Decoder input [B, C, F] and durations in frames [B, T]. Noise may be shorter than F: it repeats; or made.

        With a source: also the pitch, log2 of hertz, and the voicing, 0 or 1, of every frame, [B, F].
        """
        id_mask = mask_of(lengths_B, ids_BT.shape[1])
        hidden, mean, log_std = self.text_encoder(ids_BT, id_mask)
        log_durations = self.duration_predictor.infer(hidden, id_mask, g, duration_noise_B2T * noise_scale_duration)
        durations = torch.ceil(torch.exp(log_durations) * id_mask * length_scale).squeeze(1)
        frames_B = torch.clamp_min(durations.sum(1), 1).long()
        path_BFT, frame_mask = expansion(durations, frames_B)
        melody = self.prosody(hidden, id_mask, g, path_BFT, frame_mask) if self.prosody is not None else ()
        mean, log_std = (path_BFT @ x.transpose(1, 2) for x in (mean, log_std))
        if noise_BCF is None:
            noise_BCF = torch.randn_like(mean.transpose(1, 2))
        at = torch.arange(path_BFT.shape[1], device=ids_BT.device) % noise_BCF.shape[2]
        prior = mean.transpose(1, 2) + noise_BCF[:, :, at] * torch.exp(log_std.transpose(1, 2)) * noise_scale
        latents = self.flow(prior * frame_mask, frame_mask, g, reverse=True) * frame_mask
        if not melody:
            return latents, durations
        contour, logit = melody
        return latents, durations, contour, (logit > 0).float() * frame_mask.squeeze(1)


def mask_of(lengths_B: Tensor, size: int) -> Tensor:
    return (torch.arange(size, device=lengths_B.device)[None] < lengths_B[:, None]).float().unsqueeze(1)


def expansion(durations_BT: Tensor, frames_B: Tensor) -> tuple[Tensor, Tensor]:
    """The path [B, F, T] that repeats each token for its duration, and the frame mask [B, 1, F]."""
    ends = torch.cumsum(durations_BT, 1)
    frame = torch.arange(frames_B.max(), device=durations_BT.device)[None, :, None]
    path = ((frame < ends[:, None]) & (frame >= (ends - durations_BT)[:, None])).float()
    return path, (frame.squeeze(-1) < frames_B[:, None]).float().unsqueeze(1)


# ---------------------------------------------------------------- text


class TextEncoder(nn.Module):
    def __init__(self, config: VitsConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, config.hidden_size)
        nn.init.normal_(self.embed_tokens.weight, 0.0, config.hidden_size**-0.5)
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_hidden_layers))
        self.project = nn.Conv1d(config.hidden_size, 2 * config.flow_size, 1)

    def forward(self, ids_BT: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Hidden states, prior mean and log deviation, each [B, C, T]."""
        mask_BT1 = mask.transpose(1, 2)
        hidden = self.embed_tokens(ids_BT) * math.sqrt(self.embed_tokens.embedding_dim) * mask_BT1
        for layer in self.encoder.layers:
            hidden = layer(hidden, mask)
        hidden = (hidden * mask_BT1).transpose(1, 2)
        mean, log_std = (self.project(hidden) * mask).chunk(2, dim=1)
        return hidden, mean, log_std


class EncoderLayer(nn.Module):
    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        self.attention = RelativeAttention(
            config.hidden_size,
            heads=config.num_attention_heads,
            window=config.window_size,
            bias=config.use_bias,
            dropout=config.attention_dropout,
        )
        self.layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.feed_forward = FeedForward(config)
        self.final_layer_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout)

    def forward(self, hidden_BTC: Tensor, mask: Tensor) -> Tensor:
        hidden_BTC = self.layer_norm(hidden_BTC + self.dropout(self.attention(hidden_BTC, mask)))
        return self.final_layer_norm(hidden_BTC + self.dropout(self.feed_forward(hidden_BTC, mask)))


class FeedForward(nn.Module):
    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        kernel = config.ffn_kernel_size
        self.pad = ((kernel - 1) // 2, kernel // 2)
        self.conv_1 = nn.Conv1d(config.hidden_size, config.ffn_dim, kernel)
        self.conv_2 = nn.Conv1d(config.ffn_dim, config.hidden_size, kernel)
        self.act = F.relu if config.hidden_act == "relu" else F.gelu
        self.dropout = nn.Dropout(config.activation_dropout)

    def forward(self, hidden_BTC: Tensor, mask: Tensor) -> Tensor:
        x = hidden_BTC.transpose(1, 2) * mask
        x = self.dropout(self.act(self.conv_1(F.pad(x, self.pad))))
        x = self.conv_2(F.pad(x * mask, self.pad)) * mask
        return x.transpose(1, 2)


# ---------------------------------------------------------------- latents


class WaveNet(nn.Module):
    def __init__(self, config: VitsConfig, *, layers: int, cond: int) -> None:
        super().__init__()
        self.size = size = config.hidden_size
        self.in_layers, self.res_skip_layers = nn.ModuleList(), nn.ModuleList()
        for i in range(layers):
            dilation = config.wavenet_dilation_rate**i
            pad = (config.wavenet_kernel_size * dilation - dilation) // 2
            conv = Conv1d(size, 2 * size, config.wavenet_kernel_size, dilation=dilation, padding=pad)
            self.in_layers.append(weight_norm(conv))
            self.res_skip_layers.append(weight_norm(Conv1d(size, 2 * size if i < layers - 1 else size, 1)))
        if cond:
            self.cond_layer = weight_norm(Conv1d(cond, 2 * size * layers, 1))
        self.dropout = nn.Dropout(config.wavenet_dropout)

    def forward(self, x: Tensor, mask: Tensor, g: Tensor | None) -> Tensor:
        if g is None and can_fuse(x):
            return self._fused(x, mask)
        output = torch.zeros_like(x)
        conds = None if g is None else self.cond_layer(g).split(2 * self.size, dim=1)
        last = len(self.in_layers) - 1
        for i, (in_layer, res_skip) in enumerate(zip(self.in_layers, self.res_skip_layers, strict=True)):
            inner = in_layer(x)
            if conds is not None:
                inner = inner + conds[i]
            gate, level = inner.chunk(2, dim=1)
            both = res_skip(self.dropout(torch.tanh(gate) * torch.sigmoid(level)))
            if i == last:
                output = output + both
            else:
                x = (x + both[:, : self.size]) * mask
                output = output + both[:, self.size :]
        return output * mask

    def _fused(self, x: Tensor, mask: Tensor) -> Tensor:
        """The same for one speaker on a GPU: what is carried along stays in full precision."""
        x = x.float()
        output, half = torch.zeros_like(x), x
        *pairs, (last_in, last_out) = zip(self.in_layers, self.res_skip_layers, strict=True)
        for in_layer, res_skip in pairs:
            acted = self.dropout(bias_gate(in_layer.bare(half), in_layer.bias))
            x, half, output = skip_add(res_skip.bare(acted), res_skip.bias, x, output, mask)
        return (output + last_out(self.dropout(bias_gate(last_in.bare(half), last_in.bias)))) * mask


class PosteriorEncoder(nn.Module):
    def __init__(self, config: VitsConfig, *, cond: int) -> None:
        super().__init__()
        self.conv_pre = Conv1d(config.spectrogram_bins, config.hidden_size, 1)
        self.wavenet = WaveNet(config, layers=config.posterior_encoder_num_wavenet_layers, cond=cond)
        self.conv_proj = Conv1d(config.hidden_size, 2 * config.flow_size, 1)

    def forward(self, linear_BNF: Tensor, mask: Tensor, g: Tensor | None) -> tuple[Tensor, Tensor]:
        """Mean and log deviation of the latents, [B, C, F] each."""
        x = self.wavenet(self.conv_pre(channels_last(linear_BNF)) * mask, mask, g)
        mean, log_std = (self.conv_proj(x) * mask).chunk(2, dim=1)
        return mean, log_std


class Flow(nn.Module):
    """Mean-only coupling layers with a channel flip after each; starts as the identity."""

    def __init__(self, config: VitsConfig, *, cond: int) -> None:
        super().__init__()
        self.flows = nn.ModuleList(Coupling(config, cond=cond) for _ in range(config.prior_encoder_num_flows))

    def forward(self, x: Tensor, mask: Tensor, g: Tensor | None, *, reverse: bool = False) -> Tensor:
        if not reverse:
            for flow in self.flows:
                x = torch.flip(flow(x, mask, g, sign=1), [1])
        else:
            for flow in reversed(self.flows):
                x = flow(torch.flip(x, [1]), mask, g, sign=-1)
        return x


class Coupling(nn.Module):
    def __init__(self, config: VitsConfig, *, cond: int) -> None:
        super().__init__()
        self.half = config.flow_size // 2
        self.conv_pre = Conv1d(self.half, config.hidden_size, 1)
        self.wavenet = WaveNet(config, layers=config.prior_encoder_num_wavenet_layers, cond=cond)
        self.conv_post = Conv1d(config.hidden_size, self.half, 1)
        nn.init.zeros_(self.conv_post.weight)
        nn.init.zeros_(self.conv_post.bias)

    def forward(self, x: Tensor, mask: Tensor, g: Tensor | None, *, sign: int) -> Tensor:
        kept, moved = channels_last(x).split(self.half, dim=1)
        mean = self.conv_post(self.wavenet(self.conv_pre(kept) * mask, mask, g)) * mask
        return torch.cat([kept, (moved + sign * mean) * mask], dim=1)


# ---------------------------------------------------------------- sound


def _decoder(config: VitsConfig, *, cond: int) -> nn.Module:
    if config.decoder == "hifigan":
        return Decoder(config, cond=cond)
    return SourceFilter(config.flow_size, channels=config.source_channels, layers=config.source_layers, condition=cond)


class Decoder(nn.Module):
    """HiFi-GAN: latents [B, C, F] to waves [B, S]."""

    def __init__(self, config: VitsConfig, *, cond: int) -> None:
        super().__init__()
        self.slope, self.kinds = config.leaky_relu_slope, len(config.resblock_kernel_sizes)
        channels = config.upsample_initial_channel
        self.conv_pre = Conv1d(config.flow_size, channels, 7, padding=3)
        self.upsampler, self.resblocks = nn.ModuleList(), nn.ModuleList()
        for rate, kernel in zip(config.upsample_rates, config.upsample_kernel_sizes, strict=True):
            up = ConvTranspose1d(channels, channels // 2, kernel, stride=rate, padding=(kernel - rate) // 2)
            nn.init.normal_(up.weight, 0.0, 0.01)
            self.upsampler.append(weight_norm(up))
            channels //= 2
            for size, dilations in zip(config.resblock_kernel_sizes, config.resblock_dilation_sizes, strict=True):
                block = ResBlock if config.resblock == "1" else LightResBlock
                self.resblocks.append(block(channels, kernel=size, dilations=dilations, slope=self.slope))
        self.conv_post = Conv1d(channels, 1, 7, padding=3, bias=False)
        if cond:
            self.cond = Conv1d(cond, config.upsample_initial_channel, 1)

    def forward(self, latents_BCF: Tensor, g: Tensor | None) -> Tensor:
        x = self.conv_pre(channels_last(latents_BCF))
        if g is not None:
            x = x + self.cond(g)
        for i, up in enumerate(self.upsampler):
            x = up(F.leaky_relu(x, self.slope))
            first, *rest = self.resblocks[i * self.kinds : (i + 1) * self.kinds]
            x = sum((block(x) for block in rest), start=first(x)) / self.kinds
        return torch.tanh(self.conv_post(F.leaky_relu(x, 0.01))).squeeze(1)  # this slope is .01 in every release


class ResBlock(nn.Module):
    def __init__(self, channels: int, *, kernel: int, dilations: tuple[int, ...], slope: float) -> None:
        super().__init__()
        self.slope = slope
        self.convs1 = nn.ModuleList(_same(channels, kernel, dilation) for dilation in dilations)
        self.convs2 = nn.ModuleList(_same(channels, kernel, 1) for _ in dilations)

    def forward(self, x: Tensor) -> Tensor:
        if can_fuse(x):
            return self._fused(x)
        for conv1, conv2 in zip(self.convs1, self.convs2, strict=True):
            x = x + conv2(F.leaky_relu(conv1(F.leaky_relu(x, self.slope)), self.slope))
        return x

    def _fused(self, x: Tensor) -> Tensor:
        bent = F.leaky_relu(x, self.slope)
        for conv1, conv2 in zip(self.convs1, self.convs2, strict=True):
            inner = bias_leaky(conv1.bare(bent), conv1.bias, self.slope)
            x, bent = bias_add_leaky(conv2.bare(inner), conv2.bias, x, self.slope)
        return x


class LightResBlock(nn.Module):
    def __init__(self, channels: int, *, kernel: int, dilations: tuple[int, ...], slope: float) -> None:
        super().__init__()
        self.slope = slope
        self.convs = nn.ModuleList(_same(channels, kernel, dilation) for dilation in dilations)

    def forward(self, x: Tensor) -> Tensor:
        for conv in self.convs:
            x = x + conv(F.leaky_relu(x, self.slope))
        return x


def _same(channels: int, kernel: int, dilation: int) -> nn.Module:
    conv = Conv1d(channels, channels, kernel, dilation=dilation, padding=(kernel - 1) * dilation // 2)
    nn.init.normal_(conv.weight, 0.0, 0.01)
    return weight_norm(conv)


# ---- the discriminators of training: one at full rate and one per period; each gives feature maps, then a verdict


class Discriminator(nn.Module):
    """The scale discriminator first (where there is one), then the periods."""

    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        scale = [ScaleDiscriminator(config)] if config.discriminator_scale_channels else []
        size = {"kernel": config.discriminator_kernel_size, "stride": config.discriminator_stride}
        channels = config.discriminator_period_channels
        periods = [PeriodDiscriminator(period, channels, **size) for period in config.discriminator_periods]
        self.discriminators = nn.ModuleList([*scale, *periods])

    def forward(self, wave_BS: Tensor) -> list[list[Tensor]]:
        wave = wave_BS.unsqueeze(1)
        return side_by_side([partial(discriminator, wave) for discriminator in self.discriminators], device=wave.device)

    def compare(self, real_BS: Tensor, fake_BS: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Each discriminator's verdict on the fake, and the summed mean distance of its feature maps to the real ones.

        The real side only sets the target: no graph, no backward.
        """
        real, fake = real_BS.unsqueeze(1), fake_BS.unsqueeze(1)
        works = [partial(discriminator.compare, real, fake) for discriminator in self.discriminators]  # type: ignore[union-attr]
        with weights_made_once():
            return side_by_side(works, device=real.device)


class ScaleDiscriminator(ConvDiscriminator):
    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        first, *rest = config.discriminator_scale_channels
        convs = [Conv1d(1, first, 15, padding=7)]
        before = first
        for size in [*rest, before if not rest else rest[-1]]:
            groups = math.gcd(before // SCALE_GROUP, size)
            convs.append(Conv1d(before, size, 41, stride=4, groups=groups, padding=20))
            before = size
        convs.append(Conv1d(before, before, 5, padding=2))
        self.convs = nn.ModuleList(weight_norm(conv) for conv in convs)
        self.final_conv = weight_norm(Conv1d(before, 1, 3, padding=1))
