"""An acoustic model: text to durations, pitch and a mel; a vocoder makes it sound. Importing this needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.types import Knob
from olu.families.acoustic.config import AcousticConfig
from olu.families.acoustic.plan import ADVICE
from olu.train.family import Base, Bases, Card, Data, Family, Figures, Speaks, TokenFrames

if TYPE_CHECKING:
    from torch import nn

    from olu.features.store import PreparedFeature

HOP, RATE, FFT = 256, 16000, 1024
FAR, FLAT, MANY = 1.5, 0.6, 0.05  # of free over forced distances; of the spread over time; of strange durations


def _refuses(config: AcousticConfig, *, samples: int, tokens: int) -> str | None:
    """Why a clip cannot be learned from: every sound needs a frame, about half of the tokens are sounds."""
    frames = samples // HOP
    if tokens == 0:
        return "its text has nothing that can be said"
    if samples < FFT:
        return f"{samples} samples: shorter than the window of one frame"
    if config.alignment != "given" and frames < tokens:
        return f"{frames} frames of sound for {tokens} tokens: the text is too long for this recording"
    return None


def _features(config: AcousticConfig, base: Base | None) -> Sequence[PreparedFeature]:
    from olu.features.pitch import pitch_feature

    return [pitch_feature()]


def _token_frames(config: AcousticConfig) -> TokenFrames | None:
    return None if config.alignment == "search" else TokenFrames(HOP, all=config.alignment == "given")


def _contract() -> dict[str, Any]:
    from olu.features.mel import MelSpec

    return MelSpec().facts


def _observe(**given: Any) -> dict[str, Any]:
    from olu.families.acoustic.corpus import figures_of

    return figures_of(**given)


def _learner(config: AcousticConfig, *, vocab_size: int, num_speakers: int) -> nn.Module:
    from olu.families.acoustic.learn import AcousticLearner

    return AcousticLearner(config, vocab_size=vocab_size, num_speakers=num_speakers)


def _export(learner: nn.Module, *, folder: Path, vocoder: nn.Module) -> dict[str, Any]:
    from olu.families.acoustic.export import export

    return export(learner, folder=folder, vocoder=vocoder)


def _with_speakers(checkpoint: Any, learner: nn.Module, *, old: int) -> Any:
    from olu.families.acoustic.export import with_speakers

    return with_speakers(checkpoint, learner, old=old)


def _read_base(folder: Path) -> Base:
    from olu.families.acoustic.base import read_base

    return read_base(folder)


def _training(learner: nn.Module, *, folder: Path, card: Card) -> list[str]:
    from olu.families.acoustic.base import write_part

    return write_part(learner, folder=folder, card=card)


def _doubts(scores: Mapping[str, float]) -> dict[str, str]:
    """What is wrong with what it says freely, and which part of it is the cause."""
    found = {}
    if (free := scores.get("free", 0.0)) > FAR * (forced := scores.get("forced", 1.0)):
        found["free"] = (
            f"said freely, sounds are {free / max(forced, 1e-6):.1f} times as far from the recordings as with their"
            " durations: the durations are at fault"
        )
    if (spread := scores.get("spread", 1.0)) < FLAT:
        found["spread"] = f"its mels move {spread:.2f} times as much as the recordings': the mel is at fault"
    if (outside := scores.get("outside", 0.0)) > MANY:
        found["outside"] = f"{100 * outside:.0f} % of its durations or knots are twice as far out as any of the corpus"
    return found


def _knobs(config: AcousticConfig) -> tuple[Knob, ...]:
    knobs = (Knob("pitch", 0.0, -12.0, 12.0, "semitones"),)
    if not config.refiner_layers:
        return knobs
    return (
        *knobs,
        Knob("steps", config.steps, 0, 64, "refining steps; 0: the mean itself speaks"),
        Knob("temperature", config.temperature, 0.0, 2.0, "how much the refining draws"),
    )


def _with_knob(config: AcousticConfig, knob: str, value: float) -> AcousticConfig:
    return config.model_copy(update={knob: round(value) if knob == "steps" else value})


def _with_tempo(config: AcousticConfig, slower: float) -> AcousticConfig:
    return config.model_copy(update={"length_scale": config.length_scale * slower})


FAMILY = Family(
    name="acoustic",
    summary="Text to durations, pitch and a mel, all of which can be seen and moved; a vocoder makes it sound",
    config=AcousticConfig,
    learner=_learner,
    data=Data(
        rate=lambda config: RATE,
        refuses=_refuses,
        tokens=lambda text: len(text) + 2,  # a letter makes about one, and a gap stands at either end
        needs=frozenset({"text", "pitch"}),
        features=_features,
        vocabulary="streams",
        token_frames=_token_frames,
        contract=_contract,
        observe=_observe,
    ),
    figures=Figures(
        score="weighed", learns="net", steady=("mean", "voicing", "duration", "pitch"), loss="mean", doubts=_doubts
    ),
    advice=ADVICE,
    bases=Bases(
        read=_read_base,
        symbol_rows=("net.text.symbols.weight",),
        row_scale=lambda config: float(config.init_scale),
        fold_speakers=_with_speakers,
    ),
    speaks=Speaks(
        engine="mel",
        export=_export,
        knobs=_knobs,
        with_knob=_with_knob,
        with_tempo=_with_tempo,
        training=_training,
        needs=("vocoder",),
        stands_in=("vocoder",),
    ),
)
