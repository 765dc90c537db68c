"""VITS as two ONNX graphs. Noise is an input, so that the same text and seed give the same samples.

encoder.onnx: ids [1, T], noise [1, C, N], duration_noise [1, 2, T], noise_scale, duration_noise_scale, length_scale
              (and speaker [1]) -> latents [1, C, F], durations [1, T]; noise shorter than F repeats
decoder.onnx: latents [B, C, F] (and speaker [B]) -> wave [B, S]; latents may come in chunks with
              `context` frames more on either side

With a source the encoder also gives contour [1, F] (log2 of hertz) and voicing [1, F] (0 or 1), and the decoder also
takes them [B, F], and source and noise [B, hop, F], which `speak/` makes for the whole sentence.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parametrize

from olu.audio.io import resample, to_int16
from olu.core.types import Audio
from olu.families.vits.config import VitsConfig
from olu.families.vits.learn import VitsLearner
from olu.families.vits.model import Decoder, Generator, ResBlock, mask_of
from olu.features import mel as spectra
from olu.features.pitch import at_centres
from olu.networks.session import load_model
from olu.nn.source_filter import INNER, SourceFilter, reach
from olu.nn.stft import Stft
from olu.train.family import Example

OPSET = 17
UNSPOKEN = ("posterior_encoder.", "decoder.stft.")  # no weights of a voice


class EncoderGraph(nn.Module):
    def __init__(self, gen: Generator) -> None:
        super().__init__()
        self.gen = gen

    def forward(
        self,
        ids: Tensor,
        noise: Tensor,
        duration_noise: Tensor,
        noise_scale: Tensor,
        duration_noise_scale: Tensor,
        length_scale: Tensor,
        speaker: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        return self.gen.latents(
            ids,
            torch.ones_like(ids).sum(1),  # the length as a traced value, not a constant
            g=self.gen.speaker(speaker),
            noise_BCF=noise,
            duration_noise_B2T=duration_noise,
            noise_scale=noise_scale,
            noise_scale_duration=duration_noise_scale,
            length_scale=length_scale,
        )


class DecoderGraph(nn.Module):
    def __init__(self, gen: Generator) -> None:
        super().__init__()
        self.gen, self.decoder = gen, FlatDecoder(cast(Decoder, gen.decoder))

    def forward(self, latents: Tensor, speaker: Tensor | None = None) -> Tensor:
        return cast(Tensor, self.decoder(latents, self.gen.speaker(speaker)))


class SourceDecoderGraph(nn.Module):
    def __init__(self, gen: Generator) -> None:
        super().__init__()
        self.gen = gen

    def forward(
        self,
        latents: Tensor,
        contour: Tensor,
        voicing: Tensor,
        source: Tensor,
        noise: Tensor,
        speaker: Tensor | None = None,
    ) -> Tensor:
        pulses, breath = (one.transpose(1, 2).flatten(1) for one in (source, noise))
        wave = self.gen.decoder(latents, contour, voicing, pulses, breath, self.gen.speaker(speaker))
        return cast(Tensor, wave)


def export(learner: nn.Module, *, folder: Path) -> dict[str, Any]:
    """Write both graphs; returns what voice.json keeps of this family."""
    assert isinstance(learner, VitsLearner)
    config, gen = learner.config, plain(learner.gen)
    size, frames = 7, 11
    speaker = (torch.zeros(1, dtype=torch.long),) if hasattr(gen, "embed_speaker") else ()
    scalars = tuple(torch.tensor(value) for value in (0.5, 0.5, 1.0))
    noise = (torch.randn(1, config.flow_size, frames), torch.randn(1, 2, size))
    names = ("speaker",) if speaker else ()
    beside = {} if gen.prosody is None else _beside(config, frames)
    melody = ("contour", "voicing") if beside else ()
    _write(
        EncoderGraph(gen),
        (torch.zeros(1, size, dtype=torch.long), *noise, *scalars, *speaker),
        folder / "encoder.onnx",
        inputs=["ids", "noise", "duration_noise", "noise_scale", "duration_noise_scale", "length_scale", *names],
        outputs=["latents", "durations", *melody],
        axes={
            "ids": {1: "T"},
            "noise": {2: "N"},
            "duration_noise": {2: "T"},
            "latents": {2: "F"},
            "durations": {1: "T"},
            **{name: {1: "F"} for name in melody},
        },
    )
    _write(
        SourceDecoderGraph(gen) if beside else DecoderGraph(gen),
        (torch.randn(1, config.flow_size, frames), *beside.values(), *speaker),
        folder / "decoder.onnx",
        inputs=["latents", *beside, *names],
        outputs=["wave"],
        axes={
            "latents": {0: "B", 2: "F"},
            "wave": {0: "B", 1: "S"},
            **{name: {0: "B", one.ndim - 1: "F"} for name, one in beside.items()},
            **{name: {0: "B"} for name in names},
        },
    )
    return {
        "rate": config.sampling_rate,
        "hop": config.hop_length,
        "channels": config.flow_size,
        "context": reach(layers=config.source_layers) if beside else context_frames(config),
        "sampling": {
            "noise_scale": config.noise_scale,
            "duration_noise_scale": config.noise_scale_duration,
            "length_scale": 1 / config.speaking_rate,
        },
        "parameters": sum(t.numel() for n, t in gen.state_dict().items() if not n.startswith(UNSPOKEN)),
    }


def _beside(config: VitsConfig, frames: int) -> dict[str, Tensor]:
    """What the decoder with a source takes beside the latents, in its order."""
    rows = torch.randn(1, config.hop_length, frames)
    return {"contour": torch.full((1, frames), 7.0), "voicing": torch.ones(1, frames), "source": rows, "noise": rows}


def plain(gen: Generator) -> Generator:
    """A copy for speaking: weight norm folded into the weights, eval mode, no gradients."""
    # Not a deepcopy: it would share the classes that hold the parametrisations, and removing them breaks the original.
    speakers = gen.embed_speaker.num_embeddings if hasattr(gen, "embed_speaker") else 1
    weights = {name: value.detach().cpu().clone() for name, value in gen.state_dict().items()}
    with torch.device("meta"):  # no time or random numbers spent on weights that are replaced at once
        gen = Generator(gen.config, vocab_size=gen.text_encoder.embed_tokens.num_embeddings, num_speakers=speakers)
    gen.load_state_dict(weights, assign=True)
    if isinstance(gen.decoder, SourceFilter):
        gen.decoder.stft = Stft(INNER)  # its matrices are in no state
        gen.decoder.stft.as_weights()
    for module in gen.modules():
        if parametrize.is_parametrized(module, "weight"):
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
    return gen.eval().requires_grad_(False)


def _write(
    graph: nn.Module,
    example: tuple[Tensor, ...],
    path: Path,
    *,
    inputs: list[str],
    outputs: list[str],
    axes: dict[str, dict[int, str]],
) -> None:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer's remarks; a test compares the graph with torch instead
        torch.onnx.export(
            graph.eval(),
            example,
            str(path),
            input_names=inputs,
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )


class OneGraph(nn.Module):
    def __init__(self, gen: Generator, reader: nn.Module | None) -> None:
        super().__init__()
        self.gen, self.reader = gen, reader

    def forward(self, input: Tensor, input_lengths: Tensor, scales: Tensor, sid: Tensor | None = None) -> Tensor:
        ids, lengths = self.reader(input, input_lengths) if self.reader else (input, input_lengths)
        g = self.gen.speaker(sid)
        latents, *_ = self.gen.latents(
            ids,
            lengths,
            g=g,
            noise_BCF=None,
            duration_noise_B2T=torch.randn_like(ids[:, None].expand(-1, 2, -1).float()),
            noise_scale=scales[0],
            noise_scale_duration=scales[2],
            length_scale=scales[1],
        )
        wave: Tensor = self.gen.decoder(latents, g)[:, None]
        return wave


def one_graph(
    learner: nn.Module, *, path: Path, reader: nn.Module | None = None, facts: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Write the graph, `facts` as its metadata; returns what others must know of it."""
    assert isinstance(learner, VitsLearner)
    config, gen = learner.config, plain(learner.gen)
    several = hasattr(gen, "embed_speaker")
    example = (torch.full((1, 7), 1), torch.tensor([7]), torch.tensor([0.5, 1.0, 0.5]))
    names = ["input", "input_lengths", "scales", *(["sid"] if several else [])]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer's remarks; tests compare the graph with torch instead
        torch.onnx.export(
            OneGraph(gen, reader).eval(),
            (*example, torch.zeros(1, dtype=torch.long)) if several else example,
            str(path),
            input_names=names,
            output_names=["output"],
            dynamic_axes={
                "input": {0: "batch", 1: "tokens"},
                "input_lengths": {0: "batch"},
                "output": {0: "batch", 2: "samples"},
                **({"sid": {0: "batch"}} if several else {}),
            },
            opset_version=OPSET,
            dynamo=False,
        )
    if facts:
        model = load_model(path)
        onnx.helper.set_model_props(model, dict(facts))
        onnx.save(model, str(path))
    return {
        "rate": config.sampling_rate,
        "hop": config.hop_length,
        "noise_scale": config.noise_scale,
        "noise_w": config.noise_scale_duration,
        "length_scale": 1 / config.speaking_rate,
    }


