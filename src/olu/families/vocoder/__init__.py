"""A vocoder: mel and pitch to sound, trained on any recordings, without text. Importing this needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.families.vocoder.config import HOP, RATE, VocoderConfig
from olu.families.vocoder.plan import ADVICE
from olu.train.family import Base, Bases, Data, Family, Figures, OpponentLoss

if TYPE_CHECKING:
    from torch import nn

    from olu.features.store import PreparedFeature

LEAST_SECONDS = 0.5


def _refuses(config: VocoderConfig, *, samples: int, tokens: int) -> str | None:
    """Why a clip cannot be learned from."""
    if samples < LEAST_SECONDS * RATE:
        return f"{samples // HOP} frames of sound: a vocoder learns from clips of {LEAST_SECONDS} s and more"
    return None


def _learner(config: VocoderConfig, *, vocab_size: int, num_speakers: int) -> nn.Module:
    from olu.families.vocoder.learn import VocoderLearner

    return VocoderLearner(config)


def _features(config: VocoderConfig, base: Base | None) -> Sequence[PreparedFeature]:
    from olu.features.pitch import pitch_feature

    return (pitch_feature(),)


def _contract() -> dict[str, Any]:
    from olu.features.mel import MelSpec

    return MelSpec().facts


def _read_base(folder: Path) -> Base:
    from olu.families.vocoder.base import read_base

    return read_base(folder)


def _opened(package: Path) -> nn.Module:
    from olu.families.vocoder.packaged import PackagedVocoder

    return PackagedVocoder(package)


FAMILY = Family(
    name="vocoder",
    summary="A vocoder: mel and pitch to sound, from any recordings, without text",
    kind="vocoder",
    config=VocoderConfig,
    learner=_learner,
    data=Data(
        rate=lambda config: RATE,
        refuses=_refuses,
        tokens=lambda text: 0,
        needs=frozenset({"pitch"}),
        features=_features,
        segment=lambda config: int(config.segment_size),
        contract=_contract,
    ),
    figures=Figures(
        score="mel",
        learns="gen",
        steady=("mel", "magnitudes"),
        # eight of them, 0.01 each; 4.0 would be chance, and copies that nobody can tell are no fault
        opponent=OpponentLoss(part="disc", loss="disc", won=0.08, chance=inf),
    ),
    advice=ADVICE,
    bases=Bases(read=_read_base, opened=_opened),
)
