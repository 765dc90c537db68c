"""What every family must do. A new family adds its tiny settings and its table of other values; nothing else."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from olu.core.config import Strict
from olu.core.errors import ConfigError, OluError
from olu.core.types import Alignment, Clip, Reading, Span, Word
from olu.families import FAMILIES, family
from olu.families.chatterbox.config import TINY as CHATTERBOX_TINY
from olu.families.xtts.config import TINY
from olu.features.store import FeatureClip
from olu.nn import precision
from olu.train.batches import Batches
from olu.train.checkpoint import Checkpoints
from olu.train.engine import Engine, LivePart
from olu.train.family import Clock, Example, Family, Update
from olu.train.grow_symbols import Growth, enlarged
from olu.train.guards import Finite, Spike, Verdict, Wiring
from olu.train.recipe import GuardSettings, PlanSettings

from ..helpers.toy_families import TOYS, register

VOCABULARY = 12
VARIANTS = {"vits-source": "vits"}  # a family in another shape: its row of `TABLES` says which
TRIED = [*FAMILIES, *TOYS, *(VARIANTS if os.environ.get("OLU_SOAK") == "1" else ())]
pytestmark = pytest.mark.parametrize("name", TRIED)


@dataclass(frozen=True)
class Other:
    """Another value for a field, on top of `base`, where the field can act."""

    value: Any
    base: dict[str, Any] = field(default_factory=dict)
    speakers: int = 1
    refused: str = ""  # where the field must raise instead: a part of the sentence


@dataclass(frozen=True)
class Table:
    tiny: dict[str, Any]
    still: dict[str, Any]  # laid over tiny: nothing random in a step, and a judge that stands still
    other: dict[str, Other]


SOURCE = {"decoder": "source"}
PLAIN = {"use_stochastic_duration_prediction": False}
TABLES: dict[str, Table] = {
    "vits": Table(
        tiny={"size": "tiny"},
        still={
            "hidden_dropout": 0.0,
            "attention_dropout": 0.0,
            "activation_dropout": 0.0,
            "duration_predictor_dropout": 0.0,
            "discriminator_learning_rate": 1e-30,
        },
        other={
            "size": Other("small"),
            "hidden_size": Other(24),
            "num_hidden_layers": Other(1),
            "num_attention_heads": Other(4),
            "window_size": Other(2),
            "use_bias": Other(False),
            "ffn_dim": Other(24),
            "ffn_kernel_size": Other(5),
            "hidden_act": Other("gelu"),
            "hidden_dropout": Other(0.4),
            "attention_dropout": Other(0.4),
            "activation_dropout": Other(0.4),
            "layer_norm_eps": Other(1e-2),
            "flow_size": Other(8),
            "prior_encoder_num_flows": Other(1),
            "prior_encoder_num_wavenet_layers": Other(1),
            "posterior_encoder_num_wavenet_layers": Other(1),
            "wavenet_kernel_size": Other(5),
            "wavenet_dilation_rate": Other(2),
            "wavenet_dropout": Other(0.3),
            "use_stochastic_duration_prediction": Other(False),
            "duration_predictor_filter_channels": Other(24, base=PLAIN),
            "duration_predictor_kernel_size": Other(5),
            "duration_predictor_dropout": Other(0.1),
            "duration_predictor_num_flows": Other(3),
            "duration_predictor_flow_bins": Other(4),
            "duration_predictor_tail_bound": Other(1.0),
            "depth_separable_num_layers": Other(2),
            "decoder": Other("source"),
            "source_channels": Other(16, base=SOURCE),
            "source_layers": Other(1, base=SOURCE),
            "pitch_dropout": Other(0.1, base=SOURCE),
            "weight_pitch": Other(2.0, base=SOURCE),
            "weight_voicing": Other(2.0, base=SOURCE),
            "upsample_initial_channel": Other(64),
            "upsample_rates": Other((4, 8, 8)),
            "upsample_kernel_sizes": Other((16, 16, 4)),
            "resblock": Other("2"),
            "resblock_kernel_sizes": Other((5,)),
            "resblock_dilation_sizes": Other(((1, 5),)),
            "leaky_relu_slope": Other(0.3),
            "speaker_embedding_size": Other(8, speakers=2),
            "sampling_rate": Other(22050),
            "spectrogram_bins": Other(257),
            "mel_bins": Other(40),
            "mel_low_hz": Other(500.0),
            "mel_high_hz": Other(4000.0),
            "mel_windows": Other((256, 512)),
            "weight_mel_windows": Other(5.0, base={"mel_windows": (256,)}),
            "discriminator_periods": Other((2, 5)),
            "discriminator_period_channels": Other((4, 4)),
            "discriminator_scale_channels": Other(()),
            "discriminator_kernel_size": Other(3),
            "discriminator_stride": Other(2),
            "discriminator_start": Other(7),
            "discriminator_warmup": Other(10),
            "segment_size": Other(2048),
            "alignment_noise": Other(0.5),
            "alignment_guide": Other(100),
            "alignment_noise_decay": Other(0.1, base={"alignment_noise": 0.5}),
            "init_scale": Other(0.5),
            "learning_rate": Other(1e-3),
            "discriminator_learning_rate": Other(2e-3),
            "adam_betas": Other((0.5, 0.9)),
            "adam_epsilon": Other(1e-6),
            "gradient_checkpointing": Other(True),
            "weight_decay": Other(0.1),
            "clip": Other(1.0),
            "average": Other(0.5),
            "weight_mel": Other(10.0),
            "weight_kl": Other(2.0),
            "weight_duration": Other(3.0),
            "weight_adversarial": Other(4.0),
            "weight_features": Other(5.0),
            "weight_discriminator": Other(6.0),
            "noise_scale": Other(0.1),
            "noise_scale_duration": Other(0.1),
            "speaking_rate": Other(2.0),
        },
    ),
    "recogniser": Table(
        tiny={"size": "tiny"},
        still={"time_masks": 0, "frequency_masks": 0, "speed": 0.0, "noise": 0.0},
        other={
            "size": Other("cpu"),
            "units": Other("symbols"),
            "tone_marks": Other("keep"),
            "sampling_rate": Other(22050),
            "hop_length": Other(200),
            "fft_size": Other(400),
            "mel_bins": Other(40),
            "mel_low_hz": Other(300.0),
            "subsample": Other(4),
            "channels": Other(6),
            "width": Other(24),
            "blocks": Other(3),
            "heads": Other(2),
            "kernel": Other(5),
            "feed_forward": Other(48),
            "recurrent": Other(1),
            "dropout": Other(0.3),
            "drop_path": Other(0.5),
            "inter_weight": Other(0.0),
            "time_masks": Other(3),
            "time_mask_share": Other(0.4),
            "frequency_masks": Other(3),
            "frequency_mask_bins": Other(20),
            "ease": Other(0.0),
            "speed": Other(0.2),
            "noise": Other(0.9),
            "learning_rate": Other(1e-3),
            "adam_betas": Other((0.5, 0.9)),
            "adam_epsilon": Other(1e-6),
            "weight_decay": Other(0.1),
            "clip": Other(0.5),
            "average": Other(0.5),
        },
    ),
}
SEARCHED = {"alignment": "search"}
TABLES["vocoder"] = Table(
    tiny={"size": "tiny", "discriminator_start": 0, "discriminator_warmup": 0},
    still={"discriminator_learning_rate": 1e-30, "level": 0.0, "blurred": 0.0, "segment_frames": 40},
    other={
        "size": Other("small"),
        "channels": Other(16),
        "layers": Other(1),
        "widening": Other(2),
        "kernel": Other(5),
        "discriminator_periods": Other((2, 5)),
        "discriminator_period_channels": Other((4, 4)),
        "discriminator_windows": Other((1024,)),
        "discriminator_window_channels": Other(6),
        "discriminator_start": Other(7),
        "discriminator_warmup": Other(10),
        "segment_frames": Other(16),
        "level": Other(1.0),
        "resampled": Other(1.0),
        "blurred": Other(1.0),
        "learning_rate": Other(1e-3),
        "discriminator_learning_rate": Other(2e-3),
        "adam_betas": Other((0.5, 0.9)),
        "adam_epsilon": Other(1e-6),
        "weight_decay": Other(0.1),
        "clip": Other(1.0),
        "average": Other(0.5),
        "magnitude_windows": Other((256,)),
        "weight_mel": Other(10.0),
        "weight_magnitudes": Other(3.0),
        "weight_adversarial": Other(4.0),
        "weight_features": Other(5.0),
        "weight_discriminator": Other(6.0),
    },
)
TABLES |= {
    "acoustic": Table(
        tiny={"size": "tiny"},
        still={"dropout": 0.0, "prosody_dropout": 0.0, "tone_dropout": 0.0, "knots_share": 1.0},
        other={
            "size": Other("base"),
            "width": Other(24),
            "near_layers": Other(3),
            "reach": Other(1),
            "phrase_layers": Other(2),
            "phrase_mel": Other(True),
            "heads": Other(4),
            "window": Other(2),
            "kernel": Other(3),
            "head_kernel": Other(5),
            "mean_width": Other(16),
            "mean_layers": Other(1),
            "refiner_width": Other(16),
            "refiner_layers": Other(1),
            "alignment": Other("search"),
            "guide_steps": Other(50, base=SEARCHED),
            "search_from": Other(2, base={"alignment": "mixed"}),
            "dropout": Other(0.4),
            "prosody_dropout": Other(0.1),
            "symbol_dropout": Other(0.3),
            "tone_dropout": Other(0.8),
            "duration_noise": Other(2.0),
            "knots_share": Other(1.0),
            "init_scale": Other(0.5),
            "learning_rate": Other(1e-4),
            "adam_betas": Other((0.5, 0.9)),
            "adam_epsilon": Other(1e-6),
            "weight_decay": Other(0.1),
            "clip": Other(0.5),
            "average": Other(0.5),
            "weight_mean": Other(10.0),
            "weight_flow": Other(2.0),
            "weight_voicing": Other(3.0),
            "weight_duration": Other(4.0),
            "weight_pause": Other(5.0),
            "weight_pitch": Other(6.0),
            "weight_prior": Other(7.0, base=SEARCHED),
            "steps": Other(2),
            "temperature": Other(0.1),
            "length_scale": Other(3.0),
        },
    ),
    "toytokens": Table(
        tiny={},
        still={},
        other={
            "width": Other(16),
            "merges": Other(0),
            "learning_rate": Other(1e-3),
            "weight_decay": Other(0.5),
            "head_clip": Other(1e-4),
        },
    ),
    "toyvocoder": Table(tiny={}, still={}, other={"channels": Other(8), "learning_rate": Other(1e-4)}),
    "toyacoustic": Table(
        tiny={}, still={}, other={"width": Other(16), "learning_rate": Other(1e-3), "clip": Other(1e-3)}
    ),
}
BARE = {"unconditional": 0.0, "guidance": 0.0}
OWN_CODES, OWN_SOUND = {"codes_steps": 10}, {"decoder_from": 3}
TABLES["xtts"] = Table(
    tiny={"size": "tiny"},
    still={"dropout": 0.0},
    other={
        "size": Other("small", base={name: value for name, value in TINY.items() if name != "learning_rate"}),
        "layers": Other(1),
        "width": Other(32),
        "heads": Other(2),
        "codes": Other(32),
        "text_places": Other(100),
        "code_places": Other(100),
        "dropout": Other(0.4),
        "prompt_rows": Other(4),
        "conditioning_layers": Other(2),
        "perceiver_layers": Other(2),
        "perceiver_heads": Other(4),
        "perceiver_head_width": Other(8),
        "dvae_width": Other(8),
        "code_width": Other(8),
        "dvae_blocks": Other(2),
        "decoder_width": Other(48),
        "speaker_width": Other(8),
        "speakers": Other("encoder"),
        "text_start": Other(4),
        "text_stop": Other(1),
        "stops": Other(4),
        "hears_stop": Other(False),
        "codec": Other("0" * 64, refused="so is the base that makes them"),
        "conditioning": Other("same"),
        "prompt_seconds": Other((0.3, 0.4)),
        "pieces": Other(5),
        "init_scale": Other(0.5),
        "lora_rank": Other(8),
        "gradient_checkpointing": Other(True),
        "learning_rate": Other(1e-4),
        "adam_betas": Other((0.5, 0.9)),
        "adam_epsilon": Other(1e-6),
        "weight_decay": Other(0.1),
        "clip": Other(0.5),
        "layer_clips": Other({"text_embedding": 0.1}),
        "average": Other(0.5),
        "weight_text": Other(0.5),
        "weight_codes": Other(2.0),
        "codes_steps": Other(20),
        "decoder_from": Other(4),
        "codes_learning_rate": Other(1e-5, base=OWN_CODES),
        "weight_commitment": Other(2.0, base=OWN_CODES),
        "decoder_learning_rate": Other(1e-5, base=OWN_SOUND),
        "discriminator_learning_rate": Other(1e-5, base=OWN_SOUND),
        "discriminator_width": Other(2, base=OWN_SOUND),
        "decoder_latents": Other(6, base=OWN_SOUND),
        "decoder_average": Other(0.5, base=OWN_SOUND),
        "weight_spectrum": Other(1.0, base=OWN_SOUND),
        "weight_adversarial": Other(3.0, base=OWN_SOUND),
        "weight_features": Other(4.0, base=OWN_SOUND),
        "temperature": Other(0.1),
        "top_k": Other(1),
        "top_p": Other(0.1),
        "repetition_penalty": Other(1.0),
    },
)
TABLES["chatterbox"] = Table(
    tiny={"size": "tiny"},
    still={"perceiver_dropout": 0.0},
    other={
        "size": Other("english", base=CHATTERBOX_TINY, refused="name its folder with --base"),
        "backbone": Other("gpt2", base=BARE),
        "layers": Other(1),
        "width": Other(32),
        "heads": Other(2),
        "inner": Other(64),
        "codes": Other(27),
        "speech_ids": Other(90),
        "text_places": Other(50),
        "code_places": Other(100),
        "dropout": Other(0.4, base={**BARE, "backbone": "gpt2"}),
        "prompt_codes": Other(6),
        "prompt_rows": Other(4),
        "perceiver_heads": Other(4),
        "perceiver_dropout": Other(0.6),
        "emotion": Other(False),
        "voice_width": Other(8),
        "voice_layers": Other(2),
        "voice_mels": Other(20),
        "s3_width": Other(64),
        "s3_layers": Other(2),
        "s3_heads": Other(4),
        "s3_mels": Other(24),
        "text_bounds": Other(False),
        "text_start": Other(4),
        "text_stop": Other(1),
        "start_twice": Other(False),
        "meanflow": Other(True),
        "tokenizer": Other("0" * 64, refused="so is the base that makes them"),
        "voice_encoder": Other("0" * 64, refused="so is the base that makes them"),
        "reads": Other("phones"),
        "prompt_seconds": Other((0.3, 0.4)),
        "other_voice": Other(0.0),
        "unconditional": Other(0.0),
        "init_scale": Other(0.5),
        "lora_rank": Other(8),
        "gradient_checkpointing": Other(True),
        "learning_rate": Other(1e-4),
        "text_rate": Other(5.0),
        "held": Other(("speech_emb",)),
        "adam_betas": Other((0.5, 0.9)),
        "adam_epsilon": Other(1e-6),
        "weight_decay": Other(0.1),
        "clip": Other(0.5),
        "average": Other(0.5),
        "weight_text": Other(0.5, base={"unconditional": 0.0}),  # the number drawn here drops every text
        "weight_speech": Other(2.0),
        "temperature": Other(0.1),
        "guidance": Other(2.0),
        "exaggeration": Other(1.0),
        "min_p": Other(0.9),
        "top_k": Other(1),
        "top_p": Other(0.1),
        "repetition_penalty": Other(5.0),
    },
)
TABLES["vits-source"] = Table(
    tiny={"size": "tiny", **SOURCE}, still={**TABLES["vits"].still, "pitch_dropout": 0.0}, other={}
)
MARKED = Reading(text="ọ̀rọ̀", normal="ọ̀rọ̀", words=(Word("ọ̀rọ̀", ("ɔ", "ɾ", "ɔ"), ("L", "L"), (0, 2)),), breaks=("", ""))


@pytest.fixture
def fam(name: str, monkeypatch: pytest.MonkeyPatch) -> Family:
    register(monkeypatch)
    assert name in TABLES, f"family {name} has no table here"
    return replace(family(VARIANTS.get(name, name)), name=name)


def vits_only(fam: Family) -> None:
    if fam.name != "vits":
        pytest.skip("this is of vits")


def speaking_only(fam: Family) -> None:
    if not fam.speaks:
        pytest.skip("it does not speak")


def config_of(fam: Family, **changes: Any) -> Any:
    return fam.config(**{**TABLES[fam.name].tiny, **changes})


def made(fam: Family, config: Strict, *, speakers: int = 1, seed: int = 1) -> nn.Module:
    torch.manual_seed(seed)
    learner = fam.learner(config, vocab_size=VOCABULARY, num_speakers=speakers)
    if needed := needs(fam):
        learner.accompany(needed)
    if fam.data.beside or (fam.data.features and fam.data.features(config, None)):
        collate = learner.collate
        learner.collate = lambda examples: collate(featured(fam, config, examples))
    return learner


def needs(fam: Family) -> dict[str, nn.Module]:
    """A network of each other kind that a voice of this family needs, the same each time."""
    found = {}
    for kind in set(fam.speaks.needs) - set(fam.speaks.stands_in) if fam.speaks else ():
        kin = [one for one in map(family, FAMILIES) if one.kind == kind]
        other = kin[-1] if fam.name in TOYS else kin[0]
        with torch.random.fork_rng():
            torch.manual_seed(5)
            found[kind] = other.learner(other.config(), vocab_size=1, num_speakers=1).eval()
    return found


def featured(fam: Family, config: Any, clips: Sequence[Example]) -> list[Example]:
    """With what `olu prepare` makes for this family, and always the same clip beside them."""
    rate, computes = fam.data.rate(config), {one.name: one.make("cpu") for one in fam.data.features(config, None)}
    made = []
    for one in [*clips, replace(tones(1)[0], id="beside")]:
        seconds = len(one.samples) / rate
        edges = np.linspace(0, seconds, len(one.ids) + 1).tolist()
        phones = tuple(Span(str(id), a, b) for id, a, b in zip(one.ids, edges, edges[1:], strict=False))
        clip = Clip(id=one.id, audio="", seconds=seconds, rate=rate, text="", language="eng")
        alignment = Alignment(id=one.id, seconds=seconds, words=(), phones=phones)
        source = FeatureClip(clip, one.samples, rate, alignment=alignment)
        features = {name: compute(source) for name, compute in computes.items()}
        if fam.data.token_frames:
            ends = np.rint(np.linspace(0, len(one.samples) // 256, len(one.ids) + 1)).astype(int)
            gaps = np.isin(np.arange(len(one.ids)), (0, 4, len(one.ids) - 1)).astype(int)
            wanted = fam.data.token_frames(config)
            given = wanted is not None and (wanted.all or one.id != "clip-1")  # else it is searched
            features |= {"frames": np.diff(ends) * given}
            features |= {"gaps": gaps, "tones": (1 - gaps) * (np.array(one.ids) % 3), "stress": gaps * 0}
        made.append(replace(one, features=features))
    *own, beside = made
    return [replace(one, beside=beside if fam.data.beside else None) for one in own]


def tones(count: int = 4, *, rate: int = 16000, frames: int = 40, hop: int = 256, speakers: int = 1) -> list[Example]:
    """Clips of a steady buzz each, of different lengths, whose tokens tell its pitch."""
    clips = []
    for number in range(count):
        samples = (frames + 4 * number) * hop + 17 * number
        time = np.arange(samples) / rate
        wave = sum(np.cos(2 * np.pi * (180 + 70 * number) * k * time) for k in range(1, 24)) / 8
        tokens = tuple(1 + (number + k) % (VOCABULARY - 1) for k in range(9 + number))
        clips.append(
            Example(id=f"clip-{number}", ids=tokens, samples=(10000 * wave).astype(np.int16), speaker=number % speakers)
        )
    return clips


def engine_for(
    fam: Family,
    learner: nn.Module,
    folder: Path,
    clips: Sequence[Example],
    *,
    spike: bool = False,
    device: str = "cpu",
    **plan: Any,
) -> Engine:
    settings = {"steps": 6, "batch_clips": 2, "schedule": "constant", "validate_every": 100, "save_every": 100}
    checked = PlanSettings(**{**settings, **plan})
    by_id = {clip.id: clip for clip in clips}
    batches = Batches(
        list(by_id),
        [len(clip.samples) / fam.data.rate(learner.config) for clip in clips],
        example=by_id.__getitem__,
        collate=learner.collate,
        seed=1,
        batch_clips=checked.batch_clips,
        batch_seconds=checked.batch_seconds,
    )
    return Engine(
        learner,
        batches,
        validation=lambda: [learner.collate(clips[:2])],
        score=fam.figures.score,
        plan=checked,
        rewinds=GuardSettings(),
        guards=[Wiring(), Finite(), *([Spike()] if spike else [])],
        checkpoints=Checkpoints(folder, keep=3),
        seed=1,
        device=device,
    )


def gradients(engine: Engine) -> dict[str, Tensor]:
    """The gradients each part was moved with, filled in as the engine goes."""
    used: dict[str, Tensor] = {}

    def catch(part: str, live: LivePart) -> None:
        apply = live.apply

        def wrapped(rate: float) -> None:
            used.update({f"{part}/{n}": p.grad.clone() for n, p in live.named.items() if p.grad is not None})
            apply(rate)

        live.apply = wrapped

    for part, live in engine.live.items():
        catch(part, live)
    return used


def state(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# ---------------------------------------------------------------- learning


def test_overfits_one_batch(fam: Family, tmp_path: Path) -> None:
    learner = made(fam, config_of(fam))
    steps = 50 if fam.kind in ("listener", "vocoder") or fam.name == "acoustic" else 30
    plan = {"steps": steps, "validate_every": steps, "save_every": steps}
    engine = engine_for(fam, learner, tmp_path, tones(2), spike=True, **plan)
    before, _ = engine._validate()
    reports = list(engine.train())
    assert [event for report in reports for event in report.events] == []
    scores = [
        next(seen.losses[fam.figures.learning] for seen in r.seen if fam.figures.learning in seen.losses)
        for r in reports
    ]
    assert np.mean(scores[-5:]) < 0.6 * np.mean(scores[:3])
    assert reports[-1].scores[fam.figures.score] < 0.6 * before[fam.figures.score]
    assert len(reports[-1].exhibits) == (0 if fam.kind == "listener" else 2)


class NoDoubles(TorchDispatchMode):
    """Refuses float64 as Apple's GPUs do."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else (made,):
            if isinstance(one, Tensor) and one.dtype == torch.float64:
                raise TypeError(f"{func} makes float64")
        return made


