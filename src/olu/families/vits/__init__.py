"""VITS: text to sound in one network, trained against discriminators. Importing this needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import ConfigError, ExportError
from olu.core.types import Knob
from olu.families.vits.config import MOST_NOISE, VitsConfig
from olu.families.vits.plan import ADVICE
from olu.train.family import Base, Bases, Card, Data, Family, Figures, Format, OpponentLoss, Speaks

if TYPE_CHECKING:
    from torch import nn

    from olu.core.types import Audio
    from olu.export.subject import ExportSubject
    from olu.features.store import PreparedFeature

READING = "rules for numbers, dates, abbreviations and markup"  # what no other program's files have a place for


def _refuses(config: VitsConfig, *, samples: int, tokens: int) -> str | None:
    """Why a clip cannot be learned from: every token needs a frame, and every clip a whole segment."""
    frames = samples // config.hop_length
    if tokens == 0:
        return "its text has nothing that can be said"
    if frames < tokens:
        return f"{frames} frames of sound for {tokens} tokens: the text is too long for this recording"
    if frames < config.segment_frames:
        seconds = config.segment_size / config.sampling_rate
        return f"shorter than one training segment ({seconds:.2f} s)"
    return None


def _learner(config: VitsConfig, *, vocab_size: int, num_speakers: int) -> nn.Module:
    from olu.families.vits.learn import VitsLearner

    default = VitsConfig.model_fields["speaker_embedding_size"].default
    if num_speakers == 1 and config.speaker_embedding_size != default:
        raise ConfigError("recipe: model.speaker_embedding_size has no effect: the corpus has one speaker")
    return VitsLearner(config, vocab_size=vocab_size, num_speakers=num_speakers)


def _features(config: VitsConfig, base: Base | None) -> Sequence[PreparedFeature]:
    """The decoder with a source learns from the pitch of the recordings."""
    if config.decoder != "source":
        return ()
    from olu.features.pitch import pitch_feature

    return (pitch_feature(),)


def _read_base(folder: Path) -> Base:
    from olu.families.vits.base import read_base

    return read_base(folder)


def _with_speakers(checkpoint: Any, learner: nn.Module, *, old: int) -> Any:
    from olu.families.vits.base import with_speakers

    return with_speakers(checkpoint, learner, old=old)


def _export(learner: nn.Module, *, folder: Path) -> dict[str, Any]:
    from olu.families.vits.export import export

    return export(learner, folder=folder)


def _writer(module: str, name: str) -> Callable[[ExportSubject, Path], list[str]]:
    """A function of `formats/`, imported when it is called: torch comes with it."""

    def write(subject: ExportSubject, folder: Path) -> list[str]:
        if subject.learner.config.decoder == "source":  # type: ignore[union-attr]
            raise ExportError("this voice has model.decoder = 'source', which no other program knows: use '--to voice'")
        lost: list[str] = getattr(import_module(f"{__name__}.formats.{module}"), name)(subject, folder)
        return lost

    return write


def _to_part(learner: nn.Module, *, folder: Path, card: Card) -> list[str]:
    from olu.families.vits.foreign.voice import write_part

    return write_part(learner, folder=folder, card=card)


def _copy(learner: nn.Module, audio: Audio, *, speaker: int) -> Audio:
    from olu.families.vits.export import copied

    return copied(learner, audio, speaker=speaker)


def _knobs(config: VitsConfig) -> tuple[Knob, ...]:
    return (
        Knob("noise", config.noise_scale, 0.0, MOST_NOISE, "how much the sound varies"),
        Knob("duration_noise", config.noise_scale_duration, 0.0, MOST_NOISE, "how much the rhythm varies"),
    )


def _with_knob(config: VitsConfig, knob: str, value: float) -> VitsConfig:
    name = {"noise": "noise_scale", "duration_noise": "noise_scale_duration"}[knob]
    return config.model_copy(update={name: value})


def _with_tempo(config: VitsConfig, slower: float) -> VitsConfig:
    return config.model_copy(update={"speaking_rate": config.speaking_rate / slower})


FAMILY = Family(
    name="vits",
    summary="VITS and MMS: end to end, tokens to sound, sizes tiny, small and mms",
    config=VitsConfig,
    learner=_learner,
    data=Data(
        rate=lambda config: int(config.sampling_rate),
        refuses=_refuses,
        tokens=lambda text: 2 * len(text) + 1,  # a blank stands around every symbol, and a letter makes about one
        features=_features,
    ),
    figures=Figures(
        score="mel",
        learns="gen",
        steady=("mel", "kl", "duration"),
        opponent=OpponentLoss(part="disc", loss="disc", won=0.06, chance=3.0),  # six of them: 0.01 and 0.5 each
        reference=Path(__file__).with_name("reference.json"),
    ),
    advice=ADVICE,
    bases=Bases(
        read=_read_base,
        table=Path(__file__).with_name("bases.tsv"),
        symbol_rows=("gen.text_encoder.embed_tokens.weight",),
        row_scale=lambda config: float(config.init_scale),
        fold_speakers=_with_speakers,
    ),
    speaks=Speaks(
        engine="latents",
        export=_export,
        knobs=_knobs,
        with_knob=_with_knob,
        with_tempo=_with_tempo,
        formats=(
            Format("hf", "transformers", _writer("checkpoints", "write_hf"), loses=f"the discriminator; {READING}"),
            Format(
                "hf-train",
                "finetune-hf-vits",
                _writer("checkpoints", "write_hf_train"),
                also=("hf-training",),
                trains=True,
                loses=f"the state of the optimisers; {READING}",
            ),
            Format(
                "mms",
                "the original VITS and MMS",
                _writer("checkpoints", "write_mms"),
                also=("vits",),
                trains=True,
                loses=f"the state of the optimisers; {READING}",
                noiseless="the original code takes the noise each time it speaks (infer's noise_scale)",
            ),
            Format(
                "onnx",
                "ONNX Runtime, one graph",
                _writer("checkpoints", "write_onnx"),
                loses=f"all reading: it takes ids of symbols; seeds; {READING}",
            ),
            Format(
                "piper",
                "piper-tts",
                _writer("piper", "write_piper"),
                loses=f"{READING}; how far its ids are off is measured",
            ),
            Format(
                "sherpa",
                "sherpa-onnx",
                _writer("sherpa", "write_sherpa"),
                loses=f"{READING}; how far its ids are off is measured",
                noiseless="sherpa-onnx takes the noise each time it speaks (--vits-noise-scale)",
            ),
            Format(
                "android",
                "Android, as a speech engine",
                _writer("android", "write_android"),
                loses="seeds; markup",
            ),
        ),
        training=_to_part,
        resynthesis=_copy,
    ),
)