@torch.no_grad()
def copied(learner: nn.Module, audio: Audio, *, speaker: int) -> Audio:
    """Taken apart and put together again: the same recording gives the same copy."""
    voice = cast(VitsLearner, learner)
    config, gen = voice.config, voice.gen
    samples = to_int16(resample(audio, config.sampling_rate))
    heard = {"pitch": at_centres(samples)} if voice.with_source else {}
    clip = Example(id="", ids=(0,), samples=samples, speaker=speaker, features=heard)
    batch = voice.collate([clip]).to(voice.mel_bank.device)
    g = gen.speaker(batch.speaker_B)
    linear = spectra.linear(batch.padded_BS, fft_size=config.fft_size, hop=config.hop_length)
    mask = mask_of(batch.frames_B, linear.shape[2])
    mean, log_std = gen.posterior_encoder(linear * mask, mask, g)
    # Drawn as in training: the decoder never met the means alone, and answers them with a bad sound.
    latents = mean + torch.exp(log_std) * _noise(samples, like=mean)
    frames = int(batch.frames_B[0])
    beside: tuple[Tensor, ...] = ()
    if batch.melody_B2F is not None:
        contour, voicing, source, _ = voice.excited(*batch.melody_B2F.unbind(1))
        beside = (contour, voicing, source, _noise(samples, like=source))
    wave = gen.decoder((latents * mask)[:, :, :frames], *beside, g)[0].float().cpu().numpy()
    return Audio(wave, config.sampling_rate)


