"""Learning to make sound of mel and pitch: segments of any recordings, an update of the discriminators, one of the net.

Shape letters as in model.py; f frames of a segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from olu.core.types import Audio
from olu.families.vocoder.config import HOP, RATE, VocoderConfig
from olu.families.vocoder.model import MelSourceFilter, VocoderDiscriminator
from olu.features.mel import MelSpec, padding
from olu.features.pitch import melody
from olu.nn.discriminators import discriminator_loss, item_means, may_move
from olu.nn.source import pulses
from olu.train.batches import BatchShape
from olu.train.family import Clock, Example, Loss, Part, SpokenSample, Update

MATCHED = "matched"  # the feature that holds an acoustic model's mels
NATURAL = 1 / 3  # share of the segments that keep the recording's mel where there are such
SLOWEST, FASTEST = 0.85, 1.2  # of a resampled segment
TAPS = 16  # samples that a resampled one is made of
BLURS = (3, 5)  # bins that a blurred mel is averaged over
LOUDEST = 0.99
HEARD_AT = 15.0  # a discriminator's spectra are scaled as if their window had this norm


@dataclass(frozen=True)
class VocoderBatch:
    """Clips that lie one after the other; where each begins and how long it is."""

    sound: Tensor  # int16
    pitch: Tensor  # [frames of all clips, 2]: log2 of hertz, voicing
    mels: Tensor | None  # [frames of all clips, M]: an acoustic model's, where it learns these
    first_B: Tensor
    samples_B: Tensor
    row_B: Tensor  # where each begins in `pitch`
    counts: Mapping[str, float]
    clips: tuple[str, ...]

    def to(self, device: torch.device) -> VocoderBatch:
        moved = ("sound", "pitch", "mels", "first_B", "samples_B", "row_B")
        there = {name: value for name in moved if (value := getattr(self, name)) is not None}
        return replace(self, **{name: value.to(device) for name, value in there.items()})


@dataclass(frozen=True)
class SoundSegments:
    """What is cut out of a batch: waves with what lies around them, and their pitch."""

    padded_BS: Tensor
    contour_BF: Tensor
    voicing_BF: Tensor
    mel_BMF: Tensor | None = None  # an acoustic model's


@dataclass(frozen=True)
class SoundSpectra:
    """A wave and its complex spectrogram [B, 2, T, N] for each window in which waves are compared."""

    wave_BS: Tensor
    by_window: dict[int, Tensor]

    def detach(self) -> SoundSpectra:
        return SoundSpectra(self.wave_BS.detach(), {size: one.detach() for size, one in self.by_window.items()})


class VocoderLearner(nn.Module):
    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config, self.spec = config, MelSpec()
        self.gen = MelSourceFilter(config)
        self.disc = VocoderDiscriminator(config)
        self.mel_bank: Tensor
        self.register_buffer("mel_bank", torch.from_numpy(self.spec.bank.copy()), persistent=False)
        self.sizes = sorted({*config.magnitude_windows, *config.discriminator_windows})
        for size in self.sizes:
            self.register_buffer(f"window_{size}", torch.hann_window(size), persistent=False)

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

    # ------------------------------------------------------------ batches

    def knobs(self, step: int) -> dict[str, float]:
        c = self.config
        return {"heed": min(1.0, max(0, step - c.discriminator_start + 1) / (c.discriminator_warmup or 1))}

    def counts(self, examples: Sequence[Example]) -> dict[str, float]:
        return {"items": float(len(examples))}

    def resident(self, example: Example) -> dict[str, NDArray[Any]]:
        held: dict[str, NDArray[Any]] = {"sound": example.samples, "pitch": melody_of(example)}
        return held | ({MATCHED: example.features[MATCHED]} if MATCHED in example.features else {})

    def collate(self, examples: Sequence[Example]) -> VocoderBatch:
        held = [self.resident(one) for one in examples]
        lengths = {name: [len(one[name]) for one in held] for name in held[0]}
        first = {name: np.cumsum([0, *sizes[:-1]]) for name, sizes in lengths.items()}
        return VocoderBatch(
            sound=torch.from_numpy(np.concatenate([one["sound"] for one in held])),
            pitch=torch.from_numpy(np.concatenate([one["pitch"] for one in held])),
            mels=torch.from_numpy(np.concatenate([one[MATCHED] for one in held])) if MATCHED in held[0] else None,
            first_B=torch.from_numpy(first["sound"]),
            samples_B=torch.tensor(lengths["sound"]),
            row_B=torch.from_numpy(first["pitch"]),
            counts=self.counts(examples),
            clips=tuple(one.id for one in examples),
        )

    def pack(
        self, examples: Sequence[Example], firsts: Mapping[str, Sequence[int]], shape: BatchShape
    ) -> NDArray[np.int64]:
        return np.concatenate([firsts["sound"], [len(one.samples) for one in examples], firsts["pitch"]]).astype(
            np.int64
        )

    def unpack(self, flat: Tensor, resident: Mapping[str, Tensor], shape: BatchShape) -> VocoderBatch:
        first, samples, row = flat.view(3, shape.clips)
        return VocoderBatch(
            resident["sound"], resident["pitch"], resident.get(MATCHED), first, samples, row, counts={}, clips=()
        )

    def cut(self, batch: VocoderBatch, start_B: Tensor, frames: int) -> SoundSegments:
        """Segments from these frames on. A clip's edges are reflected; after a shorter one comes silence."""
        pad, device = padding(fft_size=self.spec.fft, hop=HOP), start_B.device
        at = start_B[:, None] * HOP + torch.arange(-pad, frames * HOP + pad, device=device)
        last = batch.samples_B[:, None] - 1
        folded = torch.where(at > last, 2 * last - at, at.abs()).clamp_min(0).minimum(last)
        wave = batch.sound[batch.first_B[:, None] + folded].float() / 32768.0 * (at <= last + pad)
        frame = start_B[:, None] + torch.arange(frames, device=device)
        end = batch.samples_B[:, None] // HOP - 1
        row = batch.row_B[:, None] + frame.minimum(end)
        melody = batch.pitch[row]
        mel = None if batch.mels is None else batch.mels[row].float().transpose(1, 2)
        return SoundSegments(wave, melody[..., 0], melody[..., 1] * (frame <= end), mel)

    # ------------------------------------------------------------ steps

    def step(self, batch: VocoderBatch, clock: Clock) -> Iterator[Update]:
        c, knobs = self.config, clock.knobs or self.knobs(clock.step)
        room = (batch.samples_B // HOP - c.segment_frames + 1).clamp_min(1)
        start_B = (torch.rand(len(room), device=room.device) * room).long()
        with torch.no_grad():
            heard = self.cut(batch, start_B, c.segment_frames)
            heard = self._levelled(self._resampled(heard, batch, start_B) if c.resampled else heard)
            mel = self._blurred(self._given(heard, natural=NATURAL))
        turns = torch.rand(len(room), device=room.device)
        real, fake, losses = self._made(heard, mel, turns_B=turns)
        with_discriminator = clock.step >= c.discriminator_start
        if with_discriminator:
            still = fake.detach()
            both = [torch.cat([one, two]) for one, two in zip(self._shown(real), self._shown(still), strict=True)]
            verdicts = self.disc(torch.cat([real.wave_BS, still.wave_BS]), both)
            yield Update("disc", {"disc": Loss(discriminator_loss(verdicts), "items", c.weight_discriminator)})
            moving = [parameter for parameter in self.disc.parameters() if parameter.requires_grad]
            may_move(moving, False)  # only what it hears needs a gradient here
            judged = self.disc.compare((real.wave_BS, self._shown(real)), (fake.wave_BS, self._shown(fake)))
            may_move(moving, True)
            nothing = torch.zeros((), device=fake.wave_BS.device)
            adversarial = sum((item_means((1 - verdict.float()).square()) for verdict, _ in judged), start=nothing)
            features = sum((apart for _, apart in judged), start=nothing)
            losses["adversarial"] = Loss(adversarial, "items", c.weight_adversarial * knobs["heed"])
            losses["features"] = Loss(features, "items", c.weight_features * knobs["heed"])
        yield Update("gen", losses)

    def _given(self, heard: SoundSegments, *, natural: float) -> Tensor:
        """The mel that the generator is given: the recording's own, or an acoustic model's but for a `natural` share,
        so that copies stay good."""
        own = self.spec.of_padded(heard.padded_BS, self.mel_bank)
        if heard.mel_BMF is None:
            return own
        return torch.where(torch.rand(len(own), 1, 1, device=own.device) < natural, own, heard.mel_BMF)

    def _resampled(self, heard: SoundSegments, batch: VocoderBatch, start_B: Tensor) -> SoundSegments:
        """A share of the segments faster or slower, pitch and formants with them; an acoustic model's mels stay."""
        if heard.mel_BMF is not None:
            return heard
        drawn, chosen = torch.rand(2, len(start_B), 1, device=start_B.device)
        factor = torch.where(chosen < self.config.resampled, SLOWEST * (FASTEST / SLOWEST) ** drawn, 1.0)
        pad, frames = padding(fft_size=self.spec.fft, hop=HOP), heard.contour_BF.shape[1]
        at = start_B[:, None] * HOP + factor * torch.arange(-pad, frames * HOP + pad, device=start_B.device)
        taps = torch.arange(1 - TAPS // 2, TAPS // 2 + 1, device=start_B.device)
        near = at.floor().long().unsqueeze(-1) + taps
        last = batch.samples_B[:, None, None] - 1
        apart = at.unsqueeze(-1) - near
        cut = (1 / factor).clamp(max=1.0).unsqueeze(-1)  # what would fold over is left out
        weight = cut * torch.sinc(cut * apart) * torch.cos(torch.pi / TAPS * apart).square()
        inside = (near >= 0) & (near <= last)
        sound = batch.sound[batch.first_B[:, None, None] + near.clamp_min(0).minimum(last)].float() / 32768.0
        frame = start_B[:, None] + factor * torch.arange(frames, device=start_B.device) + (factor - 1) / 2
        end = batch.samples_B[:, None] // HOP - 1
        left = frame.floor().long().clamp_min(0).minimum(end)
        one, two = (batch.pitch[batch.row_B[:, None] + place] for place in (left, (left + 1).minimum(end)))
        share = (frame - left).clamp(0, 1)
        line = torch.lerp(one[..., 0], two[..., 0], share) + torch.log2(factor)
        voicing = torch.where(share < 0.5, one[..., 1], two[..., 1]) * (frame <= end + 0.5)
        wave = (sound * weight * inside).sum(-1)
        moved = factor != 1.0
        return SoundSegments(
            torch.where(moved, wave, heard.padded_BS),
            torch.where(moved, line, heard.contour_BF),
            torch.where(moved, voicing, heard.voicing_BF),
        )

    def _levelled(self, heard: SoundSegments) -> SoundSegments:
        """Half of the segments louder or softer."""
        wave = heard.padded_BS
        drawn, turned = torch.rand(2, len(wave), 1, device=wave.device)
        gain = torch.where(turned < 0.5, 10 ** (self.config.level / 20 * (2 * drawn - 1)), torch.ones_like(drawn))
        peak = wave.abs().amax(1, keepdim=True).clamp_min(1e-3)
        gain = gain.minimum((LOUDEST / peak).clamp_min(1.0))
        mel = None if heard.mel_BMF is None else heard.mel_BMF + torch.log(gain).unsqueeze(1)
        return replace(heard, padded_BS=wave * gain, mel_BMF=mel)

    def _blurred(self, mel_BMF: Tensor) -> Tensor:
        """A share of the segments without detail over frequency: there harmonics come from the source alone."""
        drawn = torch.rand(len(mel_BMF), 1, 1, device=mel_BMF.device)
        share = self.config.blurred / len(BLURS)
        for place, bins in enumerate(BLURS):
            rows = F.pad(mel_BMF.transpose(1, 2), (bins // 2, bins // 2), mode="replicate")
            soft = F.avg_pool1d(rows, bins, stride=1).transpose(1, 2)
            mel_BMF = torch.where((drawn >= place * share) & (drawn < (place + 1) * share), soft, mel_BMF)
        return mel_BMF

    def _made(
        self, heard: SoundSegments, mel_BMF: Tensor, *, turns_B: Tensor | None = None
    ) -> tuple[SoundSpectra, SoundSpectra, dict[str, Loss]]:
        """The segment and what is made of it, and their distances."""
        with torch.autocast(mel_BMF.device.type, enabled=False), torch.no_grad():
            pad = padding(fft_size=self.spec.fft, hop=HOP)
            real = self._seen(heard.padded_BS[:, pad:-pad])
            wanted = self.spec.of_padded(heard.padded_BS, self.mel_bank)
        wave = self.sounded(mel_BMF, heard.contour_BF, heard.voicing_BF, turns_B=turns_B)
        with torch.autocast(mel_BMF.device.type, enabled=False):
            fake = self._seen(wave)
            apart = (self.spec.of(wave, self.mel_bank) - wanted).abs()
            losses = {
                "mel": Loss(item_means(apart), "items", self.config.weight_mel),
                "magnitudes": Loss(self._magnitudes(real, fake), "items", self.config.weight_magnitudes),
            }
        return real, fake, losses

    def sounded(
        self, mel_BMF: Tensor, contour_BF: Tensor, voicing_BF: Tensor, *, turns_B: Tensor | None = None
    ) -> Tensor:
        """Mel and pitch to waves, with noise of its own."""
        source = pulses(contour_BF, voicing_BF, hop=HOP, rate=RATE, turns_B=turns_B)
        wave: Tensor = self.gen(mel_BMF, contour_BF, voicing_BF, source, torch.randn_like(source))
        return wave

    def _seen(self, wave_BS: Tensor) -> SoundSpectra:
        found = {}
        for size in self.sizes:
            window = self.get_buffer(f"window_{size}")
            spectrum = torch.stft(wave_BS, size, size // 4, window=window, return_complex=True)
            found[size] = torch.view_as_real(spectrum).permute(0, 3, 2, 1)
        return SoundSpectra(wave_BS, found)

    def _shown(self, sound: SoundSpectra) -> list[Tensor]:
        """As the discriminators of spectrograms see them. Hann's norm is the root of 3/8 of its size."""
        sizes = self.config.discriminator_windows
        return [sound.by_window[size] * (HEARD_AT / (0.375 * size) ** 0.5) for size in sizes]

    def _magnitudes(self, real: SoundSpectra, fake: SoundSpectra) -> Tensor:
        """Distance of the logarithms, and half of the relative distance, a mean over the windows."""
        total = torch.zeros((), device=real.wave_BS.device)
        sizes = self.config.magnitude_windows
        for size in sizes:
            wanted, made = (torch.sqrt(one.by_window[size].square().sum(1) + 1e-7) for one in (real, fake))
            apart = (torch.log(made + 1e-3) - torch.log(wanted + 1e-3)).abs()
            relative = (made - wanted).flatten(1).norm(dim=1) / (wanted.flatten(1).norm(dim=1) + 1e-3)
            total = total + item_means(apart) + 0.5 * relative.sum()
        return total / len(sizes)

    # ------------------------------------------------------------ hearing how it goes

    def validate(self, batch: VocoderBatch) -> Mapping[str, Loss]:
        """The middle of each clip, copied."""
        frames = self.config.segment_frames
        start_B = (batch.samples_B // HOP - frames).clamp_min(0) // 2
        heard = self.cut(batch, start_B, frames)
        losses = self._made(heard, self._given(heard, natural=0.0))[2]
        return {name: Loss(one.sum, one.over) for name, one in losses.items()}

    def demo(self, batch: VocoderBatch) -> Iterator[SpokenSample]:
        """Copies of whole clips."""
        for row, clip in enumerate(batch.clips):
            one = replace(
                batch, **{name: getattr(batch, name)[row : row + 1] for name in ("first_B", "samples_B", "row_B")}
            )
            frames = int(one.samples_B) // HOP
            heard = self.cut(one, torch.zeros_like(one.first_B), frames)
            with torch.no_grad():
                mel = self._given(heard, natural=0.0)
                wave = self.sounded(mel, heard.contour_BF, heard.voicing_BF)[0]
            yield SpokenSample(clip, Audio(wave.cpu().numpy(), RATE), frames * HOP / RATE)

    def write_decoder(self, folder: Path) -> dict[str, Any]:
        """decoder.onnx of a voice, and what its package keeps of it."""
        from olu.families.vocoder.export import write_decoder

        return write_decoder(self, folder)

    def say(self, ids: Sequence[int], speaker: int) -> Audio:
        raise NotImplementedError("a vocoder says no text")


def melody_of(example: Example) -> NDArray[np.float32]:
    """Log2 of hertz and voicing [F, 2] of a clip, whose prepared pitch is hertz and confidence."""
    return melody(example.features["pitch"], len(example.samples) // HOP)