def test_a_step_needs_no_float64(fam: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "WITHOUT_DOUBLES", {"cpu"})  # this machine stands for an Apple GPU
    learner = made(fam, config_of(fam))
    batch, parts = learner.collate(tones(2)), learner.parts()
    with NoDoubles():
        for update in learner.step(batch, Clock(5, 100)):
            total = sum(loss.sum * loss.weight / batch.counts[loss.over] for loss in update.losses.values())
            params = list(parts[update.part].module.parameters())
            torch.autograd.grad(total, params, allow_unused=True, retain_graph=True)


def test_resume_is_exact(fam: Family, tmp_path: Path) -> None:
    plan = {"steps": 5, "save_every": 2, "validate_every": 2}
    through = engine_for(fam, made(fam, config_of(fam)), tmp_path / "a", tones(), **plan)
    expected = list(through.train())
    first = engine_for(fam, made(fam, config_of(fam)), tmp_path / "b", tones(), **plan)
    running = first.train()
    next(report for report in running if report.step == 3)
    running.close()
    again = engine_for(fam, made(fam, config_of(fam), seed=99), tmp_path / "b", tones(), **plan)
    again.resume()
    assert again.step == 2
    got = list(again.train())
    assert [(r.step, r.seen, dict(r.scores)) for r in got] == [(r.step, r.seen, dict(r.scores)) for r in expected[2:]]
    one, other = through.snapshot(), again.snapshot()
    assert same(one.weights, other.weights) and same(one.optimiser, other.optimiser) and one.state == other.state