def _noise(samples: NDArray[np.int16], *, like: Tensor) -> Tensor:
    """Chance that belongs to the recording, on every device the same."""
    seed = int.from_bytes(hashlib.blake2b(samples.tobytes(), digest_size=7).digest(), "big")
    drawn = torch.randn(like.shape, generator=torch.Generator().manual_seed(seed))
    return drawn.to(like.device, like.dtype)


# ---- the decoder for speaking on a CPU: the same numbers as pictures of one row, and how far it looks around
# ONNX Runtime has its fastest convolutions (blocked channels, no copies) for two dimensions only: 1.4 times the speed.


Made = TypeVar("Made", nn.Conv2d, nn.ConvTranspose2d)
EDGE_KERNEL = 7  # of the first and the last convolution


class FlatDecoder(nn.Module):
    """Takes a decoder's weights (weight norm folded) and gives its wave, [B, C, F] to [B, S]."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.slope, self.kinds = decoder.slope, decoder.kinds
        self.conv_pre, self.conv_post = _flat(decoder.conv_pre), _flat(decoder.conv_post)
        self.upsampler = nn.ModuleList(_flat_up(up) for up in decoder.upsampler)
        self.resblocks = nn.ModuleList(FlatBlock(block) for block in decoder.resblocks)
        if hasattr(decoder, "cond"):
            self.cond = _flat(decoder.cond)

    def forward(self, latents_BCF: Tensor, g: Tensor | None) -> Tensor:
        x = self.conv_pre(latents_BCF.unsqueeze(2))
        if g is not None:
            x = x + self.cond(g.unsqueeze(2))
        for i, up in enumerate(self.upsampler):
            x = up(F.leaky_relu(x, self.slope))
            blocks = self.resblocks[i * self.kinds : (i + 1) * self.kinds]
            x = _sum(blocks, x) / self.kinds
        wave: Tensor = torch.tanh(self.conv_post(F.leaky_relu(x, 0.01))).squeeze(2).squeeze(1)
        return wave


class FlatBlock(nn.Module):
    """Both kinds of residual block: convolutions in ones or in pairs."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        pairs = isinstance(block, ResBlock)
        self.slope: float = block.slope  # type: ignore[assignment]
        steps = zip(block.convs1, block.convs2, strict=True) if pairs else ((conv,) for conv in block.convs)  # type: ignore
        self.steps = nn.ModuleList(nn.ModuleList(_flat(conv) for conv in step) for step in steps)

    def forward(self, x: Tensor) -> Tensor:
        for step in self.steps:
            y = x
            for conv in step:  # type: ignore[attr-defined]
                y = conv(F.leaky_relu(y, self.slope))
            x = x + y
        return x


