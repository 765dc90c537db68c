"""Learning VITS: one forward, an update for the discriminators, then one for the generator.

Shape letters as in model.py; M mel bins, f frames of the random segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from olu.core.types import Audio
from olu.families.vits.config import VitsConfig
from olu.families.vits.model import Discriminator, Generator, mask_of
from olu.features import mel as spectra
from olu.features.pitch import melody
from olu.nn.discriminators import discriminator_loss, item_means, may_move
from olu.nn.kernels.mas import best_path, guided, shaken
from olu.nn.kernels.streams import side_by_side
from olu.nn.source import pulses
from olu.train.batches import BatchShape
from olu.train.family import Clock, Example, Loss, Part, SpokenSample, Update


@dataclass(frozen=True)
class VitsBatch:
    ids_BT: Tensor
    tokens_B: Tensor
    padded_BS: Tensor  # waves with their own reflected edges, then zeros
    frames_B: Tensor
    speaker_B: Tensor
    counts: Mapping[str, float]
    clips: tuple[str, ...]
    melody_B2F: Tensor | None = None  # log2 of hertz and voicing, for the decoder with a source

    def to(self, device: torch.device) -> VitsBatch:
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        placed: dict[str, Any] = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in values.items()}
        return VitsBatch(**placed)


@dataclass(frozen=True)
class ForwardResult:
    """What the forward pass of training leaves for both updates. Losses here are sums in float32."""

    fake_BS: Tensor
    real_BS: Tensor
    mel: Tensor
    mel_windows: Tensor | None
    kl: Tensor
    duration: Tensor
    melody: Mapping[str, Tensor]  # pitch and voicing, with a source


class VitsLearner(nn.Module):
    def __init__(self, config: VitsConfig, *, vocab_size: int, num_speakers: int) -> None:
        super().__init__()
        self.config = config
        self.gen = Generator(config, vocab_size=vocab_size, num_speakers=num_speakers)
        self.disc = Discriminator(config)
        bank = spectra.mel_bank(
            rate=config.sampling_rate,
            fft_size=config.fft_size,
            bins=config.mel_bins,
            low=config.mel_low_hz,
            high=config.mel_top_hz,
        )
        self.mel_bank: Tensor
        self.register_buffer("mel_bank", torch.from_numpy(bank), persistent=False)
        self.windows = Windows(config)
        self.with_source = config.decoder == "source"

    def parts(self) -> dict[str, Part]:
        c = self.config
        shared: dict[str, Any] = {
            "betas": c.adam_betas,
            "eps": c.adam_epsilon,
            "weight_decay": c.weight_decay,
            "clip": c.clip or None,
        }
        return {
            "disc": Part(self.disc, lr=c.discriminator_learning_rate, start=c.discriminator_start, **shared),
            "gen": Part(self.gen, lr=c.learning_rate, ema=c.average or None, **shared),
        }

    def knobs(self, step: int) -> dict[str, float]:
        c = self.config
        since = step - c.discriminator_start + 1
        return {
            "heed": min(1.0, max(0, since) / (c.discriminator_warmup or 1)),
            "alignment_noise": max(0.0, c.alignment_noise - c.alignment_noise_decay * step),
            "alignment_guide": max(0.0, 1 - step / c.alignment_guide) if c.alignment_guide else 0.0,
        }

    def collate(self, examples: Sequence[Example]) -> VitsBatch:
        hop, pad = self.config.hop_length, spectra.padding(fft_size=self.config.fft_size, hop=self.config.hop_length)
        tokens = [len(e.ids) for e in examples]
        samples = [len(e.samples) for e in examples]
        ids = np.zeros((len(examples), max(tokens)), dtype=np.int64)
        waves = np.zeros((len(examples), max(samples) + 2 * pad), dtype=np.float32)
        for row, example in enumerate(examples):
            ids[row, : tokens[row]] = example.ids
            wave = example.samples.astype(np.float32) / 32768.0
            waves[row, : samples[row] + 2 * pad] = np.pad(wave, pad, mode="reflect")
        frames = [count // hop for count in samples]
        melody = np.zeros((len(examples), 2, max(frames)), dtype=np.float32)
        for row, example in enumerate(examples if self.with_source else ()):
            melody[row, :, : frames[row]] = self.resident(example)["pitch"].T
        return VitsBatch(
            ids_BT=torch.from_numpy(ids),
            tokens_B=torch.tensor(tokens),
            padded_BS=torch.from_numpy(waves),
            frames_B=torch.tensor(frames),
            speaker_B=torch.tensor([e.speaker for e in examples]),
            counts=self.counts(examples),
            clips=tuple(e.id for e in examples),
            melody_B2F=torch.from_numpy(melody) if self.with_source else None,
        )

    def resident(self, example: Example) -> dict[str, NDArray[Any]]:
        if not self.with_source:
            return {"sound": example.samples}
        frames = len(example.samples) // self.config.hop_length
        return {"sound": example.samples, "pitch": melody(example.features["pitch"], frames)}

    def pack(
        self, examples: Sequence[Example], firsts: Mapping[str, Sequence[int]], shape: BatchShape
    ) -> NDArray[np.int64]:
        """What `unpack` needs of a batch whose sound lies on the device already, as one row of numbers."""
        ids = np.zeros((shape.clips, shape.tokens), dtype=np.int64)
        for row, example in enumerate(examples):
            ids[row, : len(example.ids)] = example.ids
        rest = [[len(e.ids) for e in examples], [len(e.samples) for e in examples], firsts["sound"]]
        if self.with_source:
            rest.append(firsts["pitch"])
        return np.concatenate([ids.ravel(), np.ravel(rest), [e.speaker for e in examples]]).astype(np.int64)

    def unpack(self, flat: Tensor, resident: Mapping[str, Tensor], shape: BatchShape) -> VitsBatch:
        """The same batch as `collate` makes, padded to a shape; every edge reflects its own clip."""
        pad = spectra.padding(fft_size=self.config.fft_size, hop=self.config.hop_length)
        ids = flat[: shape.clips * shape.tokens].view(shape.clips, shape.tokens)
        tokens, samples, firsts, *rows, speaker = flat[ids.numel() :].view(-1, shape.clips)
        at = torch.arange(-pad, shape.samples + pad, device=flat.device)
        last = samples[:, None] - 1
        folded = torch.where(at > last, 2 * last - at, at.abs()).clamp_min(0)
        padded = resident["sound"][firsts[:, None] + folded].float() / 32768.0 * (at <= last + pad)
        frames = samples // self.config.hop_length
        melody = None
        if rows:
            frame = torch.arange(shape.samples // self.config.hop_length, device=flat.device)
            inside = frame < frames[:, None]
            at = rows[0][:, None] + torch.where(inside, frame, 0)
            melody = (resident["pitch"][at] * inside.unsqueeze(-1)).transpose(1, 2)
        return VitsBatch(ids, tokens, padded, frames, speaker, {}, (), melody)

    def counts(self, examples: Sequence[Example]) -> dict[str, float]:
        frames = sum(len(e.samples) // self.config.hop_length for e in examples)
        return {
            "items": float(len(examples)),
            "frames": float(frames),
            "tokens": float(sum(len(e.ids) for e in examples)),
        }

    def step(self, batch: VitsBatch, clock: Clock) -> Iterator[Update]:
        c = self.config
        room = (batch.frames_B - c.segment_frames + 1).clamp_min(1)
        start_B = (torch.rand(len(room), device=room.device) * room).long()
        knobs = clock.knobs or self.knobs(clock.step)
        push = {"noise": knobs["alignment_noise"], "guide": knobs["alignment_guide"]}
        asked = {"noise": c.alignment_noise, "guide": c.alignment_guide}
        # a number that is 0 needs no work; a recorded step reads its numbers anew each time
        push = {
            name: value for name, value in push.items() if asked[name] and not (isinstance(value, float) and value == 0)
        }
        turns_B = torch.rand(len(room), device=room.device) if self.with_source else None
        heard = self.forward(batch, start_B, turns_B=turns_B, **push)
        with_discriminator = clock.step >= c.discriminator_start
        if with_discriminator:
            verdicts = self.disc(torch.cat([heard.real_BS, heard.fake_BS.detach()]))
            yield Update("disc", {"disc": Loss(discriminator_loss(verdicts), "items", c.weight_discriminator)})
        losses = {
            "mel": Loss(heard.mel, "items", c.weight_mel),
            "kl": Loss(heard.kl, "frames", c.weight_kl),
            "duration": Loss(heard.duration, "tokens", c.weight_duration),
        }
        weights = {"pitch": c.weight_pitch, "voicing": c.weight_voicing}
        losses |= {name: Loss(value, "frames", weights[name]) for name, value in heard.melody.items()}
        if heard.mel_windows is not None:
            losses["mel_windows"] = Loss(heard.mel_windows, "items", c.weight_mel_windows)
        if with_discriminator:
            nothing = torch.zeros((), device=heard.fake_BS.device)
            moving = [parameter for parameter in self.disc.parameters() if parameter.requires_grad]
            may_move(moving, False)  # only what it hears needs a gradient here
            heard_as = self.disc.compare(heard.real_BS, heard.fake_BS)
            may_move(moving, True)
            adversarial = sum((item_means((1 - verdict.float()).square()) for verdict, _ in heard_as), start=nothing)
            features = sum((2 * apart for _, apart in heard_as), start=nothing)
            losses["adversarial"] = Loss(adversarial, "items", c.weight_adversarial * knobs["heed"])
            losses["features"] = Loss(features, "items", c.weight_features * knobs["heed"])
        yield Update("gen", losses)

    def forward(
        self,
        batch: VitsBatch,
        start_B: Tensor,
        *,
        turns_B: Tensor | None = None,
        noise: float | Tensor | None = None,
        guide: float | Tensor | None = None,
    ) -> ForwardResult:
        """One pass from text and sound to a decoded segment per clip, starting at these frames.

        `turns_B` is the phase at which the source of each begins. `noise` and `guide` are how much the search for an
        alignment is shaken and drawn to the diagonal.
        """
        c, gen = self.config, self.gen
        size = {"fft_size": c.fft_size, "hop": c.hop_length}
        linear = spectra.linear(batch.padded_BS, **size)
        id_mask = mask_of(batch.tokens_B, batch.ids_BT.shape[1])
        frame_mask = mask_of(batch.frames_B, linear.shape[2])
        g = gen.speaker(batch.speaker_B)
        (hidden, mean_p, log_std_p), posterior = side_by_side(
            [
                partial(gen.text_encoder, batch.ids_BT, id_mask),
                partial(self._through, gen.posterior_encoder, linear * frame_mask, frame_mask, g),
            ],
            device=linear.device,
        )
        mean_q, log_std_q = (x.float() for x in posterior)
        z = (mean_q + torch.randn_like(mean_q) * torch.exp(log_std_q)) * frame_mask
        z_p = self._through(gen.flow, z, frame_mask, g).float()
        # Alignment, divergence and spectra are compared in full precision whatever the networks run in.
        with torch.autocast(z_p.device.type, enabled=False):
            mean_p, log_std_p = mean_p.float(), log_std_p.float()
            score_BFT = alignment_score(z_p, mean_p, log_std_p)
            inside_BFT = frame_mask.transpose(1, 2) * id_mask
            if guide is not None:
                score_BFT = guided(score_BFT, inside_BFT, batch.frames_B, batch.tokens_B, scale=guide)
            if noise is not None:
                score_BFT = shaken(score_BFT, inside_BFT, scale=noise)
            path_BFT = best_path(score_BFT, batch.frames_B, batch.tokens_B)
            durations_B1T = path_BFT.sum(1, keepdim=True)
            mean_p, log_std_p = (x @ path_BFT.transpose(1, 2) for x in (mean_p, log_std_p))
            apart = log_std_p - log_std_q - 0.5 + 0.5 * (z_p - mean_p).square() * torch.exp(-2 * log_std_p)
        works: list[partial[Any]] = [
            partial(gen.duration_predictor.loss, hidden, id_mask, g, durations_B1T),
            partial(self._sounded, z, g, batch.melody_B2F, start_B, turns_B),
        ]
        if gen.prosody is not None and batch.melody_B2F is not None:
            works.insert(0, partial(gen.prosody.loss, hidden, id_mask, g, path_BFT, frame_mask, batch.melody_B2F))
        *told, duration, fake = side_by_side(works, device=linear.device)
        fake = fake.float()
        pad = spectra.padding(**size)
        real = _slice(batch.padded_BS.unsqueeze(1), start_B * c.hop_length + pad, c.segment_size).squeeze(1)
        with torch.autocast(z_p.device.type, enabled=False):
            fake_mel = spectra.mel(spectra.linear(spectra.reflect(fake, **size), **size), self.mel_bank)
            real_mel = spectra.mel(_slice(linear, start_B, c.segment_frames), self.mel_bank)
            windows = self.windows(real, fake) if c.mel_windows else None
        return ForwardResult(
            fake_BS=fake,
            real_BS=real,
            mel=item_means((fake_mel - real_mel).abs()),
            mel_windows=windows,
            kl=(apart * frame_mask).sum(),
            duration=duration,
            melody=dict(zip(("pitch", "voicing"), told[0], strict=True)) if told else {},
        )

    def _sounded(
        self, z_BCF: Tensor, g: Tensor | None, melody_B2F: Tensor | None, start_B: Tensor, turns_B: Tensor | None
    ) -> Tensor:
        """A decoded segment of each clip."""
        size = self.config.segment_frames
        latents = _slice(z_BCF, start_B, size)
        if melody_B2F is None:
            return self._through(self.gen.decoder, latents, g)  # type: ignore[no-any-return]
        with_source = self.excited(*_slice(melody_B2F, start_B, size).unbind(1), turns_B=turns_B)
        return self._through(self.gen.decoder, latents, *with_source, g)  # type: ignore[no-any-return]

    def excited(self, contour_BF: Tensor, voicing_BF: Tensor, *, turns_B: Tensor | None = None) -> tuple[Tensor, ...]:
        """What the decoder with a source hears beside the latents: pitch, voicing, pulses and noise."""
        size = {"hop": self.config.hop_length, "rate": self.config.sampling_rate}
        source = pulses(contour_BF, voicing_BF, **size, turns_B=turns_B)
        return contour_BF, voicing_BF, source, torch.randn_like(source)

    def _through(self, module: nn.Module, *inputs: Tensor | None) -> Any:
        if not (self.config.gradient_checkpointing and torch.is_grad_enabled()):
            return module(*inputs)
        # the reentrant kind gives no gradient at all where backward is told its inputs
        return checkpoint(module, *inputs, use_reentrant=False)

    def validate(self, batch: VitsBatch) -> Mapping[str, Loss]:
        """The middle of each clip, decoded from its own latents."""
        heard = self.forward(batch, (batch.frames_B - self.config.segment_frames).clamp_min(0) // 2)
        return {
            "mel": Loss(heard.mel, "items"),
            "kl": Loss(heard.kl, "frames"),
            "duration": Loss(heard.duration, "tokens"),
            **{name: Loss(value, "frames") for name, value in heard.melody.items()},
        }

    def demo(self, batch: VitsBatch) -> Iterator[SpokenSample]:
        path_BFT = self.align(batch).cpu().numpy()
        for row, clip in enumerate(batch.clips):
            ids = batch.ids_BT[row : row + 1, : batch.tokens_B[row]]
            spoken = Audio(self.speak(ids, batch.speaker_B[row : row + 1]), self.config.sampling_rate)
            natural = int(batch.frames_B[row]) * self.config.hop_length / self.config.sampling_rate
            path_TF = path_BFT[row, : batch.frames_B[row], : batch.tokens_B[row]].T
            yield SpokenSample(clip, spoken, natural, {"alignment": path_TF})

    def align(self, batch: VitsBatch) -> Tensor:
        """Which frame of the recording belongs to which token, [B, F, T]; draws no random numbers."""
        gen, g = self.gen, self.gen.speaker(batch.speaker_B)
        linear = spectra.linear(batch.padded_BS, fft_size=self.config.fft_size, hop=self.config.hop_length)
        frame_mask = mask_of(batch.frames_B, linear.shape[2])
        _, mean_p, log_std_p = gen.text_encoder(batch.ids_BT, mask_of(batch.tokens_B, batch.ids_BT.shape[1]))
        mean_q, _ = gen.posterior_encoder(linear * frame_mask, frame_mask, g)
        score = alignment_score(gen.flow(mean_q * frame_mask, frame_mask, g).float(), mean_p.float(), log_std_p.float())
        return best_path(score, batch.frames_B, batch.tokens_B)

    def say(self, ids: Sequence[int], speaker: int, streams: Any = None) -> Audio:
        device = self.mel_bank.device
        spoken = self.speak(torch.tensor([list(ids)], device=device), torch.tensor([speaker], device=device))
        return Audio(spoken, self.config.sampling_rate)

    def speak(self, ids_1T: Tensor, speaker_1: Tensor) -> NDArray[np.float32]:
        c, g = self.config, self.gen.speaker(speaker_1)
        size = ids_1T.shape[1]
        z, _, *melody = self.gen.latents(
            ids_1T,
            torch.tensor([size], device=ids_1T.device),
            g=g,
            noise_BCF=torch.randn(1, c.flow_size, 16 * size, device=ids_1T.device),
            duration_noise_B2T=torch.randn(1, 2, size, device=ids_1T.device),
            noise_scale=c.noise_scale,
            noise_scale_duration=c.noise_scale_duration,
            length_scale=1 / c.speaking_rate,
        )
        # An untrained predictor can ask for minutes; a minute is enough to hear that.
        limit = 60 * c.sampling_rate // c.hop_length
        beside = self.excited(*(one[:, :limit] for one in melody)) if melody else ()
        wave = self.gen.decoder(z[:, :, :limit], *beside, g)[0].float()
        samples: NDArray[np.float32] = (wave.clamp(-1, 1) if melody else wave).cpu().numpy()
        return samples


def alignment_score(z_p: Tensor, mean_p: Tensor, log_std_p: Tensor) -> Tensor:
    """Log likelihood [B, F, T] of each frame's latent under each token's prior; no gradient."""
    with torch.no_grad():
        precision = torch.exp(-2 * log_std_p)
        constant = (-0.5 * np.log(2 * np.pi) - log_std_p).sum(1, keepdim=True)
        square = (-0.5 * z_p.square()).transpose(1, 2) @ precision
        cross = z_p.transpose(1, 2) @ (mean_p * precision)
        own = (-0.5 * mean_p.square() * precision).sum(1, keepdim=True)
        score: Tensor = constant + square + cross + own
        return score


def _slice(x_BCF: Tensor, start_B: Tensor, size: int) -> Tensor:
    index = start_B[:, None] + torch.arange(size, device=x_BCF.device)
    return x_BCF.gather(2, index.unsqueeze(1).expand(-1, x_BCF.shape[1], -1))


class Windows(nn.Module):
    """Each window moves by a quarter of itself, and has as many mel bins as it can tell apart."""

    def __init__(self, config: VitsConfig) -> None:
        super().__init__()
        self.sizes = config.mel_windows
        for size in self.sizes:
            bank = spectra.mel_bank(
                rate=config.sampling_rate,
                fft_size=size,
                bins=min(config.mel_bins, size // 8),
                low=config.mel_low_hz,
                high=config.mel_top_hz,
            )
            self.register_buffer(f"bank_{size}", torch.from_numpy(bank), persistent=False)

    def forward(self, real_BS: Tensor, fake_BS: Tensor) -> Tensor:
        """The mean distance within each clip and window, summed over clips."""
        total = torch.zeros((), device=fake_BS.device)
        for size in self.sizes:
            shape = {"fft_size": size, "hop": size // 4}
            bank = self.get_buffer(f"bank_{size}")
            both = torch.cat([real_BS, fake_BS])
            real, fake = spectra.mel(spectra.linear(spectra.reflect(both, **shape), **shape), bank).chunk(2)
            total = total + (fake - real).abs().mean() * len(fake) / len(self.sizes)
        return total
