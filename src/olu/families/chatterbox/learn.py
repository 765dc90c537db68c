"""Learning to write codes for a text in a voice; tokenizer, voice encoder and what makes sound stay as they are.

Shape letters: B clips, K rows of the condition, L rows of a sequence, G of the speaker vector, D wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from olu.core.errors import TrainError
from olu.core.types import Audio
from olu.families.chatterbox.batch import (
    CODES_A_SECOND,
    ChatterboxBatch,
    Codes,
    HeardClip,
    collated,
    padded_prompts,
    rules_of,
)
from olu.families.chatterbox.codec.s3gen import S3Gen
from olu.families.chatterbox.codec.voice import VoiceEncoder
from olu.families.chatterbox.config import OUT_RATE, RATE, ChatterboxConfig
from olu.families.chatterbox.model import T3
from olu.nn.causal import Cache, RmsNorm
from olu.nn.lora import add_lora, is_lora
from olu.nn.sequence import packed
from olu.speak.engines.sampling import Sampler
from olu.train.code_figures import CodeFigures
from olu.train.family import Clock, Example, Loss, Part, SpokenSample, Update

TABLES = ("text_emb", "speech_emb", "text_pos_emb", "speech_pos_emb", "tfmr.wpe", "cond_enc.perceiver.pre_attention")
TEXT_TABLES = ("text_emb", "text_head")
ROOM, PACE = 25, 3.0  # codes more than the pace of the corpus lets expect, and times that pace
SEED_SPAN = 2**32
EMOTION = 0.5


class ChatterboxLearner(nn.Module):
    """`t3` learns; `s3gen` and `ve` are frozen. All have the published names."""

    def __init__(self, config: ChatterboxConfig, *, vocab_size: int, num_speakers: int) -> None:
        super().__init__()
        self.config, self.num_speakers = config, num_speakers
        self.t3 = T3(config, vocab_size=vocab_size)
        self.s3gen, self.ve = S3Gen(config), VoiceEncoder(config)
        if config.lora_rank:
            add_lora(self.t3.tfmr, rank=config.lora_rank)
        self.t3.tfmr.checkpointing = config.gradient_checkpointing
        self.figures = CodeFigures()
        self.references: dict[int, list[NDArray[np.float32]]] = {}  # of each speaker, waves at 16,000 Hz
        self._made: dict[str, tuple[Codes, NDArray[np.float32]]] = {}  # by its own networks, where none are prepared

    @property
    def device(self) -> torch.device:
        return self.t3.speech_head.weight.device

    def parts(self) -> dict[str, Part]:
        c = self.config
        return {
            "t3": Part(
                self.t3,
                lr=c.learning_rate,
                betas=c.adam_betas,
                eps=c.adam_epsilon,
                weight_decay=c.weight_decay,
                clip=c.clip or None,
                plain=undecayed(self.t3),
                ema=c.average or None,
                lr_scale=rates(self.t3, c),
            )
        }

    def collate(self, examples: Sequence[Example]) -> ChatterboxBatch:
        return collated(examples, self.config, self._features)

    def observe(self, document: Mapping[str, Any]) -> None:
        """Take up what is known of the corpus: see `train.code_figures`."""
        self.figures = CodeFigures.of(document)

    def meet(self, speaker: int, waves: Sequence[NDArray[np.int16]]) -> None:
        """Recordings of a speaker, whom `say` then sounds like."""
        self.references[speaker] = [np.asarray(one).astype(np.float32) / 32768.0 for one in waves]

    @torch.no_grad()
    def _features(self, example: Example) -> tuple[Codes, NDArray[np.float32]]:
        """Codes and vector of a clip by its own networks, once."""
        if example.id not in self._made:
            wave = np.asarray(example.samples).astype(np.float32) / 32768.0
            codes = self.s3gen.tokenizer.codes(torch.from_numpy(wave).to(self.device))
            self._made[example.id] = codes.cpu().numpy(), self.ve.vector(wave).cpu().numpy()
        return self._made[example.id]

    # ------------------------------------------------------------ steps

    def step(self, batch: ChatterboxBatch, clock: Clock) -> Iterator[Update]:
        text, speech = self._wrong(batch.drawn, batch.voices)
        c = self.config
        yield Update(
            "t3", {"text": Loss(text, "text", c.weight_text), "speech": Loss(speech, "speech", c.weight_speech)}
        )

    def _wrong(self, clips: Sequence[HeardClip], voices: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Cross-entropies of texts and codes, as sums."""
        sequences = packed([one.sequence for one in clips], rules_of(self.config)).to(self.device)
        dropped = torch.tensor([one.dropped for one in clips], device=self.device)
        rows = self.t3.rows_of(self.condition(clips, torch.stack(list(voices))), sequences, dropped)
        flat = self.t3.hidden(rows).flatten(0, 1)
        text = self.t3.text_head(flat[sequences.text_rows]).float()
        speech = self.t3.speech_head(flat[sequences.code_rows]).float()
        return (
            F.cross_entropy(text, sequences.text_targets, reduction="sum"),
            F.cross_entropy(speech, sequences.code_targets, reduction="sum"),
        )

    def condition(self, clips: Sequence[HeardClip], voices_BG: Tensor, *, emotion: float = EMOTION) -> Tensor:
        """Rows [B, K, D]; those of a clip without a prompt have its emotion right behind its speaker."""
        prompts, lengths = (one.to(self.device) for one in padded_prompts(clips))
        told = torch.full((len(clips),), emotion, device=self.device)
        rows = self.t3.condition(voices_BG, prompts, told, prompt_lengths=lengths)
        bare = torch.tensor([len(one.prompt) == 0 for one in clips], device=self.device)
        if not self.config.emotion or not bool(bare.any()):
            return rows
        moved = torch.cat([rows[:, :1], rows[:, -1:], rows[:, 2:]], dim=1)
        return torch.where(bare[:, None, None], moved, rows)

    # ------------------------------------------------------------ hearing how it goes

    def validate(self, batch: ChatterboxBatch) -> Mapping[str, Loss]:
        """With the middle of the prompts, the voice of the other clip, and no text dropped."""
        text, speech = self._wrong(batch.fixed, batch.fixed_voices)
        return {"text": Loss(text, "fixed_text"), "speech": Loss(speech, "fixed_speech")}

    def demo(self, batch: ChatterboxBatch) -> Iterator[SpokenSample]:
        for row, clip in enumerate(batch.clips):
            one, seconds = batch.fixed[row], batch.seconds[row]
            heard = self.condition([one], batch.fixed_voices[row][None], emotion=self.config.exaggeration)
            if len(one.prompt) == 0:
                heard = heard[:, : one.sequence.prompt_rows]
            most = round(PACE / 2 * seconds * CODES_A_SECOND) + ROOM
            codes, _ = self.written(one.sequence.ids, heard, most=most)
            yield SpokenSample(clip, self.sounded(codes, batch.sounds[row]), seconds)

    def say(self, ids: Sequence[int], speaker: int, streams: Any = None) -> Audio:
        held = self.references.get(speaker) or [np.zeros(RATE, np.float32)]
        most = round(PACE * (self.figures.usual_codes_per_token or self.figures.codes_per_token) * len(ids)) + ROOM
        codes, _ = self.written(ids, self.heard(held), most=most)
        return self.sounded(codes, held[0])

    @torch.no_grad()
    def heard(self, waves: Sequence[NDArray[np.float32]], *, emotion: float | None = None) -> Tensor:
        """Rows [1, K, D] of recordings of a speaker."""
        vector, prompt = self.listened(waves)
        told = self.config.exaggeration if emotion is None else emotion
        return self.t3.condition(vector[None], prompt[None], torch.full((1,), told, device=self.device))

    @torch.no_grad()
    def listened(self, waves: Sequence[NDArray[np.float32]]) -> tuple[Tensor, Tensor]:
        """The vector [G] of recordings of a speaker, and the codes of a prompt, which is the first one's beginning."""
        most = self.config.prompt_codes
        wave = torch.from_numpy(waves[0][: most * RATE // CODES_A_SECOND]).to(self.device)
        prompt = self.s3gen.tokenizer.codes(wave)[:most]
        return torch.stack([self.ve.vector(one) for one in waves]).mean(0), prompt

    @torch.no_grad()
    def written(
        self, ids: Sequence[int], condition_1KD: Tensor, *, most: int, seed: int | None = None
    ) -> tuple[list[int], bool]:
        """Codes for a text, code by code, with guidance; and whether it stopped by itself."""
        c, device, cache = self.config, self.device, Cache()
        seed = int(torch.initial_seed()) if seed is None else seed
        names = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
        sample = Sampler.of(
            {name: float(getattr(c, name)) for name in names},
            np.random.default_rng(seed % SEED_SPAN),
            penalty_last=c.backbone == "gpt2",
        )
        clips = 2 if c.guidance > 0 else 1
        text = torch.tensor([[c.text_start, *ids, c.text_stop] if c.text_bounds else list(ids)], device=device)
        dropped = torch.tensor([False, True][:clips], device=device)
        rows = self.t3.begun(condition_1KD.expand(clips, -1, -1), text.expand(clips, -1), dropped)
        never, codes = [c.start_code, *range(c.stop_code + 1, c.speech_ids)], list[int]()
        while len(codes) < max(1, min(most, c.most_codes)):
            logits = self.t3.speech_head(self.t3.hidden(rows, cache=cache)[:, -1]).float()
            mixed = logits[0] + c.guidance * (logits[0] - logits[-1])
            before = [c.start_code, *codes] if c.backbone == "llama" else codes
            code = sample.draw(mixed.cpu().numpy(), before, never=never)
            if code == c.stop_code:
                return codes, True
            codes.append(code)
            rows = self.t3.speech_rows(torch.tensor([[code]] * clips, device=device), first=len(codes))
        return codes, False

    @torch.no_grad()
    def sounded(self, codes: Sequence[int], wave: NDArray[np.float32]) -> Audio:
        """Codes in the voice of a recording."""
        made = torch.tensor(list(codes) or [0, 0], device=self.device)
        seed = int(torch.initial_seed()) % SEED_SPAN
        sound = self.s3gen.sounded(made, self.s3gen.heard(_long_enough(wave)), seed=seed)
        return Audio(sound.float().cpu().numpy(), OUT_RATE)


def undecayed(module: nn.Module) -> tuple[str, ...]:
    """Names that weight decay leaves alone: norms, biases and tables."""
    norms = {name for name, one in module.named_modules() if isinstance(one, nn.LayerNorm | RmsNorm)}
    return tuple(
        name
        for name, _ in module.named_parameters()
        if name.startswith(TABLES) or name.endswith("bias") or name.rpartition(".")[0] in norms
    )


def rates(module: nn.Module, config: ChatterboxConfig) -> dict[str, float]:
    """Of parameters by name, times the learning rate: 0 for those that are held. With adapters only they and the
    tables of text learn."""
    names = [name for name, _ in module.named_parameters()]
    usual = config.usual("held")
    if strange := [one for one in config.held if one not in usual and not any(name.startswith(one) for name in names)]:
        raise TrainError(
            f"recipe: model.held: nothing of T3 begins with {strange[0]!r}: text_emb, speech_emb or cond_enc"
        )
    if not config.lora_rank:
        return {**dict.fromkeys(config.held, 0.0), **dict.fromkeys(TEXT_TABLES, config.text_rate)}
    moving = {name: 1.0 for name, _ in module.named_parameters() if is_lora(name)}
    return {"": 0.0, **moving, **dict.fromkeys(TEXT_TABLES, config.text_rate)}


def _long_enough(wave: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.resize(wave, RATE) if 0 < len(wave) < RATE // 2 else wave
