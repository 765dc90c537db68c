"""Learning to write codes for a text in a voice; from scratch also its codes, before, and its sound, after.

Shape letters: B clips, K prompt rows, L rows of a sequence, N codes, n latents, D wide, S samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from olu.audio.io import resample
from olu.core.types import Audio
from olu.families.xtts.batch import Span, Waves, XttsBatch, collated
from olu.families.xtts.codes import Dvae
from olu.families.xtts.config import CODE_SAMPLES, MELS, OUT_HOP, OUT_RATE, RATE, XttsConfig
from olu.families.xtts.decoder import frames_of
from olu.families.xtts.model import Gpt, SoundMaker
from olu.families.xtts.scratch import SoundDiscriminator, dvae_losses, griffin_lim, resampled, spectral_distance
from olu.families.xtts.speaker import RATE as SPEAKER_RATE
from olu.families.xtts.spectrum import prompt_mel
from olu.nn.causal import Cache
from olu.nn.discriminators import discriminator_loss, may_move
from olu.nn.lora import add_lora, is_lora
from olu.nn.sequence import CODE, TEXT, CodeSequence, SequenceRules, Sequences, packed
from olu.speak.engines.sampling import Sampler
from olu.train.code_figures import CodeFigures
from olu.train.family import Clock, Example, Loss, Part, SpokenSample, Update

TABLES = (
    "text_embedding",
    "mel_embedding",
    "text_pos_embedding",
    "mel_pos_embedding",
    "conditioning_perceiver.latents",
)
UNDECAYED = ("bias", "gamma")  # what the names of parameters end in, beside norms and tables
ROOM = 10  # codes more than the pace of the corpus lets expect
PACE = 1.5
SEED_SPAN = 2**32


class XttsLearner(nn.Module):
    """Its networks have the published names: `gpt`, `hifigan_decoder`, `mel_stats`, and `dvae` beside them."""

    def __init__(self, config: XttsConfig, *, vocab_size: int, num_speakers: int) -> None:
        super().__init__()
        self.config, self.num_speakers = config, num_speakers
        self.mel_stats: Tensor
        self.register_buffer("mel_stats", torch.ones(MELS))
        self.gpt = Gpt(config, vocab_size=vocab_size)
        self.hifigan_decoder = SoundMaker(config)
        if config.speakers == "table":
            self.hifigan_decoder.speaker_table = nn.Embedding(num_speakers, config.speaker_width)
        self.dvae = Dvae(config)
        if config.decoder_from:
            self.disc = SoundDiscriminator(config.discriminator_width)
            self.sounds: Tensor  # whether its decoder has begun to learn
            self.register_buffer("sounds", torch.zeros((), dtype=torch.long))
        if config.lora_rank:
            add_lora(self.gpt.gpt, rank=config.lora_rank)
        self.gpt.gpt.checkpointing = config.gradient_checkpointing
        self.figures = CodeFigures()
        self.references: dict[int, list[NDArray[np.float32]]] = {}  # of each speaker, waves at 22,050 Hz
        self._made: dict[str, NDArray[np.int64]] = {}  # codes by its own DVAE, once that rests
        self._rests = config.codes_steps == 0

    @property
    def device(self) -> torch.device:
        return self.mel_stats.device

    @property
    def rules(self) -> SequenceRules:
        c = self.config
        return SequenceRules(
            c.prompt_rows, c.text_start, c.text_stop, c.start_code, c.stop_code, stops=c.stops, hears_stop=c.hears_stop
        )

    def parts(self) -> dict[str, Part]:
        c = self.config
        shared: dict[str, Any] = {"betas": c.adam_betas, "eps": c.adam_epsilon, "weight_decay": c.weight_decay}
        gpt = Part(
            self.gpt,
            lr=c.learning_rate,
            clip=c.clip or None,
            clips=c.layer_clips,
            plain=undecayed(self.gpt),
            ema=c.average or None,
            lr_scale=held_beside_lora(self.gpt) if c.lora_rank else {},
            start=c.codes_steps,
            until=c.decoder_from or None,
            **shared,
        )
        found = {"gpt": gpt}
        if c.codes_steps:
            found = {"codes": Part(self.dvae, c.codes_learning_rate, clip=1.0, until=c.codes_steps), **found}
        if c.decoder_from:
            sound = {"betas": (0.8, 0.99), "clip": 100.0, "start": c.decoder_from}
            found["disc"] = Part(self.disc, c.discriminator_learning_rate, **sound)  # type: ignore[arg-type]
            ema = c.decoder_average or None
            found["decoder"] = Part(self.hifigan_decoder, c.decoder_learning_rate, ema=ema, **sound)  # type: ignore[arg-type]
        return found

    def collate(self, examples: Sequence[Example]) -> XttsBatch:
        return collated(examples, self.config)

    def observe(self, document: Mapping[str, Any]) -> None:
        """Take up what is known of the corpus: see `corpus.figures_of`."""
        self.figures = CodeFigures.of(document)
        if self.figures.mel_stats:
            self.mel_stats.copy_(torch.tensor(self.figures.mel_stats))

    def meet(self, speaker: int, waves: Sequence[NDArray[np.int16]]) -> None:
        """Recordings of a speaker, whom `say` then sounds like."""
        self.references[speaker] = [np.asarray(one).astype(np.float32) / 32768.0 for one in waves]

    # ------------------------------------------------------------ steps

    def step(self, batch: XttsBatch, clock: Clock) -> Iterator[Update]:
        c = self.config
        if clock.step < c.codes_steps:
            mel, apart = dvae_losses(self.dvae, batch.sounds.on(self.device), self.mel_stats, learn=True)
            losses = {"mel": Loss(mel, "clips"), "commitment": Loss(apart, "clips", c.weight_commitment)}
            yield Update("codes", losses)
            return
        self._rests = True
        if c.decoder_from and clock.step >= c.decoder_from:
            yield from self._sound_updates(batch)
            return
        text, codes, _ = self._wrong(batch, batch.prompts, batch.hidden)
        yield Update(
            "gpt", {"text": Loss(text, "tokens", c.weight_text), "codes": Loss(codes, "codes", c.weight_codes)}
        )

    def _wrong(self, batch: XttsBatch, prompts: Waves, hidden: tuple[Span, ...]) -> tuple[Tensor, Tensor, Tensor]:
        """Cross-entropies of texts and codes, as sums, and the latents of all rows [B, L, D]."""
        sequences = self._sequences(batch, hidden)
        latents = self.latents(self._conditioned(prompts), sequences)
        flat = latents.flatten(0, 1)
        text = self.gpt.text_head(flat[sequences.text_rows]).float()
        codes = self.gpt.mel_head(flat[sequences.code_rows]).float()
        return (
            F.cross_entropy(text, sequences.text_targets, reduction="sum"),
            F.cross_entropy(codes, sequences.code_targets, reduction="sum"),
            latents,
        )

    def _conditioned(self, prompts: Waves) -> Tensor:
        return self.gpt.condition(prompt_mel(prompts.stacked(self.device), self.mel_stats))

    def latents(self, prompt_BKD: Tensor, sequences: Sequences) -> Tensor:
        """[B, L, D] of sequences with these prompts."""
        text, code = sequences.kind_BL == TEXT, sequences.kind_BL == CODE
        text_ids, code_ids = (sequences.id_BL * one for one in (text, code))
        text_at, code_at = (sequences.place_BL * one for one in (text, code))
        rows = (self.gpt.text_embedding(text_ids) + self.gpt.text_pos_embedding.emb(text_at)) * text[..., None]
        rows = rows + (self.gpt.mel_embedding(code_ids) + self.gpt.mel_pos_embedding.emb(code_at)) * code[..., None]
        k = prompt_BKD.shape[1]
        return self.gpt.latents(torch.cat([prompt_BKD.to(rows.dtype), rows[:, k:]], dim=1))

    def _sequences(self, batch: XttsBatch, hidden: tuple[Span, ...]) -> Sequences:
        codes = [self._codes_of(batch, row) for row in range(len(batch.clips))]
        clips = [CodeSequence(*one) for one in zip(batch.ids, codes, hidden, strict=True)]
        return packed(clips, self.rules).to(self.device)

    def _codes_of(self, batch: XttsBatch, row: int) -> NDArray[np.int64]:
        """Prepared, or by its own DVAE: clip by clip, since padding would reach the last ones; kept once that rests."""
        prepared, clip = batch.codes[row], batch.clips[row]
        if prepared is not None:
            return prepared
        if self._rests and clip in self._made:
            return self._made[clip]
        with torch.autocast(self.device.type, enabled=False):  # in bf16 some would be others
            (sound,) = batch.sounds[row : row + 1].on(self.device)
            made: NDArray[np.int64] = self.dvae.codes(sound[None], self.mel_stats)[0].cpu().numpy()
        if self._rests and clip:
            self._made[clip] = made
        return made

    # ------------------------------------------------------------ sound, from scratch

    def _sound_updates(self, batch: XttsBatch) -> Iterator[Update]:
        c = self.config
        if self.training or self.disc.training:
            self.sounds.fill_(1)
        real, fake = self._stretches(batch, drawn=True)
        verdicts = self.disc(torch.cat([real, fake.detach()]))
        yield Update("disc", {"disc": Loss(discriminator_loss(verdicts), "clips")})
        moving = [parameter for parameter in self.disc.parameters() if parameter.requires_grad]
        may_move(moving, False)  # only what it hears needs a gradient here
        wrong, apart = self.disc.compare(real, fake)
        may_move(moving, True)
        yield Update(
            "decoder",
            {
                "spectrum": Loss(spectral_distance(real, fake), "clips", c.weight_spectrum),
                "adversarial": Loss(wrong, "clips", c.weight_adversarial),
                "features": Loss(apart, "clips", c.weight_features),
            },
        )

    def _stretches(self, batch: XttsBatch, *, drawn: bool) -> tuple[Tensor, Tensor]:
        """Stretches of the clips at 24,000 Hz, and the same made from latents that were told the true codes."""
        with torch.no_grad():
            sequences = self._sequences(batch, ((0, 0),) * len(batch.clips))
            prompt = self._conditioned(batch.prompts if drawn else batch.middles)
            latents = self.latents(prompt, sequences)
            counts = (sequences.kind_BL == CODE).sum(1).tolist()
            first = (sequences.kind_BL < CODE).sum(1).tolist()
            sounds = batch.sounds.on(self.device)
            whole = [len(one) // CODE_SAMPLES for one in sounds]
            n = max(1, min(self.config.decoder_latents, *counts, *whole))
            starts = [int(torch.rand(()) * (size - n + 1)) if drawn else (size - n) // 2 for size in whole]
            starts = [max(0, one) for one in starts]
            cut = [row[at + begin : at + begin + n] for row, at, begin in zip(latents, first, starts, strict=True)]
            frames = frames_of(torch.stack(cut).float())
            size = frames.shape[-1] * OUT_HOP
            pairs = zip(sounds, starts, strict=True)
            real = torch.stack([resampled(wave, begin * CODE_SAMPLES, size) for wave, begin in pairs])
        fake = self.hifigan_decoder.waveform_decoder(frames, self._voices(batch))
        return real, fake.float()

    def _voices(self, batch: XttsBatch) -> Tensor:
        """What the decoder is told of the speakers [B, G]."""
        if self.config.speakers == "table":
            return self._table(batch.speakers)
        return torch.cat([self._heard_voice(wave.numpy()) for wave in batch.middles.on(torch.device("cpu"))])

    def _table(self, speakers: Sequence[int]) -> Tensor:
        table = self.hifigan_decoder.get_submodule("speaker_table")
        rows: Tensor = table(torch.tensor(list(speakers), device=self.device))
        return rows

    @torch.no_grad()
    def _heard_voice(self, wave: NDArray[np.float32]) -> Tensor:
        heard = resample(Audio(np.trim_zeros(wave, "b") if wave.any() else wave, RATE), SPEAKER_RATE).samples
        encoder: nn.Module = self.hifigan_decoder.speaker_encoder
        vector: Tensor = encoder(torch.from_numpy(heard)[None].to(self.device))
        return vector

    # ------------------------------------------------------------ hearing how it goes

    def validate(self, batch: XttsBatch) -> Mapping[str, Loss]:
        """With the middle of the prompts. `total` chooses the best step: of the codes, from scratch of all it makes."""
        text, codes, _ = self._wrong(batch, batch.middles, batch.middle_hidden)
        found = {"text": Loss(text, "tokens"), "codes": Loss(codes, "middle_codes")}
        if not self.config.codes_steps and not self.config.decoder_from:
            return {**found, "total": found["codes"]}
        number = len(batch.clips)
        total = codes / batch.counts["middle_codes"] * number
        if self.config.codes_steps:
            found["mel"] = Loss(self._mel_apart(batch), "clips")
            total = total + found["mel"].sum
        if self.config.decoder_from:
            found["spectrum"] = Loss(spectral_distance(*self._stretches(batch, drawn=False)), "clips")
            total = total + found["spectrum"].sum
        return {**found, "total": Loss(total, "clips")}

    def _mel_apart(self, batch: XttsBatch) -> Tensor:
        return dvae_losses(self.dvae, batch.sounds.on(self.device), self.mel_stats, learn=False)[0]

    def demo(self, batch: XttsBatch) -> Iterator[SpokenSample]:
        for row, clip in enumerate(batch.clips):
            seconds = batch.seconds[row]
            most = round(PACE * seconds * RATE / CODE_SAMPLES) + ROOM
            (wave,) = batch.middles[row : row + 1].on(self.device)
            voice = self._voices(_alone(batch, row))
            yield SpokenSample(clip, self._spoken(batch.ids[row], [wave], voice, most=most), seconds)

    def say(self, ids: Sequence[int], speaker: int, streams: Any = None) -> Audio:
        device, c = self.device, self.config
        held = self.references.get(speaker) or [np.zeros(round(c.prompt_seconds[1] * RATE), np.float32)]
        waves = [torch.from_numpy(one[: round(c.prompt_seconds[1] * RATE)]).to(device) for one in held]
        if c.speakers == "table":
            voice = self._table([speaker])
        else:
            voice = torch.stack([self._heard_voice(one) for one in held]).mean(0)
        most = round(PACE * self.figures.codes_per_token * len(ids)) + ROOM
        return self._spoken(ids, waves, voice, most=most)

    @torch.no_grad()
    def _spoken(self, ids: Sequence[int], waves: Sequence[Tensor], voice: Tensor, *, most: int) -> Audio:
        """A text as it is spoken, with the mean of what is heard of some recordings."""
        heard = [self.gpt.condition(prompt_mel(wave[None], self.mel_stats)) for wave in waves]
        codes, latents, _ = self.written(ids, torch.stack(heard).mean(0), most=most)
        if self.config.decoder_from and not int(self.sounds):
            made = torch.tensor([codes or [0]], device=self.device)
            found = griffin_lim(self.dvae.mel(made), self.mel_stats)[0]
            return resample(Audio(found.cpu().numpy(), RATE), OUT_RATE)
        wave = self.hifigan_decoder.waveform_decoder(frames_of(latents[None].float()), voice)[0]
        return Audio(wave.float().cpu().numpy(), OUT_RATE)

    @torch.no_grad()
    def written(
        self, ids: Sequence[int], prompt_1KD: Tensor, *, most: int, seed: int | None = None
    ) -> tuple[list[int], Tensor, bool]:
        """Codes for a text, code by code; the latents [n, D] of the rows that predicted them, the stop's too; and
        whether it stopped by itself."""
        c, device, cache = self.config, prompt_1KD.device, Cache()
        seed = int(torch.initial_seed()) if seed is None else seed
        knobs = {name: float(getattr(c, name)) for name in ("temperature", "top_p", "top_k", "repetition_penalty")}
        sample = Sampler.of(knobs, np.random.default_rng(seed % SEED_SPAN))
        text = torch.tensor([[c.text_start, *ids, c.text_stop]], device=device)
        start = torch.tensor([[c.start_code]], device=device)
        rows = torch.cat([prompt_1KD, self.gpt.text_rows(text), self.gpt.code_rows(start)], 1)
        codes, kept = list[int](), list[Tensor]()
        most = max(1, min(most, c.most_codes))
        while len(codes) < most:
            latent = self.gpt.latents(rows, cache=cache)[0, -1]
            kept.append(latent)
            logits = self.gpt.mel_head(latent).float().cpu().numpy()
            code = sample.draw(logits, [1, c.start_code, *codes], never=[c.start_code])
            if code == c.stop_code:
                return codes, torch.stack(kept), True
            codes.append(code)
            rows = self.gpt.code_rows(torch.tensor([[code]], device=device), first=len(codes))
        return codes, torch.stack(kept), False


def undecayed(module: nn.Module) -> tuple[str, ...]:
    """Names that weight decay leaves alone: norms, biases and tables."""
    norms = {name for name, one in module.named_modules() if isinstance(one, nn.LayerNorm | nn.GroupNorm)}
    found = [
        name
        for name, _ in module.named_parameters()
        if name.startswith(TABLES) or name.endswith(UNDECAYED) or name.rpartition(".")[0] in norms
    ]
    return tuple(found)


def held_beside_lora(module: nn.Module) -> dict[str, float]:
    """What learns with adapters: they themselves and the tables of text; all else is held."""
    moving = [name for name, _ in module.named_parameters() if is_lora(name) or name.startswith("text_")]
    return {"": 0.0, **dict.fromkeys((one for one in moving if "pos_embedding" not in one), 1.0)}


def _alone(batch: XttsBatch, row: int) -> XttsBatch:
    """One clip of a batch, as far as its voice goes."""
    from dataclasses import replace

    return replace(batch, speakers=batch.speakers[row : row + 1], middles=batch.middles[row : row + 1])
