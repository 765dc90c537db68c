"""Learning an acoustic model: durations, pitch and a mean mel by regression, and a flow that refines the mel.

Shape letters as in model.py. Losses are sums over true counts, in float32, of what no mask hides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from olu.align.durations import GAP_SECONDS
from olu.core.types import Audio
from olu.families.acoustic.config import AcousticConfig
from olu.families.acoustic.corpus import HOP, NO_MEDIAN, RARELY, RATE, CorpusFigures, melody_of
from olu.families.acoustic.model import (
    MEL_BINS,
    MOST_LOG_FRAMES,
    AcousticNet,
    contour_of,
    flow_target,
    knots_of,
    mask_of,
    scaled,
    shaken,
    spread_of,
    token_means,
    unscaled,
)
from olu.families.acoustic.plain import PlainVocoder
from olu.features.mel import MelSpec, padding
from olu.nn.kernels.mas import best_path, guided
from olu.train.batches import BatchShape
from olu.train.family import Clock, Example, Loss, Part, SpokenSample, Update

SPOKEN = ("ids", "tones", "stress", "gaps", "language")  # of a line, one number for each token
WEIGHED = ("mean", "pitch", "duration", "pause")  # what a voice is of: the step is chosen by their weighted sum
ROWS = (*SPOKEN, "frames")  # of a batch
TOKEN_ROWS = tuple(f"{name}_BT" for name in ROWS)
UNKNOWN_TONE = 1  # its id
SHORT_GAP = math.ceil(GAP_SECONDS * RATE / HOP) - 1  # frames of a gap that is no pause; every token of a path has some
MOST_FRAMES = 60 * RATE // HOP  # an untrained model can ask for minutes; one is enough to hear that
SURE = 0.9  # how much a pause that was heard counts against a guess: speakers do not always pause there
MELODIES = 20_000  # clips whose contour is kept


@dataclass(frozen=True)
class AcousticBatch:
    ids_BT: Tensor
    tones_BT: Tensor
    stress_BT: Tensor
    gaps_BT: Tensor
    language_BT: Tensor  # the id of its tag; 0 where there is none
    frames_BT: Tensor  # of each token; all 0 where they are to be searched
    tokens_B: Tensor
    padded_BS: Tensor  # waves with their own reflected edges, then zeros
    frames_B: Tensor
    pitch_BF: Tensor  # log2 of hertz
    voiced_BF: Tensor  # 0 or 1
    speaker_B: Tensor
    counts: Mapping[str, float]
    clips: tuple[str, ...]

    def to(self, device: torch.device) -> AcousticBatch:
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        placed: dict[str, Any] = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in values.items()}
        return AcousticBatch(**placed)


class AcousticLearner(nn.Module):
    weighed = WEIGHED

    def __init__(self, config: AcousticConfig, *, vocab_size: int, num_speakers: int) -> None:
        super().__init__()
        self.config = config
        self.net = AcousticNet(config, vocab_size=vocab_size, num_speakers=num_speakers)
        self.spec = MelSpec()
        for name, value in (
            ("mel_bank", torch.from_numpy(self.spec.bank.copy())),
            ("heard", torch.ones(vocab_size, dtype=torch.bool)),  # symbols that are voiced often enough for a pitch
            ("longest", torch.full((vocab_size,), 400)),  # frames
            ("median", torch.full((num_speakers,), NO_MEDIAN)),  # log2 of hertz
            ("widest", torch.full((num_speakers,), 12.0)),  # semitones from it that a speaker goes
        ):
            self.register_buffer(name, value, persistent=False)
        self.figures = CorpusFigures()
        self.language = 0  # the tag of the language that an export of it speaks
        self._melodies: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
        self._beside: dict[str, nn.Module] = {}  # no part of its state

    mel_bank: Tensor
    heard: Tensor
    longest: Tensor
    median: Tensor
    widest: Tensor

    def accompany(self, modules: Mapping[str, nn.Module]) -> None:
        """Take a vocoder to be heard with."""
        self._beside = dict(modules)

    def speak_language(self, tag: int) -> None:
        """Of several languages that it learnt, be the voice of one."""
        self.language = tag

    def observe(self, document: Mapping[str, Any]) -> None:
        """Take up what is known of the corpus: see `corpus.figures_of`."""
        self.figures = known = CorpusFigures(**document)
        for id, symbol in enumerate(known.symbols):
            self.heard[id] = known.voiced.get(symbol, 1.0) >= RARELY
            self.longest[id] = known.longest.get(symbol, int(self.longest[id]))
        self.median.copy_(torch.tensor(known.medians))
        furthest = [max(high - at, at - low) for at, (low, high) in zip(known.medians, known.ranges, strict=True)]
        self.widest.copy_(12 * torch.tensor(furthest).clamp_min(0.1))

    # ------------------------------------------------------------ batches

    def parts(self) -> dict[str, Part]:
        c = self.config
        return {
            "net": Part(
                self.net,
                lr=c.learning_rate,
                betas=c.adam_betas,
                eps=c.adam_epsilon,
                weight_decay=c.weight_decay,
                clip=c.clip or None,
                ema=c.average or None,
                plain=("text.symbols", "text.tones", "text.stress", "text.speakers"),
            )
        }

    def knobs(self, step: int) -> dict[str, float]:
        c = self.config
        return {
            "guide": max(0.0, 1 - step / c.guide_steps) if c.guide_steps else 0.0,
            "searched": float(c.alignment == "search" or step >= c.search_from),
        }

    def counts(self, examples: Sequence[Example]) -> dict[str, float]:
        gaps = [int(_row(e, "gaps").sum()) for e in examples]
        found = {
            "frames": sum(len(e.samples) // HOP for e in examples),
            "gaps": sum(gaps),
            "phones": sum(len(e.ids) for e in examples) - sum(gaps),
            "voiced": sum(float(self._melody(e)[1].sum()) for e in examples),
            "clips": len(examples),
        }
        return {name: float(max(1, count)) for name, count in found.items()}

    def _melody(self, example: Example) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Pitch as log2 of hertz and voicing of every frame; kept, since they are asked for at every step."""
        if example.id not in self._melodies:
            if len(self._melodies) >= MELODIES:
                return melody_of(example)
            self._melodies[example.id] = melody_of(example)
        return self._melodies[example.id]

    def collate(self, examples: Sequence[Example]) -> AcousticBatch:
        pad = padding(fft_size=self.spec.fft, hop=HOP)
        samples = [len(e.samples) for e in examples]
        shape = BatchShape(len(examples), max(len(e.ids) for e in examples), max(samples))
        waves = np.zeros((len(examples), max(samples) + 2 * pad), dtype=np.float32)
        for row, example in enumerate(examples):
            wave = example.samples.astype(np.float32) / 32768.0
            waves[row, : samples[row] + 2 * pad] = np.pad(wave, pad, mode="reflect")
        melody = np.zeros((2, shape.clips, shape.samples // HOP), np.float32)
        for row, example in enumerate(examples):
            both = np.stack(self._melody(example))
            melody[:, row, : both.shape[1]] = both
        rows = dict(zip(TOKEN_ROWS, torch.from_numpy(self._rows(examples, shape)), strict=True))
        return AcousticBatch(
            **rows,
            tokens_B=torch.tensor([len(e.ids) for e in examples]),
            padded_BS=torch.from_numpy(waves),
            frames_B=torch.tensor([count // HOP for count in samples]),
            pitch_BF=torch.from_numpy(melody[0]),
            voiced_BF=torch.from_numpy(melody[1]),
            speaker_B=torch.tensor([e.speaker for e in examples]),
            counts=self.counts(examples),
            clips=tuple(e.id for e in examples),
        )

    def _rows(self, examples: Sequence[Example], shape: BatchShape) -> NDArray[np.int64]:
        """What every token has, [5, B, T], padded to a shape."""
        rows = np.zeros((len(ROWS), shape.clips, shape.tokens), np.int64)
        for at, example in enumerate(examples):
            for row, name in zip(rows, ROWS, strict=True):
                row[at, : len(example.ids)] = _row(example, name)
        return rows

    def resident(self, example: Example) -> dict[str, NDArray[Any]]:
        return {"sound": example.samples, "melody": np.stack(self._melody(example), 1)}

    def pack(
        self, examples: Sequence[Example], firsts: Mapping[str, Sequence[int]], shape: BatchShape
    ) -> NDArray[np.int64]:
        """What `unpack` needs of a batch whose sound and pitch lie on the device, as one row of numbers."""
        rest = [
            [len(e.ids) for e in examples],
            [len(e.samples) for e in examples],
            firsts["sound"],
            firsts["melody"],
            [e.speaker for e in examples],
        ]
        return np.concatenate([self._rows(examples, shape).ravel(), np.ravel(rest)]).astype(np.int64)

    def unpack(self, flat: Tensor, resident: Mapping[str, Tensor], shape: BatchShape) -> AcousticBatch:
        """The same batch as `collate` makes, padded to a shape; every edge reflects its own clip."""
        pad, size = padding(fft_size=self.spec.fft, hop=HOP), len(ROWS) * shape.clips * shape.tokens
        tokens, samples, firsts, melodies, speaker = flat[size:].view(5, shape.clips)
        at = torch.arange(-pad, shape.samples + pad, device=flat.device)
        last = samples[:, None] - 1
        folded = torch.where(at > last, 2 * last - at, at.abs()).clamp_min(0)
        padded = resident["sound"][firsts[:, None] + folded].float() / 32768.0 * (at <= last + pad)
        frames, frame = samples // HOP, torch.arange(shape.samples // HOP, device=flat.device)
        inside = frame < frames[:, None]
        melody = resident["melody"][melodies[:, None] + frame * inside] * inside.unsqueeze(-1)
        rows = dict(zip(TOKEN_ROWS, flat[:size].view(len(ROWS), shape.clips, shape.tokens), strict=True))
        return AcousticBatch(
            **rows,
            tokens_B=tokens,
            padded_BS=padded,
            frames_B=frames,
            pitch_BF=melody[..., 0],
            voiced_BF=melody[..., 1],
            speaker_B=speaker,
            counts={},
            clips=(),
        )

    # ------------------------------------------------------------ learning

    def mel(self, batch: AcousticBatch) -> Tensor:
        """Scaled [B, M, F], with nothing behind the end of a clip."""
        plain = self.spec.of_padded(batch.padded_BS, self.mel_bank)
        return scaled(plain) * mask_of(batch.frames_B, plain.shape[2])

    def step(self, batch: AcousticBatch, clock: Clock) -> Iterator[Update]:
        yield Update("net", self.losses(batch, clock.knobs or self.knobs(clock.step)))

    def validate(self, batch: AcousticBatch) -> dict[str, Loss]:
        """With the durations of the recordings, and the pitch that is predicted; beside it what is said freely."""
        return {**self.losses(batch, {"guide": 0.0, "searched": 1.0}, free=True), **self._said_freely(batch)}

    def _said_freely(self, batch: AcousticBatch) -> dict[str, Loss]:
        """How far the mean mel of each sound is from the recording's, with its durations (`forced`) and without
        (`free`); how much mels move over time beside the recordings' (`spread`); and the share of durations and knots
        that are twice as far out as the corpus goes (`outside`).
        """
        mel, size = self.mel(batch), batch.pitch_BF.shape[1]
        token_mask, mask = mask_of(batch.tokens_B, batch.ids_BT.shape[1]), mask_of(batch.frames_B, size)
        read = self._read(batch, token_mask)
        hidden, log_frames, pause, knots = read
        given = self._durations(batch, mel, hidden, token_mask, mask, 0.0)
        own = self.free_durations(batch.ids_BT, batch.gaps_BT, log_frames, pause) * token_mask[:, 0].long()
        heard, sounds = self._heard(batch), (batch.gaps_BT == 0) * token_mask[:, 0] * (given > 0)
        wanted, apart, moved = token_means(mel, given), dict[str, Tensor](), mel.new_zeros(())
        for name, durations in (("forced", given), ("free", own)):
            line = contour_of(knots, heard[..., None].expand_as(knots), durations, int(durations.sum(1).max()))
            inside = mask_of(durations.sum(1), line.shape[1])
            made = self.net.frames(hidden, durations, line, inside)[0]
            off = (token_means(made, durations) - wanted).abs().mean(1)
            apart[name] = (off * sounds).sum()
            moved = (spread_of(made, inside) / spread_of(mel, mask)).sum() if name == "free" else moved
        low, high = (math.log(max(1.0, one)) for one in self.figures.frames)
        out = (log_frames > high + math.log(2)) | (log_frames < low - math.log(2))
        out = (out | (knots.abs() > 2 * self.widest[batch.speaker_B][:, None, None]).any(2)) * sounds
        return {
            **{name: Loss(one, "phones") for name, one in apart.items()},
            "spread": Loss(moved, "clips"),
            "outside": Loss(out.sum(), "phones"),
        }

    def _read(self, batch: AcousticBatch, mask: Tensor, tones: Tensor | None = None) -> tuple[Tensor, ...]:
        """The text side; `tones`: others than the batch's."""
        given = batch.tones_BT if tones is None else tones
        read: tuple[Tensor, ...] = self.net.text(
            batch.ids_BT, given, batch.stress_BT, mask, batch.speaker_B, batch.language_BT
        )
        return read

    def losses(self, batch: AcousticBatch, knobs: Mapping[str, Any], *, free: bool = False) -> dict[str, Loss]:
        """Sums by name. `free`: pitch is predicted, and nothing is drawn but the noise of the flow, halfway."""
        c, net = self.config, self.net
        mel, size = self.mel(batch), batch.pitch_BF.shape[1]
        token_mask, frame_mask = mask_of(batch.tokens_B, batch.ids_BT.shape[1]), mask_of(batch.frames_B, size)
        tones = batch.tones_BT if free else self._some_unknown(batch)
        hidden, log_frames, pause, knots = self._read(batch, token_mask, tones=tones)
        durations = found = self._durations(batch, mel, hidden, token_mask, frame_mask, knobs["guide"])
        used = self._used(batch, knobs["searched"])
        pitch = 12 * (batch.pitch_BF - self.median[batch.speaker_B][:, None]) * frame_mask[:, 0]
        true_knots, voiced = knots_of(pitch, batch.voiced_BF, durations)
        heard = self._heard(batch)[..., None].expand_as(knots)
        if free:
            contour = contour_of(knots.detach(), heard, durations, size)
        else:
            contour = self._contour(pitch, true_knots, heard & (voiced > 0), durations)
            durations = shaken(durations, by=c.duration_noise) if c.duration_noise else durations
        mean, voicing, states = net.frames(hidden, durations, contour, frame_mask)
        with torch.autocast(mel.device.type, enabled=False):
            losses = {
                "mean": Loss((used * (mel - mean).abs()).sum() / MEL_BINS, "frames", c.weight_mean),
                "voicing": Loss(
                    _entropy(voicing, batch.voiced_BF, (used * frame_mask)[:, 0]), "frames", c.weight_voicing
                ),
                "pitch": Loss((used * voiced * (knots - true_knots).abs()).sum() / 2, "voiced", c.weight_pitch),
                **self._rhythm(batch, found, log_frames, pause, (used * token_mask)[:, 0]),
            }
        if c.refiner_layers:
            time = torch.full((len(mel),), 0.5) if free else torch.rand(len(mel), device=mel.device)
            flow = self._flow(mel, mean.detach(), states.detach(), frame_mask, used, time=time.to(mel.device))
            losses["flow"] = Loss(flow, "frames", c.weight_flow)
        if c.alignment != "given":
            losses["prior"] = Loss(self._prior(mel, hidden, found, used * frame_mask), "frames", c.weight_prior)
        return losses

    def _used(self, batch: AcousticBatch, searched: float | Tensor) -> Tensor:
        """1 for clips that are learnt from [B, 1, 1]; those that need a search wait until something is known."""
        given = (batch.frames_BT.sum(1) > 0).float()[:, None, None]
        return given if self.config.alignment == "given" else given + (1 - given) * searched

    def _rhythm(
        self, batch: AcousticBatch, frames_BT: Tensor, log_frames: Tensor, pause: Tensor, mask: Tensor
    ) -> dict[str, Loss]:
        c, gap = self.config, batch.gaps_BT * mask
        there = (frames_BT > 0) * mask
        apart = (log_frames - frames_BT.clamp_min(1).float().log()).square() * there
        paused = _entropy(pause, SURE * (frames_BT > 0) + (1 - SURE) / 2, gap)
        return {
            "duration": Loss((apart * (1 - gap)).sum(), "phones", c.weight_duration),
            "pause": Loss(paused + (apart * gap).sum(), "gaps", c.weight_pause),
        }

    def _flow(self, mel: Tensor, mean: Tensor, states: Tensor, mask: Tensor, used: Tensor, *, time: Tensor) -> Tensor:
        noise = torch.randn_like(mel) * mask
        x, velocity = flow_target(mel, noise, time)
        made = self.net.refiner(x, mean, states, time, mask)
        apart: Tensor = (used * (made - velocity).float().square()).sum() / MEL_BINS
        return apart

    def _heard(self, batch: AcousticBatch) -> Tensor:
        """Tokens [B, T] that a line of pitch goes through: not gaps, nor sounds that are rarely voiced."""
        return self.heard[batch.ids_BT] & (batch.gaps_BT == 0)

    def _contour(self, pitch_BF: Tensor, knots: Tensor, valid: Tensor, durations: Tensor) -> Tensor:
        """What training hears as pitch: for some clips the line through their knots, for others their own, smoothed."""
        line = contour_of(knots, valid, durations, pitch_BF.shape[1])
        smooth = F.avg_pool1d(pitch_BF[:, None], 3, 1, 1, count_include_pad=False)[:, 0]
        by_knots = torch.rand(len(line), 1, device=line.device) < self.config.knots_share
        return torch.where(by_knots, line, smooth)

    def _some_unknown(self, batch: AcousticBatch) -> Tensor:
        """Tones with those of some words unknown."""
        if not self.config.tone_dropout:
            return batch.tones_BT
        word_BT = batch.gaps_BT.cumsum(1).clamp(max=batch.gaps_BT.shape[1] - 1)
        hidden = torch.rand(word_BT.shape, device=word_BT.device).gather(1, word_BT) < self.config.tone_dropout
        return batch.tones_BT.masked_fill(hidden & (batch.tones_BT > 0), UNKNOWN_TONE)

    # ------------------------------------------------------------ searching

    def _durations(
        self,
        batch: AcousticBatch,
        mel: Tensor,
        hidden: Tensor,
        token_mask: Tensor,
        frame_mask: Tensor,
        guide: float | Tensor,
    ) -> Tensor:
        """Frames of each token [B, T]: the given ones, or those of the best path."""
        if self.config.alignment == "given":
            return batch.frames_BT
        with torch.no_grad(), torch.autocast(mel.device.type, enabled=False):
            prior = self.net.prior(hidden).float()
            score = mel.transpose(1, 2) @ prior - 0.5 * prior.square().sum(1, keepdim=True)
            inside = frame_mask.transpose(1, 2) * token_mask
            score = guided(score, inside, batch.frames_B, batch.tokens_B, scale=guide)
            path = best_path(score, batch.frames_B, batch.tokens_B)
        found = _without_short_gaps(path.sum(1).long(), batch.gaps_BT)
        given = batch.frames_BT.sum(1, keepdim=True) > 0
        return torch.where(given, batch.frames_BT, found)

    def _prior(self, mel: Tensor, hidden: Tensor, durations: Tensor, mask: Tensor) -> Tensor:
        ends, size = durations.cumsum(1), mel.shape[2]
        frame = torch.arange(size, device=ends.device)
        token = (frame[None, :, None] >= ends[:, None, :]).long().sum(2).clamp(max=ends.shape[1] - 1)
        prior = self.net.prior(hidden).float()
        made = prior.gather(2, token.unsqueeze(1).expand(-1, MEL_BINS, -1))
        apart: Tensor = ((mel - made) * mask).square().sum()
        return 0.5 * apart / MEL_BINS

    # ------------------------------------------------------------ speaking

    def demo(self, batch: AcousticBatch) -> Iterator[SpokenSample]:
        for row, clip in enumerate(batch.clips):
            tokens, frames = int(batch.tokens_B[row]), int(batch.frames_B[row])
            own = {name: getattr(batch, f"{name}_BT")[row : row + 1, :tokens] for name in SPOKEN}
            audio, mel = self._spoken(**own, speaker=batch.speaker_B[row : row + 1])
            yield SpokenSample(clip, audio, frames * HOP / RATE, {"mel": mel})

    def say(self, ids: Sequence[int], speaker: int, streams: Mapping[str, Sequence[int]] | None = None) -> Audio:
        device, nothing = self.mel_bank.device, [0] * len(ids)
        rows = {**dict.fromkeys(SPOKEN, nothing), "ids": ids, **(streams or {})}
        placed = {name: torch.tensor([list(rows[name])], device=device) for name in SPOKEN}
        return self._spoken(**placed, speaker=torch.tensor([speaker], device=device))[0]

    @torch.no_grad()
    def _spoken(
        self, ids: Tensor, tones: Tensor, stress: Tensor, gaps: Tensor, language: Tensor, speaker: Tensor
    ) -> tuple[Audio, NDArray[np.float32]]:
        """Sound, and its mel as a picture."""
        read = self.net.text(ids, tones, stress, torch.ones_like(ids).float()[:, None], speaker, language)
        hidden, log_frames, pause, knots = read
        durations = self.free_durations(ids, gaps, log_frames, pause)
        heard = (self.heard[ids] & (gaps == 0))[..., None].expand_as(knots)
        contour = contour_of(knots, heard, durations, int(durations.sum()))
        mel, voicing = self.speak_frames(hidden, durations, contour)
        octaves = contour / 12 + self.median[speaker][:, None]
        vocoder = self._beside.get("vocoder") or PlainVocoder().to(mel.device)
        wave = vocoder.sounded(unscaled(mel), octaves, voicing)[0]  # type: ignore[operator]
        picture = ((mel[0] + 2.6) / 5.2).clamp(0, 1).float().cpu().numpy()
        return Audio(wave.float().clamp(-1, 1).cpu().numpy(), RATE), picture

    @torch.no_grad()
    def forced_mel(self, batch: AcousticBatch) -> Tensor:
        """The log mel [B, M, F] it makes with the durations and the pitch of the recordings: what a vocoder learns."""
        mel, size = self.mel(batch), batch.pitch_BF.shape[1]
        token_mask, mask = mask_of(batch.tokens_B, batch.ids_BT.shape[1]), mask_of(batch.frames_B, size)
        read = self._read(batch, token_mask)
        durations = self._durations(batch, mel, read[0], token_mask, mask, 0.0)
        pitch = 12 * (batch.pitch_BF - self.median[batch.speaker_B][:, None]) * mask[:, 0]
        smooth = F.avg_pool1d(pitch[:, None], 3, 1, 1, count_include_pad=False)[:, 0]
        mean, _, states = self.net.frames(read[0], durations, smooth, mask)
        steps = self.config.steps if self.config.refiner_layers else 0
        noise = self.config.temperature * torch.randn_like(mean)
        return unscaled(self.net.refined(noise, mean, states, mask, steps=steps))

    def free_durations(self, ids: Tensor, gaps: Tensor, log_frames: Tensor, pause: Tensor) -> Tensor:
        """Whole frames of each token: sounds have one at least, gaps only where a pause is likely enough."""
        slower = log_frames + math.log(self.config.length_scale)
        wanted = torch.minimum(slower.clamp(max=MOST_LOG_FRAMES).exp().round().long(), self.longest[ids])
        paused = torch.sigmoid(pause) > self.figures.threshold
        frames = torch.where(gaps > 0, wanted * paused, wanted.clamp_min(1))
        frames = frames * (frames.cumsum(1) <= MOST_FRAMES)
        frames[:, 0] = frames[:, 0].clamp_min((frames.sum(1) == 0).long())
        return frames

    def speak_frames(self, hidden: Tensor, durations: Tensor, contour: Tensor) -> tuple[Tensor, Tensor]:
        """The refined mel, scaled, and voicing from 0 to 1, of one line."""
        mask = torch.ones_like(contour)[:, None]
        mean, voicing, states = self.net.frames(hidden, durations, contour, mask)
        steps = self.config.steps if self.config.refiner_layers else 0
        noise = self.config.temperature * torch.randn_like(mean)
        return self.net.refined(noise, mean, states, mask, steps=steps), torch.sigmoid(voicing)


def _row(example: Example, name: str) -> NDArray[Any]:
    """What every token of a clip has; a stream that nobody gave is 0."""
    if name == "ids":
        return np.asarray(example.ids)
    found = example.features.get(name)
    return np.zeros(len(example.ids), np.int64) if found is None else found


def _entropy(logit: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    found: Tensor = F.binary_cross_entropy_with_logits(logit.float(), target, reduction="none")
    return (found * mask).sum()


def _without_short_gaps(durations: Tensor, gaps: Tensor) -> Tensor:
    """The frames that a path must give every gap go to the token before it, where they are few."""
    moved = durations * (gaps > 0) * (durations <= SHORT_GAP)
    moved = F.pad(moved[:, 1:], (1, 0))  # the first gap has nothing before it
    return durations - moved + F.pad(moved[:, 1:], (0, 1))