def test_only_the_parts_move_and_every_weight_of_theirs_is_reached(fam: Family, tmp_path: Path) -> None:
    learner = made(fam, config_of(fam))
    owned = {id(p) for part in learner.parts().values() for p in part.module.parameters()}
    inside = {name for name, p in learner.named_parameters() if id(p) in owned}
    before = {name: t.detach().clone() for name, t in [*learner.named_parameters(), *learner.named_buffers()]}
    engine = engine_for(fam, learner, tmp_path, tones(), steps=4)
    assert [event for report in engine.train() for event in report.events] == []  # Wiring has nothing to say
    after = dict([*learner.named_parameters(), *learner.named_buffers()])
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved <= inside
    still = {name for name in inside - moved if bool((before[name] != 0).any())}
    assert still == set()


def test_a_nan_never_reaches_the_weights(fam: Family, tmp_path: Path) -> None:
    for part in made(fam, config_of(fam)).parts():
        learner = made(fam, config_of(fam))
        step = learner.step

        def spoilt(batch: Any, clock: Clock, part: str = part, step: Any = step) -> Iterator[Update]:
            for update in step(batch, clock):
                if update.part == part:
                    name, loss = next(iter(update.losses.items()))
                    update = Update(part, {**update.losses, name: replace(loss, sum=loss.sum * math.nan)})
                yield update

        learner.step = spoilt
        engine = engine_for(fam, learner, tmp_path / part, tones(), steps=3)
        before = state(engine.live[part].part.module)
        reports = list(engine.train())
        assert [e.verdict for report in reports for e in report.events] == [Verdict.SKIP] * 3
        assert same(before, state(engine.live[part].part.module))
        weights = engine.snapshot().weights
        assert all(bool(torch.isfinite(t).all()) for t in weights.values() if t.is_floating_point())


