"""Learning to hear: mel frames on the device, disturbed on purpose, and the CTC loss at the end and halfway.

Shape letters as in model.py; S samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as fn

from olu.core.errors import TrainError
from olu.core.types import Audio
from olu.families.recogniser.config import RecogniserConfig
from olu.families.recogniser.model import RecogniserNetwork, mask_of
from olu.families.recogniser.text import Spell, collapsed
from olu.features import mel as spectra
from olu.text.words import edits
from olu.train.family import Clock, Example, Loss, Part, SpokenSample, Update

STEADY = 0.1  # added to the deviation: a steady sound is not blown up to noise


@dataclass(frozen=True)
class HeardBatch:
    ids_BT: Tensor
    tokens: tuple[int, ...]
    padded_BS: Tensor  # int16 waves with their own reflected edges, then zeros
    frames: tuple[int, ...]  # of mel
    counts: Mapping[str, float]
    clips: tuple[str, ...]

    def to(self, device: torch.device) -> HeardBatch:
        return replace(self, ids_BT=self.ids_BT.to(device), padded_BS=self.padded_BS.to(device))


class RecogniserLearner(nn.Module):
    def __init__(self, config: RecogniserConfig, *, vocab_size: int) -> None:
        super().__init__()
        self.config = config
        self.net = RecogniserNetwork(config, vocab_size=vocab_size)
        bank = spectra.mel_bank(
            rate=config.sampling_rate,
            fft_size=config.fft_size,
            bins=config.mel_bins,
            low=config.mel_low_hz,
            high=config.sampling_rate / 2,
        )
        self.mel_bank: Tensor
        self.register_buffer("mel_bank", torch.from_numpy(bank), persistent=False)
        self._symbols: tuple[str, ...] = tuple(map(str, range(vocab_size)))
        self._spell: Spell = list

    def knows(self, symbols: Sequence[str], spell: Spell) -> None:
        """What its ids stand for: errors are counted in letters as people write them."""
        self._symbols, self._spell = tuple(symbols), spell

    @property
    def symbols(self) -> tuple[str, ...]:
        return self._symbols

    def parts(self) -> dict[str, Part]:
        c = self.config
        shared = {"betas": c.adam_betas, "eps": c.adam_epsilon, "weight_decay": c.weight_decay}
        return {"net": Part(self.net, lr=c.learning_rate, clip=c.clip or None, ema=c.average or None, **shared)}  # type: ignore[arg-type]

    def collate(self, examples: Sequence[Example]) -> HeardBatch:
        hop, pad = self.config.hop_length, spectra.padding(fft_size=self.config.fft_size, hop=self.config.hop_length)
        tokens = tuple(len(e.ids) for e in examples)
        samples = [len(e.samples) for e in examples]
        ids = np.zeros((len(examples), max(1, *tokens)), dtype=np.int64)
        waves = np.zeros((len(examples), max(samples) + 2 * pad), dtype=np.int16)
        for row, example in enumerate(examples):
            ids[row, : tokens[row]] = example.ids
            waves[row, : samples[row] + 2 * pad] = np.pad(example.samples, pad, mode="reflect")
        spelt = [self.letters(e.ids) for e in examples]
        return HeardBatch(
            ids_BT=torch.from_numpy(ids),
            tokens=tokens,
            padded_BS=torch.from_numpy(waves),
            frames=tuple(count // hop for count in samples),
            counts={
                "tokens": float(sum(tokens)),
                "letters": float(sum(map(len, spelt))),
                "close": float(sum(len(_close(one)) for one in spelt)),
            },
            clips=tuple(e.id for e in examples),
        )

    def step(self, batch: HeardBatch, clock: Clock) -> Iterator[Update]:
        grown = min(1.0, clock.step / max(1.0, self.config.ease * clock.steps))
        last, halfway, sizes = self.hear(batch, disturb=True, grown=grown)
        share = self.config.inter_weight
        losses = {"ctc": Loss(_ctc(last, batch, sizes), "tokens", 1 - share)}
        if halfway is not None:
            losses["halfway"] = Loss(_ctc(halfway, batch, sizes), "tokens", share)
        yield Update("net", losses)

    def hear(self, batch: HeardBatch, *, disturb: bool, grown: float = 1.0) -> tuple[Tensor, Tensor | None, list[int]]:
        """Log probabilities [B, T, V] at the end and halfway, and how many frames of each clip count."""
        with torch.autocast(self.mel_bank.device.type, enabled=False):
            mel, frames = self.mel(batch, disturb=disturb, grown=grown)
        heard: tuple[Tensor, Tensor | None, list[int]] = self.net(mel, frames)
        return heard

    def mel(self, batch: HeardBatch, *, disturb: bool, grown: float = 1.0) -> tuple[Tensor, list[int]]:
        """Log mel [B, F, M], in every clip of mean 0 in each bin and of deviation 1 over all; padding is 0.

        A deviation for each bin would make noise of the bins in which little happens, and short clips have many.
        """
        c, frames = self.config, list(batch.frames)
        wave = batch.padded_BS.float() / 32768.0
        if disturb and c.noise:
            wave = disturbed(wave, share=c.noise)
        linear = spectra.linear(wave, fft_size=c.fft_size, hop=c.hop_length)[:, :, : max(frames)]
        mel = spectra.mel(linear, self.mel_bank).transpose(1, 2)
        inside = mask_of(frames, mel.shape[1], mel.device).unsqueeze(2)
        count = inside.sum(1, keepdim=True)
        mean = (mel * inside).sum(1, keepdim=True) / count
        apart = (mel - mean) * inside
        spread = (apart.square().sum(1, keepdim=True) / count).mean(2, keepdim=True).sqrt()
        mel = apart / (spread + STEADY)
        if disturb and c.speed:
            mel, frames = paced(mel, frames, share=c.speed)
        return (hidden(mel, frames, c, grown=grown) if disturb else mel), frames

    def validate(self, batch: HeardBatch) -> Mapping[str, Loss]:
        last, _, sizes = self.hear(batch, disturb=False)
        wrong = wrong_close = 0
        for row, heard in enumerate(self.greedy(last, sizes)):
            said = self.letters(batch.ids_BT[row, : batch.tokens[row]].tolist())
            wrong += edits(said, heard)
            wrong_close += edits(_close(said), _close(heard))
        return {
            "cer": Loss(torch.tensor(float(wrong)), "letters"),
            "cer_without_spaces": Loss(torch.tensor(float(wrong_close)), "close"),
            "ctc": Loss(_ctc(last, batch, sizes), "tokens"),
        }

    def greedy(self, log_probs_BTV: Tensor, sizes: Sequence[int]) -> list[list[str]]:
        """The letters of the best symbol of each frame."""
        best = log_probs_BTV.argmax(-1).cpu().tolist()
        return [self.letters(collapsed(row[:size])) for row, size in zip(best, sizes, strict=True)]

    def letters(self, ids: Sequence[int]) -> list[str]:
        return self._spell([self._symbols[one] for one in ids])

    def demo(self, batch: HeardBatch) -> Iterator[SpokenSample]:
        return iter(())

    def say(self, ids: Sequence[int], speaker: int, streams: object = None) -> Audio:
        raise TrainError("a recogniser hears and does not speak: train a voice with --set family=vits")


def _close(letters: Sequence[str]) -> list[str]:
    return [letter for letter in letters if letter != " "]


def _ctc(log_probs_BTV: Tensor, batch: HeardBatch, sizes: Sequence[int]) -> Tensor:
    """Sum over the clips. One whose text is too long for its frames gives nothing, and cannot spoil the others."""
    return fn.ctc_loss(
        log_probs_BTV.transpose(0, 1),
        batch.ids_BT,
        torch.tensor(sizes),  # not on the device: it would be waited for
        torch.tensor(batch.tokens),
        reduction="sum",
        zero_infinity=True,
    )


QUIETEST, LOUDEST = 40.0, 12.0  # dB of the speech over the noise


def disturbed(wave_BS: Tensor, *, share: float) -> Tensor:
    """White noise in some of the clips, of a loudness that differs."""
    level = wave_BS.square().mean(1, keepdim=True).sqrt()
    chance, loud = torch.rand(2, len(wave_BS), 1, device=wave_BS.device)
    apart = QUIETEST + (LOUDEST - QUIETEST) * loud
    amount = level * 10 ** (-apart / 20) * (chance < share)
    noisy: Tensor = wave_BS + amount * torch.randn_like(wave_BS)
    return noisy


def paced(mel_BFM: Tensor, frames: list[int], *, share: float) -> tuple[Tensor, list[int]]:
    """The whole batch faster or slower."""
    rate = 1 + share * (2 * float(torch.rand(1)) - 1)
    size = max(4, round(mel_BFM.shape[1] * rate))
    scale = size / mel_BFM.shape[1]
    slow = fn.interpolate(mel_BFM.transpose(1, 2), size=size, mode="linear").transpose(1, 2)
    return slow, [max(1, min(size, int(count * scale))) for count in frames]


def hidden(mel_BFM: Tensor, frames: list[int], c: RecogniserConfig, *, grown: float = 1.0) -> Tensor:
    """SpecAugment: stretches of time and bands of pitch are set to the mean, which is 0. `grown`: how wide, up to 1."""
    if c.time_masks:
        sizes = torch.tensor(frames, device=mel_BFM.device, dtype=torch.float32)[:, None]
        kept = _outside(mel_BFM.shape[1], sizes, grown * c.time_mask_share * sizes, number=c.time_masks)
        mel_BFM = mel_BFM * kept.unsqueeze(2)
    if c.frequency_masks:
        bins = mel_BFM.new_full((len(mel_BFM), 1), float(c.mel_bins))
        width = mel_BFM.new_full((len(mel_BFM), 1), grown * c.frequency_mask_bins)
        mel_BFM = mel_BFM * _outside(c.mel_bins, bins, width, number=c.frequency_masks).unsqueeze(1)
    return mel_BFM


def _outside(length: int, sizes_B1: Tensor, most_B1: Tensor, *, number: int) -> Tensor:
    """True where none of `number` random stretches of up to `most` lies, [B, length]."""
    width, place = torch.rand(2, len(sizes_B1), number, device=sizes_B1.device)
    width = width * most_B1
    first = place * (sizes_B1 - width)
    at = torch.arange(length, device=sizes_B1.device)[None, None, :]
    covered = (at >= first.unsqueeze(2)) & (at < (first + width).unsqueeze(2))
    outside: Tensor = ~covered.any(1)
    return outside