def context_frames(config: VitsConfig) -> int:
    """Frames on either side that a frame's samples depend on: the overlap of chunks that join without a seam."""
    paired = config.resblock == "1"
    block = max(
        sum((kernel - 1) // 2 * (dilation + (1 if paired else 0)) for dilation in dilations)
        for kernel, dilations in zip(config.resblock_kernel_sizes, config.resblock_dilation_sizes, strict=True)
    )
    reach, per_frame = float(EDGE_KERNEL // 2), 1
    for rate, kernel in zip(config.upsample_rates, config.upsample_kernel_sizes, strict=True):
        reach += math.ceil(kernel / rate) / per_frame
        per_frame *= rate
        reach += block / per_frame
    return math.ceil(reach + EDGE_KERNEL // 2 / per_frame)


def _sum(blocks: nn.ModuleList, x: Tensor) -> Tensor:
    first, *others = blocks
    total: Tensor = first(x)
    for block in others:
        total = total + block(x)
    return total


def _flat(conv: nn.Module) -> nn.Conv2d:
    assert isinstance(conv, nn.Conv1d)
    made = nn.Conv2d(
        conv.in_channels,
        conv.out_channels,
        (1, conv.kernel_size[0]),
        padding=(0, int(conv.padding[0])),
        dilation=(1, conv.dilation[0]),
        bias=conv.bias is not None,
        device="meta",
    )
    return _given(made, conv)


def _flat_up(up: nn.Module) -> nn.ConvTranspose2d:
    assert isinstance(up, nn.ConvTranspose1d)
    made = nn.ConvTranspose2d(
        up.in_channels,
        up.out_channels,
        (1, up.kernel_size[0]),
        stride=(1, up.stride[0]),
        padding=(0, int(up.padding[0])),
        device="meta",
    )
    return _given(made, up)


def _given(made: Made, source: nn.Conv1d | nn.ConvTranspose1d) -> Made:
    made.weight = nn.Parameter(source.weight.detach().unsqueeze(2), requires_grad=False)
    if source.bias is not None:
        made.bias = nn.Parameter(source.bias.detach(), requires_grad=False)
    return made