def test_a_nan_in_a_recording_never_reaches_the_weights(fam: Family, tmp_path: Path) -> None:
    learner = made(fam, config_of(fam))
    collate = learner.collate

    def spoilt(examples: Sequence[Example]) -> Any:
        batch = collate(examples)
        if fam.data.features and not fam.name.startswith("vits"):
            floats = [one for held in vars(batch).values() if isinstance(held, tuple) for one in held]
            floats = [one for one in floats if isinstance(one, Tensor) and one.is_floating_point()]
        else:
            floats = [batch.padded_BS[:, 3000:3100]] if batch.padded_BS.is_floating_point() else []
        if not floats:
            pytest.skip("its recordings are whole numbers: there is no such sample")
        floats[0][0] = math.nan
        return batch

    learner.collate = spoilt
    engine = engine_for(fam, learner, tmp_path, tones(), steps=3)
    reports = [engine.advance(), engine.advance()]
    assert [[event.guard for event in report.events] for report in reports] == [["finite"]] * 2
    assert all(bool(torch.isfinite(t).all()) for t in engine.snapshot().weights.values())


def test_one_parts_loss_leaves_nothing_in_another(fam: Family, tmp_path: Path) -> None:
    learner = made(fam, config_of(fam))
    engine = engine_for(fam, learner, tmp_path, tones())
    backward, checked = engine._backward, []

    def watched(update: Update, live: LivePart, share: float, totals: dict[str, float]) -> None:
        held = {name: [p.grad for p in other.params] for name, other in engine.live.items() if other is not live}
        backward(update, live, share, totals)
        for name, grads in held.items():
            assert all(now.grad is before for now, before in zip(engine.live[name].params, grads, strict=True))
        checked.append(update.part)

    engine._backward = watched
    engine.advance()
    assert set(checked) == set(engine.live)
    assert all(p.grad is None for p in learner.parameters())


def test_accumulated_gradients_equal_one_batch(fam: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With equal draws (all zero) and a judge that stands still: its step is the one thing the two ways differ in."""
    monkeypatch.setattr(torch, "randn_like", lambda x, **_: torch.zeros_like(x))
    monkeypatch.setattr(torch, "randn", lambda *size, device=None, **_: torch.zeros(*size, device=device))
    monkeypatch.setattr(torch, "rand", lambda *size, device=None, **_: torch.zeros(*size, device=device))
    got = []
    clips = tones(4)
    for size in (4, 2, 1):
        learner = made(fam, config_of(fam, **TABLES[fam.name].still))
        engine = engine_for(fam, learner, tmp_path / str(size), clips, batch_clips=size, accumulate=4 // size)
        used = gradients(engine)
        report = engine.advance()
        losses = {name: value for seen in report.seen for name, value in seen.losses.items()}
        got.append((losses, used))
    (losses, used), *rest = got
    assert {key.partition("/")[0] for key in used} == set(learner.parts())
    largest = {part: max(float(g.abs().max()) for k, g in used.items() if k.startswith(part)) for part in engine.live}
    for others, grads in rest:
        assert others == pytest.approx(losses, rel=1e-4)
        for key, grad in used.items():
            scale = float(grad.abs().max()) + 1e-3 * largest[key.partition("/")[0]]  # some are zero but for rounding
            torch.testing.assert_close(
                grads[key] / scale, grad / scale, rtol=0, atol=2e-4, msg=lambda m, key=key: key + m
            )


def test_accumulating_the_generator_hears_the_judge_of_before(fam: Family, tmp_path: Path) -> None:
    """With one batch the judge has moved when the other part's loss is made; accumulating it has not."""
    for accumulate in (1, 2):
        learner = made(fam, config_of(fam))
        first = next(iter(learner.parts().values())).module
        start = state(first)
        moved: list[tuple[str, bool]] = []
        step = learner.step

        def watched(batch: Any, clock: Clock, step: Any = step) -> Iterator[Update]:
            for update in step(batch, clock):
                moved.append((update.part, not same(start, state(first))))  # noqa: B023
                yield update

        learner.step = watched
        engine_for(fam, learner, tmp_path / str(accumulate), tones(), accumulate=accumulate).advance()
        firsts, *others = learner.parts()
        expected = [(firsts, False), *((other, accumulate == 1) for other in others)] * accumulate
        assert moved == expected
        assert not same(start, state(first))


# ---------------------------------------------------------------- speaking


def test_demo_is_finite_and_of_sane_length(fam: Family) -> None:
    speaking_only(fam)
    for speakers in (1, 3):
        learner = made(fam, config_of(fam), speakers=speakers).eval()
        clips = tones(3, speakers=speakers)
        torch.manual_seed(0)
        with torch.no_grad():
            exhibits = list(learner.demo(learner.collate(clips)))
        assert [exhibit.name for exhibit in exhibits] == [clip.id for clip in clips]
        for exhibit in exhibits:
            assert exhibit.audio.rate == fam.data.made_rate(learner.config)
            assert exhibit.audio.samples.dtype == np.float32 and exhibit.audio.samples.ndim == 1
            assert np.isfinite(exhibit.audio.samples).all() and np.abs(exhibit.audio.samples).max() <= 1
            assert 0.05 < exhibit.audio.seconds < 20


def test_export_writes_two_graphs_that_run(fam: Family, tmp_path: Path) -> None:
    speaking_only(fam)
    for speakers in (1, 2):
        learner = made(fam, config_of(fam), speakers=speakers)
        before = state(learner)
        folder = tmp_path / str(speakers)
        folder.mkdir()
        if fam.speaks.engine != "latents":
            pytest.skip("its package has other graphs: test_toy_families speaks with it")
        facts = fam.speaks.export(learner, folder=folder)
        assert sorted(path.name for path in folder.iterdir()) == ["decoder.onnx", "encoder.onnx"]
        assert same(before, state(learner))  # export works on a copy
        encoder, decoder = (
            onnxruntime.InferenceSession(folder / f"{half}.onnx", providers=["CPUExecutionProvider"])
            for half in ("encoder", "decoder")
        )
        random = np.random.default_rng(0)
        tokens = 10
        scales = {key: np.array(value, dtype=np.float32) for key, value in facts["sampling"].items()}
        who = {"speaker": np.array([speakers - 1])} if speakers > 1 else {}
        latents, durations, *melody = encoder.run(
            None,
            {
                "ids": random.integers(0, VOCABULARY, (1, tokens)),
                "noise": random.normal(size=(1, facts["channels"], 8 * tokens)).astype(np.float32),
                "duration_noise": random.normal(size=(1, 2, tokens)).astype(np.float32),
                **scales,
                **who,
            },
        )
        beside = dict(zip(("contour", "voicing"), melody, strict=False))
        if beside:
            source = np.ones((1, facts["hop"], latents.shape[2]), np.float32)
            beside |= {"source": source, "noise": source}
            assert np.isfinite(melody[0]).all() and set(np.unique(melody[1])) <= {0.0, 1.0}
        (wave,) = decoder.run(None, {"latents": latents, **beside, **who})
        assert latents.shape == (1, facts["channels"], int(durations.sum()))
        assert wave.shape == (1, latents.shape[2] * facts["hop"])
        assert np.isfinite(wave).all() and facts["rate"] == fam.data.rate(learner.config)


# ---------------------------------------------------------------- settings


def counted(updates: Iterator[Update], kept: list[int]) -> Iterator[Update]:
    """The same updates; `kept` counts the numbers that autograd holds for the way back."""

    def pack(tensor: Tensor) -> Tensor:
        kept[0] += tensor.numel()
        return tensor

    while True:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            update = next(updates, None)
        if update is None:
            return
        yield update


def built(fam: Family, config: Strict, *, speakers: int) -> tuple[nn.Module, dict[str, Any]]:
    """The learner, and what a setting may change of it that is seen without a step."""
    learner = made(fam, config, speakers=speakers).train()
    parts = learner.parts()
    return learner, {
        "shapes": {name: tuple(t.shape) for name, t in learner.state_dict().items()},
        "parts": {key: {f: getattr(p, f) for f in vars(p) if f != "module"} for key, p in parts.items()},
        "new_rows": _new_rows(fam, learner),
        "rate": fam.data.rate(config),
        "merges": fam.data.merges(config),
        "by_phones": fam.data.by_phones(config),
        "lively": [one for one in fam.speaks.knobs(config) if one.name == "exaggeration"] if fam.speaks else [],
        "written": fam.hears.targets(config, language="yor").symbols(MARKED) if fam.hears else [],
        "refuses": [fam.data.refuses(config, samples=n, tokens=40) for n in (2000, 9000, 12000, 10**6)],
    }


def stepped(learner: nn.Module, *, speakers: int) -> dict[str, Any]:
    """What a setting may change of a step."""
    batch = learner.collate(tones(2, speakers=speakers))
    seen: dict[str, Any] = {}
    parts = learner.parts()
    torch.manual_seed(3)
    kept = [0]
    for update in counted(learner.step(batch, Clock(5, 100)), kept):
        total = sum(loss.sum * loss.weight / batch.counts[loss.over] for loss in update.losses.values())
        params = list(parts[update.part].module.parameters())
        grads = torch.autograd.grad(total, params, allow_unused=True, retain_graph=True)
        norm = torch.stack([g.square().sum() for g in grads if g is not None]).sum()
        seen[update.part] = ({name: loss.sum.item() for name, loss in update.losses.items()}, norm.item())
    return {"step": seen, "kept": kept[0]}


def spoken(learner: nn.Module, *, speakers: int) -> list[tuple[int, float]]:
    """What a setting may change of what is said after a step."""
    torch.manual_seed(4)
    with torch.no_grad():
        waves = [exhibit.audio.samples for exhibit in learner.eval().demo(learner.collate(tones(2, speakers=speakers)))]
    return [(len(wave), float(np.abs(wave).sum())) for wave in waves]


def aspects(fam: Family, config: Strict, *, speakers: int) -> Iterator[Any]:
    """Everything a setting may change, the cheapest first."""
    learner, seen = built(fam, config, speakers=speakers)
    yield seen
    yield stepped(learner, speakers=speakers)
    yield spoken(learner, speakers=speakers)


def _new_rows(fam: Family, learner: nn.Module) -> list[float]:
    """What symbols that are new would start with."""
    if fam.bases is None:
        return []
    growth = Growth(VOCABULARY, (1, None), fam.bases.row_scale(learner.config))
    tables = [learner.get_parameter(name).detach() for name in fam.bases.symbol_rows]
    return [float(enlarged(table, growth)[VOCABULARY:].double().sum()) for table in tables]


def test_every_setting_acts(fam: Family) -> None:
    """For every field of the family's settings another value changes what is built, learned, spoken or refused."""
    table = TABLES[fam.name].other
    if fam.name in VARIANTS:
        pytest.skip("the family's own table has its settings")
    missing = fam.config.model_fields.keys() - table.keys()
    assert not missing, f"no other value in the table for {sorted(missing)}"
    assert table.keys() == fam.config.model_fields.keys()
    known: dict[str, list[Any]] = {}
    idle = []
    for key, other in table.items():
        base = repr((sorted(other.base.items()), other.speakers))
        if base not in known:
            start = config_of(fam, **other.base)
            known[base] = list(aspects(fam, start, speakers=other.speakers))
            assert list(aspects(fam, start, speakers=other.speakers)) == known[base]
        changed = config_of(fam, **{**other.base, key: other.value})
        assert getattr(changed, key) != getattr(config_of(fam, **other.base), key)
        found = aspects(fam, changed, speakers=other.speakers)
        if other.refused:
            with pytest.raises(OluError, match=other.refused):
                list(found)
        elif all(one == before for one, before in zip(found, known[base], strict=True)):  # no further than it must
            idle.append(key)
    assert idle == []


def test_a_setting_that_would_be_ignored_is_refused(fam: Family) -> None:
    vits_only(fam)
    for key, other in TABLES["vits"].other.items():
        if key.startswith(("duration_predictor_num", "duration_predictor_flow", "depth_sep", "noise_scale_duration")):
            with pytest.raises(ValueError, match=f"{key} has no effect with the plain"):
                config_of(fam, **PLAIN, **{key: other.value})
    for key in ("source_channels", "pitch_dropout", "weight_voicing"):
        with pytest.raises(ValueError, match=f"{key} has no effect with the hifigan decoder"):
            config_of(fam, **{key: TABLES["vits"].other[key].value})
    for key in ("upsample_initial_channel", "resblock", "leaky_relu_slope"):
        with pytest.raises(ValueError, match=f"{key} has no effect with the source decoder"):
            config_of(fam, **SOURCE, **{key: TABLES["vits"].other[key].value})
    with pytest.raises(ValueError, match="hears pitch at 16000 Hz every 256 samples"):
        config_of(fam, **SOURCE, sampling_rate=22050)
    with pytest.raises(ValueError, match="duration_predictor_filter_channels has no effect with the stochastic"):
        config_of(fam, duration_predictor_filter_channels=24)
    with pytest.raises(ConfigError, match="speaker_embedding_size has no effect: the corpus has one speaker"):
        made(fam, config_of(fam, speaker_embedding_size=8))


def test_settings_survive_being_written_out(fam: Family) -> None:
    for key, other in TABLES[fam.name].other.items():
        config = config_of(fam, **{**other.base, key: other.value})
        assert fam.config.model_validate(config.model_dump(mode="json")) == config


# ---------------------------------------------------------------- of VITS


def test_checkpointing_gives_the_same_gradients_and_keeps_less(fam: Family) -> None:
    vits_only(fam)
    one, other = (
        stepped(built(fam, config_of(fam, gradient_checkpointing=on), speakers=1)[0], speakers=1)
        for on in (False, True)
    )
    assert other["kept"] < 0.8 * one["kept"]
    for part, (losses, norm) in one["step"].items():
        assert other["step"][part][0] == pytest.approx(losses, rel=1e-5)
        assert other["step"][part][1] == pytest.approx(norm, rel=1e-4)


def test_what_cannot_be_learned_from_is_refused(fam: Family) -> None:
    vits_only(fam)
    config = config_of(fam)
    hop, segment = config.hop_length, config.segment_size
    assert fam.data.refuses(config, samples=segment, tokens=5) is None
    assert "shorter than one training segment (0.26 s)" in fam.data.refuses(config, samples=segment - 1, tokens=5)
    assert fam.data.refuses(config, samples=50 * hop, tokens=50) is None
    assert "50 frames of sound for 51 tokens" in fam.data.refuses(config, samples=50 * hop + hop - 1, tokens=51)
    assert "nothing that can be said" in fam.data.refuses(config, samples=10**6, tokens=0)


def test_what_is_just_not_refused_can_be_learned_from(fam: Family, tmp_path: Path) -> None:
    vits_only(fam)
    config = config_of(fam)
    samples = (3000 * np.sin(np.arange(config.segment_size) / 9)).astype(np.int16)
    tokens = tuple(1 + k % 9 for k in range(config.segment_frames))
    short = Example(id="short", ids=tokens, samples=samples, speaker=0)
    assert fam.data.refuses(config, samples=len(samples), tokens=len(tokens)) is None
    engine = engine_for(fam, made(fam, config), tmp_path, [short, *tones(1)], batch_clips=2)
    report = engine.advance()
    assert report.events == () and all(math.isfinite(v) for seen in report.seen for v in seen.losses.values())


def test_the_flow_starts_as_the_identity(fam: Family) -> None:
    vits_only(fam)
    learner = made(fam, config_of(fam), speakers=2)
    flow = learner.gen.flow
    x, mask, g = torch.randn(2, learner.config.flow_size, 13), torch.ones(2, 1, 13), torch.randn(2, 256, 1)
    flips = len(flow.flows) % 2
    assert torch.equal(flow(x, mask, g), torch.flip(x, [1]) if flips else x)
    with torch.no_grad():
        for coupling in flow.flows:
            nn.init.normal_(coupling.conv_post.weight)
    moved = flow(x, mask, g)
    assert not torch.allclose(moved, x)
    torch.testing.assert_close(flow(moved, mask, g, reverse=True), x, rtol=1e-3, atol=1e-3)


def test_every_encoder_layer_runs_in_training(fam: Family) -> None:
    vits_only(fam)
    learner = made(fam, config_of(fam, num_hidden_layers=5)).train()
    ran = [0] * 5
    for number, layer in enumerate(learner.gen.text_encoder.encoder.layers):
        layer.register_forward_hook(lambda *_, number=number: ran.__setitem__(number, ran[number] + 1))
    ids, mask = torch.ones(1, 6, dtype=torch.long), torch.ones(1, 1, 6)
    for _ in range(30):
        learner.gen.text_encoder(ids, mask)
    assert ran == [30] * 5


def test_padding_changes_nothing(fam: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clip's losses are the same alone and beside a longer one."""
    monkeypatch.setattr(torch, "randn_like", lambda x, **_: torch.zeros_like(x))
    monkeypatch.setattr(torch, "randn", lambda *size, device=None, **_: torch.zeros(*size, device=device))
    learner = made(fam, config_of(fam)).eval()
    clips = tones(2)
    with torch.no_grad():
        alone = [{k: float(v.sum) for k, v in learner.validate(learner.collate([clip])).items()} for clip in clips]
        both = {k: float(v.sum) for k, v in learner.validate(learner.collate(clips)).items()}
    assert both == pytest.approx({k: alone[0][k] + alone[1][k] for k in both}, rel=1e-4)
